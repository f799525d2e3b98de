"""Selection of one drafted branch: one of the best drafted block, with probability proportional to its weight.

`n` nodes have `k_c` i.i.d. branches each and `J` classes of tokens a node. A branch in class `j` of node `c` has a
block `b`, where 0 is the best, and a whole weight `v`, 0 for a branch that is never selected. The null option takes
part whatever is drafted, with a block and a weight of its own; if it wins, no branch is selected. The law of the
selected branch is `r(c, j) = k_c q(j|c) E[v / (v + W); no other branch is in a better block]`, where `W` is the sum of
the other weights in its block. For engines that do not enumerate trees, `race_outcomes` lists the sets of children with
scores that a layer may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from draftproof.simulator.vectors import power

#: Largest quotient of two weights of a block, as a power of two.
SPAN = 20


def _points(step: float, tail: float, bend: float) -> tuple[Any, Any]:
    """Times `s = e^u` of the integral and the lengths that they stand for, with `u = x - e^(-x - bend)`."""
    x = np.arange(-tail, 4.0 + SPAN * np.log(2.0), step)
    bent = np.exp(-x - bend)
    s = np.exp(x - bent)
    return s, step * (1 + bent) * s


#: Points for an error of 1e-13, and for weights that keep a few bits. On the left the first are far apart in `u`.
FINE, COARSE = _points(0.3, 5.4, 2.0), _points(1.0, 9.0, np.inf)

#: The law of a sum of weights.
Sums = dict[Any, Any]


class Race(NamedTuple):
    """Blocks and weights of `B` layers.

    blocks, weights: whole numbers, shape `(B, n, J)`. null_block, null_weight: those of the null option, shape `(B,)`;
    weight 0 where there is none.
    """

    blocks: Any
    weights: Any
    null_block: Any
    null_weight: Any

    def best_block(self, blocks: Iterable[Any]) -> Any:
        """The best of these blocks and that of the null option, in one layer; 0 where there is none."""
        return min([*blocks, *([self.null_block] if self.null_weight > 0 else [])], default=0)

    def null_weight_in(self, block: Any) -> Any:
        """The weight of the null option in a block of one layer, 0 in all other blocks."""
        return self.null_weight if self.null_weight > 0 and self.null_block == block else 0

    def layers(self) -> Iterator[Race]:
        """The races of the `B` layers, one by one."""
        parts = zip(self.blocks, self.weights, self.null_block.tolist(), self.null_weight.tolist(), strict=True)
        return (Race(*part) for part in parts)


def exact_law(race: Race, draft: Sequence[Sequence[Any]], branches: Sequence[int]) -> list[list[Any]]:
    """The law of one layer by enumerating the sums of weights, in the arithmetic of the draft masses, `(n, J)`.

    Weights may be of any type that can be added, divided, compared with 0 and hashed. The null option is one more node,
    whose single token is always drafted.
    """
    blocks, weights = race.blocks.tolist(), race.weights.tolist()
    places = [[j for j, v in enumerate(row) if v > 0 and q[j] > 0] for row, q in zip(weights, draft, strict=True)]
    law = [[mass * 0 for mass in row] for row in draft]
    if race.null_weight > 0:
        whole = draft[0][0] * 0 + 1
        blocks, weights, places = [*blocks, [race.null_block]], [*weights, [race.null_weight]], [*places, [0]]
        law, draft, branches = [*law, [whole]], [*draft, [whole]], [*branches, 1]
    for block in sorted({blocks[c][j] for c, row in enumerate(places) for j in row}):
        single = []
        for c, row in enumerate(places):
            better = sum((draft[c][j] for j in row if blocks[c][j] < block), start=draft[c][0] * 0)
            here: Sums = {}
            for j in row:
                if blocks[c][j] == block:
                    weight = weights[c][j]
                    here[weight] = here.get(weight, 0) + draft[c][j]
            worse = 1 - better - sum(here.values())
            single.append({**here, 0: worse} if worse > 0 else here)
        for c, row in enumerate(places):
            racing = [j for j in row if blocks[c][j] == block]
            if racing:
                others: Sums = {0: 1}
                for other, k in enumerate(branches):
                    for _ in range(k - (other == c)):
                        others = _added(others, single[other])
                for j in racing:
                    v = weights[c][j]
                    share = sum((mass * v / (v + total) for total, mass in others.items()), start=draft[c][j] * 0)
                    law[c][j] = branches[c] * draft[c][j] * share
    return law[: len(race.blocks)]


def _added(one: Sums, other: Sums) -> Sums:
    """The law of the sum of two independent sums."""
    result: Sums = {}
    for a, mass in one.items():
        for b, more in other.items():
            result[a + b] = result.get(a + b, 0) + mass * more
    return result


def race_law(race: Race, draft: Any, branches: tuple[int, ...]) -> Any:
    """The law of `B` layers in float64, shape `(B, n, J)`, by `race_integral`."""
    batch, n, J = draft.shape
    racing = (race.weights > 0) & (draft > 0)
    columns = (
        (np.where(racing, race.blocks, n * J), race.null_block),
        (draft * racing, race.null_weight > 0),
        (race.weights, race.null_weight),
    )
    blocks, mass, weights = (np.column_stack([part.reshape(batch, -1), null]) for part, null in columns)
    order = np.argsort(blocks, axis=1, kind="stable")
    blocks, mass, weights = (gathered(part, order) for part in (blocks, mass, weights))
    scaled = weights / np.maximum(weights.max(axis=1, keepdims=True), 1)
    law = np.empty(blocks.shape)
    ours = race_integral(order // J, *segments(blocks), mass, scaled, 0.0, (*branches, 1), FINE)
    law[np.arange(batch)[:, None], order] = ours
    return law[:, :-1].reshape(draft.shape)


def segments(blocks: Any) -> tuple[Any, Any]:
    """For every place of sorted blocks, shape `(B, N)`, the first and the last place of its block."""
    batch, N = blocks.shape
    places = np.broadcast_to(np.arange(N), blocks.shape)
    edge = np.ones((batch, 1), dtype=bool)
    new = np.concatenate([edge, blocks[:, 1:] != blocks[:, :-1]], axis=1)
    closing = np.concatenate([new[:, 1:], edge], axis=1)
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    last = np.minimum.accumulate(np.where(closing, places, N)[:, ::-1], axis=1)[:, ::-1]
    return first, last


def race_integral(
    node: Any,
    first: Any,
    last: Any,
    mass: Any,
    weights: Any,
    without_others: Any,
    branches: Sequence[int],
    points: tuple[Any, Any],
) -> Any:
    """`r` of pairs sorted by block and there by node, shapes `(B, N)`; weights from `2**-SPAN` to 1, or 0.

    A branch of weight `v` finishes at time `s` with density `v e^(-s v)`; another branch is later with probability
    `sum_z q(z) e^(-s v(z))` over its block and all worse ones. So `r = k_c q` times the integral over `s` of the
    density times these probabilities for all other branches. With `s = e^u` the trapezoidal rule in `u` has an
    error of about `e^(-pi^2/step)`, and `e^(-tail)` for the part that is cut off on the left. points: `FINE` or
    `COARSE`, the same for every layer, also within a batch. without_others: the probability that no other branch is in
    the block or a better one; it is subtracted inside the integral, to avoid cancellation.
    """
    s, lengths = points
    survival = np.exp(-weights[:, :, None] * s)  # (B, N, S)
    k = np.array(branches)
    runs = _runs(node, first)
    counts = k[runs.node]
    inside = (mass[:, :, None] * (node[:, :, None] == np.arange(len(k)))).cumsum(axis=1)
    worse = np.maximum(1 - gathered(inside, last).reshape(-1, len(k))[runs.blocks], 0)  # (blocks, n)
    undecided = np.add.reduceat((mass[:, :, None] * survival).reshape(-1, len(s)), runs.starts, axis=0)  # (runs, S)
    undecided = np.maximum(undecided, 0) + worse[runs.block, runs.node, None]
    powers = undecided
    for count in range(1, counts.max()):
        powers = powers * np.where(counts > count, undecided.T, 1.0).T
    worse[runs.block, runs.node] = 1.0  # left are the nodes that have no pair in the block
    others = np.multiply.reduceat(powers, runs.first, axis=0) * (worse**k).prod(axis=1)[:, None]
    others = others[runs.block] / np.where(undecided > 0, undecided, 1.0)
    product = others[runs.place].reshape(survival.shape)
    product -= np.asarray(without_others)[..., None]
    product *= survival
    won = product @ lengths * weights
    return k[node] * mass * won


class _Runs(NamedTuple):
    """Pairs of one node and one block, one run after the other, in all layers.

    starts, node, block: of every run its first pair, its node and its block. place: the run of every pair. blocks,
    first: of every block its first pair and its first run.
    """

    starts: Any
    node: Any
    block: Any
    place: Any
    blocks: Any
    first: Any


def _runs(node: Any, first: Any) -> _Runs:
    opens = (first == np.arange(first.shape[1])).reshape(-1)
    nodes = node.reshape(-1)
    new = opens.copy()
    new[1:] |= nodes[1:] != nodes[:-1]
    place = new.cumsum() - 1
    starts, blocks = np.flatnonzero(new), np.flatnonzero(opens)
    return _Runs(starts, nodes[starts], opens.cumsum()[starts] - 1, place, blocks, place[blocks])


def over_segments(add: Any, parts: Any, first: Any, last: Any) -> Any:
    """`add` (a ufunc) over the block of every place, for every place; parts: shape `(B, N, ..)`."""
    starts = np.flatnonzero(first == np.arange(first.shape[1]))  # of blocks, in all layers one after the other
    lengths = (last - first).reshape(-1)[starts] + 1
    flat = parts.reshape(-1, *parts.shape[2:])
    return add.reduceat(flat, starts, axis=0).repeat(lengths, axis=0).reshape(parts.shape)


def gathered(values: Any, places: Any) -> Any:
    """`values[b, places[b, i]]`, shape `(B, N, ..)`; quicker than the general `take_along_axis`."""
    return values[np.arange(len(values))[:, None], places]


#: A scored child: place of its node in the layer, token, branches through it, score.
Child = tuple[int, int, int, Any]


def race_outcomes(
    race: Race, draft: Sequence[Sequence[Any]], branches: Sequence[int], rates: Sequence[Sequence[Any]]
) -> list[tuple[Any, list[Child]]]:
    """Every set of children with scores, with its probability.

    race, draft: arrays of shape `(n, V)`, of one layer. rates: `min(1, t/r)` where `r > 0`, the same shape.
    """
    outcomes = []
    pairs = [[j for j, v in enumerate(row) if v > 0 and q[j] > 0] for row, q in zip(race.weights, draft, strict=True)]
    for block in sorted({int(race.blocks[c][j]) for c, row in enumerate(pairs) for j in row}):
        if race.best_block([block]) < block:  # the null option is in a better block than all others
            break
        by_node = []
        for c, row in enumerate(pairs):
            here = [j for j in row if race.blocks[c][j] == block]
            ahead = sum((draft[c][j] for j in row if race.blocks[c][j] < block), start=draft[c][0] * 0)
            worse = 1 - ahead - sum(draft[c][j] for j in here)
            by_node.append(list(_counts(here, [draft[c][j] for j in here], worse, branches[c])))
        for drawn in product(*by_node):
            children = [(c, j, count) for c, (counts, _) in enumerate(drawn) for j, count in counts]
            if children:
                weights = [count * int(race.weights[c][j]) for c, j, count in children]
                total = sum(weights) + race.null_weight_in(block)
                scored = [
                    (c, j, count, rates[c][j] * weight / total)
                    for (c, j, count), weight in zip(children, weights, strict=True)
                    if rates[c][j] > 0
                ]
                chance = prod((mass for _, mass in drawn[1:]), start=drawn[0][1])
                if scored and chance > 0:
                    outcomes.append((chance, scored))
    return outcomes


def _counts(
    tokens: Sequence[int], masses: Sequence[Any], worse: Any, branches: int
) -> Iterator[tuple[list[tuple[int, int]], Any]]:
    """How many of the branches draw each token, as (token, count) pairs, with the probability; the rest draw worse."""

    def counts_of(place: int, left: int) -> Iterator[tuple[list[tuple[int, int]], Any]]:
        if place == len(tokens) or left == 0:
            if left == 0 or worse > 0:
                yield [], power(worse, left) / factorial(left)
            return
        for count in range(left + 1):
            share = power(masses[place], count) / factorial(count)
            for others, chance in counts_of(place + 1, left - count):
                yield ([(tokens[place], count), *others] if count else others), share * chance

    for counts, chance in counts_of(0, branches):
        yield counts, chance * factorial(branches)
