"""The loop with every draft scheme, alone and in batches of texts of their own: rows, caches, greedy text, passes."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.generation import text_after
from draftproof.experiments.models.loop.loop import Loop, State, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
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
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import CASES, PROMPTS, Twins, Watched

SIZE = 3
#: float64 passes of other shapes sum in another order: some hundred roundings of 2^-53, of numbers up to 20.
TOLERANCE = 1e-10


@pytest.fixture(scope="module")
def pair(random_pair: Callable[..., Any]) -> Any:
    return random_pair(vocab=SIZE, dtype=torch.float64, noise=0.05)


def test_every_scheme_has_a_case() -> None:
    assert set(CASES) >= set(SCHEMES) - {"adaptive_dropping"}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("verifier", "shape", "dtype"),
    [("specinfer", (4, 0, 2), "float64"), ("traversal", (3, 1, 3), "float32"), ("block", (1, 0, 4), "float32")],
    ids=str,
)
@torch.inference_mode()
def test_cache_after_200_blocks_is_one_rebuilt_from_scratch(
    random_pair: Callable[..., Any], verifier: str, shape: tuple[int, int, int], dtype: str
) -> None:
    """In float32, too: a kept token's keys come from the pass that read it, so that roundings do not add up."""
    pair = random_pair(dtype=getattr(torch, dtype), noise=0.03)
    seen = Watched(pair, Delayed(*shape), verifier, [[1, 2]], Sampling()).run(200)
    assert {block.depth for block in seen.blocks} == set(range(sum(shape[1:]) + 1))  # from all rejected to all accepted
    (text,), state = seen.texts, seen.state
    assert state.target.slots == len(text) - 1
    assert state.draft.slots == len(text) - len(state.waiting[0])
    assert seen.caches_off() <= {"float32": 1e-4, "float64": TOLERANCE}[dtype]


def test_a_batch_of_one_is_the_loop_itself(random_pair: Callable[..., Any]) -> None:
    loop, way, alone = Loop(random_pair(), Sampling()), (make("block"), Delayed(2, 1, 1)), coin_for("numpy", 3)
    start = loop.start([1, 2, 3])
    assert many_blocks(loop, *way, [1, 2, 3], 30, coin_for("numpy", 3), batch=1) == [
        loop.step(start, *way, alone)[0][0] for _ in range(30)
    ]


def passes(pair: Any, scheme: Any, verifier: str, blocks: int = 12) -> list[int]:
    loop, way = Loop(pair, Sampling()), (make(verifier), scheme)
    state = State.joined([loop.start(prompt) for prompt in PROMPTS])
    return [block.passes for block in loop.step(state, *way, coin_for("numpy", 0))[0]]


@pytest.mark.heavy
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
    loop, way, greedy = Loop(pair, Sampling(0)), (make("nss"), DySpec(4)), coin_for("numpy", 0)
    together = loop.step(State.joined([loop.start(prompt) for prompt in PROMPTS]), *way, greedy)[0]
    assert together == [loop.step(loop.start(prompt), *way, greedy)[0][0] for prompt in PROMPTS]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CASES)
def test_torch_vectors_draw_the_same_trees(pair: Any, name: str) -> None:
    scheme, verifier = CASES[name]
    made = []
    for vectors in ("numpy", "torch"):
        loop, way = Loop(pair, Sampling(), vectors), (make(verifier), scheme)
        made.append(loop.step(State.joined([loop.start(prompt) for prompt in PROMPTS]), *way, coin_for("numpy", 3))[0])
    assert made[0] == made[1]


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
        text_after(Loop(pair, Sampling()), make("nss"), scheme, [1], coin_for("numpy", 0), 9)


def test_a_scheme_that_swallows_what_stops_it_drafts_all_the_same(pair: Any) -> None:
    loop, way = Loop(pair, Sampling()), (make("nss"), UserScheme(Swallowing()))
    blocks = many_blocks(loop, *way, [1], 20, coin_for("numpy", 0))
    assert {block.passes for block in blocks} == {1}
    assert {block.depth for block in blocks} == {0, 1}
