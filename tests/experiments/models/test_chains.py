"""Drafts that write by speculative decoding: their law, their passes and caches, and what is refused."""

import copy
import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from draftproof import generate_with
from draftproof.experiments.models.loop import chains
from draftproof.experiments.models.loop.drafting import nodes_of
from draftproof.experiments.models.loop.loop import Loop, many_blocks, many_texts
from draftproof.experiments.models.loop.setting import setting
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.measure.choose import planned
from draftproof.experiments.models.measure.passes import measured_times
from draftproof.experiments.models.pair.chained import Chained
from draftproof.experiments.models.pair.drafts import make_draft, parse_draft
from draftproof.experiments.models.pair.pair import Pair, load_folder, load_pair, pair_digest
from draftproof.experiments.models.validate.checks import caches
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.protocol import Verdict
from draftproof.verifiers import make
from tests.experiments.models.laws import ROOT, agrees, law_of_blocks, law_of_texts
from tests.quick import quick

WARM = Sampling(temperature=1.3)
PATH = Delayed(1, 0, 4)
TEXT = [token * token % 3 for token in range(99)]
#: The small models; the first is also tested with the fast tests.
SMALL = ("lookup:n=2,fresh=0.3", "ngram:order=2", "early:layers=1")


def chained(pair: Pair, small: str = SMALL[0], length: int = 2) -> Pair:
    """The same target; its draft is written by the draft of the pair with a small model."""
    return dataclasses.replace(pair, draft=Chained(pair.draft, make_draft(small, pair.target, TEXT), length))


def drafted_law(pair: Pair, length: int) -> dict[tuple[int, ...], float]:
    """The law of the middle model's first tokens after the root."""
    return law_of_texts(dataclasses.replace(pair, target=pair.draft), length, WARM)


@pytest.mark.parametrize("verifier", quick(("block", "naive", "traversal"), ("block",)))
@pytest.mark.parametrize("small", quick(SMALL, SMALL[:1]))
def test_blocks_have_the_law_of_drafts_of_the_middle_model(
    random_pair: Callable[..., Pair], small: str, verifier: str
) -> None:
    pair = chained(random_pair(vocab=3), small)
    blocks = many_blocks(Loop(pair, make(verifier), PATH, WARM), ROOT, 500, coin_for("numpy", 0))
    counts = Counter((block.accepted, block.correction) for block in blocks)
    assert agrees(counts, law_of_blocks(make(verifier), pair, PATH, WARM))
    assert sum(block.passes for block in blocks) < 0.7 * PATH.depth * len(blocks)


@pytest.mark.parametrize("length", quick((1, 2, 5), (5,)))
def test_paths_have_the_law_of_the_middle_model_and_texts_that_of_the_target(
    random_pair: Callable[..., Pair], length: int
) -> None:
    pair = chained(random_pair(vocab=3), length=length)
    loop = Loop(pair, make("block"), Delayed(1, 1, 2), WARM)
    drafted = loop.drafted(loop.start(ROOT).repeated(400), coin_for("numpy", 0))
    paths = Counter(nodes_of(tree)[-1] for tree in drafted.trees)
    assert agrees(paths, drafted_law(pair, 3))
    texts = many_texts(loop, ROOT, 300, 3, coin_for("numpy", 1))
    assert agrees(Counter(tuple(text) for text in texts.tolist()), law_of_texts(pair, 3, WARM))


def test_a_chain_that_takes_what_the_small_model_drafts_is_noticed(
    random_pair: Callable[..., Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted bug: the verifier of the chain accepts everything."""

    class Accepting:
        def verify(self, root: Any, coin: Any) -> Any:
            node, accepted = root, ()
            while node.children:
                accepted, node = (*accepted, node.children[0]), node.child(node.children[0])
            return Verdict(accepted, coin.choose(node.target))

    monkeypatch.setattr(chains, "make", lambda name: Accepting())
    pair = chained(random_pair(vocab=3))
    drafted = Loop(pair, make("block"), PATH, WARM)
    texts = many_texts(drafted, ROOT, 400, 3, coin_for("numpy", 1))
    assert not agrees(Counter(tuple(text) for text in texts.tolist()), law_of_texts(pair, 3, WARM))


def test_rows_and_caches_of_many_blocks_are_those_of_plain_passes(random_pair: Callable[..., Pair]) -> None:
    pair = chained(random_pair(vocab=3, dtype=torch.float64), "early:layers=1")
    loop = Loop(pair, make("block"), PATH, Sampling())
    state, text, passes, compared = loop.start(ROOT), list(ROOT), 0, 0
    for seed in range(6):
        known = loop.drafted(state, coin_for("numpy", seed)).rows[0].known
        for context, row in known.items():
            # What is left of rounding: passes of other shapes sum in another order.
            assert row == pytest.approx(pair.rows("draft", [[*text, *context]])[0].numpy(), abs=1e-9)
        compared += len(known)
        (block,), state = loop.step(state, coin_for("numpy", seed))
        text, passes = [*text, *block.tokens], passes + block.passes
    assert compared >= 6 * PATH.depth > passes
    assert caches(loop, ROOT, 8, 0).passed


def test_a_small_model_that_is_the_middle_one_leaves_it_one_pass(random_pair: Callable[..., Pair]) -> None:
    pair = random_pair(vocab=3, dtype=torch.float64)
    same = dataclasses.replace(pair, draft=Chained(pair.draft, copy.deepcopy(pair.draft), 3))
    blocks = many_blocks(Loop(same, make("block"), PATH, WARM), ROOT, 50, coin_for("numpy", 0))
    assert {block.passes for block in blocks} == {1}


def test_a_text_alone_and_in_a_batch_and_greedy_text_is_that_of_generate(random_pair: Callable[..., Pair]) -> None:
    pair = random_pair(dtype=torch.float64)
    draft = Chained(pair.draft, make_draft("lookup", pair.target))
    prompts = torch.tensor([[0, 0, 3, 1, 2, 3], [5, 4, 5, 4, 5, 4]])
    mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1] * 6])
    asked: dict[str, Any] = {"assistant_model": draft, "max_new_tokens": 8, "pad_token_id": 0}
    ours = generate_with("block", Delayed(1, 0, 3), seed=5)
    both = pair.target.generate(prompts, attention_mask=mask, custom_generate=ours, do_sample=True, **asked)
    alone = pair.target.generate(prompts[:1, 2:], custom_generate=ours, do_sample=True, **asked)
    assert both[0, 6:].tolist() == alone[0, 4:].tolist()
    asked |= {"max_new_tokens": 12, "do_sample": False}
    greedy = pair.target.generate(prompts[1:], **{**asked, "assistant_model": None})
    assert torch.equal(pair.target.generate(prompts[1:], custom_generate=ours, **asked), greedy)
    assert torch.equal(pair.target.generate(prompts[1:], **asked), greedy)  # assisted by the middle model alone


def test_a_chain_is_loaded_by_name(tiny_folder: Path, tiny_recipe: Any) -> None:
    folder, text = str(tiny_folder), tiny_recipe.corpus.training
    made = load_folder(folder, "cpu", draft="chain:small=lookup:n=2,fresh=0.2,length=3")
    assert made.names[1] == f"chain:middle={folder}/draft,small=lookup:n=2,fresh=0.2,length=3"
    assert (made.draft.length, made.draft.small.config.numbers) == (3, (2.0, 0.2))
    named = load_pair(f"{folder}/target", f"chain:middle=early:layers=1,small={folder}/draft", "cpu", text=text)
    assert torch.equal(named.draft.small.lm_head.weight, made.draft.wrapped_model.lm_head.weight)
    counted = load_folder(folder, "cpu", draft="chain:small=ngram:order=2", text=text)
    digests = {pair_digest(each) for each in (made, named, counted, load_folder(folder, "cpu"))}
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("chain", "'' is no option of chain"),
        ("chain:length=2", "the small model is missing; write chain:middle=FOLDER,small=lookup"),
        ("chain:small=lookup,length=0", "length=0 must be a whole number of at least 1"),
        ("chain:small=lookup,small=ngram", "it is there twice"),
        ("chain:small=lookup:order=2", "'order=2' is no option of lookup"),
        ("chain:small=eagle:x", "a chain takes a folder, lookup, ngram or early"),
        ("chain:small=chain:small=lookup", "it is there twice|a chain takes a folder"),
    ],
)
def test_wrong_specs_are_refused_in_a_line(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        parse_draft(text)
    assert "\n" not in str(refused.value)


def test_what_cannot_be_chained_is_refused(random_pair: Callable[..., Pair]) -> None:
    pair = random_pair(vocab=3)
    with pytest.raises(InvalidInput, match="a chain drafts one path of one length; give such trees: --K 1"):
        Loop(chained(pair), make("traversal"), Delayed(2, 0, 2), WARM)
    with pytest.raises(InvalidInput, match="of length 0: the small model drafts at least 1 token"):
        chained(pair, length=0)
    with pytest.raises(InvalidInput, match="the small model of a chain is a ParallelModel"):
        chained(pair, "parallel:order=1,depth=2")
    with pytest.raises(InvalidInput, match="has 3 tokens, the small one 8"):
        Chained(pair.draft, make_draft("lookup", random_pair().target))
    with pytest.raises(InvalidInput, match="say which model it drafts for: chain:middle=FOLDER,small=lookup"):
        load_pair("target", "chain:small=lookup")
    with pytest.raises(InvalidInput, match="make_draft takes a chain of lookup, ngram or early"):
        make_draft("chain:small=lookup", pair.target)


def test_choose_takes_the_single_paths_and_times_of_passes_are_refused(random_pair: Callable[..., Pair]) -> None:
    pair = chained(random_pair(vocab=3))
    where = setting(pair, WARM, [tuple(ROOT)], 0)
    kept, notes = planned([Delayed(1, 0, 2), Delayed(2, 0, 2), Delayed(1, 1, 3)], where)
    assert kept == [Delayed(1, 0, 2), Delayed(1, 1, 3)]
    assert notes == ["left out: 1 of 3 trees; a chain drafts single paths"]
    with pytest.raises(InvalidInput, match="a chain drafts one path of one length"):
        planned([Delayed(2, 0, 2)], where)
    with pytest.raises(InvalidInput, match="a chain takes no fixed number of passes for a path"):
        measured_times(pair, 4, [PATH])
