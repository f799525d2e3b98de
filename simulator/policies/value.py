"""The value of a policy: tokens per time in the long run, a ratio of renewal rewards.

A block that starts in state `s` under action `a` brings `tokens(a, s)`, takes `times(a)` and ends in `s'` with
probability `ends(a, s, s')`. With the stationary law `mu` of the states where blocks start, the long run has

    sum mu(s) tokens(a(s), s) / sum mu(s) times(a(s))     tokens per unit of time.

Exact where the tables are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.policies.chains import assert_one_class, stationary
from draftproof.simulator.policies.world import Tables


@dataclass(frozen=True)
class Value:
    """rate: tokens per time. tokens, time: means of a block. starts: law of block starts, `(S,)`. used: actions."""

    rate: Fraction | float
    tokens: Fraction | float
    time: Fraction | float
    starts: Any
    used: int


def value(tables: Tables, choice: Any, what: str = "this policy", overhead: Any = 0) -> Value:
    """The value of a choice of action, one for every state, `(S,)`.

    what: its name in errors. overhead: time that choosing takes in every block, in the arithmetic of the tables.
    Raises `InvalidInput` where the long run depends on the root, `TooLarge` for too many exact states.
    """
    positions = np.asarray(choice)
    cores = np.arange(len(positions)) % tables.world.cores
    starts = _starts(tables, positions, what)
    mean = (starts * tables.tokens[positions, cores]).sum()
    time = (starts * (tables.times[positions] + tables.world.arithmetic.number(overhead))).sum()
    used = len(set(positions[np.asarray(starts > 0, dtype=bool)].tolist()))
    return Value(as_python(mean / time), as_python(mean), as_python(time), starts, used)


def _starts(tables: Tables, positions: Any, what: str) -> Any:
    """The stationary law; by cores where the choice does not look further back."""
    cores = tables.world.cores
    by_core = positions.reshape(-1, cores)
    if (by_core == by_core[0]).all():
        moves = tables.moves[by_core[0], np.arange(cores)]
        assert_one_class(moves, what)
        return stationary(moves) @ tables.ends[by_core[0], np.arange(cores)]
    moves = tables.ends[positions, np.arange(len(positions)) % cores]
    assert_one_class(moves, what)
    return stationary(moves)


def static_values(tables: Tables, overhead: Any = 0) -> list[Value]:
    """The value of every action taken for ever, in order."""
    states = tables.world.states
    return [value(tables, [position] * states, str(action), overhead) for position, action in enumerate(tables.actions)]


def best_position(values: Iterable[Any]) -> int:
    """The position of the largest value, the first among equals."""
    listed = list(values)
    return max(range(len(listed)), key=lambda i: listed[i])
