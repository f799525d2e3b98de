"""The optimal-transport program of one node, as published: the readable reference.

A verifier sees the set of drafted tokens and accepts one of them, or none. It is lossless if and only if no token is
accepted with more than its target probability (the correction token makes up the rest), so with `x(A, y)` the
probability that the drafts are `A` and `y` is accepted:

    maximise sum x   with   sum_y x(A, y) <= P(A),   sum_A x(A, y) <= p(y),   x >= 0 for y in A.
"""

import numpy as np
import scipy  # what is used of it is loaded at its first use

from draftproof.lp_analysis.modelling import modelling
from draftproof.lp_analysis.single_step.draft_sets import DraftSets
from draftproof.simulator.protocol import Vector


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
