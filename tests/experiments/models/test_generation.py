"""The loop samples the law that the simulator computes, and says what is wrong with what it is given."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.generation import ending, pieces, plain_text, text_after
from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import TorchCoin, coin_for
from draftproof.simulator import Coin, Delayed, DraftNode, InvalidInput, InvalidVerifier, Verdict
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import STANDALONE, make
from tests.experiments.models.laws import ROOT, SIZE, agrees, law_of_blocks, many_texts


@pytest.mark.heavy
def test_blocks_of_a_wrong_verifier_do_not_have_the_law_of_the_right_one(random_pair: Callable[..., Any]) -> None:
    pair, scheme = random_pair(vocab=SIZE), Delayed(1, 0, 2)
    blocks = many_blocks(Loop(pair, Sampling()), make("naive_from_target"), scheme, ROOT, 4000, coin_for("numpy", 0))
    seen = Counter((block.accepted, block.correction) for block in blocks)
    assert not agrees(seen, law_of_blocks(make("naive"), pair, scheme, Sampling()))
    assert agrees(seen, law_of_blocks(make("naive_from_target"), pair, scheme, Sampling()))


@pytest.mark.heavy
def test_blocks_with_torch_vectors_and_a_torch_coin_have_the_exact_law(random_pair: Callable[..., Any]) -> None:
    pair, scheme, sampling = random_pair(vocab=SIZE), Delayed(2, 1, 1), Sampling(top_p=0.95)
    loop, way = Loop(pair, sampling, vectors="torch"), (make("specinfer"), scheme)
    seen = Counter(
        (block.accepted, block.correction) for block in many_blocks(loop, *way, ROOT, 3000, coin_for("torch", 0))
    )
    assert agrees(seen, law_of_blocks(make("specinfer"), pair, scheme, sampling))


def test_plain_generation_draws_from_the_rows_of_plain_passes(random_pair: Callable[..., Any]) -> None:
    pair, sampling = random_pair(dtype=torch.float64), Sampling(temperature=0.8, top_k=5)
    coin, text = coin_for("numpy", 2), [1, 2]
    for _ in range(40):
        text.append(coin.choose(pair.rows("target", [text], sampling)[0].numpy()))
    assert list(plain_text(pair, [1, 2], sampling, coin_for("numpy", 2), 40)) == text[2:]


def test_blocks_without_drafts_are_plain_generation(random_pair: Callable[..., Any]) -> None:
    pair = random_pair(dtype=torch.float64)
    loop, way = Loop(pair, Sampling()), (make("naive"), Delayed(1, 0, 0))
    text = text_after(loop, *way, [1, 2], coin_for("numpy", 4), 40)
    assert text == plain_text(pair, [1, 2], Sampling(), coin_for("numpy", 4), 40)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("name", [name for name in STANDALONE if name != "spechub"])  # it has its own pairs
def test_every_verifier_gives_the_same_blocks_on_numpy_and_torch_vectors(
    random_pair: Callable[..., Any], name: str
) -> None:
    made = {}
    for vectors in ("numpy", "torch"):
        loop, way = Loop(random_pair(vocab=4), Sampling(), vectors), (make(name), Delayed(2, 1, 2))
        made[vectors] = many_blocks(loop, *way, [1, 2], 12, coin_for("numpy", 5))  # this coin takes both
    assert made["numpy"] == made["torch"]
    assert all(block.depth <= 3 for block in made["numpy"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_greedy_text_with_and_without_drafts_is_that_of_generate(random_pair: Callable[..., Any], vectors: str) -> None:
    pair, prompt, tokens = random_pair(noise=0.02), [1, 2, 3], 60
    ids = pair.target.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=tokens)
    expected = tuple(ids[0, 3:].tolist())
    assert len(set(expected)) > 3
    coin = coin_for(vectors, 0)
    assert plain_text(pair, prompt, Sampling(0), coin, tokens, vectors) == expected
    for name, shape in (("gbv", (3, 1, 2)), ("block", (1, 3, 0))):
        loop, way = Loop(pair, Sampling(0), vectors), (make(name), Delayed(*shape))
        written = list(pieces(loop, *way, [prompt], coin, tokens, ending(tokens)))
        assert tuple(token for piece in written for token in piece.tokens) == expected
        assert tokens > 1.5 * len(written)  # drafts were accepted


def test_torch_coin_has_the_law_that_it_is_asked_for() -> None:
    coin = coin_for("torch", 0)
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0, 4.0, 0.0], dtype=torch.float64)
    chosen = Counter(coin.choose(weights) for _ in range(4000))
    assert set(chosen) == {1, 2, 4}
    assert agrees(chosen, {1: 0.125, 2: 0.375, 4: 0.5})
    heads = Counter(coin.flip(torch.tensor(0.3)) for _ in range(4000))
    assert agrees(heads, {True: 0.3, False: 0.7})
    assert not coin.flip(0)
    assert coin.flip(1)


def test_torch_coin_refuses_nonsense() -> None:
    coin = TorchCoin(torch.Generator().manual_seed(0))
    with pytest.raises(InvalidVerifier, match="must lie in"):
        coin.flip(1.5)
    for weights in ([0, 0], [float("nan"), 1]):
        with pytest.raises(InvalidVerifier, match="not all 0"):
            coin.choose(weights)


def test_a_text_ends_where_it_is_told(random_pair: Callable[..., Any]) -> None:
    loop, way, coin = Loop(random_pair(), Sampling()), (make("specinfer"), Delayed(2, 0, 3)), coin_for("numpy", 0)
    assert len(text_after(loop, *way, [1, 2], coin, 25)) == 25
    stopped = text_after(loop, *way, [1, 2], coin, 300, {4})
    assert stopped.index(4) == len(stopped) - 1


def test_seconds_of_the_parts_are_within_the_time_it_took(random_pair: Callable[..., Any]) -> None:
    loop, way = Loop(random_pair(), Sampling()), (make("naive"), Delayed(1, 0, 2))
    started = loop.watch.now()
    text_after(loop, *way, [1], coin_for("numpy", 0), 20)
    elapsed = loop.watch.now() - started
    assert all(seconds >= 0 for seconds in loop.watch.seconds.values())
    assert loop.watch.seconds["draft"] > 0
    assert loop.watch.seconds["target"] > 0
    assert sum(loop.watch.seconds.values()) <= elapsed


class Wanderer:
    """Accepts what was not drafted."""

    card = make("naive").card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return Verdict((7, 7, 7), 0)


class Loud(Wanderer):
    """Returns a token that does not exist."""

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return Verdict((), 8)


def test_a_verifier_that_breaks_its_contract_is_named(random_pair: Callable[..., Any]) -> None:
    for verifier, words in ((Wanderer(), "no node of the draft tree"), (Loud(), "no token")):
        with pytest.raises(InvalidVerifier, match=words):
            text_after(Loop(random_pair(), Sampling()), verifier, Delayed(1, 0, 1), [1], coin_for("numpy", 0), 5)


def test_bad_input_is_one_clear_line(random_pair: Callable[..., Any]) -> None:
    pair, coin, naive, path = random_pair(), coin_for("numpy", 0), make("naive"), Delayed(1, 0, 2)
    loop, way = Loop(pair, Sampling()), (naive, path)
    with pytest.raises(InvalidInput, match="the prompt is empty"):
        text_after(loop, *way, [], coin, 5)
    with pytest.raises(InvalidInput, match=r"token 8; tokens are 0\.\.7"):
        text_after(loop, *way, [1, 8], coin, 5)
    with pytest.raises(InvalidInput, match="'delayed' is a name"):
        loop.step(loop.start([1]), naive, "delayed", coin)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="unknown vectors 'jax'"):
        Loop(pair, Sampling(), "jax")
    short = Loop(random_pair(family="GPT2"), Sampling())
    with pytest.raises(InvalidInput, match="reads 64 tokens at most"):
        text_after(short, *way, [1], coin, 64)
    assert len(text_after(short, *way, [1], coin, 61)) == 61


@pytest.mark.heavy
def test_a_run_may_be_far_ahead_of_others_only_where_there_are_positions(random_pair: Callable[..., Any]) -> None:
    pair = random_pair(family="GPT2", noise=0.05, fields={"n_positions": 40})
    loop, way = Loop(pair, Sampling()), (make("block"), Delayed(1, 0, 9))
    with pytest.raises(InvalidInput, match="reads 40 tokens at most"):
        many_texts(loop, *way, ROOT, 256, 4, coin_for("numpy", 1))
    assert many_texts(loop, *way, ROOT[:2], 256, 3, coin_for("numpy", 1)).shape == (256, 3)


def test_no_space_is_one_clear_line(random_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pair, other = random_pair(), random_pair()
    loop, way = Loop(pair, Sampling()), (make("naive"), Delayed(1, 0, 2))
    state = loop.start([1, 2])

    def full(*_: Any, **__: Any) -> Any:
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
