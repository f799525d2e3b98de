"""The selection law `r` of a layer with `r/t` as equal as possible, and weights of a race with that law, in float64.

A layer has `n` nodes with `k_c` i.i.d. branches each, and `J` classes of tokens a node (one token each, or tokens of
like `t/q`). A pair of node and class has the target mass `t = a_c p` and the draft mass `q`.
Selecting one drafted branch by any rule gives the pairs a law `r`; all such laws form the base polytope of
`f(S) = P(some branch falls into S) = 1 - prod_c (1 - q(S_c))^(k_c)`.
1. [fujishige1980lexicographically] The law with `r/t` as equal as the polytope allows maximises `sum t phi(r/t)` for
   every concave `phi`, so also `sum min(t, r)`. `r/t` is constant on blocks: the edges of the lower hull of the points
   `(t(S), f(S))` over all sets `S`.
2. With the other nodes fixed `f` is concave in `q(S_c)`, so only prefixes of the classes by falling `t/q` matter.
   On these `f` is concave in `X = sum_c x_c`, `x_c = -k_c log(1 - q(S_c))`, so only minimisers of `X - slope * t`
   matter: for each node a corner of the lower hull of `(t, x_c)`. All corners merged by slope are one chain of sets.
3. Blocks with `r > t` become one, the last, in which the null option takes part such that `r = t`: the score of a pair
   then depends least on the other drafts, which leaves more for the next depth.
4. A branch of the best block that is drafted is selected, among several with probabilities proportional to weights;
   `v <- v (t/r)^(3/2)`, repeated, gives the block its law. Weights are rounded to a few bits.

Step 4 by Newton's method, for one layer: few steps, each of them with all pairs of pairs. With `v = e^x` the law of a
race is `r(c, j) = E[k v / sum]`, the gradient in `x` of the convex function `E[log sum of the weights of what is
drafted in the block]`. So `r = t` is solved by Newton's method, and its matrix `dr/dx` consists of integrals like those
of `draftproof.verifiers._race.race_integral`: with `A` the integrand of a pair over that of no pair of its node, `G`
the probability that all branches are later,
    dr_i/dx_j = [i = j] (r_i - integral of s v_i A_i G) - f integral of A_i A_j G,
where `f` is `(k_c - 1)/k_c` for two pairs of one node `c`, and 1 for pairs of two nodes.

Shapes: `B` layers, `N = n J` pairs; by Newton's method `N` pairs in blocks of several, in `R` runs of one node and one
block, `S` points of the integral.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from draftproof.verifiers._programs import MOST_NUMBERS, check_numbers
from draftproof.verifiers._race import COARSE, SPAN, Race, gathered, over_segments, race_integral, segments

#: The bits that a weight keeps.
BITS = 10
#: Step 4: the most rounds, the exponent (with 2 it would oscillate), and the change of log2 weights at which it ends.
ROUNDS, POWER, CONVERGED = 48, 1.5, 2.0**-11
#: Step 3: a block with `r/t` above the first number counts as `r > t`. The null option then lowers its `r/t` to at most
#: the second number, not to 1, so that with rounded weights `r >= t` still holds.
EXCESS, MOST_EXCESS = 1 + 2.0**-20, 1 + 2.0**-9
#: Numbers in memory for each pair of items of a hull.
HULL_NUMBERS = 4
#: Levels `r/t` that differ by less than this share, which rounding can cause, are one block.
_SAME = 1e-9


class Chain(NamedTuple):
    """Pairs in the order of the chain, shapes `(B, N)`. order: their places in the layer. valid: `t > 0` and `q > 0`.

    levels: `r/t` of their blocks, infinite where not valid. capacity: `f` of the pairs up to here.
    """

    order: Any
    node: Any
    blocks: Any
    levels: Any
    capacity: Any
    draft: Any
    target_mass: Any
    valid: Any


#: Step 4: weights of at most 1, the largest of every block 1, shape `(B, N)`, from a chain and `k_c`.
Solve = Callable[[Chain, tuple[int, ...]], Any]


def equalised(target_mass: Any, draft: Any, branches: tuple[int, ...], solve: Solve | None = None) -> Race:
    """The race of `B` layers; target_mass, draft: shape `(B, n, J)`, branches: `k_c` for the `n` nodes.

    solve: finds the weights, `by_rounds` where it is not given. Raises `TooLarge` where the hulls of a single layer
    would not fit in memory.
    """
    batch, n, J = target_mass.shape
    held = HULL_NUMBERS * (n * J) ** 2
    check_numbers("the hull of a layer", held, target_mass[0, 0])
    most = max(int(MOST_NUMBERS / max(held, 1)), 1)
    if batch > most:
        starts = range(0, batch, most)
        parts = [equalised(target_mass[i : i + most], draft[i : i + most], branches, solve) for i in starts]
        return Race(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))
    chain = _with_null_option(equal_blocks(target_mass, draft, branches), n)
    mantissas, exponents = np.frexp((solve or by_rounds)(chain, branches))
    whole = np.ldexp(np.rint(np.ldexp(mantissas, BITS)), exponents + SPAN).astype(np.int64) * chain.valid
    blocks, weights = np.empty((2, batch, n * J), dtype=np.int64)
    at = np.arange(batch)[:, None], chain.order[:, :-1]
    blocks[at], weights[at] = chain.blocks[:, :-1], whole[:, :-1]
    return Race(
        blocks.reshape(target_mass.shape), weights.reshape(target_mass.shape), chain.blocks[:, -1], whole[:, -1]
    )


def equal_blocks(target_mass: Any, draft: Any, branches: tuple[int, ...]) -> Chain:
    """Steps 1 and 2."""
    batch, n, J = target_mass.shape
    k = np.array(branches, dtype=np.float64)
    valid = (target_mass > 0) & (draft > 0)
    ratio = np.where(valid, target_mass / np.where(valid, draft, 1), -1.0)
    inner = np.argsort(-ratio, axis=2, kind="stable")
    rows = np.arange(batch * n).reshape(batch, n, 1) * J
    t, q, ok = ((part * valid).reshape(-1)[rows + inner] for part in (target_mass, draft, valid))
    left = np.maximum(1 - q.cumsum(axis=2), 1e-15)  # its logarithm is taken: not 0 where the prefix has all of q
    slopes = np.where(ok, _hull_slopes(t, -k[:, None] * np.log(left)), np.inf).reshape(batch, -1)
    outer = np.argsort(slopes, axis=1, kind="stable")
    order = gathered((inner + (np.arange(n) * J)[:, None]).reshape(batch, -1), outer)
    t, q, ok = (gathered(part.reshape(batch, -1), outer) for part in (t, q, ok))
    node = order // J
    inside = (q[:, :, None] * (node[:, :, None] == np.arange(n))).cumsum(axis=1)
    capacity = 1 - (np.maximum(1 - inside, 0) ** k).prod(axis=2)
    levels = np.where(ok, _hull_slopes(t, capacity), np.inf)
    rises = levels[:, 1:] > levels[:, :-1] * (1 + _SAME)
    blocks = np.concatenate([np.zeros((batch, 1), dtype=np.int64), rises.cumsum(axis=1)], axis=1)
    return Chain(order, node, blocks, levels, capacity, q, t, ok)


def _hull_slopes(t: Any, heights: Any) -> Any:
    """The slope above every item of the lower hull of the points `(t(prefix), height)`, from (0, 0); last axis.

    It is `max over starts a <= i of min over ends b >= i` of the slope from `a` to `b`.
    """
    ends = t.cumsum(axis=-1)
    starts, low = ends - t, np.concatenate([np.zeros_like(heights[..., :1]), heights[..., :-1]], axis=-1)
    widths = ends[..., None, :] - starts[..., :, None]  # [first item, last item]
    upper = np.triu(np.ones((t.shape[-1],) * 2, dtype=bool))
    positive = upper & (widths > 0)
    ratios = np.where(positive, (heights[..., None, :] - low[..., :, None]) / np.where(positive, widths, 1), np.inf)
    best = np.minimum.accumulate(ratios[..., ::-1], axis=-1)[..., ::-1]
    return np.maximum.accumulate(np.where(upper, best, -np.inf), axis=-2).diagonal(axis1=-2, axis2=-1)


def _with_null_option(chain: Chain, nodes: int) -> Chain:
    """Step 3: one block for all pairs with `r > t`, and in it the null option as a node of its own.

    The target mass of the null option is the rest of `f`; its draft mass is 0 where that is 0. Blocks are ordered by
    node.
    """
    excess = chain.levels > EXCESS
    first = np.where(excess, chain.blocks, chain.blocks[:, -1:] + 1).min(axis=1, keepdims=True)
    target_mass = np.where(
        excess, chain.target_mass * np.sqrt(np.clip(chain.levels, 1, MOST_EXCESS**2)), chain.target_mass
    )
    before = np.where(excess, 0.0, chain.capacity).max(axis=1)
    left = np.maximum(chain.capacity[:, -1] - before - np.where(excess, target_mass, 0).sum(axis=1), 0)
    ends = (-1, nodes, first[:, 0], np.inf, chain.capacity[:, -1], left > 0, left, left > 0)
    fields = chain._replace(blocks=np.where(excess, first, chain.blocks), target_mass=target_mass)
    every = np.empty((len(ends), len(left), excess.shape[1] + 1))
    for numbers, part, end in zip(every, fields, ends, strict=True):
        numbers[:, :-1], numbers[:, -1] = part, end
    _, node, blocks, *_ = every
    sorted_pairs = np.arange(len(left))[:, None], np.argsort(blocks * (nodes + 1) + node, axis=1, kind="stable")
    order, node, blocks, levels, capacity, draft, target_mass, valid = every[:, *sorted_pairs]
    order, node, blocks = (part.astype(np.int64) for part in (order, node, blocks))
    return Chain(order, node, blocks, levels, capacity, draft, target_mass, valid > 0)


def first_weights(chain: Chain, first: Any, last: Any) -> Any:
    """Where step 4 begins. first, last: the places of the block of every pair."""
    ratio = np.where(chain.valid, chain.target_mass / np.where(chain.valid, chain.draft, 1), 0.0)
    above = np.where(chain.levels < np.inf, chain.levels - 1, 1.0)
    start = np.where(chain.levels > EXCESS, ratio / np.maximum(above, EXCESS - 1), ratio**2)
    start[:, -1] = chain.valid[:, -1]
    return _scaled(start, first, last)


def by_rounds(chain: Chain, branches: tuple[int, ...], rounds: int = ROUNDS) -> Any:
    """Step 4 for many layers at once."""
    first, last = segments(chain.blocks)
    weights = first_weights(chain, first, last)
    without_others = np.zeros_like(weights)
    without_others[:, -1] = 1 - chain.capacity[:, -1]
    unsettled = np.flatnonzero((chain.valid & (last > first)).any(axis=1))
    for _ in range(rounds):
        if not unsettled.size:
            break
        every = (chain.node, first, last, chain.draft, weights, without_others, chain.target_mass)
        node, begin, end, draft, now, alone, target_mass = (part[unsettled] for part in every)
        law = race_integral(node, begin, end, draft, now, alone, (*branches, 1), COARSE)
        short = np.where(law > 0, target_mass / np.where(law > 0, law, 1), 1.0)
        after = _scaled(now * short**POWER, begin, end)
        weights[unsettled] = after
        unsettled = unsettled[(abs(np.log2(after / now)) * (draft > 0)).max(axis=1) > CONVERGED]
    return weights


def _scaled(weights: Any, first: Any, last: Any) -> Any:
    """Divided by the largest of the block, and not below `2**-SPAN` of it."""
    logs = np.log2(np.maximum(weights, 1e-300))
    largest = over_segments(np.maximum, logs, first, last)
    return 2.0 ** np.maximum(logs - largest, -SPAN)


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
