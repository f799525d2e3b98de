"""The loop with every draft scheme, alone and in batches of texts of their own: rows, caches, greedy text, passes."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.generation import generate
from draftproof.experiments.models.loop.loop import Loop, State
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.drafts import (
    SCHEMES,
    DySpec,
    Eagle2,
    OptTree,
    Sequoia,
    SpecHub,
    UserScheme,
    WithoutReplacement,
)
from draftproof.verifiers import make
from tests.experiments.models.drawn import CASES, PROMPTS, Twins, Watched
from tests.quick import by_turns

SIZE = 3
#: float64 passes of other shapes sum in another order: some hundred roundings of 2^-53, of numbers up to 20.
TOLERANCE = 1e-10
#: Of greedy texts.
TOKENS = 12


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(vocab=SIZE, dtype=torch.float64, noise=0.05)


@pytest.fixture(scope="module")
def greedy_texts(pair: Any) -> list[list[int]]:
    """What `generate` makes of each prompt."""
    write = pair.target.generate
    return [write(torch.tensor([each]), do_sample=False, max_new_tokens=TOKENS)[0].tolist() for each in PROMPTS]


def watched(pair: Any, name: str, batch: int, warp: Warp | None = None) -> Watched:
    scheme, verifier = CASES[name]
    return Watched(pair, scheme, verifier, PROMPTS[-batch:], warp or Warp())


def test_every_scheme_has_a_case() -> None:
    assert set(CASES) >= set(SCHEMES) - {"adaptive_dropping"}


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.heavy), 8])
@pytest.mark.parametrize("name", by_turns(CASES))
def test_rows_and_caches_are_those_of_separate_passes(pair: Any, name: str, batch: int) -> None:
    seen = watched(pair, name, batch).run(24 // batch + 6)
    assert seen.rows_off() <= TOLERANCE
    assert seen.caches_off() <= TOLERANCE
    assert batch == 1 or len({len(text) - len(start) for text, start in zip(seen.texts, PROMPTS, strict=True)}) > 1
    assert len({block.depth for block in seen.blocks}) > 1
    assert all(text[-len(left) :] == list(left) for text, left in zip(seen.texts, seen.state.waiting, strict=True))


@pytest.mark.parametrize("batch", [pytest.param(1, marks=pytest.mark.heavy), 8])
@pytest.mark.parametrize("name", by_turns(CASES, 2, 1))
def test_greedy_texts_are_those_of_generate(pair: Any, greedy_texts: list[list[int]], name: str, batch: int) -> None:
    seen = watched(pair, name, batch, Warp(0)).run(TOKENS)
    for text, expected in zip(seen.texts, greedy_texts[-batch:], strict=True):
        assert text[: len(expected)] == expected


def passes(pair: Any, scheme: Any, verifier: str, blocks: int = 12) -> list[int]:
    loop = Loop(pair, make(verifier), scheme, Warp())
    state = State.joined([loop.start(prompt) for prompt in PROMPTS])
    return [block.passes for block in loop.blocks(state, coin_for("numpy", 0))]


def test_a_layer_is_one_pass_of_the_draft(pair: Any) -> None:
    for depth in range(4):
        assert set(passes(pair, Delayed(3, 0, depth) if depth else Delayed(1, 0, 0), "naive")) == {depth}
        assert set(passes(pair, Eagle2(2, depth, 6), "nss")) == {depth}
        assert set(passes(pair, SpecHub(depth), "nss")) == {depth}
        assert set(passes(pair, WithoutReplacement(2, 0, depth) if depth else Delayed(1, 0, 0), "nss")) == {depth}
    assert set(passes(pair, Sequoia(5, 3, (3, 1, 0, 0, 1, 0)), "nss")) == {3}
    assert max(passes(pair, OptTree(4), "nss")) <= 4
    by_token = passes(pair, DySpec(4), "nss")
    assert set(by_token) <= {1, 2, 3, 4}
    assert max(by_token) > 1
    assert set(passes(pair, UserScheme(Twins()), "nss")) == {2, 3}  # path by path: the second is another one, or not


def test_passes_of_a_sequence_do_not_depend_on_its_neighbours(pair: Any) -> None:
    loop, greedy = Loop(pair, make("nss"), DySpec(4), Warp(0)), coin_for("numpy", 0)
    together = loop.blocks(State.joined([loop.start(prompt) for prompt in PROMPTS]), greedy)
    assert together == [loop.blocks(loop.start(prompt), greedy)[0] for prompt in PROMPTS]


@pytest.mark.parametrize("name", CASES)
def test_torch_vectors_draw_the_same_trees(pair: Any, name: str) -> None:
    scheme, verifier = CASES[name]
    made = []
    for vectors in ("numpy", "torch"):
        loop = Loop(pair, make(verifier), scheme, Warp(), vectors)
        made.append(loop.blocks(State.joined([loop.start(prompt) for prompt in PROMPTS]), coin_for("numpy", 3)))
    assert made[0] == made[1]


def test_distances_are_means_over_drafted_entries(pair: Any) -> None:
    loop = Loop(pair, make("nss"), Eagle2(2, 3, 4), Warp(), observe=True)
    watched_loop = Watched(pair, Eagle2(2, 3, 4), "nss", PROMPTS[:1], Warp())
    (block,) = loop.blocks(loop.start(PROMPTS[0]), coin_for("numpy", 0))
    nodes = watched_loop.run(1).seen[0][1]
    by_depth: dict[int, list[float]] = {}
    for node in nodes:
        if node.children:
            by_depth.setdefault(len(node.context), []).append(float(abs(node.target - node.draft).sum()))
    assert list(block.distances) == pytest.approx([sum(each) / len(each) for each in by_depth.values()], abs=1e-9)


class Deep:
    """Looks deeper than it says."""

    depth = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        token = coin.choose(draft.row(()))
        return [(coin.choose(draft.row((token,))),)]


class Strange:
    """Asks for what is no token."""

    depth = 2

    def draw(self, draft: Any, coin: Any) -> Any:
        return [(coin.choose(draft.row((7,))),)]


class Changing:
    """Asks the coin something else each time."""

    depth = 2

    def __init__(self) -> None:
        self.times = 0

    def draw(self, draft: Any, coin: Any) -> Any:
        self.times += 1
        first = coin.choose([self.times] * draft.vocab_size)
        return [(first, coin.choose(draft.row((first,))))]


class Writing:
    """Writes into a row that is not its own."""

    depth = 1

    def draw(self, draft: Any, coin: Any) -> Any:
        row = draft.row(())
        row[0] = 0
        return [(coin.choose(row),)]


class Swallowing:
    """Catches whatever is raised where it asks for a row, and goes on with something of its own."""

    depth = 2

    def draw(self, draft: Any, coin: Any) -> Any:
        try:
            row = draft.row(())
        except BaseException:
            return []
        return [(coin.choose(row),)]


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        (UserScheme(Deep()), r"Deep asked for the row after \(\d,\); its depth allows 0 tokens"),
        (UserScheme(Strange()), r"Strange asked for the row after \(7,\); tokens are 0\.\.2"),
        (UserScheme(Changing()), "Changing asked the coin two things after the same answers"),
        (UserScheme(Writing()), "Writing: draw raised ValueError"),
        (Twins(), "Twins has no .*completes it"),
        (Sequoia(3, 2), "has no tree yet"),
        (SpecHub, "is a class, not a scheme"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "said",
)
def test_what_is_no_scheme_is_one_clear_line(pair: Any, scheme: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        generate(pair, make("nss"), scheme, [1], Warp(), coin_for("numpy", 0), blocks=3)


def test_a_scheme_that_swallows_what_stops_it_drafts_all_the_same(pair: Any) -> None:
    made = generate(pair, make("nss"), UserScheme(Swallowing()), [1], Warp(), coin_for("numpy", 0), blocks=20)
    assert {block.passes for block in made.blocks} == {1}
    assert {block.depth for block in made.blocks} == {0, 1}
