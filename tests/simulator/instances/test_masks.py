"""Masks: a grammar allows what its texts have, and rows given these tokens are exact in every engine."""

import re
from itertools import product

import numpy as np
import pytest

from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.families import family_named
from draftproof.simulator.instances.masks import Grammar, Masks
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import REGISTRY, make
from tests.quick import quick

ROW = ["1/8", "3/8", "4/8"]


def contexts(size, depth):
    return [context for length in range(depth + 1) for context in product(range(size), repeat=length)]


def word(context):
    return "".join(map(str, context))


def row_of(process, *context):
    return [str(value) for value in process.row(context)]


def sampled(text, depth=3):
    return Sampling.parse(text).process(MarkovProcess([ROW]), depth=depth)


@pytest.mark.parametrize("regex", ["(01|2)*", "0{1,2}|1[^1]", "0?(12)*0", ".1.", "0?", "(0|1)+2?"])
def test_a_regular_expression_allows_what_begins_one_of_its_texts(regex):
    pytest.importorskip("interegular")
    texts = {word(context) for context in contexts(3, 7) if re.fullmatch(regex, word(context))}
    for eos in ("", "eos=3,"):
        masks = Sampling.parse(f"{eos}regex={regex}").masks(3 + bool(eos))
        for context in contexts(3, 3):
            begun = word(context)
            if any(text.startswith(begun) for text in texts):
                expected = tuple(any(text.startswith(f"{begun}{token}") for text in texts) for token in range(3))
                assert masks.allowed(context) == expected + ((begun in texts,) if eos else ())
            else:
                assert masks.allowed(context) is None


def test_a_table_is_an_automaton():
    masks = Sampling.parse("table=01-/-10").masks(3)
    assert masks.allowed((0, 1, 1)) == (False, True, True)
    assert masks.allowed((0, 1, 2)) == (True, True, False)
    assert masks.allowed((0, 2)) is None
    assert Grammar.of_table("11/2-!/--").without(None).moves == ((1, 1), (None, None), (None, None))


def test_an_ended_text_stays_at_its_end():
    process = sampled("eos=2,min_new_tokens=1,stop_strings=01|11")
    assert row_of(process) == ["1/4", "3/4", "0"]
    for ended in ((0, 2), (0, 2, 2), (0, 1), (1, 1), (0, 1, 2)):
        assert row_of(process, *ended) == ["0", "0", "1"]
    assert row_of(process, 1, 0) == ["1/8", "3/8", "1/2"]


def test_masks_come_before_the_other_steps():
    assert row_of(sampled("top_k=2,table=0-0")) == ["1/5", "0", "4/5"]
    assert row_of(sampled("temperature=0,table=00-")) == ["0", "1", "0"]
    assert row_of(sampled("temperature=.5,table=00-")) == ["1/10", "9/10", "0"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ngrams_and_shortest_lengths_are_those_of_transformers(size):
    torch = pytest.importorskip("torch")
    processors = pytest.importorskip("transformers.generation.logits_process")
    text, scores = (1, 0), torch.zeros(1, 4)
    ngrams = processors.NoRepeatNGramLogitsProcessor(size)
    shortest = processors.MinNewTokensLengthLogitsProcessor(len(text), size, 3, device="cpu")
    repeats, short = Masks(4, no_repeat_ngram_size=size, text=text), Masks(4, eos=3, min_new_tokens=size)
    for context in contexts(3, 4):
        ids = torch.tensor([[*text, *context]])
        for masks, step in ((repeats, ngrams), (short, shortest)):
            allowed = masks.allowed(context)
            assert allowed in (None, tuple((step(ids, scores) == 0)[0].tolist()))
            assert allowed is not None or masks is repeats


MASKS = [
    "table=01-/-10",
    "table=-1-/1-0",
    "no_repeat_ngram_size=2",
    "eos=2,min_new_tokens=1",
    "eos=1,stop_strings=20|0",
]
WHERE = {"both": lambda mask: (mask, None), "target": lambda mask: (mask, ""), "draft": lambda mask: ("", mask)}
CASES = list(product(WHERE, MASKS, ("dirichlet", "ties"), (Delayed(1, 0, 2), Delayed(2, 0, 1), Delayed(2, 1, 1))))


@pytest.mark.parametrize(
    "case",
    quick(CASES, lambda case: case[1:3] == (MASKS[1], "ties") and case[3] == Delayed(2, 0, 1)),
)
def test_every_engine_agrees_with_enumeration_and_verifiers_stay_lossless(case):
    where, mask, family, scheme = case
    raw = family_named(family).instance(3, scheme.depth, np.random.default_rng(3), 12)
    options = WHERE[where](mask)
    [case] = Samplings.of_options(*options).cases([Case("given", raw.target, raw.draft)], scheme.depth, None)
    compared = 0
    for name, kind in REGISTRY.items():
        if scheme.name not in lossless_for(kind.card) and not kind.card.control:
            continue
        results = []
        for engine in ("structured", "enumerate"):
            try:
                results.append(check(make(name), case.target, case.draft, scheme, engine=engine))
            except InvalidInput:
                continue  # no such engine for it
        assert len({(each.lossless, each.block_efficiency) for each in results}) <= 1
        assert all(each.lossless for each in results) or kind.card.control or kind.card.needs is None
        compared += len(results) == 2
    assert compared >= 5


#: What is refused as it is read, before tokens are known, and what is said.
WRONG = [
    ("table=01", "write the next state of every token"),
    ("table=---/000!", "table ---/000!: the grammar accepts no text"),
    ("stop_strings=01", "add eos=TOKEN"),
    ("table=000,regex=0", "leave one of them out"),
    (r"regex=[^\s\S]", "accepts no text$"),
    (r"eos=2,regex=0[^\s\S],top_k=2", "accepts no text; what follows regex= is all of the expression"),
    ("regex=", "accepts only the empty text"),
    ("regex=(", "cannot be read"),
]
#: What is refused once the tokens are known.
NOT_OF_THESE = [
    ("table=00", "2 tokens to each state, V is 3"),
    ("eos=7", "tokens are the letters '012'"),
    ("table=1--/---", "no token can follow '0': the masks allow none; add eos=TOKEN"),
    ("no_repeat_ngram_size=1", "no token can follow '0', '1', '2'"),
    ("eos=2,regex=((", "cannot be read: missing"),
    ("eos=2,regex=0,top_k=1", "follows them; what follows regex= is all of the expression"),
    (r"eos=2,regex=(0)\1", "Group"),
    ("eos=2,regex=(01)*2", "accepts no text of these tokens, '012'; none of its texts may have the eos '2', which"),
]


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [*((Sampling.parse, *each) for each in WRONG), *((sampled, *each) for each in NOT_OF_THESE)],
)
def test_wrong_masks_are_named(read, text, words):
    pytest.importorskip("interegular")
    with pytest.raises(InvalidInput, match=words):
        read(text)


@pytest.mark.parametrize("regex", ["(0|1)*0(0|1){20}", "0{100000}", "(0|1){0,1000}1(0|1){0,1000}"])
def test_automata_that_would_be_too_large_are_refused(regex):
    pytest.importorskip("interegular")
    with pytest.raises(InvalidInput, match=r"needs an automaton of more than 5,000 states; make"):
        sampled(f"regex={regex}")


def test_tokens_of_several_letters_move_an_automaton_letter_by_letter():
    pytest.importorskip("interegular")
    names = ("a", "ab", "b", "", "<end>")
    masks = Sampling.parse("eos=<end>,regex=(ab)+").masks(5, names=names)
    for context in contexts(3, 3):
        begun = "".join(names[token] for token in context)
        texts = ["ab" * count for count in range(1, 5)]
        if any(text.startswith(begun) for text in texts):
            longer = [any(text.startswith(begun + name) for text in texts) for name in names[:3]]
            assert masks.allowed(context) == (*longer, False, begun in texts)
        else:
            assert masks.allowed(context) is None
    stopped = Sampling.parse("eos=<end>,stop_strings=aa|bb").masks(5, names=names)
    ended, free = (False,) * 4 + (True,), (True,) * 5
    assert [stopped.allowed(context) for context in ((0, 1), (1, 2), (0, 2, 0), (1, 1, 4))] == [
        ended,
        ended,
        free,
        ended,
    ]
    with pytest.raises(InvalidInput, match="tokens are 'a', 'ab', 'b', '', '<end>'"):
        Sampling.parse("eos=c").masks(5, names=names)


@pytest.mark.parametrize(
    "mask", ["table=01-/-10", "no_repeat_ngram_size=2", "eos=1,stop_strings=20|0,min_new_tokens=3"]
)
def test_masks_behind_a_context_are_those_of_the_whole_text(mask):
    masks = Sampling.parse(mask).masks(3, (2, 0, 1))
    for before, context in product(contexts(3, 3), contexts(3, 2)):
        assert masks.after(before).allowed(context) == masks.allowed(before + context)
        assert masks.after(before).after(context).allowed(()) == masks.allowed(before + context)
