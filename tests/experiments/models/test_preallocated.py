"""Caches that grow in place: texts may go on from any state, any number of times, and never write over each other."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop import caches
from draftproof.experiments.models.loop.caches import ModelCache, Preallocated, forward, prompt_cache
from draftproof.experiments.models.loop.loop import Loop, State
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import PROMPTS


@pytest.fixture(scope="module")
def loop(random_pair: Callable[..., Any]) -> Loop:
    return Loop(random_pair(3, torch.float64, noise=0.05), make("traversal"), Delayed(3, 1, 2), Sampling(1.3))


def went_on(loop: Loop, state: State, steps: int, seed: int) -> tuple[list[Any], State]:
    coin, made = coin_for("numpy", seed), []
    for _ in range(steps):
        blocks, state = loop.step(state, coin)
        made += [block.tokens for block in blocks]
    return made, state


def forks(loop: Loop) -> bool:
    """Whether what follows a state is the same however often, and whatever else, has gone on from it before."""
    start = State.joined([loop.start(prompt) for prompt in PROMPTS[:3]])
    _, middle = went_on(loop, start, 3, 0)
    alone = [went_on(loop, went_on(loop, start, 3, 0)[1], 4, seed)[0] for seed in range(3)]
    found = [went_on(loop, middle, 4, seed)[0] for seed in range(3)]
    first, ahead = went_on(loop, middle, 2, 0)
    again, _ = went_on(loop, middle, 4, 1)
    later, _ = went_on(loop, ahead, 1, 5)
    _, fresh = went_on(loop, went_on(loop, start, 3, 0)[1], 2, 0)
    return found == alone and first == alone[0][:6] and again == alone[1] and later == went_on(loop, fresh, 1, 5)[0]


def test_texts_that_go_on_from_one_state_do_not_disturb_each_other(loop: Loop) -> None:
    assert forks(loop)


def test_one_that_writes_where_others_are_is_noticed(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    def taking(self: ModelCache, extra: int) -> Preallocated:
        space = self.space
        if space is None or space.size < self.slots + extra:
            return Preallocated.of(self.layers, self.slots, extra)
        space.filled = self.slots
        return space

    monkeypatch.setattr(ModelCache, "with_space", taking)
    monkeypatch.setattr(ModelCache, "extensible", property(lambda self: self.space is not None))
    assert not forks(loop)


@torch.inference_mode()
def test_a_pass_writes_behind_what_is_there_and_moves_nothing(loop: Loop) -> None:
    model = loop.pair.target
    before = prompt_cache(model, [0, 1, 2], "cpu")

    def one(state: ModelCache) -> ModelCache:
        sees = torch.ones(1, 1, state.slots + 1, dtype=torch.bool)
        _, after = forward(model, state, torch.tensor([[1]]), torch.tensor([[state.slots]]), sees)
        return after.kept(state.slots, [(0,)])

    first = one(before)
    second = one(first)
    assert before.space is None  # the prompt was read at once
    assert second.space is first.space is not None
    assert second.layers[0][0].data_ptr() == first.layers[0][0].data_ptr()
    other = one(first)  # a second time: the slot is taken
    assert other.space is not first.space
    assert torch.equal(other.layers[0][0], second.layers[0][0])
    while second.space is first.space:
        second = one(second)
    assert second.slots > 3 + caches.LEAST_SPARE


@torch.inference_mode()
def test_slots_that_were_given_up_cannot_be_read(loop: Loop) -> None:
    model, state = loop.pair.target, prompt_cache(loop.pair.target, [0, 1, 2], "cpu")
    sees = torch.ones(1, 2, 5, dtype=torch.bool).tril(3)
    _, after = forward(model, state, torch.tensor([[1, 2]]), torch.tensor([[3, 4]]), sees)
    kept = after.kept(3, [(1,)])
    assert kept.slots == 4
    with pytest.raises(RuntimeError, match="given up for another continuation"):
        after.kept(3, [(0,)])
    assert kept.kept(4, [()]).slots == 4
