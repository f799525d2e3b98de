"""The loop with every draft scheme, alone and in batches of texts of their own: rows, caches, greedy text, passes."""

import pytest
import torch

from draftproof.experiments.models.loop.generation import text_after
from draftproof.experiments.models.loop.loop import Loop, State, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.drafts import DySpec, Eagle2, OptTree, Sequoia, SpecHub, UserScheme, WithoutReplacement
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import PROMPTS, Twins

SIZE = 3


@pytest.fixture(scope="module")
def pair(random_pair):
    return random_pair(vocab=SIZE, dtype=torch.float64, noise=0.05)


def passes(pair, scheme, verifier, blocks=12):
    loop, way = Loop(pair, Sampling()), (make(verifier), scheme)
    state = State.joined([loop.start(prompt) for prompt in PROMPTS])
    return [block.passes for block in loop.step(state, *way, coin_for("numpy", 0))[0]]


@pytest.mark.heavy
def test_a_layer_is_one_pass_of_the_draft(pair):
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


def test_passes_of_a_sequence_do_not_depend_on_its_neighbours(pair):
    loop, way, greedy = Loop(pair, Sampling(0)), (make("nss"), DySpec(4)), coin_for("numpy", 0)
    together = loop.step(State.joined([loop.start(prompt) for prompt in PROMPTS]), *way, greedy)[0]
    assert together == [loop.step(loop.start(prompt), *way, greedy)[0][0] for prompt in PROMPTS]


class Deep:
    """Looks deeper than it says."""

    depth = 1

    def draw(self, draft, coin):
        token = coin.choose(draft.row(()))
        return [(coin.choose(draft.row((token,))),)]


class Strange:
    """Asks for what is no token."""

    depth = 2

    def draw(self, draft, coin):
        return [(coin.choose(draft.row((7,))),)]


class Changing:
    """Asks the coin something else each time."""

    depth = 2

    def __init__(self):
        self.times = 0

    def draw(self, draft, coin):
        self.times += 1
        first = coin.choose([self.times] * draft.vocab_size)
        return [(first, coin.choose(draft.row((first,))))]


class Writing:
    """Writes into a row that is not its own."""

    depth = 1

    def draw(self, draft, coin):
        row = draft.row(())
        row[0] = 0
        return [(coin.choose(row),)]


class Swallowing:
    """Catches whatever is raised where it asks for a row, and goes on with something of its own."""

    depth = 2

    def draw(self, draft, coin):
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
def test_what_is_no_scheme_is_one_clear_line(pair, scheme, said):
    with pytest.raises(InvalidInput, match=said):
        text_after(Loop(pair, Sampling()), make("nss"), scheme, [1], coin_for("numpy", 0), 9)


def test_a_scheme_that_swallows_what_stops_it_drafts_all_the_same(pair):
    loop, way = Loop(pair, Sampling()), (make("nss"), UserScheme(Swallowing()))
    blocks = many_blocks(loop, *way, [1], 20, coin_for("numpy", 0))
    assert {block.passes for block in blocks} == {1}
    assert {block.depth for block in blocks} == {0, 1}
