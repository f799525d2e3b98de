"""Many independent runs from one root: the prompt is read once, passes are shared, each run has a tree of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from draftproof.experiments.models.loop.loop import Block, Loop
from draftproof.simulator.protocol import Coin, Progress

#: Runs that share their passes.
TOGETHER = 256


def many_blocks(
    loop: Loop,
    root: Sequence[int],
    runs: int,
    coin: Coin,
    together: int = TOGETHER,
    progress: Progress | None = None,
) -> list[Block]:
    """The first block of each of `runs` independent runs that start after the tokens of `root`.

    together: how many runs share their passes. progress: told how many runs are done.
    """
    start = loop.start(root)
    blocks: list[Block] = []
    for count in _portions(runs, together):
        blocks += loop.blocks(start.repeated(count), coin)
        if progress:
            progress(count)
    return blocks


def many_texts(
    loop: Loop,
    root: Sequence[int],
    runs: int,
    length: int,
    coin: Coin,
    together: int = TOGETHER,
    progress: Progress | None = None,
) -> npt.NDArray[np.int64]:
    """The first `length` tokens of each of `runs` independent runs, block after block: shape `(runs, length)`.

    Raises `InvalidInput` where the models have no positions for a run that accepts all while another accepts nothing.
    """
    start = loop.start(root, max(length - 1, 0) * (loop.scheme.depth + 1))
    texts: list[list[int]] = []
    for count in _portions(runs, together):
        state = start.repeated(count)
        tokens: list[list[int]] = [[] for _ in range(count)]
        while min(map(len, tokens)) < length:  # runs that have enough go on with the others, and are cut
            blocks, state = loop.step(state, coin)
            for text, block in zip(tokens, blocks, strict=True):
                text.extend(block.tokens)
        texts += [each[:length] for each in tokens]
        if progress:
            progress(count)
    return np.array(texts, dtype=np.int64).reshape(runs, length)


def _portions(runs: int, together: int) -> Iterator[int]:
    for first in range(0, runs, together):
        yield min(together, runs - first)
