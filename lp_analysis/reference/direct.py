"""The direct program: one variable for every pair of a draft tree and a node of it. The reference for small cases.

`x(T, c)` is the probability that the tree is `T` and `c` is accepted. The only constraints are the definitions:

    maximise sum_c D(c)   with   sum_c x(T, c) = P(T),   D(c) = sum_T sum_{c' below c} x(T, c'),
                                 D(c,y) <= D(c) p(y|c)   for every child, drafted or not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # what is used of it is loaded at its first use

from draftproof.lp_analysis.hitting import Trees
from draftproof.lp_analysis.modelling import modelling
from draftproof.lp_analysis.reference.separation import separable
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.exact import ProcessLike, as_process
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Context, DraftScheme

#: Most variables that are handed to the solver.
MOST_VARIABLES = 300_000


def direct_variables(draft: ProcessLike, scheme: DraftScheme) -> int:
    """Number of pairs of a draft tree and a node of it."""
    return _variables(separable(draft, scheme).trees)


def _variables(trees: Trees) -> int:
    return sum(len(tree) for tree, _ in trees)


def direct_bound(target: ProcessLike, draft: ProcessLike, scheme: DraftScheme) -> float:
    """The optimum over all lossless verifiers for any scheme, in float64.

    target, draft: processes, or their tables to the depth of the scheme less 1. Raises `InvalidInput`, `TooLarge`.
    """
    trees = separable(draft, scheme).trees
    tables = tabulate(as_process(target, "target"), max(scheme.depth - 1, 0), FLOAT64, "target").tables
    return solve_direct(tables, trees)


def solve_direct(target_tables: Sequence[Any], trees: Trees) -> float:
    """`direct_bound` of a scheme given by its trees.

    trees: sets of contexts, closed under prefixes, with probabilities that sum to 1. Raises `InvalidInput`, `TooLarge`.
    """
    cp = modelling()
    if _variables(trees) > MOST_VARIABLES:
        raise TooLarge(f"{_variables(trees):,} variables; the direct program is for at most {MOST_VARIABLES:,}")
    _validate(trees)
    tables = [np.asarray(table, dtype=np.float64) for table in target_tables]
    pairs = [(t, context) for t, (tree, _) in enumerate(trees) for context in sorted(tree)]
    place = {c: i for i, c in enumerate(sorted({context for _, context in pairs}))}
    of_tree = _incidence([(t, i) for i, (t, _) in enumerate(pairs)], (len(trees), len(pairs)))
    through = _incidence(
        [(place[c[:d]], i) for i, (_, c) in enumerate(pairs) for d in range(len(c) + 1)], (len(place), len(pairs))
    )
    below = [c for c in place if c]
    child = _incidence([(i, place[c]) for i, c in enumerate(below)], (len(below), len(place)))
    share = scipy.sparse.csr_array(
        ([_row(tables, c)[c[-1]] for c in below], (range(len(below)), [place[c[:-1]] for c in below])),
        shape=(len(below), len(place)),
    )
    x = cp.Variable(len(pairs), nonneg=True)
    reach = through @ x
    problem = cp.Problem(
        cp.Maximize(cp.sum(reach)),
        [of_tree @ x == np.array([float(mass) for _, mass in trees]), child @ reach <= share @ reach],
    )
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return float(problem.solve(solver=cp.HIGHS, highs_options=exact))


def _validate(trees: Trees) -> None:
    for tree, _ in trees:
        if () not in tree or any(c and c[:-1] not in tree for c in tree):
            raise InvalidInput("a draft tree must hold the root and every prefix of its nodes")
    total = float(sum(mass for _, mass in trees))
    if abs(total - 1) > 1e-9:  # sums of probabilities in float64
        raise InvalidInput(f"the draft trees have mass {total}, not 1")


def _incidence(pairs: list[tuple[int, int]], shape: tuple[int, int]) -> Any:
    rows, columns = zip(*pairs, strict=True)
    return scipy.sparse.csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)


def _row(tables: list[Any], context: Context) -> Any:
    index = 0
    for token in context[:-1]:
        index = index * tables[0].shape[1] + token
    return tables[len(context) - 1][index]
