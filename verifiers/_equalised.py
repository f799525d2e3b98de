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

Shapes: `B` layers, `N = n J` pairs.
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
    wide = upper & (widths > 0)
    ratios = np.where(wide, (heights[..., None, :] - low[..., :, None]) / np.where(wide, widths, 1), np.inf)
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
