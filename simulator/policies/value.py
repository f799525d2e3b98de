"""The value of a policy: tokens per time in the long run, a ratio of renewal rewards.

A block that starts in state `s` under action `a` brings `tokens(a, s)`, takes `times(a)` and ends in `s'` with
probability `ends(a, s, s')`. With the stationary law `mu` of the states where blocks start, the long run has

    sum mu(s) tokens(a(s), s) / sum mu(s) times(a(s))     tokens per unit of time.

Exact where the tables are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.policies.chains import assert_one_class, stationary
from draftproof.simulator.policies.markov_pair import Tables


@dataclass(frozen=True)
class Value:
    """rate: tokens per time. tokens, time: means of a block. starts: law of block starts, `(S,)`.

    used: the number of different actions taken.
    """

    rate: Fraction | float
    tokens: Fraction | float
    time: Fraction | float
    starts: Any
    used: int


def value(tables: Tables, choice: Any, what: str = "this policy", overhead: Any = 0) -> Value:
    """The value of a policy. choice: the position of its action at every state, `(S,)`.

    what: its name in errors. overhead: time that choosing takes in every block, in the arithmetic of the tables.
    Raises `InvalidInput` where the long run depends on the root, `TooLarge` for too many exact states.
    """
    positions = np.asarray(choice)
    histories = np.arange(len(positions)) % tables.pair.histories
    starts = _starts(tables, positions, what)
    mean = (starts * tables.tokens[positions, histories]).sum()
    time = (starts * (tables.times[positions] + tables.pair.arithmetic.number(overhead))).sum()
    used = len(set(positions[np.asarray(starts > 0, dtype=bool)].tolist()))
    return Value(as_python(mean / time), as_python(mean), as_python(time), starts, used)


def _starts(tables: Tables, positions: Any, what: str) -> Any:
    """The stationary law; computed by histories where the choice depends on these only."""
    histories = tables.pair.histories
    by_history = positions.reshape(-1, histories)
    if (by_history == by_history[0]).all():
        moves = tables.moves[by_history[0], np.arange(histories)]
        assert_one_class(moves, what)
        return stationary(moves) @ tables.ends[by_history[0], np.arange(histories)]
    moves = tables.ends[positions, np.arange(len(positions)) % histories]
    assert_one_class(moves, what)
    return stationary(moves)


def static_values(tables: Tables, overhead: Any = 0) -> list[Value]:
    """The value of every static action, in order."""
    states = tables.pair.states
    return [value(tables, [position] * states, str(action), overhead) for position, action in enumerate(tables.actions)]


def best_position(values: Iterable[Any]) -> int:
    """The position of the largest value, the first among equals."""
    listed = list(values)
    return max(range(len(listed)), key=lambda i: listed[i])
