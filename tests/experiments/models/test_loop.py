"""The loop beside the matrix: plain generation, coins, passes, what nodes tell, and what it refuses in one line."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from draftproof.experiments.models.loop.loop import Loop, State, many_blocks
from draftproof.experiments.models.loop.vectors import TorchCoin, coin_for
from draftproof.simulator import Delayed, InvalidInput, InvalidVerifier, Verdict
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import (
    SCHEMES,
    DySpec,
    Eagle2,
    OptTree,
    Sequoia,
    SpecHub,
    Stratified,
    UserScheme,
    WithoutReplacement,
)
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import PROMPTS, Twins, Watched, plain_text, text_after
from tests.experiments.models.laws import ROOT, agrees, tables


def test_plain_generation_draws_from_the_rows_of_plain_passes(random_pair):
    pair, sampling = random_pair(dtype=torch.float64), Sampling(temperature=0.8, top_k=5)
    coin, text = coin_for("numpy", 2), [1, 2]
    for _ in range(40):
        text.append(coin.choose(pair.rows("target", [text], sampling)[0].numpy()))
    assert list(plain_text(pair, [1, 2], sampling, coin_for("numpy", 2), 40)) == text[2:]


def test_blocks_without_drafts_are_plain_generation(random_pair):
    pair = random_pair(dtype=torch.float64)
    loop, way = Loop(pair, Sampling()), (make("naive"), Delayed(1, 0, 0))
    text = text_after(loop, *way, [1, 2], coin_for("numpy", 4), 40)
    assert text == plain_text(pair, [1, 2], Sampling(), coin_for("numpy", 4), 40)


def test_torch_coin_has_the_law_that_it_is_asked_for():
    coin = coin_for("torch", 0)
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0, 4.0, 0.0], dtype=torch.float64)
    chosen = Counter(coin.choose(weights) for _ in range(4000))
    assert set(chosen) == {1, 2, 4}
    assert agrees(chosen, {1: 0.125, 2: 0.375, 4: 0.5})
    heads = Counter(coin.flip(torch.tensor(0.3)) for _ in range(4000))
    assert agrees(heads, {True: 0.3, False: 0.7})
    assert not coin.flip(0)
    assert coin.flip(1)


def test_torch_coin_refuses_nonsense():
    coin = TorchCoin(torch.Generator().manual_seed(0))
    with pytest.raises(InvalidVerifier, match="must lie in"):
        coin.flip(1.5)
    for weights in ([0, 0], [float("nan"), 1]):
        with pytest.raises(InvalidVerifier, match="not all 0"):
            coin.choose(weights)


class Wanderer:
    """Accepts what was not drafted."""

    card = make("naive").card

    def verify(self, root, coin):
        return Verdict((7, 7, 7), 0)


class Loud(Wanderer):
    """Returns a token that does not exist."""

    def verify(self, root, coin):
        return Verdict((), 8)


def test_a_verifier_that_breaks_its_contract_is_named(random_pair):
    for verifier, words in ((Wanderer(), "no node of the draft tree"), (Loud(), "no token")):
        with pytest.raises(InvalidVerifier, match=words):
            text_after(Loop(random_pair(), Sampling()), verifier, Delayed(1, 0, 1), [1], coin_for("numpy", 0), 5)


def test_bad_input_is_one_clear_line(random_pair):
    pair, coin, naive, path = random_pair(), coin_for("numpy", 0), make("naive"), Delayed(1, 0, 2)
    loop, way = Loop(pair, Sampling()), (naive, path)
    with pytest.raises(InvalidInput, match="the prompt is empty"):
        text_after(loop, *way, [], coin, 5)
    with pytest.raises(InvalidInput, match=r"token 8; tokens are 0\.\.7"):
        text_after(loop, *way, [1, 8], coin, 5)
    with pytest.raises(InvalidInput, match="'delayed' is a name"):
        loop.step(loop.start([1]), naive, "delayed", coin)
    with pytest.raises(InvalidInput, match="unknown vectors 'jax'"):
        Loop(pair, Sampling(), "jax")
    short = Loop(random_pair(family="GPT2"), Sampling())
    with pytest.raises(InvalidInput, match="reads 64 tokens at most"):
        text_after(short, *way, [1], coin, 64)
    assert len(text_after(short, *way, [1], coin, 61)) == 61


def test_no_space_is_one_clear_line(random_pair, monkeypatch):
    pair, other = random_pair(), random_pair()
    loop, way = Loop(pair, Sampling()), (make("naive"), Delayed(1, 0, 2))
    state = loop.start([1, 2])

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore words")

    for each in (pair, other):
        monkeypatch.setattr(each.target, "forward", full)
    for act in (
        lambda: loop.step(state, *way, coin_for("numpy", 0)),
        lambda: loop.start([1, 2]),
        lambda: Loop(other, Sampling()),  # one that was not tried yet
        lambda: plain_text(pair, [1, 2], Sampling(), coin_for("numpy", 0), 2),
    ):
        with pytest.raises(InvalidInput, match="no space on cpu") as caught:
            act()
        assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def pair(random_pair):
    return random_pair(vocab=3, dtype=torch.float64, noise=0.05)


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


WARM = Sampling(temperature=1.3)


def plain(tree):
    return tuple(sorted(tree.children.items())), tuple(sorted(tree.pieces.items(), key=str))


@pytest.mark.heavy
@pytest.mark.parametrize(("depth", "runs"), [(2, 2_000), pytest.param(4, 20_000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", ["stratified", "systematic"])
def test_three_branches_have_their_joint_law(random_pair, name, depth, runs):
    """With `top_k` two tokens are left after each context."""
    scheme, sampling = SCHEMES[name](3, 0, depth), Sampling(temperature=1.3, top_k=2)
    pair = random_pair(vocab=3)
    rows, law = tables(pair, "draft", depth - 1, sampling), Counter[Any]()
    for tree, mass in outcomes(lambda coin: scheme.draw(rows, coin), FLOAT64):
        law[plain(tree)] += mass
    loop, coin = Loop(pair, sampling), coin_for("numpy", 0)
    state = loop.start(ROOT).repeated(500)
    seen = Counter(plain(tree) for _ in range(runs // 500) for tree in loop.drafted(state, scheme, coin).trees)
    assert set(seen) <= set(law)
    assert agrees(seen, law)


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_nodes_tell_the_laws_that_their_drafts_have(random_pair, vectors):
    watched = Watched(random_pair(vocab=3), Stratified(3, 1, 2), "block", PROMPTS, WARM)
    watched.loop = Loop(watched.loop.pair, WARM, vectors)
    told = 0
    for _, nodes in watched.run(4).seen:
        for node in nodes:
            assert len(node.laws) == len(node.children)
            for token, law in zip(node.children, node.laws, strict=True):
                told += law is not node.draft
                assert float(law[token]) > 0
                assert float(law.sum()) == pytest.approx(1, abs=1e-12)
        fork = nodes[1]
        mean = sum(np.asarray(law) for law in fork.laws) / 3
        assert mean == pytest.approx(np.asarray(fork.draft), abs=1e-12)
    assert told > 3 * len(watched.seen)
