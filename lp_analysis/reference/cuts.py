"""The reach program with cuts: one variable for every node, Hall's condition added where it fails.

    maximise sum_c D(c)   with   D(()) = 1,  0 <= D(c,y) <= D(c) p(y|c),  A(S) <= P(T meets S) for every set S.

`A(S)`, the sum of `D(c) - sum_y D(c,y)` over S, is the probability that S has the accepted node; T is the draft tree.

1. Solve without the last family (HiGHS). 2. Ask for violated sets (`separation`); for i.i.d. branches these are
antichains, found exactly. 3. Add them and go on from the last basis with the dual simplex, until none is violated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftproof.lp_analysis.nodes import NodeValues
from draftproof.lp_analysis.reference.separation import Cut, Separable, separable, violated
from draftproof.lp_analysis.solvers.highs import EMPTY, INFINITY, warm_model
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.exact import ProcessLike, as_process
from draftproof.simulator.instances.processes import context_count, context_index, tabulate
from draftproof.simulator.protocol import DraftScheme

#: A set counts as violated beyond this; the simplex method works to 1e-10.
TOLERANCE = 1e-10
#: Most nodes of the program.
MOST_NODES = 100_000


@dataclass(frozen=True)
class CutBound:
    """The optimum of the reach program.

    value: block efficiency. reached: `D` by depth. cuts: the sets that were added. rounds: solves.
    complete: whether no set is violated any more; otherwise `value` is still an upper bound.
    """

    value: float
    reached: NodeValues
    cuts: tuple[Cut, ...]
    rounds: int
    complete: bool


def cut_bound(
    target: ProcessLike, draft: ProcessLike, scheme: DraftScheme, *, stop: Callable[[], bool] = lambda: False
) -> CutBound:
    """The optimum over all lossless verifiers for any scheme, in float64; ends early when `stop` says so.

    target, draft: processes, or their tables to the depth of the scheme less 1, in either arithmetic. Raises
    `InvalidInput` for rows that do not fit, `TooLarge` above 100,000 nodes or 200,000 draft trees.
    """
    process = as_process(target, "target")
    _starts(process.vocab_size, scheme.depth)
    tables = tabulate(process, max(scheme.depth - 1, 0), FLOAT64, "target").tables
    return solve_cuts(tables, separable(draft, scheme), stop)


def solve_cuts(target_tables: Sequence[Any], trees: Separable, stop: Callable[[], bool] = lambda: False) -> CutBound:
    """`cut_bound` of the trees of a scheme. target_tables: of depths `0..L - 1`, in either arithmetic."""
    size, depth, trees = trees.vocab_size, trees.depth, trees.floats
    starts = _starts(size, depth)
    tables = [np.asarray(table, dtype=np.float64) for table in target_tables[:depth]]
    model = _reach_program(tables, starts)
    cuts: list[Cut] = []
    rounds = 0
    while True:
        model.run()
        rounds += 1
        values = np.array(model.getSolution().col_value)
        reached = [values[starts[d] : starts[d + 1]] for d in range(depth + 1)]
        new = violated(trees, reached, TOLERANCE)
        if not new or stop():
            return CutBound(float(values.sum()), reached, tuple(cuts), rounds, not new)
        cuts += new
        for cut in new:
            _add(model, cut, starts, size, depth)


def _starts(size: int, depth: int) -> Any:
    """Where the nodes of each depth begin, and their number; raises `TooLarge`."""
    if context_count(size, depth) > MOST_NODES or sum(size**d for d in range(depth + 1)) > MOST_NODES:
        raise TooLarge(f"V = {size}, L = {depth}: more than {MOST_NODES:,} nodes; use a smaller vocabulary or tree")
    return np.cumsum([0] + [size**d for d in range(depth + 1)])


def _reach_program(tables: list[Any], starts: Any) -> Any:
    model = warm_model()
    n = int(starts[-1])
    lower = np.zeros(n)
    lower[0] = 1.0
    model.addCols(n, -np.ones(n), lower, np.ones(n), 0, EMPTY[0], *EMPTY)
    for depth, table in enumerate(tables):
        for i, p in enumerate(table.ravel()):
            index = np.array([starts[depth + 1] + i, starts[depth] + i // table.shape[1]], dtype=np.int32)
            model.addRow(-INFINITY, 0.0, 2, index, np.array([1.0, -float(p)]))
    return model


def _add(model: Any, cut: Cut, starts: Any, size: int, depth: int) -> None:
    """The row `sum_S (D(c) - sum_y D(c,y)) <= bound`; inside a subtree everything but its root cancels."""
    row: dict[int, float] = {}
    for context in cut.nodes:
        d, i = len(context), context_index(context, size)
        own = int(starts[d]) + i
        row[own] = row.get(own, 0.0) + 1.0
        if d < depth:
            for y in range(size):
                child = int(starts[d + 1]) + i * size + y
                row[child] = row.get(child, 0.0) - 1.0
    kept = {column: value for column, value in row.items() if value != 0}
    index = np.array(list(kept), dtype=np.int32)
    model.addRow(-INFINITY, cut.bound, len(kept), index, np.array(list(kept.values())))
