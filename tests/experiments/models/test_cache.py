"""Caches hold the text that was kept and nothing else, whatever was drafted and rejected on the way."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from draftproof.experiments.models.loop.caches import Remembered, prompt_read
from draftproof.experiments.models.loop.loop import Loop, many_blocks
from draftproof.experiments.models.loop.vectors import coin_for
from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator import Delayed
from draftproof.verifiers import make
from tests.quick import by_turns

#: Keys and values are below 10; they hold the rounding of one pass each (2^-24 or 2^-53 some hundred times), not of 200
#: blocks: a kept token's keys come from the pass that read it, and look at others of the same kind.
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-10}


def difference(model: Any, remembered: Remembered, sequence: int, text: list[int]) -> float:
    """The largest between what is held of a sequence and a cache that reads its text from scratch."""
    held = remembered.held[sequence]
    count = int(held.sum())
    assert int(remembered.lengths[sequence]) == count
    fresh = prompt_read(model, text[:count], "cpu")
    return max(
        float((kept[sequence][:, held] - new[0]).abs().max())
        for layer, fresh_layer in zip(remembered.layers, fresh.layers, strict=True)
        for kept, new in zip(layer, fresh_layer, strict=True)
    )


@pytest.mark.parametrize(
    ("verifier", "shape", "dtype"),
    by_turns(
        [
            ("traversal", (3, 1, 3), torch.float32),
            ("specinfer", (4, 0, 2), torch.float64),
            ("block", (1, 0, 4), torch.float32),
        ],
        3,
        1,
    ),
    ids=str,
)
@torch.inference_mode()
def test_cache_after_200_blocks_is_one_rebuilt_from_scratch(
    random_pair: Callable[..., Any], verifier: str, shape: tuple[int, int, int], dtype: torch.dtype
) -> None:
    pair = random_pair(dtype=dtype, noise=0.03)
    loop = Loop(pair, make(verifier), Delayed(*shape), Warp())
    text, coin, depths = [1, 2], coin_for("numpy", 0), set()
    state = loop.start(text)
    for _ in range(200):
        (block,), state = loop.step(state, coin)
        text += block.tokens
        depths.add(block.depth)
    assert depths == set(range(loop.scheme.depth + 1))  # from all rejected to all accepted
    assert state.target.slots == len(text) - 1
    assert state.draft.slots == len(text) - len(state.waiting[0])
    assert difference(pair.target, state.target, 0, text) <= TOLERANCE[dtype]
    assert difference(pair.draft, state.draft, 0, text) <= TOLERANCE[dtype]


@torch.inference_mode()
def test_sequences_of_a_batch_hold_their_own_texts(random_pair: Callable[..., Any]) -> None:
    pair = random_pair(dtype=torch.float64, noise=0.03)
    loop = Loop(pair, make("gbv"), Delayed(3, 1, 2), Warp())
    state, coin = loop.start([3, 1]).repeated(5), coin_for("numpy", 0)
    texts = [[3, 1] for _ in range(5)]
    for _ in range(12):
        blocks, state = loop.step(state, coin)
        for text, block in zip(texts, blocks, strict=True):
            text.extend(block.tokens)
    assert len({len(text) for text in texts}) > 1  # ragged
    for sequence, text in enumerate(texts):
        assert difference(pair.target, state.target, sequence, text) <= TOLERANCE[torch.float64]
        assert difference(pair.draft, state.draft, sequence, text) <= TOLERANCE[torch.float64]
        assert text[-len(state.waiting[sequence]) :] == list(state.waiting[sequence])


@torch.inference_mode()
def test_a_cache_that_keeps_the_wrong_path_is_noticed(
    random_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Remembered.kept

    def first_path(self: Remembered, slots: int, places: Any) -> Remembered:
        return kept(self, slots, [range(len(each)) for each in places])

    pair = random_pair(noise=0.03)
    loop = Loop(pair, make("traversal"), Delayed(3, 0, 3), Warp())
    state, text, coin = loop.start([1, 2]), [1, 2], coin_for("numpy", 0)
    monkeypatch.setattr(Remembered, "kept", first_path)
    for _ in range(20):
        (block,), state = loop.step(state, coin)
        text += block.tokens
    assert difference(pair.target, state.target, 0, text) > 0.1


def test_a_state_can_be_started_from_again(random_pair: Callable[..., Any]) -> None:
    loop = Loop(random_pair(), make("traversal"), Delayed(3, 1, 2), Warp())
    start = loop.start([1, 2, 3])
    before = [states.clone() for layer in start.target.layers + start.draft.layers for states in layer]

    def run() -> list[Any]:
        state, coin, made = start, coin_for("numpy", 7), []
        for _ in range(10):
            blocks, state = loop.step(state, coin)
            made += blocks
        return made

    assert run() == run()
    after = [states for layer in start.target.layers + start.draft.layers for states in layer]
    assert all(bool((old == new).all()) for old, new in zip(before, after, strict=True))


def test_a_batch_of_one_is_the_loop_itself(random_pair: Callable[..., Any]) -> None:
    loop = Loop(random_pair(), make("block"), Delayed(2, 1, 1), Warp())
    alone = coin_for("numpy", 3)
    start = loop.start([1, 2, 3])
    assert many_blocks(loop, [1, 2, 3], 30, coin_for("numpy", 3), batch=1) == [
        loop.step(start, alone)[0][0] for _ in range(30)
    ]
