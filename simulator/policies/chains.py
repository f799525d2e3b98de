"""Markov chains of block starts: closed classes, stationary laws and the values of a decision, exact or in float64."""

from typing import Any

import numpy as np
import scipy  # what is used of it is loaded at its first use
from flint import fmpq, fmpq_mat

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.errors import InvalidInput, TooLarge

#: Exact systems of more unknowns are refused.
EXACT_STATES = 128


def assert_one_class(transitions: Any, what: str) -> None:
    """Raise `InvalidInput` unless the chain, shape `(n, n)`, forgets where it started: one closed class of states."""
    links = scipy.sparse.csr_matrix(np.asarray(transitions != 0, dtype=bool))
    count, labels = scipy.sparse.csgraph.connected_components(links, connection="strong")
    leaves = np.zeros(count, dtype=bool)
    rows, columns = links.nonzero()
    leaves[labels[rows][labels[rows] != labels[columns]]] = True
    if (~leaves).sum() != 1:
        raise InvalidInput(
            f"under {what} the chain of block starts has several closed classes, and the root decides between them: "
            "there is no single long-run rate; give rows without zeros, or other shapes"
        )


def solved(matrix: Any, right: Any) -> Any:
    """`x` with `matrix x = right`, shapes `(n, n)` and `(n,)`; raises `TooLarge` for too many exact unknowns."""
    if not arithmetic_of(matrix).exact:
        return np.linalg.solve(matrix, right)
    size = len(right)
    if size > EXACT_STATES:
        raise TooLarge(f"{size:,} exact states are too many to solve; use arithmetic float64")
    solution = fmpq_mat(matrix.tolist()).solve(fmpq_mat(size, 1, list(right)))
    return np.array([solution[i, 0] for i in range(size)], dtype=object)


def stationary(transitions: Any) -> Any:
    """The stationary law of a chain with one closed class, shape `(n,)`."""
    system = _identity(transitions) - transitions.T
    system[-1] = system[-1] * 0 + 1  # one balance follows from the others
    right = transitions[0] * 0
    right[-1] = right[-1] + 1
    law = solved(system, right)
    return law if arithmetic_of(transitions).exact else np.maximum(law, 0.0)  # rounding may leave -1e-17


def gain_and_bias(transitions: Any, tokens: Any, times: Any) -> tuple[Any, Any]:
    """Tokens per time in the long run, and the relative value `h` of each start, `(n,)`, with `h[0] = 0`.

    `h(s) = tokens(s) - gain times(s) + sum transitions(s, s') h(s')`.
    """
    system = _identity(transitions) - transitions
    system[:, 0] = times  # in place of h[0], which is 0
    solution = solved(system, tokens)
    gain, bias = solution[0], solution.copy()
    bias[0] = gain - gain
    return gain, bias


def _identity(like: Any) -> Any:
    size = len(like)
    if not arithmetic_of(like).exact:
        return np.eye(size)
    unit = arithmetic_of(like).zeros(size, size)
    for i in range(size):
        unit[i, i] = fmpq(1)
    return unit
