"""The loop samples the law that the simulator computes, and says what is wrong with what it is given."""

from collections import Counter

import pytest
import torch

from draftproof.experiments.models.loop.generation import plain_text, text_after
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.vectors import TorchCoin, coin_for
from draftproof.simulator import Delayed, InvalidInput, InvalidVerifier, Verdict
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.laws import agrees


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


def test_a_text_ends_where_it_is_told(random_pair):
    loop, way, coin = Loop(random_pair(), Sampling()), (make("specinfer"), Delayed(2, 0, 3)), coin_for("numpy", 0)
    assert len(text_after(loop, *way, [1, 2], coin, 25)) == 25
    stopped = text_after(loop, *way, [1, 2], coin, 300, {4})
    assert stopped.index(4) == len(stopped) - 1


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
