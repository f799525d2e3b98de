"""Rules for two tokenizers: lossless or refuted, by listing and by runs from end to end, and as ordinary instances."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from draftproof import make
from draftproof.experiments.cli.check.strings import spelled_optimum
from draftproof.lp_analysis import direct_bound, optimum
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.processes import tabulate, telling
from draftproof.simulator.laws.metrics import Metrics
from draftproof.simulator.strings.check import check_rule, path_law, string_law
from draftproof.simulator.strings.drafting import Spellings, TextRoot, WithEnd, best_on_path, target_tables, with_end
from draftproof.simulator.strings.pair import StringPair
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers.strings import STRING_RULES, new_tokens, of_one_spelling, of_the_draft
from tests.quick import quick

RULES = [name for name, rule in STRING_RULES.items() if not rule.control]
CONTROLS = [name for name, rule in STRING_RULES.items() if rule.control]
ROOTS = [(0, "ab", (4, 4), ()), (0, "ab", (4, 4), (0,)), (2, "ab", (4, 5), (0, 1)), (1, "abc", (5, 4), (2,))]


@cache
def root(number, drafted=2, depth=2):
    seed, letters, sizes, history = ROOTS[number]
    return TextRoot(StringPair.random(seed, letters, *sizes), history, drafted, depth)


def blocks(law):
    return {block: mass for block, mass in law.as_dict().items() if mass}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("number", range(len(ROOTS)))
def test_rules_of_the_papers_are_lossless(name, number):
    found = check_rule(STRING_RULES[name], root(number))
    assert found.lossless
    assert found.token_variation == found.text_variation == 0
    assert 1 <= found.tokens <= found.best <= root(number).depth + 1
    assert found.characters >= found.tokens


@pytest.mark.parametrize("name", STRING_RULES)
def test_a_law_by_listing_is_that_of_runs_from_end_to_end(name):
    rule = STRING_RULES[name]
    for number in (1, 3):
        law, path = string_law(rule, root(number))
        masses = {}
        for verdict, mass in outcomes(lambda coin: rule.block(root(number), path, coin), RATIONAL):  # noqa: B023
            block = verdict.accepted, verdict.correction
            masses[block] = masses.get(block, 0) + mass
        assert blocks(law) == {block: as_python(mass) for block, mass in masses.items()}


#: The same rule as a verifier on the ordinary instance, and what that is told in place of the law of the path.
ORDINARY = {
    "union": ("naive", None),
    "tli": ("naive", None),
    "slem": ("nss", None),
    "uag": ("nss", None),
    "slrs": ("naive", None),
    "tli_unnormalised": ("naive", of_the_draft),
    "slrs_canonical": ("naive", of_one_spelling),
}


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("number", [1, 2])
def test_rules_are_verifiers_on_the_ordinary_instance(name, number):
    here, rule, (verifier, told) = root(number), STRING_RULES[name], ORDINARY[name]
    law, path = string_law(rule, here)
    instance = with_end(here, path)
    if told is not None:
        rows = WithEnd(lambda context: told(here, path, context), here.vocab_size, fills=True)
        instance = replace(instance, draft=telling(instance.draft, tabulate(rows, here.depth - 1, RATIONAL)))
    found = check(make(verifier), instance.target, instance.draft, instance.scheme)
    assert found.block_efficiency == law.block_efficiency
    assert found.lossless is not rule.control
    assert found.total_variation == law.total_variation(target_tables(here))


@pytest.mark.parametrize("number", range(len(ROOTS)))
def test_block_verification_is_the_best_on_the_path(number):
    here = root(number, 3, 3)
    path = path_law(STRING_RULES["slrs"].candidates(here), here.vocab_size)
    instance = with_end(here, path)
    best = as_python(best_on_path(path, here))
    found = check(make("block"), instance.target, instance.draft, instance.scheme)
    bound = optimum(instance.target, instance.draft, instance.scheme)
    assert found.lossless
    assert found.block_efficiency == best == bound.lower == bound.upper


@pytest.mark.parametrize("number", [0, 3])
def test_the_optimum_over_all_spellings_is_the_direct_program_and_above_every_rule(number):
    here = root(number)
    scheme = Spellings(here.proposed_text, here)
    found = spelled_optimum(here)
    rows = target_tables(here)
    assert found.gap < 1e-6
    assert abs(float(found.lower) - direct_bound(rows, rows, scheme)) < 1e-6  # the direct program is solved in float64
    for name in RULES:
        rule = STRING_RULES[name]
        assert not rule.whole_text or check_rule(rule, here).best <= found.upper


def one_row(target, p, draft, q, /, **more):
    sides = (("target", target, p), ("draft", draft, q))
    rows = {name: {"tokens": tokens.split(), "rows": {"": row, **more.get(name, {})}} for name, tokens, row in sides}
    return StringPair.from_dict(rows)


HALF, QUARTERS = ["1/2", "1/2"], ["1/2", "1/4", "1/4"]
#: A pair for each control, how much is drafted, and the whole message.
SMALLEST = {
    "tli_unnormalised": (
        one_row("a b", HALF, "a b ab", QUARTERS), 1, "after nothing, a must have mass 1/2; the block gives it 2/3",
    ),
    "slem_text": (
        one_row("a ab", HALF, "a ab", [1, 0]), 1, "after nothing, a must have mass 1/2; the block gives it 1",
    ),
    "slem_across": (
        one_row("a b ab", QUARTERS, "a b", HALF, target={"ab": [0, 1, 0]}), 1,
        "after a, b must have mass 1/4; the block gives it 5/8",
    ),
    "slrs_canonical": (
        one_row("a aa", HALF, "a aa", HALF), 2, "after nothing, a must have mass 1/2; the block gives it 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_is_refuted_by_a_small_witness_in_letters(name):
    pair, drafted, witness = SMALLEST[name]
    history = pair.target_tokens.numbers(["a"]) if name == "slem_across" else ()
    found = check_rule(STRING_RULES[name], TextRoot(pair, history, drafted, 1))
    assert not found.lossless
    assert found.witness == witness
    assert found.token_variation > 0
    assert all(check_rule(STRING_RULES[rule], TextRoot(pair, history, drafted, 1)).lossless for rule in RULES)


@pytest.mark.parametrize("number", range(3))
def test_with_one_tokenizer_the_rules_are_the_verifiers(number):
    """Where a text has one spelling only; the draft's rows are those of an ordinary pair."""
    pair = one_tokenizer(number)
    here = TextRoot(pair, (number % 2,), 3, 3)
    target, draft = target_tables(here), SimpleNamespace(vocab_size=here.vocab_size, row=here.draft_row)
    law_of = {name: check(make(name), target, draft, Delayed(1, 0, 3)) for name in ("naive", "nss", "block")}
    same = {"union": "naive", "tli": "naive", "slrs": "naive", "slem": "nss", "uag": "nss"}
    for name, verifier in same.items():
        law, _ = string_law(STRING_RULES[name], here)
        assert Metrics.of(law, target) == law_of[verifier].metrics
    path = path_law(STRING_RULES["slrs"].candidates(here), here.vocab_size)
    assert as_python(best_on_path(path, here)) == law_of["block"].block_efficiency
    bounds = spelled_optimum(here)
    assert bounds.lower <= law_of["block"].block_efficiency <= bounds.upper


def one_tokenizer(seed):
    """No token begins another, so that a text has one spelling."""
    tokens = [("a", "ba", "bb"), ("a", "b"), ("aa", "ab", "b")][seed]
    generator = np.random.default_rng(seed)

    def side():
        weights = generator.integers(1, 9, size=(len(tokens) + 1, len(tokens)))
        rows = [[str(Fraction(int(value), int(row.sum()))) for value in row] for row in weights]
        return {"tokens": list(tokens), "rows": dict(zip(["", *tokens], rows, strict=True))}

    return StringPair.from_dict({"target": side(), "draft": side()})


def test_nothing_is_drafted_where_the_draft_cannot_spell_the_text():
    pair = one_row("a b", HALF, "a aa", HALF)
    for rule in STRING_RULES.values():
        found = check_rule(rule, TextRoot(pair, (1,), 2, 2))
        assert found.lossless
        assert found.tokens == found.best == 1
    assert spelled_optimum(TextRoot(pair, (1,), 2, 2)).upper == 1
    assert check_rule(STRING_RULES["slrs"], TextRoot(pair, (0,), 2, 2)).tokens > 1


def test_the_new_tokens_are_those_after_the_longest_common_run():
    assert new_tokens([1, 2, 3], [2, 3, 4]) == (4,)
    assert new_tokens([1, 2, 3], [1, 2, 5, 6]) == (6,)  # the 3 stays as it was written; 5 is left out
    assert new_tokens([1], [2, 3]) == (2, 3)
    assert new_tokens([], [2]) == (2,)
    assert new_tokens([1, 2, 9, 3], [1, 2, 7, 3]) == ()


@pytest.mark.heavy
@pytest.mark.parametrize("seed", quick(range(6), [0]))
def test_candidates_are_those_of_transformers(seed):
    torch = pytest.importorskip("torch")
    module = pytest.importorskip("transformers.generation.candidate_generator")
    theirs = module.AssistedCandidateGeneratorDifferentTokenizers
    pair = StringPair.random(seed, target_size=5)

    def convert(ids, source_tokenizer, destination_tokenizer):
        return torch.tensor([destination_tokenizer.encode(source_tokenizer.decode(ids[0].tolist()))])

    for history in ((0,), (1,), (0, 1), (2, 0, 1), (4, 3)):
        here = TextRoot(pair, history, 2, 8)
        generator = SimpleNamespace(
            prev_assistant_ids=torch.tensor([here.start]), assistant_lookbehind=10, main_model_max_length=None,
            assistant_tokenizer=pair.draft_tokens, target_tokenizer=pair.target_tokens,
            convert_source_tokens_to_target_tokens=convert, _get_tokens_diag=theirs._get_tokens_diag,
        )  # fmt: skip
        for drafted in ((0, 1), (1, 1), (2, 0), (3, 3), (0, 3)):
            sequences = torch.tensor([here.start + drafted])
            ids = theirs._process_assistant_outputs(generator, torch.tensor([history]), sequences)[0].tolist()
            assert STRING_RULES["uag"].propose(here, drafted).path == tuple(ids[len(history) :])
