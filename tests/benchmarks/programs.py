"""The last level program of an optimum, solved by our interior-point method, by HiGHS and by Clarabel.

`python -m tests.benchmarks.programs` prints a table of processor seconds and gaps: the value that a solver finds minus
the largest lower bound that ours has, in tokens. Set OMP_NUM_THREADS=1: the programs are small. Shapes are given as
`V,K,L`, by default those of `SHAPES`; `--seconds` stops HiGHS and Clarabel.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.levels import first_knots
from draftproof.lp_analysis.solvers.minimise import Search, in_stages
from draftproof.lp_analysis.solvers.programs import PriceProgram
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES

SHAPES = tuple((4, K, L) for L in (3, 4) for K in (2, 3, 4))
FAMILY_NAMES = (("perturbed", {"s": 1.0}), ("dirichlet", {}))
#: The gap of the optimum whose last program it is, that which solvers are asked for, and the tolerances of HiGHS.
GAP, ACCURACY, TIGHT = 1e-6, 1e-8, 1e-10


def last_program(V: int, K: int, L: int, family: str, parameters: dict[str, float], gap: float = GAP) -> PriceProgram:
    """The program at the knots at which the optimum of this instance converges."""
    instance = FAMILIES[family].instance(V, L, np.random.default_rng(0), **parameters)
    problem = BoundProblem.of(instance.target, instance.draft, Delayed(K, 0, L)).floats
    return PriceProgram(problem, in_stages(problem, first_knots(1, 16), gap, Search()))


def matrix(program: PriceProgram) -> tuple[Any, Any, Any]:
    """`cost`, `A` and `right` of `minimise cost x` subject to `A x >= right`; trees without a trunk and a bias.

    Without the last cell, whose `b` is 0: levels have no origin.
    """
    rows, V, n, M = program.rows, program.rows.V, program.rows.n, program.rows.M
    paths, inner = rows.N, rows.inner
    nodes, ends, below = np.arange(n), np.arange(paths), np.arange(V, n)
    above = np.arange(inner)  # nodes above depth `L`
    place, mean = n + 1, below // V - 1  # where `Z` begins; the parents of `below`
    chosen = [(nodes, nodes + 1, np.ones(n)), (nodes, nodes // V, -np.ones(n))]
    ended = [(ends, 1 + inner + ends, np.ones(paths)), (ends, place + inner + ends, -np.ones(paths))]
    corrected = [(nodes, nodes // V, np.ones(n)), (nodes, place + nodes, -np.ones(n))]
    continued = [(above, place + above, -np.ones(inner)), (mean, place + below, rows.tables[below])]
    cell = np.arange(paths * M)
    last = [
        (cell, 2 * n + 1 + cell // M, np.ones(len(cell))),
        (cell, 2 * n + 1 + paths + cell % M, np.ones(len(cell))),
        (cell, 1 + inner + cell // M, -rows.slopes[0][cell % M]),
    ]
    width = 2 * n + 1 + paths + M
    parts = [(chosen, n), (ended, paths), (corrected, n), (continued, inner), (last, len(cell))]
    A = sparse.vstack([_sparse(entries, height, width) for entries, height in parts], format="csr")
    right = np.concatenate([np.zeros(n), program.right.ended, program.right.corrected, np.zeros(inner + len(cell))])
    cost = program.cost
    return np.concatenate([cost.pi, cost.z, cost.a.ravel(), cost.b.ravel()])[:-1], A[:, :-1], right


def _sparse(entries: Sequence[tuple[Any, Any, Any]], height: int, width: int) -> Any:
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.coo_matrix((values, (rows, columns)), shape=(height, width))


def ours(program: PriceProgram) -> tuple[float, float]:
    """The value of the program by our method, and a lower bound on it."""
    state = program.start()
    while True:
        state = program.step(state)
        found = program.read(state, program.problem)
        if found.value - found.lower < ACCURACY:
            return found.value, found.lower


def highs(program: PriceProgram, solver: str, seconds: float) -> float | str:
    """The value by HiGHS: "simplex" or "ipm"; else what it says."""
    import highspy

    cost, A, right = matrix(program)
    model: Any = highspy.Highs()
    options: dict[str, Any] = {"output_flag": False, "threads": 1, "solver": solver, "time_limit": seconds}
    options |= {
        "primal_feasibility_tolerance": TIGHT,
        "dual_feasibility_tolerance": TIGHT,
    }  # costs are as small as 1e-8
    for name, value in options.items():
        model.setOptionValue(name, value)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.col_cost_ = A.shape[1], A.shape[0], cost
    lp.col_lower_, lp.col_upper_ = np.full(A.shape[1], -highspy.kHighsInf), np.full(A.shape[1], highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = right, np.full(A.shape[0], highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    model.passModel(lp)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return str(model.modelStatusToString(model.getModelStatus())).lower()
    return float(model.getInfo().objective_function_value)


def clarabel(program: PriceProgram, seconds: float) -> float | str:
    """The value by Clarabel, through cvxpy; else what it says."""
    import cvxpy

    cost, A, right = matrix(program)
    x = cvxpy.Variable(len(cost))
    stated = cvxpy.Problem(cvxpy.Minimize(cost @ x), [A @ x >= right])
    options = {"time_limit": seconds, "tol_gap_abs": ACCURACY, "tol_gap_rel": ACCURACY, "tol_feas": ACCURACY}
    try:
        stated.solve(solver="CLARABEL", max_threads=1, **options)
    except cvxpy.error.SolverError:
        return "no solution"
    return float(stated.value) if stated.status == "optimal" else str(stated.status).replace("_", " ")


def timed(task: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a task, and what it returns."""
    begun = time.process_time()
    found = task()
    return time.process_time() - begun, found


def line(shape: tuple[int, int, int], family: str, parameters: dict[str, float], limit: float) -> str:
    """A row of the table."""
    program = last_program(*shape, family, parameters)
    seconds, (value, lower) = timed(lambda: ours(program))
    cells = [f"{seconds:.2f} s, {value - lower:.0e}"]
    for task in (
        lambda: highs(program, "simplex", limit),
        lambda: highs(program, "ipm", limit),
        lambda: clarabel(program, limit),
    ):
        seconds, found = timed(task)
        cells.append(f"{seconds:.2f} s, {found if isinstance(found, str) else format(found - lower, '.0e')}")
    name = family + "".join(f":{key}={number:g}" for key, number in parameters.items())
    cost, A, _ = matrix(program)
    sizes = (", ".join(map(str, shape)), name, f"{A.shape[0]:,} x {len(cost):,}")
    return f"| {' | '.join([*sizes, *cells])} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shapes", nargs="*", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    print("| V, K, L | family | rows x unknowns | ours | HiGHS simplex | HiGHS interior point | Clarabel |")
    print("|---|---|---|---|---|---|---|")
    for shape in chosen.shapes or SHAPES:
        for family, parameters in FAMILY_NAMES:
            print(line(shape, family, parameters, chosen.seconds), flush=True)


if __name__ == "__main__":
    main()
