"""Decoding for a long time: block after block, each starting in the state that the last one left.

On Markov processes the states in which blocks start form a chain. Its stationary law, and the mean of `tau + 1` under
it, is the number of tokens a target pass brings in the long run; a single root says little about that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.laws.structured.arrays import as_numpy, zeros
from draftproof.simulator.laws.structured.collapsed import CollapsedTopDown
from draftproof.simulator.laws.structured.dispatch import structured_law
from draftproof.simulator.laws.structured.rows import MarkovRows
from draftproof.simulator.laws.structured.size import BYTES, MEMORY
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.tables import table_entries

#: Entries of the laws in memory at once, by whether they are exact: those take eight times the memory of float64.
ENTRIES = {False: 2**24, True: 2**21}
#: Largest number of states whose chain is solved as a linear system; above, power iteration is used.
MATRIX_STATES = 512
#: Power iteration ends when the law changes by less than this in total variation.
SETTLED = 1e-13
#: Steps after which a chain that has not converged is refused.
STEPS = 100_000


@dataclass(frozen=True)
class SteadyState:
    """efficiency: tokens a target pass in the long run. starts: the stationary law of block starts, `(V**m,)`."""

    efficiency: Fraction | float
    starts: Any


def steady_by_states(engine: CollapsedTopDown, scheme: Delayed) -> SteadyState:
    """The long run of a top-down verifier; exact in rationals.

    With more than `MATRIX_STATES` states it is the long run from the root of `engine`.
    Raises `InvalidInput` where the chain has more than one recurrent class, so that the long run depends on the start,
    `TooLarge` for more exact states than can be solved.
    """
    rows = engine.rows
    if rows.states > MATRIX_STATES:
        if rows.arithmetic.exact:
            raise TooLarge(f"{rows.states:,} exact states are too many to solve; use arithmetic float64")
        return _push_forward(engine, scheme)
    ends, means = engine.all_ends(scheme)
    return _solve(as_numpy(ends), list(as_numpy(means)))


def steady_by_laws(verifier: Verifier, rows: MarkovRows, scheme: Delayed) -> SteadyState:
    """The long run of any verifier with a structured engine, from its block laws after every state at once.

    Raises as `steady_by_states` does, `TooLarge` also for laws that do not fit.
    """
    entries = rows.states * table_entries(rows.vocab_size, scheme.depth)
    if rows.states > MATRIX_STATES or entries * BYTES[rows.arithmetic.exact] > MEMORY:
        raise TooLarge(
            f"{verifier.card.name} does not collapse to states, and its laws after {rows.states:,} block starts have "
            f"{entries:.1e} entries in all; lower the order, V or L"
        )
    step = max(1, ENTRIES[rows.arithmetic.exact] // rows.vocab_size ** (scheme.depth + 1))
    starts = [range(first, min(first + step, rows.states)) for first in range(0, rows.states, step)]
    parts = [_ends_by_law(verifier, rows, scheme, some) for some in starts]
    return _solve(np.concatenate([ends for ends, _ in parts]), [mean for _, means in parts for mean in means])


def _ends_by_law(verifier: Verifier, rows: MarkovRows, scheme: Delayed, starts: range) -> tuple[Any, Any]:
    """The law of the state after a block from each of these, `(starts, V**m)`, and `E[tau + 1]`, `(starts,)`.

    After a block of `n` tokens from start `s` the state is `(s V**n + x) mod V**m`, `x` being the tokens in base `V`.
    """
    law = structured_law(verifier, rows.starting_at(starts), scheme)
    states, like = rows.states, as_numpy(rows.p)
    ends, means = zeros(like, len(starts), states), zeros(like, len(starts))
    for depth, every in enumerate(law.correction):
        masses = every.reshape(len(starts), -1)  # of blocks of `depth + 1` tokens
        width = masses.shape[1]
        means = means + (depth + 1) * masses.sum(1)
        if width >= states:
            ends = ends + masses.reshape(len(starts), -1, states).sum(1)
            continue
        for position, start in enumerate(starts):  # the new states of one start are all different
            first = start * width % states
            ends[position, first : first + width] += masses[position]
    return ends, means


def _solve(ends: Any, means: list[Any]) -> SteadyState:
    """`starts ends = starts`, entries summing to 1: exactly for rationals."""
    states = len(means)
    if ends.dtype != object:
        system = np.vstack([ends.T - np.eye(states), np.ones((1, states))])
        if np.linalg.matrix_rank(system[:-1], tol=1e-9) < states - 1:
            raise InvalidInput(_REDUCIBLE)
        starts = np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)[0]
        return SteadyState(float(starts @ np.array([float(mean) for mean in means])), starts)
    equations = [[ends[j, i] - (1 if i == j else 0) for j in range(states)] for i in range(states - 1)]
    equations.append([fmpq(1)] * states)
    right = fmpq_mat(states, 1, [fmpq(0)] * (states - 1) + [fmpq(1)])
    try:
        solved = fmpq_mat(equations).solve(right)
    except ZeroDivisionError:
        raise InvalidInput(_REDUCIBLE) from None
    starts = np.array([solved[i, 0] for i in range(states)], dtype=object)
    return SteadyState(as_python((starts * np.array(means, dtype=object)).sum()), starts)


def _push_forward(engine: CollapsedTopDown, scheme: Delayed) -> SteadyState:
    """Power iteration from the root; averaging two steps makes periodic chains converge."""
    start = zeros(engine.rows.p, engine.rows.states)
    start[engine.rows.starts[0]] += 1
    for _ in range(STEPS):
        end, mean = engine.block_end(start, scheme)
        if float(abs(end - start).sum()) / 2 < SETTLED:
            return SteadyState(as_python(mean), as_numpy(end))
        start = (start + end) / 2
    raise TooLarge(f"the law of block starts did not settle in {STEPS:,} blocks")


_REDUCIBLE = "in the long run decoding stays among some states that depend on the root: there is no one steady state"
