"""The direct program of the long run: the rates of blocks from every state and of every pair of a tree and its node.

    maximise sum_s D_s(c)   with   sum_c x_s(T, c) = z_s P_s(T),  D_s(c,y) <= D_s(c) p(y|c),  sum_s z_s = 1,
                                   z_t = sum of the corrections e_s(c,y) = D_s(c) p(y|c) - D_s(c,y) that end in t.

`z_s` is the rate of blocks that begin in `s`, `D_s(c)` that of those whose accepted path goes through `c`.
"""

from itertools import product

import numpy as np
import scipy

from draftproof.lp_analysis.direct import trees_of
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.tables import context_at


def direct_long_run(target, draft, scheme):
    """The most tokens a block in the long run, in float64; target, draft: rows of the states, the same for both."""
    states, size = target.shape
    order = round(np.log(states) / np.log(size))
    nodes = [c for d in range(scheme.depth + 1) for c in product(range(size), repeat=d)]
    place = {c: i for i, c in enumerate(nodes)}
    reaches, equal, below, flows = [], [], [], np.zeros((0, states))
    for state in range(states):
        trees = trees_of(MarkovProcess(draft, context_at(state, order, size)), scheme)
        pairs = [(t, c) for t, (tree, _) in enumerate(trees) for c in sorted(tree)]
        through = np.zeros((len(nodes), len(pairs)))
        for column, (_, c) in enumerate(pairs):
            through[[place[c[:d]] for d in range(len(c) + 1)], column] = 1
        ends, matching = np.zeros((len(nodes), states)), []
        for c in nodes:
            row, here = target[after(state, c, states, size)], place[c]
            for y in range(size):
                ends[here, after(state, (*c, y), states, size)] += row[y]
                if len(c) < scheme.depth:
                    ends[place[*c, y], after(state, (*c, y), states, size)] -= 1
                    matching.append(through[place[*c, y]] - row[y] * through[here])
        reaches.append(through.sum(0))
        flows = np.vstack([flows, through.T @ ends])
        equal.append((np.array([[float(t == i) for t, _ in pairs] for i in range(len(trees))]), [m for _, m in trees]))
        below.append(np.array(matching).reshape(-1, len(pairs)))
    of_tree = scipy.linalg.block_diag(*(matrix for matrix, _ in equal))
    begun = scipy.linalg.block_diag(*(np.array(masses, dtype=float)[:, None] for _, masses in equal))
    left = np.vstack(
        [
            np.hstack([of_tree, -begun]),
            np.hstack([flows.T, -np.eye(states)]),
            np.hstack([np.zeros((1, len(flows))), np.ones((1, states))]),
        ]
    )
    right = np.append(np.zeros(len(left) - 1), 1)
    matched = scipy.linalg.block_diag(*below)
    matched = np.hstack([matched, np.zeros((len(matched), states))])
    gain = np.append(np.concatenate(reaches), np.zeros(states))
    found = scipy.optimize.linprog(
        -gain, A_ub=matched, b_ub=np.zeros(len(matched)), A_eq=left, b_eq=right, method="highs-ds"
    )
    assert found.status == 0, found.message
    return -found.fun


def after(state, context, states, size):
    """The state after a context."""
    for token in context:
        state = (state * size + token) % states
    return state
