"""Texts may go on from any state, any number of times, and never write over each other."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.caches import ModelCache, Space
from draftproof.experiments.models.loop.loop import Loop, State
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.drawn import PROMPTS


@pytest.fixture(scope="module")
def loop(random_pair: Callable[..., Any]) -> Loop:
    return Loop(random_pair(3, torch.float64, noise=0.05), Sampling(1.3))


def went_on(loop: Loop, state: State, steps: int, seed: int) -> tuple[list[Any], State]:
    coin, made = coin_for("numpy", seed), []
    for _ in range(steps):
        blocks, state = loop.step(state, make("traversal"), Delayed(3, 1, 2), coin)
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


def test_a_pass_that_writes_into_the_cache_before_it_is_noticed(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    with_room = ModelCache.with_room

    def writing(self: ModelCache, more: int) -> Space:
        for keys, _ in self.layers:
            keys[:, :, -1:] += 0.5
        return with_room(self, more)

    monkeypatch.setattr(ModelCache, "with_room", writing)
    assert not forks(loop)


def test_a_second_pass_that_writes_where_the_first_one_did_is_noticed(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_room = ModelCache.with_room

    def shared(self: ModelCache, more: int) -> Space:
        if self.space is not None:
            self.space.used = self.slots
        return with_room(self, more)

    monkeypatch.setattr(ModelCache, "with_room", shared)
    assert not forks(loop)
