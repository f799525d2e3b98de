"""The direct program: one variable for every pair of a draft tree and a node of it. The reference for small cases.

`x(T, c)` is the probability that the tree is `T` and `c` is accepted. The only constraints are the definitions:

    maximise sum_c D(c)   with   sum_c x(T, c) = P(T),   D(c) = sum_T sum_{c' below c} x(T, c'),
                                 D(c,y) <= D(c) p(y|c)   for every child, drafted or not.

At a given bias the last line is replaced by correction masses `e(c,y)` of any law, `sum_y e(c,y) = sum_T x(T, c)`, and
by `sum_x (p(x) - o(x))+ <= bias` over the paths of length `L`, where `o` is the law of the output, continued by the
target. Other measures than this total variation are convex in `o`, too, and those that are rates are bounded by a
multiple of the tokens.
"""

from itertools import product
from typing import Any

import numpy as np
import scipy  # what is used of it is loaded at its first use

from draftproof.lp_analysis.bias_measures import MEASURES
from draftproof.lp_analysis.hitting import ListedTrees, Trees
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.exact import ProcessLike, as_process
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Context, DraftScheme

#: Most variables that are handed to the solver.
MOST_VARIABLES = 300_000


def direct_bound(
    target: ProcessLike, draft: ProcessLike, scheme: DraftScheme, bias: float | None = None, measure: str = "block"
) -> float:
    """The optimum over all lossless verifiers for any scheme, or over all of at most this bias, in float64.

    target, draft: processes, or their tables to the depth of the scheme less 1. measure: of the bias, a name that
    `bias_measures.measure` takes. Raises `InvalidInput`, `TooLarge`.
    """
    cp = modelling()
    if measure == "entropy_per_token" and bias == 0:  # a cone without interior, and the same as no bias at all
        bias = None
    trees = trees_of(draft, scheme)
    variables = sum(len(tree) for tree, _ in trees)
    if variables > MOST_VARIABLES:
        raise TooLarge(f"{variables:,} variables; the direct program is for at most {MOST_VARIABLES:,}")
    tables = tabulate(as_process(target, "target"), max(scheme.depth - 1, 0), FLOAT64, "target").tables
    pairs = [(t, context) for t, (tree, _) in enumerate(trees) for context in sorted(tree)]
    place = {c: i for i, c in enumerate(sorted({context for _, context in pairs}))}
    of_tree = _incidence([(t, i) for i, (t, _) in enumerate(pairs)], (len(trees), len(pairs)))
    through = _incidence(
        [(place[c[:d]], i) for i, (_, c) in enumerate(pairs) for d in range(len(c) + 1)], (len(place), len(pairs))
    )
    x = cp.Variable(len(pairs), nonneg=True)
    reach = through @ x
    rules = [of_tree @ x == np.array([float(mass) for _, mass in trees])]
    if bias is None:
        child, share = _matching(place, tables)
        rules.append(child @ reach <= share @ reach)
    else:
        accepted = _incidence([(place[c], i) for i, (_, c) in enumerate(pairs)], (len(place), len(pairs))) @ x
        rules += _within(measure, bias, accepted, cp.sum(reach), place, tables)
    problem = cp.Problem(cp.Maximize(cp.sum(reach)), rules)
    if bias is not None and measure == "entropy_per_token":
        return float(problem.solve(solver=cp.CLARABEL))
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return float(problem.solve(solver=cp.HIGHS, highs_options=exact))


def modelling() -> Any:
    """The package cvxpy; raises `InvalidInput` where it is not installed."""
    try:
        import cvxpy  # noqa: PLC0415 - slow to import, and only the reference programs need it
    except ImportError:
        raise InvalidInput("the reference programs need cvxpy: pip install 'draftproof[reference]'") from None
    return cvxpy


def trees_of(draft: ProcessLike, scheme: DraftScheme) -> Trees:
    """The trees of any scheme, by enumeration of its draws."""
    return ListedTrees.of(as_process(draft, "draft"), scheme).trees


def _matching(place: dict[Context, int], tables: list[Any]) -> tuple[Any, Any]:
    """The matrices that give, of every node below the root, `D(c,y)` and `D(c) p(y|c)`."""
    below = [c for c in place if c]
    child = _incidence([(i, place[c]) for i, c in enumerate(below)], (len(below), len(place)))
    share = scipy.sparse.csr_array(
        ([_row(tables, c)[c[-1]] for c in below], (range(len(below)), [place[c[:-1]] for c in below])),
        shape=(len(below), len(place)),
    )
    return child, share


def _within(
    measure: str, bias: float, accepted: Any, tokens: Any, place: dict[Context, int], tables: list[Any]
) -> list[Any]:
    """The rules of a bias. accepted: of every node, the probability that exactly it is accepted. tokens: a block's."""
    cp, V, L = modelling(), tables[0].shape[1], len(tables)
    edges = [(*c, y) for c in place if len(c) < L for y in range(V)]
    paths = list(product(range(V), repeat=L))
    inner = sorted({place[edge[:-1]] for edge in edges})
    owner = np.array([[float(place[edge[:-1]] == i) for edge in edges] for i in inner])
    through = np.array(
        [[_goes_on(tables, path, len(edge)) * (path[: len(edge)] == edge) for edge in edges] for path in paths]
    )
    whole = np.array([[float(path == c) for c in place] for path in paths])
    wanted = np.array([_goes_on(tables, path, 0) for path in paths])
    e = cp.Variable(len(edges), nonneg=True)
    output = through @ e + whole @ accepted
    sums = [np.kron(np.eye(V**depth), np.ones(V ** (L - depth))) for depth in range(L + 1)]  # `O(c)` of paths
    return [owner @ e == accepted[inner], *_measured(measure, bias, output, wanted, tokens, sums, tables)]


def _measured(
    measure: str, bias: float, output: Any, wanted: Any, tokens: Any, sums: list[Any], tables: list[Any]
) -> list[Any]:
    """That a measure of the output is at most the bias. output, wanted: masses of the paths of length `L`."""
    cp, head, V, L = modelling(), measure.partition(":")[0], tables[0].shape[1], len(tables)
    if measure == "entropy_per_token":
        never = wanted <= 0
        rules = [output[never] == 0] if never.any() else []
        return [*rules, cp.sum(cp.rel_entr(output[~never], wanted[~never])) <= bias * tokens]
    if measure == "token":
        rules = []
        for depth, table in enumerate(tables):
            here, below = sums[depth] @ output, sums[depth + 1] @ output
            share = np.vstack([np.kron(np.eye(V**depth)[c], table[c][:, None]) for c in range(V**depth)])
            missing = cp.Variable(V ** (depth + 1), nonneg=True)
            total = np.kron(np.eye(V**depth), np.ones(V)) @ missing
            rules += [below + missing >= share @ here, total <= bias * here]
        return rules
    number = measure.partition(":")[2] if head == "first" else str(L)
    if head not in ("block", "first", "per_token") or not number.isdecimal() or int(number) == 0:
        raise InvalidInput(f"measure {measure!r} is not known; known: {', '.join(MEASURES)}, first:N")
    depth = min(int(number), L)
    missing = cp.Variable(V**depth, nonneg=True)
    most = bias * tokens if head == "per_token" else bias
    return [sums[depth] @ output + missing >= sums[depth] @ wanted, cp.sum(missing) <= most]


def _goes_on(tables: list[Any], path: Context, begun: int) -> float:
    """The probability that the target goes on after `begun` tokens as this path does."""
    return float(np.prod([_row(tables, path[: d + 1])[path[d]] for d in range(begun, len(path))]))


def _incidence(pairs: list[tuple[int, int]], shape: tuple[int, int]) -> Any:
    rows, columns = zip(*pairs, strict=True)
    return scipy.sparse.csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)


def _row(tables: list[Any], context: Context) -> Any:
    index = 0
    for token in context[:-1]:
        index = index * tables[0].shape[1] + token
    return tables[len(context) - 1][index]
