"""The program of information: the best verifier that does not see all rows, in float64, small cases.

Nature draws one of `m` instances, equally likely; a verifier sees the draft tree `T` and of the instance `w`

- `everything`: all rows;
- `tree`: its rows at the nodes of `T`;
- `path`: those on one path through `T`, which it chooses as it goes: after the rows of a node it picks a drafted child,
  whose rows it sees next. It accepts a node of this path.

With `x(T, seen, c)` the probability that `c` is accepted where `T` is drafted and this is seen:

    maximise mean over w of sum_c D_w(c)   with   sum_c x(T, seen, c) = 1,
    D_w(c) = sum over T and c' below c of P_w(T) x(T, seen by w, c'),   D_w(c, y) <= D_w(c) p_w(y|c).

On a path the first condition is one of flow: what arrives at a node goes on to its drafted children, whatever rows they
turn out to have, and what arrives at a leaf is accepted somewhere above. The value over that with everything seen is
the share of the optimum that information allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from lp_analysis.reference.hitting import ListedTrees
from simulator.errors import InvalidInput
from simulator.protocol import Context, DraftScheme, TokenProcess

#: What a verifier may see: the rows of all contexts, of the nodes of its tree, or of one path through it.
SEEN = ("everything", "tree", "path")
Pair = tuple[TokenProcess, TokenProcess]
Tree = frozenset[Context]


@dataclass
class _Program:
    """Variables by what they stand for, and rows `sum of coefficients * variable = value`."""

    variables: dict[Any, int] = field(default_factory=dict)
    equal: dict[Any, tuple[dict[int, float], float]] = field(default_factory=dict)

    def number(self, key: Any) -> int:
        return self.variables.setdefault(key, len(self.variables))


def information_bound(pairs: Sequence[Pair], scheme: DraftScheme, seen: str = "tree") -> float:
    """The largest mean block efficiency over equally likely (target, draft) pairs that share the rows at the root.

    Raises `InvalidInput` for an unknown `seen`, `TooLarge` where the trees are too many to be listed.
    """
    if seen not in SEEN:
        raise InvalidInput(f"seen = {seen!r} is unknown; choose from {', '.join(SEEN)}")
    program = _Program()
    objective: dict[int, float] = defaultdict(float)
    below: list[dict[int, float]] = []
    for number, (target, draft) in enumerate(pairs):
        reach: dict[Context, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for tree, mass in ListedTrees.of(draft, scheme).trees:
            rows = {c: number if seen == "everything" else _rows(c, tree, target, draft) for c in tree}
            accepted = _on_paths(program, tree, rows) if seen == "path" else _anywhere(program, tree, rows)
            for context, place in accepted:
                objective[place] -= float(mass) * (len(context) + 1) / len(pairs)
                for depth in range(len(context) + 1):
                    reach[context[:depth]][place] += float(mass)
        for context in [c for c in reach if c]:
            row = dict(reach[context])
            share = float(target.row(context[:-1])[context[-1]])
            for place, value in reach[context[:-1]].items():
                row[place] = row.get(place, 0.0) - share * value
            below.append(row)
    return _solved(program, objective, below)


def _anywhere(program: _Program, tree: Tree, rows: dict[Context, Any]) -> list[tuple[Context, int]]:
    """The variables of accepting each node of a tree whose rows are seen."""
    known = tuple(sorted(rows.items()))
    accepted = [(c, program.number((tree, known, c))) for c in tree]
    program.equal[tree, known] = (dict.fromkeys((place for _, place in accepted), 1.0), 1.0)
    return accepted


def _on_paths(program: _Program, tree: Tree, rows: dict[Context, Any]) -> Iterable[tuple[Context, int]]:
    """Those of accepting a node of the path that is gone along."""
    for context in sorted(tree, key=len):
        above = [context[:depth] for depth in range(len(context) + 1)]
        known = tuple(rows[c] for c in above)
        arrives = {} if not context else {program.number((tree, "goes", known[:-1], context)): -1.0}
        children = [c for c in tree if len(c) == len(context) + 1 and c[:-1] == context]
        if children:
            leaves = {program.number((tree, "goes", known, child)): 1.0 for child in children}
        else:
            accepted = [(c, program.number((tree, "accepts", known, context, c))) for c in above]
            leaves = dict.fromkeys((place for _, place in accepted), 1.0)
            yield from accepted
        program.equal[tree, context, known] = ({**leaves, **arrives}, 0.0 if context else 1.0)


def _solved(program: _Program, objective: dict[int, float], below: list[dict[int, float]]) -> float:
    width = len(program.variables)
    cost = np.zeros(width)
    cost[list(objective)] = list(objective.values())
    solved = linprog(
        cost,
        A_ub=_matrix(below, width),
        b_ub=np.zeros(len(below)),
        A_eq=_matrix([row for row, _ in program.equal.values()], width),
        b_eq=np.array([value for _, value in program.equal.values()]),
        method="highs",
    )
    return -float(solved.fun)


def _rows(context: Context, tree: Tree, target: TokenProcess, draft: TokenProcess) -> Any:
    """The rows at a node of a tree, as something that can be compared."""
    inner = any(len(c) > len(context) and c[: len(context)] == context for c in tree)
    return tuple(map(str, target.row(context))), tuple(map(str, draft.row(context))) if inner else ()


def _matrix(rows: Sequence[dict[int, float]], width: int) -> Any:
    entries = [(i, j, value) for i, row in enumerate(rows) for j, value in row.items()]
    i, j, values = zip(*entries, strict=True)
    return coo_array((values, (i, j)), shape=(len(rows), width)).tocsr()
