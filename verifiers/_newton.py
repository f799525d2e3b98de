"""Weights of the race of one layer by Newton's method: few steps, each of them with all pairs of pairs.

With `v = e^x` the law of a race is `r(c, j) = E[k v / sum]`, the gradient in `x` of the convex function
`E[log sum of the weights of what is drafted in the block]`. So `r = t` is solved by Newton's method, and its matrix
`dr/dx` consists of integrals like those of `draftproof.verifiers._race.race_integral`: with `A` the integrand of a pair
over that of no pair of its node, `G` the probability that all branches are later,
    dr_i/dx_j = [i = j] (r_i - integral of s v_i A_i G) - f integral of A_i A_j G,
where `f` is `(k_c - 1)/k_c` for two pairs of one node `c`, and 1 for pairs of two nodes.

Shapes: `N` pairs in blocks of several, in `R` runs of one node and one block, `S` points of the integral.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.verifiers._equalised import POWER, Chain, by_rounds, first_weights
from draftproof.verifiers._race import COARSE, SPAN, segments

#: From an error `sum abs(t - r)` of this share of `sum t` the next step is the last, as it about squares the error.
#: Where none comes so near, or where there are more pairs than this, rounds take their place, which are slower.
NEAR, MOST = 2.0**-7, 160
#: So many steps at most, the first ones `x <- x + 1.5 log(t/r)` while the error is above the third number, and the most
#: that one changes a logarithm.
STEPS, FIRST, ROUGH, LONGEST = 12, 2, 0.04, 3.0
#: Where a step makes the error no smaller, this share of `t` is added to the diagonal of the matrix, then ten times as
#: much. The first share makes up for the one change without effect, a factor of all weights of a block.
RIDGE, LARGE_RIDGE = 1e-7, 0.1
#: Smaller parts of the integrals are left out: numbers below what a float64 holds in full are slow.
TINY = 1e-100
#: Points of the integrals: times, and the widths in `log s` that they stand for.
TIMES, WIDTHS = COARSE[0], COARSE[1] / COARSE[0]
#: The logarithm of the least weight.
LEAST = -SPAN * np.log(2.0)


def newton_weights(chain: Chain, branches: tuple[int, ...]) -> Any:
    """Weights of at most 1, the largest of every block 1, shape `(1, N)`; the chain of a single layer."""
    first, last = segments(chain.blocks)
    weights = first_weights(chain, first, last)
    pairs = np.flatnonzero(chain.valid & (last > first))
    if not pairs.size:
        return weights
    if pairs.size <= MOST:
        logs = _Equations(chain, (*branches, 1), pairs, last[0, pairs]).solved(np.log(weights[0, pairs]))
        if logs is not None:
            weights[0, pairs] = np.exp(logs)
            return weights
    return by_rounds(chain, branches)


class _Equations:
    """`r = t` for the pairs of one layer that are in blocks of several."""

    def __init__(self, chain: Chain, branches: tuple[int, ...], pairs: Any, last: Any) -> None:
        """branches: of the nodes and of the null option. last: for each pair the last place of its block."""
        k, node, mass = np.array(branches), chain.node[0], chain.draft[0]
        inside = (mass[:, None] * (node[:, None] == np.arange(len(k)))).cumsum(axis=0)
        node, self.mass, self.target_mass = node[pairs], mass[pairs][:, None], chain.target_mass[0, pairs]
        opens = np.append(True, last[1:] != last[:-1])
        runs = np.append(True, opens[1:] | (node[1:] != node[:-1]))
        self.block, self.run = opens.cumsum() - 1, runs.cumsum() - 1
        self.runs = np.flatnonzero(runs)  # the first pair of every run, and the first run of every block
        self.blocks = np.flatnonzero(opens)
        self.first_runs = self.run[self.blocks]
        behind = np.maximum(1 - inside[last[self.blocks]], 0)  # by block and node: what a branch has in worse blocks
        own = self.block[self.runs], node[self.runs]
        self.behind = behind[own][:, None]
        behind[own] = 1.0  # left are the nodes that have no pair in the block
        self.others = (behind**k).prod(axis=1)[:, None] * WIDTHS
        self.exponents, self.drawn = k[node[self.runs]][:, None], k[node][:, None] * self.mass
        self.alone = np.where(node == len(k) - 1, 1 - chain.capacity[0, -1], 0.0)  # drafted is the null option alone
        self.diagonal = np.diag_indices(len(pairs))
        self.factor = np.where(node[:, None] == node, ((k - 1) / k)[node], 1.0) * (self.block[:, None] == self.block)

    def solved(self, logs: Any) -> Any:
        """The logarithms of the weights, None where no steps lead there. logs: where to begin."""
        best, least, ridge = logs, np.inf, RIDGE
        for number in range(STEPS):
            law, slopes = self.law(logs)
            due = self.target_mass * (self._by_block(law) / self._by_block(self.target_mass))[self.block]
            error = abs(due - law).sum() / due.sum()
            if error < least or number < FIRST:
                best, least, ridge, lacks, matrix = logs, error, max(ridge / 10, RIDGE), due - law, slopes
            else:
                ridge = max(10 * ridge, LARGE_RIDGE)
            if error > ROUGH and number < FIRST:
                change = POWER * np.log(due / np.maximum(law, TINY))
            else:
                change = np.linalg.solve(matrix(ridge * due), lacks)
                change -= (self._by_block(due * change) / self._by_block(due))[self.block]
            logs = best + change.clip(-LONGEST, LONGEST)
            logs = np.maximum(logs - np.maximum.reduceat(logs, self.blocks)[self.block], LEAST)
            if least <= NEAR:
                return logs
        return None

    def law(self, logs: Any) -> tuple[Any, Callable[..., Any]]:
        """`r`, and what computes `dr/dx`, with a ridge added to its diagonal."""
        times = np.exp(logs)[:, None] * TIMES
        survival = np.exp(-times)
        undecided = np.add.reduceat(self.mass * survival, self.runs, axis=0) + self.behind
        every = np.multiply.reduceat(undecided**self.exponents, self.first_runs, axis=0) * self.others
        arriving = times * survival
        arriving[arriving < TINY], every[every < TINY] = 0.0, 0.0
        density = self.drawn * arriving / np.maximum(undecided, TINY)[self.run]
        won = density * every[self.block]
        total = won.sum(axis=1)

        def slopes(ridge: Any = 0.0) -> Any:
            matrix = (won @ density.T) * -self.factor
            matrix[self.diagonal] += total - (times * won).sum(axis=1) + ridge
            return matrix

        return total - self.alone * (arriving @ WIDTHS), slopes

    def _by_block(self, numbers: Any) -> Any:
        return np.add.reduceat(numbers, self.blocks)
