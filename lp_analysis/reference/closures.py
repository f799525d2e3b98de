"""The most violated set of nodes, by maximising `A(S) - P(T meets S)` over sets `S`, in two ways.

It is a closure problem: a set that contains a node pays for every tree that holds the node.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy  # what is used of it is loaded at its first use

from draftproof.simulator.instances.processes import context_at
from draftproof.simulator.protocol import Context

#: The draft trees as sets of nodes, with their probabilities.
Listed = Sequence[tuple[frozenset[Context], float]]
#: Whole numbers stand for masses; flows have 32 bits.
SCALE = 2**30


def subtree(depth: int, index: int, size: int, deepest: int) -> set[Context]:
    """The context at a place of a depth, and all contexts below it."""
    nodes: set[Context] = set()
    for d in range(depth, deepest + 1):
        first = index * size ** (d - depth)
        nodes |= {context_at(i, d, size) for i in range(first, first + size ** (d - depth))}
    return nodes


def closure_by_flow(trees: Listed, accepted: Mapping[Context, float]) -> frozenset[Context]:
    """By the minimum cut from the nodes to the trees that hold them, masses rounded to multiples of `2^-30`."""
    contexts = [context for context, mass in accepted.items() if mass > 0]
    place = {context: 2 + i for i, context in enumerate(contexts)}
    count = 2 + len(contexts) + len(trees)
    edges = [(0, place[c], round(accepted[c] * SCALE)) for c in contexts]
    for number, (tree, mass) in enumerate(trees, start=2 + len(contexts)):
        edges.append((number, 1, round(float(mass) * SCALE)))
        edges += [(place[context], number, 2 * SCALE - 1) for context in tree if context in place]
    rows, columns, capacities = (np.array(part, dtype=np.int32) for part in zip(*edges, strict=True))
    graph = scipy.sparse.csr_array((capacities, (rows, columns)), shape=(count, count))
    flow = scipy.sparse.csgraph.maximum_flow(graph, 0, 1).flow
    left = graph - flow
    left.eliminate_zeros()
    seen = scipy.sparse.csgraph.breadth_first_order(left, 0, return_predecessors=False)
    reached = set(seen.tolist())
    return frozenset(context for context in contexts if place[context] in reached)


def closure_by_program(trees: Listed, accepted: Mapping[Context, float]) -> frozenset[Context]:
    """By linear programming; its corners are whole numbers."""
    contexts = list(accepted)
    place = {context: i for i, context in enumerate(contexts)}
    cost = np.array([-accepted[c] for c in contexts] + [float(mass) for _, mass in trees])
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for t, (tree, _) in enumerate(trees):
        for context in tree:
            rows += [len(rows) // 2] * 2
            columns += [place[context], len(contexts) + t]
            values += [1.0, -1.0]
    matrix = scipy.sparse.csr_array((values, (rows, columns)), shape=(len(rows) // 2, len(cost)))
    solution = scipy.optimize.linprog(
        cost, A_ub=matrix, b_ub=np.zeros(matrix.shape[0]), bounds=(0, 1), method="highs-ds"
    )
    return frozenset(c for c, value in zip(contexts, solution.x, strict=False) if value > 0.5)
