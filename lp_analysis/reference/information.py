"""The program of information: the best verifier that sees the rows of drafted nodes only, in float64, small cases.

Nature draws one of `m` instances, equally likely; a verifier sees the draft tree `T` and of the instance `w` only its
rows at the nodes of `T`, or at those of one path. With `x(T, rows seen, c)` the probability that `c` is accepted:

    maximise mean over w of sum_c D_w(c)   with   sum_c x(T, seen, c) = P(T),
    D_w(c) = sum over T and c' below c of x(T, seen by w, c'),   D_w(c, y) <= D_w(c) p_w(y|c).

Its value over that with everything seen is the share of the optimum that information allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from lp_analysis.reference.hitting import ListedTrees
from simulator.errors import InvalidInput
from simulator.protocol import Context, DraftScheme, TokenProcess

#: What a verifier may see: the rows of all contexts, or of the nodes of its tree.
SEEN = ("everything", "tree")
Pair = tuple[TokenProcess, TokenProcess]


def information_bound(pairs: Sequence[Pair], scheme: DraftScheme, seen: str = "tree") -> float:
    """The largest mean block efficiency over equally likely (target, draft) pairs that share the rows at the root.

    Raises `InvalidInput` for an unknown `seen`, `TooLarge` where the trees are too many to be listed.
    """
    if seen not in SEEN:
        raise InvalidInput(f"seen = {seen!r} is unknown; choose from {', '.join(SEEN)}")
    listed = [ListedTrees.of(draft, scheme).trees for _, draft in pairs]
    variables: dict[Any, int] = {}
    equal: dict[Any, tuple[dict[int, float], float]] = {}
    objective: dict[int, float] = defaultdict(float)
    below: list[dict[int, float]] = []
    for number, ((target, draft), trees) in enumerate(zip(pairs, listed, strict=True)):
        reach: dict[Context, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for tree, mass in trees:
            known = number if seen == "everything" else _rows_seen(tree, target, draft, scheme.depth)
            nodes = {c: variables.setdefault((tree, known, c), len(variables)) for c in tree}
            equal[tree, known] = (dict.fromkeys(nodes.values(), 1.0), float(mass))
            for context, place in nodes.items():
                objective[place] -= (len(context) + 1) / len(pairs)
                for depth in range(len(context) + 1):
                    reach[context[:depth]][place] += 1.0
        for context in [c for c in reach if c]:
            row = dict(reach[context])
            share = float(target.row(context[:-1])[context[-1]])
            for place, value in reach[context[:-1]].items():
                row[place] = row.get(place, 0.0) - share * value
            below.append(row)
    cost = np.zeros(len(variables))
    cost[list(objective)] = list(objective.values())
    solved = linprog(
        cost,
        A_ub=_matrix(below, len(variables)),
        b_ub=np.zeros(len(below)),
        A_eq=_matrix([row for row, _ in equal.values()], len(variables)),
        b_eq=np.array([mass for _, mass in equal.values()]),
        method="highs",
    )
    return -float(solved.fun)


def _rows_seen(tree: frozenset[Context], target: TokenProcess, draft: TokenProcess, depth: int) -> Any:
    """The rows at the nodes of a tree, as something that can be compared."""
    rows = []
    for context in sorted(tree):
        inner = tuple(map(str, draft.row(context))) if len(context) < depth else ()
        rows.append((context, tuple(map(str, target.row(context))), inner))
    return tuple(rows)


def _matrix(rows: Sequence[dict[int, float]], width: int) -> Any:
    entries = [(i, j, value) for i, row in enumerate(rows) for j, value in row.items()]
    i, j, values = zip(*entries, strict=True)
    return coo_array((values, (i, j)), shape=(len(rows), width)).tocsr()
