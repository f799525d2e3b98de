"""Two more forms of the optimum of one step: the transport program as published, and the minimum over all subsets.

`V` is the vocabulary size, `k` the number of drafts, `p` and `q` rows of shape `(V,)` in either arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import scipy

from draftproof.lp_analysis.modelling import modelling
from draftproof.simulator.protocol import Vector

#: Sets of drafted tokens with their probabilities, each set once.
DraftSets: TypeAlias = Sequence[tuple[frozenset[int], Any]]


def iid_sets(q: Vector, k: int) -> DraftSets:
    """`k` independent drafts, by inclusion and exclusion over their distinct tokens."""
    tokens = [token for token, mass in enumerate(q.tolist()) if mass > 0]
    listed = []
    for count in range(1, min(k, len(tokens)) + 1):
        for some in combinations(tokens, count):
            mass = q[0] * 0
            for inner in range(1, count + 1):
                sign = 1 if (count - inner) % 2 == 0 else -1
                mass = mass + sign * sum(_sum(q, part) ** k for part in combinations(some, inner))
            listed.append((frozenset(some), mass))
    return listed


def meeting(sets: DraftSets) -> Callable[[Iterable[int]], Any]:
    """The function from a set of tokens to the probability that some draft lies in it."""

    def probability(tokens: Iterable[int]) -> Any:
        wanted = set(tokens)
        return sum(mass for drafts, mass in sets if drafts & wanted)

    return probability


def _sum(q: Vector, tokens: Iterable[int]) -> Any:
    return sum((q[token] for token in tokens), start=q[0] * 0)


def subset_acceptance(p: Vector, meeting: Callable[[Iterable[int]], Any]) -> Any:
    """The minimum over all `2^V` sets: the definition, for any kind of drafts."""
    tokens = range(len(p))
    return min(
        sum((p[y] for y in tokens if y not in subset), start=p[0] * 0) + meeting(subset)
        for size in range(len(p) + 1)
        for subset in combinations(tokens, size)
    )


def transport_acceptance(p: Vector, sets: DraftSets) -> float:
    """The best acceptance rate, in float64, by a linear-programming solver."""
    cp = modelling()
    pairs = [(i, token) for i, (drafts, _) in enumerate(sets) for token in sorted(drafts)]
    ones, columns = np.ones(len(pairs)), np.arange(len(pairs))
    by_set = scipy.sparse.csr_array((ones, ([i for i, _ in pairs], columns)), shape=(len(sets), len(pairs)))
    by_token = scipy.sparse.csr_array((ones, ([token for _, token in pairs], columns)), shape=(len(p), len(pairs)))
    x = cp.Variable(len(pairs), nonneg=True)
    problem = cp.Problem(
        cp.Maximize(cp.sum(x)),
        [by_set @ x <= np.array([float(mass) for _, mass in sets]), by_token @ x <= np.asarray(p, dtype=np.float64)],
    )
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return float(problem.solve(solver=cp.HIGHS, highs_options=exact))
