"""The rounds of a tournament between drafts: weights by a linear program each, and the laws that they induce."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy  # what is used of it is loaded at its first use

from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import is_tensor
from draftproof.verifiers._programs import check_numbers, memoised

#: Weights are multiples of one over this number.
DENOMINATOR = 1024
#: Inputs of a program are rounded to so many decimals, so that float64 and rational runs solve the same one.
DECIMALS = 10


#: For each round the whole numbers `DENOMINATOR w_ij`, shape `(V, V)`, and the winner's new law, shape `(V,)`.
Rounds: TypeAlias = Sequence[tuple[Any, Vector]]


@memoised
def tournament(p: Vector, q: Vector, k: int) -> Rounds:
    """The rounds of a tournament between `k` drafts, one for each draft after the first.

    Raises `TooLarge` above some 500 drafted tokens.
    The diagonal, a token against itself, is one half, since `play` counts it twice.
    """
    rounds = []
    winner = q
    if k > 1:
        drafted = int((q > 0).sum())
        check_numbers("the program of a tournament", len(q) * (drafted * (drafted - 1) / 2 + len(q)), q)
    for _ in range(k - 1):
        units = _weights(_rounded(p), _rounded(winner), _rounded(q))
        winner = play(units, winner, q)
        rounds.append((units, winner))
    return rounds


def play(units: Any, winner: Vector, challenger: Vector) -> Vector:
    """One round: the (possibly incomplete) law of the new winner."""
    pair_mass = winner[:, None] * challenger[None, :]
    return (as_type_of(units, winner) * (pair_mass + pair_mass.T)).sum(1) / DENOMINATOR


def as_type_of(units: Any, q: Vector) -> Any:
    """Whole numbers in the type of `q`, to multiply its entries."""
    if is_tensor(q):
        return q.new_tensor(units.tolist())
    return units.astype(q.dtype)


def _rounded(row: Vector) -> tuple[float, ...]:
    return tuple(round(float(value), DECIMALS) for value in row.tolist())


@lru_cache(maxsize=65536)
def _weights(p: tuple[float, ...], r: tuple[float, ...], q: tuple[float, ...]) -> Any:
    """The weights of one round in units of `1/DENOMINATOR`, shape `(V, V)`."""
    size = len(p)
    units = np.full((size, size), DENOMINATOR // 2)
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size) if r[i] * q[j] + r[j] * q[i] > 0]
    if p == r == q or not pairs:  # halves keep the law; where `r` is not `q` they do not
        return units
    # variables: w_ij for the pairs, then t_i <= min(p_i, r'_i); maximise sum t
    gain = np.zeros((size, len(pairs) + size))
    base = np.array([r[i] * q[i] for i in range(size)])
    for column, (i, j) in enumerate(pairs):
        pair_mass = r[i] * q[j] + r[j] * q[i]
        gain[i, column] = -pair_mass  # t_i - w_ij pair_mass <= ...
        gain[j, column] = pair_mass  # t_j - (1 - w_ij) pair_mass <= ...
        base[j] += pair_mass
    gain[:, len(pairs) :] = np.eye(size)
    bounds = [(0.0, 1.0)] * len(pairs) + [(0.0, value) for value in p]
    objective = np.concatenate([np.zeros(len(pairs)), -np.ones(size)])
    solved = scipy.optimize.linprog(objective, A_ub=gain, b_ub=base, bounds=bounds, method="highs")
    if solved.x is None:
        return units  # any weights are lossless
    for column, (i, j) in enumerate(pairs):
        units[i, j] = round(DENOMINATOR * min(1.0, max(0.0, float(solved.x[column]))))
        units[j, i] = DENOMINATOR - units[i, j]
    return units
