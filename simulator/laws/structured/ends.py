"""Where blocks end on Markov processes: the law of the last tokens after a block, from every state it may start in.

`S = V**w` states are the last `w` tokens. What a block does depends on the last `m <= w` tokens of its start, the order
of the processes, so `C = V**m` starts are enough. After a block of `n` tokens from start `s` the state is
`(s V**n + x) mod S`, `x` being the tokens in base `V`; `w` is at most `m + 1`, since `m` tokens of the start are known
and a block has at least one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.laws.structured.arrays import as_numpy, zeros
from draftproof.simulator.laws.structured.dispatch import structured_law
from draftproof.simulator.laws.structured.rows import MarkovRows
from draftproof.simulator.protocol import DraftScheme, Verifier

#: Entries of the laws in memory at once, by whether they are exact: those take eight times the memory of float64.
ENTRIES = {False: 2**24, True: 2**21}


def ends_by_law(verifier: Verifier, rows: MarkovRows, scheme: DraftScheme, starts: int) -> tuple[Any, Any]:
    """From the block laws of `starts` states: the state after a block, `(starts, S)`, and `E[tau + 1]`, `(starts,)`."""
    entries = rows.vocab_size ** (scheme.depth + 1)
    step = max(1, ENTRIES[rows.arithmetic.exact] // entries)
    parts = [
        _of_starts(verifier, rows, scheme, range(first, min(first + step, starts))) for first in range(0, starts, step)
    ]
    return np.concatenate([ends for ends, _ in parts]), np.concatenate([means for _, means in parts])


def _of_starts(verifier: Verifier, rows: MarkovRows, scheme: DraftScheme, starts: range) -> tuple[Any, Any]:
    law = structured_law(verifier, rows.starting_at(starts), scheme)
    return ends_of_masses([masses.reshape(len(starts), -1) for masses in law.correction], rows, starts)


def ends_of_masses(by_length: list[Any], rows: MarkovRows, starts: range) -> tuple[Any, Any]:
    """As `ends_by_law`, from masses of blocks: entry `d` has shape `(starts, V**(d+1))`, blocks of `d + 1` tokens."""
    states, like = rows.states, as_numpy(rows.p)
    ends, means = zeros(like, len(starts), states), zeros(like, len(starts))
    for depth, masses in enumerate(by_length):
        width = masses.shape[1]
        means = means + (depth + 1) * masses.sum(1)
        if width >= states:
            ends = ends + masses.reshape(len(starts), -1, states).sum(1)
            continue
        for position, start in enumerate(starts):  # the new states of one start are all different
            first = start * width % states
            ends[position, first : first + width] += masses[position]
    return ends, means
