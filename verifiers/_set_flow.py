"""A largest exact flow from sets of independent drafts to tokens, by augmenting paths, without rounding.

counts: how many drafts have each of `n` laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import comb, prod
from operator import or_
from typing import Any

from draftproof.simulator.protocol import Vector
from draftproof.simulator.vectors import entries
from draftproof.verifiers._programs import check_numbers, memoised

Set = tuple[int, ...]

#: Memory of one set, with its mass and its flow, in floats.
NUMBERS_A_SET = 100
#: More sets than four drafts from twelve tokens make are not listed.
MOST_LISTED_SETS = sum(comb(12, n) for n in range(1, 5))


def can_list_sets(laws: Sequence[Vector], counts: tuple[int, ...]) -> bool:
    """Whether the sets of drafts are few enough to be listed; a row that carries gradients needs the list."""
    return getattr(laws[0], "requires_grad", False) or _sets(laws, counts) <= MOST_LISTED_SETS


def _sets(laws: Sequence[Vector], counts: tuple[int, ...]) -> int:
    """How many different sets the drafts may make, at most."""
    drafted = [law > 0 for law in laws]
    by_law = prod(_up_to(int(tokens.sum()), k) for tokens, k in zip(drafted, counts, strict=True))
    return by_law if len(laws) == 1 else min(by_law, _up_to(int(reduce(or_, drafted).sum()), sum(counts)))


def _up_to(tokens: int, k: int) -> int:
    """The sets of at most `k` of so many tokens."""
    return sum(comb(tokens, n) for n in range(1, min(k, tokens) + 1))


@memoised
def transport(
    p: Vector, laws: Vector, counts: tuple[int, ...]
) -> tuple[dict[Set, Any], dict[Set, dict[int, Any]], list[Any]]:
    """`P(S)` for every set of drafts, a largest flow out of it by token, and what remains of `p`; raises `TooLarge`.

    laws: one after the other, shape `(n V,)`.
    """
    rest, rows = entries(p), list(laws.reshape(len(counts), -1))
    check_numbers(f"the flow from sets of {sum(counts)} drafts", float(_sets(rows, counts)) * NUMBERS_A_SET, laws)
    masses = set_masses([entries(row) for row, k in zip(rows, counts, strict=True) for _ in range(k)])
    left = dict(masses)
    flow: dict[Set, dict[int, Any]] = {drafts: {} for drafts in masses}
    for drafts in masses:  # small sets first: they have the least choice
        while left[drafts] > 0 and (path := _augmenting(drafts, flow, rest)) is not None:
            _push(path, flow, left, rest)
    return masses, flow, rest


def set_masses(laws: Sequence[list[Any]]) -> dict[Set, Any]:
    """The probability that draws, one from each law, give exactly this set of tokens; smallest sets first."""
    masses: dict[Set, Any] = {(): 1}
    for q in laws:
        grown: dict[Set, Any] = {}
        for drafts, mass in masses.items():
            for token, chance in enumerate(q):
                if chance > 0:
                    larger = drafts if token in drafts else tuple(sorted((*drafts, token)))
                    grown[larger] = grown.get(larger, 0) + mass * chance
        masses = grown
    return dict(sorted(masses.items(), key=lambda item: (len(item[0]), item[0])))


def _augmenting(start: Set, flow: dict[Set, dict[int, Any]], rest: list[Any]) -> list[tuple[Set, int]] | None:
    """A shortest augmenting path of (set, token) steps that ends at a token with mass left."""
    chains = [[(start, token)] for token in start]
    seen = set(start)
    for chain in chains:  # grows while it is walked: breadth first
        token = chain[-1][1]
        if rest[token] > 0:
            return chain
        for drafts, sent in flow.items():
            if sent.get(token, 0) > 0:
                for other in drafts:
                    if other not in seen:
                        seen.add(other)
                        chains.append([*chain, (drafts, other)])
    return None


def _push(path: list[tuple[Set, int]], flow: dict[Set, dict[int, Any]], left: dict[Set, Any], rest: list[Any]) -> None:
    """Send as much as fits along the path: each later set sends less to the token before it and more to its own."""
    start, end = path[0][0], path[-1][1]
    taken = [(drafts, token) for (drafts, _), (_, token) in zip(path[1:], path, strict=False)]
    amount = min(left[start], rest[end], *(flow[drafts][token] for drafts, token in taken))
    for drafts, token in taken:
        flow[drafts][token] = flow[drafts][token] - amount  # not in place: an entry may be a view of its row
    for drafts, token in path:
        flow[drafts][token] = flow[drafts].get(token, 0) + amount
    left[start] = left[start] - amount
    rest[end] = rest[end] - amount
