"""The optimum by cuts: one variable for every node, Hall's condition added where it fails. Shares nothing with solvers.

    maximise sum_c w(c) D(c)   with   D(()) = 1,  0 <= D(c,y) <= D(c) p(y|c),  A(S) <= P(T meets S) for every set S.

`A(c) = D(c) - sum_y D(c,y)` is the probability that `c` is accepted; T is the draft tree, a set of contexts.

1. Solve without the last family (HiGHS, dual simplex). 2. The most violated set is a closure: a set that contains a
node pays for every tree that holds the node, a linear program with whole-number corners. 3. Add it, and the subtrees
of nodes that are reached too often, and go on from the last basis until none is violated.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from draftproof.lp_analysis.direct import trees_of
from draftproof.lp_analysis.hitting import Trees
from draftproof.lp_analysis.solvers.columns import EMPTY, INFINITY, warm_model
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.instances.exact import ProcessLike, as_process
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Context, DraftScheme
from draftproof.simulator.tables import context_at, context_index

#: A set counts as violated beyond this; the simplex method works to 1e-10.
TOLERANCE = 1e-10
#: Masses are multiplied by it where the worst set is looked for, so that small ones count.
SCALE = 2**12
#: A set of contexts, with the most that it may be accepted.
Cut = tuple[frozenset[Context], float]


def cut_bound(
    target: ProcessLike, draft: ProcessLike, scheme: DraftScheme, weights: Sequence[Any] | None = None
) -> float:
    """The optimum over all lossless verifiers for any scheme, in float64; weights: of nodes by depth, or 1."""
    process = as_process(target, "target")
    size, depth, trees = process.vocab_size, scheme.depth, trees_of(draft, scheme)
    starts = np.cumsum([0] + [size**d for d in range(depth + 1)])
    worth = np.ones(int(starts[-1])) if weights is None else np.array([float(w) for own in weights for w in own])
    model = _reach_program(tabulate(process, max(depth - 1, 0), FLOAT64, "target").tables[:depth], starts, worth)
    while True:
        model.run()
        values = np.array(model.getSolution().col_value)
        cuts = _violated(trees, [values[starts[d] : starts[d + 1]] for d in range(depth + 1)], size)
        if not cuts:
            return float(worth @ values)
        for nodes, bound in cuts:
            _add(model, nodes, bound, starts, size)


def _reach_program(tables: Sequence[Any], starts: Any, worth: Any) -> Any:
    model, n = warm_model(), int(starts[-1])
    lower = np.zeros(n)
    lower[0] = 1.0
    model.addCols(n, -worth, lower, np.ones(n), 0, EMPTY[0], *EMPTY)
    for depth, table in enumerate(tables):
        for i, p in enumerate(table.ravel()):
            index = np.array([starts[depth + 1] + i, starts[depth] + i // table.shape[1]], dtype=np.int32)
            model.addRow(-INFINITY, 0.0, 2, index, np.array([1.0, -float(p)]))
    return model


def _add(model: Any, nodes: frozenset[Context], bound: float, starts: Any, size: int) -> None:
    """The row `sum_S (D(c) - sum_y D(c,y)) <= bound`; inside a subtree everything but its root cancels."""
    row: dict[int, float] = defaultdict(float)
    for context in nodes:
        place = context_index(context, size)
        row[int(starts[len(context)]) + place] += 1.0
        if len(context) + 2 < len(starts):
            for child in range(place * size, (place + 1) * size):
                row[int(starts[len(context) + 1]) + child] -= 1.0
    kept = {column: value for column, value in row.items() if value}
    model.addRow(-INFINITY, bound, len(kept), np.array(list(kept), dtype=np.int32), np.array(list(kept.values())))


def _violated(trees: Trees, reached: Sequence[Any], size: int) -> list[Cut]:
    """Full subtrees that are reached too often; where there are none, the most violated set of all, if any is."""
    cuts, accepted = [], dict[Context, float]()
    for depth, values in enumerate(reached):
        for index, value in enumerate(values.tolist()):
            context = context_at(index, depth, size)
            bound = sum(float(mass) for tree, mass in trees if context in tree)
            accepted[context] = accepted.get(context, 0.0) + value
            if context:
                accepted[context[:-1]] -= value
            if value > bound + TOLERANCE:
                below = range(depth, len(reached))
                contexts = (context_at(i, d, size) for d in below for i in range(size**d))
                cuts.append((frozenset(c for c in contexts if c[:depth] == context), bound))
    return cuts or _worst(trees, accepted)


def _worst(trees: Trees, accepted: Mapping[Context, float]) -> list[Cut]:
    nodes = closure(trees, accepted)
    bound = sum(float(mass) for tree, mass in trees if tree & nodes)
    return [(nodes, bound)] if sum(accepted[c] for c in nodes) > bound + TOLERANCE else []


def closure(trees: Trees, accepted: Mapping[Context, float]) -> frozenset[Context]:
    """The set `S` with the largest `A(S) - P(T meets S)`."""
    contexts = list(accepted)
    place = {context: i for i, context in enumerate(contexts)}
    cost = np.array([-accepted[c] for c in contexts] + [float(mass) for _, mass in trees])
    held = [(place[c], len(contexts) + t) for t, (tree, _) in enumerate(trees) for c in tree]
    rows, columns = np.arange(len(held)).repeat(2), np.array(held).ravel()
    matrix = scipy.sparse.csr_array((np.tile([1.0, -1.0], len(held)), (rows, columns)), shape=(len(held), len(cost)))
    finest = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    solution = scipy.optimize.linprog(
        cost * SCALE, A_ub=matrix, b_ub=np.zeros(len(held)), bounds=(0, 1), method="highs-ds", options=finest
    )
    return frozenset(c for c, value in zip(contexts, solution.x, strict=False) if value > 0.5)
