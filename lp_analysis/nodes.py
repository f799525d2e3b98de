"""The node arrays that every whole-tree program shares, in either arithmetic.

`V` is the vocabulary size, `L` the depth, `K` the number of branches, `L1` the length of the trunk. A list `a` of node
values has `a[d]` of shape `(V**d,)`, contexts in lexicographic order; `()` is `a[0]`. Tables are as in
`draftproof.simulator.tables`: `tables[d]` of shape `(V**d, V)`.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.arithmetic import arithmetic_of

#: One array of shape `(V**d,)` for every depth `d`.
NodeValues: TypeAlias = list[Any]


def prefix_masses(tables: Sequence[Any], depth: int) -> NodeValues:
    """The probability of every context up to `depth` under the process: `q(c)`."""
    masses = [arithmetic_of(tables[0]).vector([1])]
    for level in range(depth):
        masses.append(children(masses[-1], tables[level]))
    return masses


def children(values: Any, table: Any) -> Any:
    """`values[c] * table[c, y]` for every child, shape `(V**(d+1),)`."""
    return (values[:, np.newaxis] * table).reshape(-1)


def from_leaves(leaves: Any, size: int, depth: int) -> NodeValues:
    """The mass of every prefix, given the mass of every path: `r(c)`."""
    masses = [leaves]
    for _ in range(depth):
        masses.insert(0, masses[0].reshape(-1, size).sum(axis=1))
    return masses


def reach(law: NodeValues, target_tables: Sequence[Any], limits: NodeValues | None = None) -> NodeValues:
    """`D(c,y) = min(r(c,y), D(c) p(y|c))`: the reach of block verification against the selection law `law`.

    limits: what no node may be reached more often than.
    """
    result = [law[0]]
    for depth in range(1, len(law)):
        values = np.minimum(law[depth], children(result[-1], target_tables[depth - 1]))
        result.append(values if limits is None else np.minimum(values, limits[depth]))
    return result


def efficiency(reached: NodeValues) -> Any:
    """Block efficiency, the sum of the reach over all nodes."""
    return worth(reached, [values[:1] * 0 + 1 for values in reached])


def worth(reached: NodeValues, weights: NodeValues) -> Any:
    """The sum of the reach times the weights over all nodes; weights: at each depth one for every node, or one."""
    total = (reached[0] * weights[0]).sum()
    for values, own in zip(reached[1:], weights[1:], strict=True):
        total = total + (values * own).sum()
    return total


def hit_probability(masses: Any, K: int) -> Any:
    """`g(x) = 1 - (1 - x)^K`: the probability that one of `K` independent branches falls into a set of mass `x`."""
    return 1 - (1 - masses) ** K


def as_floats(tables: Sequence[Any]) -> list[Any]:
    """Tables in float64."""
    return [table.astype(np.float64) for table in tables]


def conditional(masses: NodeValues, L1: int) -> Any:
    """`q(path | trunk)`, shape `(V**L1, V**L2)`; rows of trunks without mass are zero."""
    trunks = masses[L1]
    paths = masses[-1].reshape(len(trunks), -1)
    safe = trunks + (trunks == 0) * 1
    return paths / safe[:, np.newaxis]
