"""A policy at work: block after block with sampled trees and the verifier's own coins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import context_at, context_index
from draftproof.simulator.policies.policy import Action
from draftproof.simulator.policies.several import Following
from draftproof.simulator.policies.world import World
from draftproof.simulator.protocol import Context, TokenProcess, Vector

#: Batches whose means give the standard error.
BATCHES = 100


@dataclass(frozen=True)
class Sampled:
    """Tokens per time of a run, with its standard error from the means of batches."""

    rate: float
    error: float
    blocks: int


class _Kept:
    """A process whose rows are looked up once for each of the last tokens."""

    def __init__(self, process: TokenProcess, start: Context) -> None:
        self._following = Following(process, start)
        self._rows: dict[Context, Vector] = {}
        self.vocab_size = process.vocab_size

    def row(self, context: Context) -> Vector:
        row = self._rows.get(context)
        if row is None:
            row = self._rows[context] = self._following.row(context)
        return row


def simulate(
    world: World,
    actions: Sequence[Action],
    choice: Any,
    times: Any,
    blocks: int,
    generator: np.random.Generator,
) -> Sampled:
    """So many blocks from state 0, in float64; choice: the action at every state, `(S,)`; times: of each, `(A,)`.

    Raises `InvalidInput` for fewer blocks than two batches of one.
    """
    if blocks < 2 * BATCHES:
        raise InvalidInput(f"{blocks} blocks give no standard error; take {2 * BATCHES} or more")
    coin = SamplingCoin(generator)
    pairs: dict[int, tuple[_Kept, _Kept]] = {}
    state, window, size = 0, world.window, world.vocab_size
    counts, spent = np.zeros(blocks), np.zeros(blocks)
    for block in range(blocks):
        core = state % world.cores
        if core not in pairs:
            pairs[core] = tuple(_Kept(process, ()) for process in world.processes(core))  # type: ignore[assignment]
        target, draft = pairs[core]
        action = actions[choice[state]]
        root = action.scheme.draw(draft, coin).root(target, draft)
        verdict = action.verifier.verify(root, coin)
        tokens = (*verdict.accepted, verdict.correction)
        counts[block], spent[block] = len(tokens), float(times[choice[state]])
        state = context_index((*context_at(state, window, size), *tokens)[-window:] if window else (), size)
    return summed(counts, spent)


def summed(counts: Any, spent: Any) -> Sampled:
    """Tokens and times of every block, `(blocks,)`, as a ratio; its error by the delta method over equal batches."""
    rate = counts.sum() / spent.sum()
    length = len(counts) // BATCHES
    kept = length * BATCHES
    parts = (counts - rate * spent)[:kept].reshape(BATCHES, length).mean(1)
    error = parts.std(ddof=1) / np.sqrt(BATCHES) / spent.mean()
    return Sampled(float(rate), float(error), len(counts))
