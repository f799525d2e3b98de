"""`path_transport`: its node program against all orders and all sets, exactness whatever it returns, quality."""

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from scipy.optimize import nnls

from draftproof.simulator import FAMILIES, Delayed, check
from draftproof.simulator.drafts import Greedy
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.verdicts.cases import conformance_instances
from draftproof.verifiers import make
from draftproof.verifiers._token_orders import (
    DENOMINATOR,
    FEW,
    cheapest_order,
    node_mixtures,
    ranked_below,
    rounded,
)
from draftproof.verifiers.path_transport import PathTransport

#: The weights of a few orders, each off by at most half of 1/DENOMINATOR: a hundred nodes lose 3e-4 at most.
ROUNDING = 1 / DENOMINATOR


def selected(order, k, q):
    """Step 2 by definition: `[m - 1, y]`, the probability that `order` (worst first) selects `y` with `m` alive."""
    below = np.array([sum(q[z] for z in order[: order.index(y)]) for y in range(len(q))])
    return np.array([comb(k, m) * q**m * below ** (k - m) for m in range(1, k + 1)])


def shares(mixtures, alive, q):
    """`u_m(y)` of the mixtures."""
    total = np.zeros((len(alive), len(q)))
    total[0] = alive[0] * q
    for k, mixture in enumerate(mixtures, start=2):
        for units, order in zip(mixture.units, mixture.orders, strict=True):
            total[:k] += alive[k - 1] * units / DENOMINATOR * selected(order, k, q)
    return total


def node(V, K, seed):
    """A random node: weight, alive, p, q."""
    rng = np.random.default_rng((V, K, seed))
    alive = rng.dirichlet(np.ones(K)) if seed % 3 else np.eye(K)[-1]
    p, q = rng.dirichlet(np.ones(V)), rng.dirichlet(np.ones(V))
    if seed % 2:
        q = p * np.exp(0.5 * rng.standard_normal(V))
        q /= q.sum()
    return rounded([rng.uniform(0.5, 1) if seed % 4 else 1.0])[0], rounded(alive), rounded(p), rounded(q)


def largest_value(weight, alive, p, q):
    """The maximum of step 1 over all sets, not only prefixes."""
    tokens = range(len(p))
    sets = [best for size in range(len(p) + 1) for best in combinations(tokens, size)]
    return min(
        sum(weight * p[y] for y in tokens if y not in best)
        + sum(share * (1 - (1 - sum(q[y] for y in best)) ** k) for k, share in enumerate(alive, start=1))
        for best in sets
    )


def least_squares(weight, alive, p, q):
    """The least `sum u_m(y)^2` of an optimum, over all orders at once: nothing is split, nothing is generated."""
    V, K = len(p), len(alive)
    columns = [(k, selected(order, k, q) * alive[k - 1]) for k in range(2, K + 1) for order in permutations(range(V))]
    stack = np.zeros((len(columns), K, V))
    for i, (k, column) in enumerate(columns):
        stack[i, :k] = column
    one = np.zeros((K, V))
    one[0] = alive[0] * q
    firm, n = 1e4, len(columns)
    # u + short - over = w p, and the shortfall is that of an optimum
    matrix = np.vstack(
        [
            np.hstack([stack.reshape(n, -1).T, np.zeros((K * V, 2 * V))]),
            firm * np.hstack([stack.sum(axis=1).T, np.eye(V), -np.eye(V)]),
            firm * np.hstack([np.zeros((1, n)), np.ones((1, V)), np.zeros((1, V))]),
            firm
            * np.hstack([[[float(k == of) for of, _ in columns] for k in range(2, K + 1)], np.zeros((K - 1, 2 * V))]),
        ]
    )
    missing = weight - largest_value(weight, alive, p, q)
    wanted = np.concatenate([-one.ravel(), firm * (weight * p - one[0]), [firm * missing], np.full(K - 1, firm)])
    found = nnls(matrix, wanted, maxiter=10_000)[0][:n]
    return float(((one + np.tensordot(found, stack, axes=1)) ** 2).sum())


NODES = [node(V, K, seed) for V, K in ((2, 2), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3)) for seed in range(8)]


@pytest.mark.parametrize("given", NODES)
def test_node_program_attains_the_maximum_over_all_sets_and_the_least_squares_over_all_orders(given):
    weight, alive, p, q = given
    p, q = np.array(p), np.array(q)
    total = shares(node_mixtures(*given), alive, q)
    assert abs(total.sum() - 1) < 1e-9  # an identity, up to ten decimals of the rows
    assert abs(np.minimum(weight * p, total.sum(axis=0)).sum() - largest_value(weight, alive, p, q)) < ROUNDING
    assert abs((total**2).sum() - least_squares(weight, alive, p, q)) < ROUNDING


@pytest.mark.parametrize("seed", [14, 27, 31])  # where the first round of exchanges gains nothing, and a later one does
def test_a_search_ends_where_no_exchange_of_neighbours_gains(seed):
    rng, size = np.random.default_rng(seed), FEW + 2
    mass, factors = rng.dirichlet(np.ones(size)), rng.standard_normal((3, size))

    def cost(order):
        below = ranked_below(order, mass, 0.0)
        return sum((factor[order] * below**power).sum() for power, factor in enumerate(factors))

    order = cheapest_order(factors, mass, 0.0)
    for place in range(size - 1):
        exchanged = order.copy()
        exchanged[[place, place + 1]] = order[[place + 1, place]]
        assert cost(exchanged) > cost(order) - 1e-12


def test_one_step_is_the_optimum_up_to_the_rounding_of_weights():
    for V, K in ((2, 4), (3, 3), (4, 2)):
        for instance in conformance_instances((V, K, 0, 1), 8):
            found = check(PathTransport(), instance.target, instance.draft, Delayed(K, 0, 1)).block_efficiency
            p, q = (np.array(process.row(()).tolist(), dtype=float) for process in (instance.target, instance.draft))
            best = 1 + largest_value(1.0, np.eye(K)[-1], p, q)
            assert best - ROUNDING < found <= best + 1e-12


def test_trees_of_other_branches_are_refused():
    instance = FAMILIES["dirichlet"].instance(3, 2, np.random.default_rng(0), 64)
    with pytest.raises(UnsupportedTree, match="is not made of"):
        check(make("path_transport"), instance.target, instance.draft, Greedy(2, 0, 2))
