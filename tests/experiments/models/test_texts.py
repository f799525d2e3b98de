"""Texts of a batch: each is what it is alone, ends where it should, leaves, is gone on from; mixing up is noticed."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.caches import ModelCache
from draftproof.experiments.models.loop.generation import pieces
from draftproof.experiments.models.loop.loop import Loop, State
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import CASES, PROMPTS

SIZE = 3
#: Texts leave the batch at these lengths, one after the other.
LENGTHS = (9, 4, 16, 6, 12, 7, 14, 5)
SEEDS = range(40, 40 + len(PROMPTS))


def coins():
    """One for each text."""
    return [coin_for("numpy", seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def pair(random_pair):
    return random_pair(vocab=SIZE, dtype=torch.float64, noise=0.05)  # rounding is far below what moves a draw


def texts(loop, way, prompts, coin, lengths=LENGTHS):
    """way: a verifier and a scheme."""
    found = [[] for _ in prompts]
    for piece in pieces(loop, *way, prompts, coin, max(lengths), lambda text, tokens: len(tokens) >= lengths[text]):
        found[piece.text] += piece.tokens
    return [tuple(each) for each in found]


def alone(loop, way):
    every = zip(PROMPTS, SEEDS, LENGTHS, strict=True)
    return [texts(loop, way, [prompt], coin_for("numpy", seed), [length])[0] for prompt, seed, length in every]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name", [each if each in ("delayed", "dyspec") else pytest.param(each, marks=pytest.mark.heavy) for each in CASES]
)
def test_a_text_is_the_same_alone_and_in_a_batch_of_eight(pair, name):
    scheme, verifier = CASES[name]
    loop, way = Loop(pair, Sampling(1.3)), (make(verifier), scheme)
    expected = alone(loop, way)
    assert texts(loop, way, PROMPTS, coins()) == expected
    assert texts(loop, way, PROMPTS, coin_for("numpy", 40)) != expected  # one coin for all: they hang on each other


def test_pieces_are_blocks_cut_where_the_text_ends(pair):
    loop, way, most, stop = Loop(pair, Sampling()), (make("traversal"), Delayed(3, 0, 2)), 5, {2}

    def ends(_, tokens):
        return len(tokens) >= most or tokens[-1] in stop

    found = list(pieces(loop, *way, PROMPTS, coins(), most, ends))
    for text in range(len(PROMPTS)):
        own = [piece for piece in found if piece.text == text]
        assert [piece.last for piece in own] == [False] * (len(own) - 1) + [True]
        assert all(piece.tokens == piece.block.tokens for piece in own[:-1])
        assert own[-1].tokens == own[-1].block.tokens[: len(own[-1].tokens)]
        tokens = [token for piece in own for token in piece.tokens]
        assert len(tokens) <= most
        assert len(tokens) == most or tokens[-1] in stop
        assert not stop & set(tokens[:-1])


def test_what_no_batch_can_be_made_of_is_one_clear_line(pair):
    loop, way = Loop(pair, Sampling()), (make("nss"), Delayed(1, 0, 1))
    with pytest.raises(InvalidInput, match="no prompts"):
        list(pieces(loop, *way, [], coin_for("numpy", 0), 1, lambda *_: True))
    with pytest.raises(InvalidInput, match="1 coins for 2 texts"):
        texts(loop, way, [[1], [2]], coins()[:1])


def changing(monkeypatch, kind, change):
    """After `only` the texts that stay are changed. change: of those before, those after, and the places that stay."""
    only = kind.only
    monkeypatch.setattr(kind, "only", lambda self, places: change(self, only(self, places), places))


def taking_the_first_caches(monkeypatch):
    only = ModelCache.only
    changing(monkeypatch, ModelCache, lambda before, _, places: only(before, range(len(places))))


def taking_the_first_tokens(monkeypatch):
    changing(monkeypatch, State, lambda before, after, places: replace(after, texts=before.texts[: len(places)]))


def dropping_the_last_slots(monkeypatch):
    """As many slots as the longest text has tokens, though they need not be the first."""

    def cut(_, after, __):
        most = int(after.lengths.max())
        layers = tuple((keys[:, :, :most], values[:, :, :most]) for keys, values in after.layers)
        return replace(after, layers=layers, held=after.held[:, :most])

    changing(monkeypatch, ModelCache, cut)


def keeping_the_lengths_of_others(monkeypatch):
    """Positions of the texts that stood there before."""
    changing(
        monkeypatch, ModelCache, lambda before, after, places: replace(after, lengths=before.lengths[: len(places)])
    )


def coins_by_place(monkeypatch):
    step, first = Loop.step, list[Any]()

    def mixed(self, state, verifier, scheme, coin):
        first[:] = first or coin
        return step(self, state, verifier, scheme, first[: len(coin)])

    monkeypatch.setattr(Loop, "step", mixed)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "bug",
    [
        taking_the_first_caches, taking_the_first_tokens, dropping_the_last_slots, keeping_the_lengths_of_others,
        coins_by_place,
    ],
    ids=lambda bug: bug.__name__,
)  # fmt: skip
def test_a_bug_where_a_text_leaves_is_noticed(pair, bug, monkeypatch):
    loop, way = Loop(pair, Sampling(1.3)), (make("traversal"), Delayed(3, 0, 2))
    expected = alone(loop, way)
    bug(monkeypatch)
    try:
        found = texts(loop, way, PROMPTS, coins())
    except (IndexError, RuntimeError):  # a cache of another size
        found = []
    assert found != expected


def went_on(loop, state, steps, seed):
    coin, made = coin_for("numpy", seed), []
    for _ in range(steps):
        blocks, state = loop.step(state, make("traversal"), Delayed(3, 1, 2), coin)
        made += [block.tokens for block in blocks]
    return made, state


def forks(pair):
    """Whether what follows a state is the same however often, and whatever else, has gone on from it before."""
    loop = Loop(pair, Sampling(1.3))
    start = State.joined([loop.start(prompt) for prompt in PROMPTS[:3]])
    _, middle = went_on(loop, start, 3, 0)
    alone = [went_on(loop, went_on(loop, start, 3, 0)[1], 4, seed)[0] for seed in range(3)]
    found = [went_on(loop, middle, 4, seed)[0] for seed in range(3)]
    _, ahead = went_on(loop, middle, 2, 0)
    went_on(loop, middle, 4, 1)
    later, _ = went_on(loop, ahead, 1, 5)
    _, fresh = went_on(loop, went_on(loop, start, 3, 0)[1], 2, 0)
    return found == alone and later == went_on(loop, fresh, 1, 5)[0]


def writing_into_the_cache_before(monkeypatch):
    with_room = ModelCache.with_room

    def writing(self, more):
        for keys, _ in self.layers:
            keys[:, :, -1:] += 0.5
        return with_room(self, more)

    monkeypatch.setattr(ModelCache, "with_room", writing)


def writing_where_another_pass_did(monkeypatch):
    with_room = ModelCache.with_room

    def shared(self, more):
        if self.space is not None:
            self.space.used = self.slots
        return with_room(self, more)

    monkeypatch.setattr(ModelCache, "with_room", shared)


@pytest.mark.parametrize("bug", [None, writing_into_the_cache_before, writing_where_another_pass_did])
def test_texts_that_go_on_from_one_state_do_not_disturb_each_other(pair, bug, monkeypatch):
    if bug is not None:
        bug(monkeypatch)
    assert forks(pair) is (bug is None)
