"""Every verifier on every scheme that its card claims, with every draft: laws, greedy texts, rows, caches, predictions.

In batches of 1 or 8, by turns.
"""

import dataclasses
from collections import Counter

import numpy as np
import pytest
import torch

from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import Budget, expected
from draftproof.experiments.models.loop.loop import Loop, State, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.drafts import KINDS, make_draft
from draftproof.experiments.models.pair.head import new_head
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.models.validate.agreement import compare
from draftproof.experiments.models.validate.checks import caches
from draftproof.simulator import Delayed
from draftproof.simulator.drafts import SCHEMES, DySpec, lossless_for
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import STANDALONE, make
from tests.experiments.models.drawn import CASES, PROMPTS, Watched, claims, drafted_rows_off
from tests.experiments.models.laws import LEVEL, ROOT, agrees, law_of_texts, many_texts

DRAFTS = ("network", *KINDS, *HEADS)
PAIRS = [(scheme, verifier) for scheme in CASES for verifier in claims(CASES[scheme][0])]
NAMES = [f"{scheme}, {verifier}" for scheme, verifier in PAIRS]
BATCHES = (1, 8)
#: Each pair in one of the sizes of batches, by turns.
IN_TURN = [(*pair, BATCHES[turn % 2]) for turn, pair in enumerate(PAIRS)]
MATRIX = [(draft, *pair) for draft in DRAFTS for pair in PAIRS]
WARM = Sampling(temperature=1.3)
#: float64 passes of other shapes sum in another order: some hundred roundings of 2^-53, of numbers up to 20.
TOLERANCE = 1e-10
#: Runs of a law, tokens of a greedy text and blocks of a cache, in batches of 1 and of 8.
RUNS, TOKENS, STEPS = {1: 120, 8: 400}, 10, {1: 8, 8: 5}
#: As many laws as there are pairs, which shall be wrong by chance once in a thousand times in all.
STRICT = LEVEL * 50 / len(PAIRS)
#: Exact laws by tables, or means of so many sampled trees where enumeration is too large; blocks of each cell.
BUDGET, BLOCKS = Budget(1_000_000, 300), 300
#: Mostly every token is the next one after the token before.
TEXT = [int(token) for token in (np.random.default_rng(0).random(600) < 0.8).cumsum() % 3]


def drafted_by(pair, kind):
    """The pair with a draft of this kind; heads are not trained, their rows are far from the target's."""
    if kind == "network":
        return pair
    if kind in HEADS:
        sizes = {"places": 2} if kind == "specblock" else {}
        return dataclasses.replace(pair, draft=new_head(pair.target, 0, kind, **sizes).eval().requires_grad_(False))
    spec = "early:layers=1" if kind == "early" else kind
    return dataclasses.replace(pair, draft=make_draft(spec, pair.target, TEXT))


def cell(pair, tree, verifier, runs=BLOCKS, drawn=None):
    """Blocks of the loop on `drawn`, by default the same tree that is predicted."""
    contexts = Contexts(pair, WARM, [tuple(ROOT)])
    prediction = expected(make(verifier), tree, contexts, BUDGET, np.random.default_rng(0))
    blocks = many_blocks(Loop(pair, WARM), make(verifier), drawn or tree, ROOT, runs, coin_for("numpy", 0))
    return compare(prediction, [blocks])


@pytest.fixture(scope="module")
def pair(random_pair):
    return random_pair(vocab=3, dtype=torch.float64)


@pytest.fixture(scope="module")
def close(random_pair):
    """A pair whose draft is often accepted."""
    return random_pair(vocab=3, dtype=torch.float64, noise=0.05)


@pytest.fixture(scope="module")
def law(close):
    return law_of_texts(close, 2, WARM)


@pytest.fixture(scope="module")
def greedy_texts(close):
    write = close.target.generate
    return [write(torch.tensor([each]), do_sample=False, max_new_tokens=TOKENS)[0].tolist() for each in PROMPTS]


def test_the_pairs_are_all_that_cards_claim():
    assert set(CASES) >= set(SCHEMES) - {"adaptive_dropping"}
    assert {name for _, name in PAIRS} >= {name for name in STANDALONE if lossless_for(make(name).card)}


@pytest.mark.one_in(200, first=2)
@pytest.mark.parametrize(("draft", "scheme", "verifier"), MATRIX, ids=map(", ".join, MATRIX))
def test_blocks_are_as_predicted(pair, draft, scheme, verifier):
    assert cell(drafted_by(pair, draft), CASES[scheme][0], verifier).agrees(len(MATRIX))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("scheme", [Delayed(3, 1, 2), DySpec(4)], ids=str)
@pytest.mark.parametrize("draft", DRAFTS)
def test_rows_and_caches_of_every_draft_are_those_of_plain_passes(pair, draft, scheme):
    drafting = drafted_by(pair, draft)
    off, compared = drafted_rows_off(drafting, scheme)
    assert off <= 1e-9  # what is left of rounding: passes of other shapes sum in another order
    assert compared > 15
    assert caches(Loop(drafting, Sampling()), make("traversal"), scheme, ROOT, 8, 0).passed


def test_rows_that_are_not_those_drafted_from_are_noticed(pair, monkeypatch):
    """A planted bug: the verifier is told that drafts came from another row."""
    honest = Loop.drafted

    def told(loop, *given):
        drafted = honest(loop, *given)
        for rows in drafted.rows:
            rows.known.update({context: row[::-1] for context, row in rows.known.items()})
        return drafted

    monkeypatch.setattr(Loop, "drafted", told)
    assert not cell(drafted_by(pair, "early"), CASES["delayed"][0], "traversal", 1500).agrees(len(MATRIX))


def test_a_tree_of_another_scheme_is_noticed(pair):
    assert not cell(pair, DySpec(4), "traversal", 500, DySpec(3)).agrees(len(MATRIX))


@pytest.mark.one_in(240, first=1)
@pytest.mark.parametrize(("scheme", "verifier", "batch"), IN_TURN, ids=NAMES)
def test_first_tokens_have_the_law_of_the_target(close, law, scheme, verifier, batch):
    loop, way = Loop(close, WARM), (make(verifier), CASES[scheme][0])
    texts = many_texts(loop, *way, ROOT, RUNS[batch], 2, coin_for("numpy", batch), batch)
    assert agrees(Counter(tuple(text) for text in texts.tolist()), law, STRICT)


@pytest.mark.heavy
def test_the_law_of_a_lossy_verifier_is_noticed(random_pair):
    """With as many runs as the larger batch has: fewer find larger faults alone."""
    far = random_pair(vocab=3, dtype=torch.float64, noise=0.3)
    loop, way = Loop(far, WARM), (make("naive_from_target"), CASES["delayed"][0])
    texts = many_texts(loop, *way, ROOT, RUNS[8], 2, coin_for("numpy", 8), 8)
    assert not agrees(Counter(tuple(text) for text in texts.tolist()), law_of_texts(far, 2, WARM), STRICT)


@pytest.mark.one_in(60, first=3)
@pytest.mark.parametrize(("scheme", "verifier", "batch"), IN_TURN, ids=NAMES)
def test_greedy_texts_are_those_of_generate(close, greedy_texts, scheme, verifier, batch):
    seen = Watched(close, CASES[scheme][0], verifier, PROMPTS[-batch:], Sampling(0)).run(TOKENS)
    for text, alone in zip(seen.texts, greedy_texts[-batch:], strict=True):
        assert text[: len(alone)] == alone


@pytest.mark.one_in(80, first=5)
@pytest.mark.parametrize(("scheme", "verifier", "batch"), IN_TURN, ids=NAMES)
def test_rows_and_caches_are_those_of_separate_passes(close, scheme, verifier, batch):
    seen = Watched(close, CASES[scheme][0], verifier, PROMPTS[-batch:], Sampling()).run(STEPS[batch])
    assert seen.rows_off() <= TOLERANCE
    assert seen.caches_off() <= TOLERANCE
    if batch == 1:  # no slot is left over
        ((text,), state) = seen.texts, seen.state
        assert (state.target.slots, state.draft.slots) == (len(text) - 1, len(text) - len(state.waiting[0]))


@pytest.mark.one_in(60)
@pytest.mark.parametrize(("scheme", "verifier"), PAIRS, ids=NAMES)
def test_torch_vectors_give_the_same_blocks(close, scheme, verifier):
    made = []
    for vectors in ("numpy", "torch"):
        loop, way = Loop(close, Sampling(), vectors), (make(verifier), CASES[scheme][0])
        state = State.joined([loop.start(prompt) for prompt in PROMPTS])
        made.append(loop.step(state, *way, coin_for("numpy", 3))[0])  # this coin takes both
    assert made[0] == made[1]
