"""The sets of children with scores that a layer of branches may have: for engines that do not enumerate trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import factorial, prod
from typing import Any

from draftproof.simulator.vectors import power
from draftproof.verifiers._race import Race

#: A scored child: place of its node in the layer, token, branches through it, score.
Child = tuple[int, int, int, Any]


def race_outcomes(
    race: Race, draft: Sequence[Sequence[Any]], branches: Sequence[int], kept: Sequence[Sequence[Any]]
) -> list[tuple[Any, list[Child]]]:
    """Every set of children with scores, with its probability.

    race, draft: arrays of shape `(n, V)`, of one layer. kept: `min(1, t/r)` where `r > 0`, the same shape.
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
                    (c, j, count, kept[c][j] * weight / total)
                    for (c, j, count), weight in zip(children, weights, strict=True)
                    if kept[c][j] > 0
                ]
                chance = prod((mass for _, mass in drawn[1:]), start=drawn[0][1])
                if scored and chance > 0:
                    outcomes.append((chance, scored))
    return outcomes


def _counts(
    tokens: Sequence[int], masses: Sequence[Any], worse: Any, branches: int
) -> Iterator[tuple[list[tuple[int, int]], Any]]:
    """How many of the branches draw each token, as (token, count) pairs, with the probability; the rest draw worse."""

    def spread(place: int, left: int) -> Iterator[tuple[list[tuple[int, int]], Any]]:
        if place == len(tokens) or left == 0:
            if left == 0 or worse > 0:
                yield [], power(worse, left) / factorial(left)
            return
        for count in range(left + 1):
            share = power(masses[place], count) / factorial(count)
            for others, chance in spread(place + 1, left - count):
                yield ([(tokens[place], count), *others] if count else others), share * chance

    for counts, chance in spread(0, branches):
        yield counts, chance * factorial(branches)
