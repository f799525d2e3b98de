"""Policies at weighted roots: one block after each root, with an action for every root.

`R` roots, `A` actions; numbers are fractions or floats, as given. Tokens per time of a choice is the mean of its tokens
divided by the mean of its times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

#: In floats a step must increase the rate by at least this share, or rounding could make the loop endless.
STEP = 1e-12


@dataclass(frozen=True)
class RootTable:
    """Block efficiencies and times by root and action.

    weights: of the roots, `(R,)`, sum 1. tokens: block efficiencies, `(A, R)`. times: of the actions, `(A,)`."""

    weights: Sequence[Any]
    tokens: Sequence[Sequence[Any]]
    times: Sequence[Any]

    @property
    def roots(self) -> range:
        return range(len(self.weights))

    def time(self, choice: Choice) -> Any:
        """The mean time of a block; choice: the action at every root."""
        return sum(weight * self.times[action] for weight, action in zip(self.weights, choice, strict=True))

    def rate(self, choice: Choice) -> Any:
        """Tokens per time."""
        tokens = sum(weight * self.tokens[choice[root]][root] for root, weight in enumerate(self.weights))
        return tokens / self.time(choice)

    def best_at(self, rate: Any) -> Choice:
        """At every root the action with the largest `tokens - rate * time`, the first among equals."""
        return [
            best_position(row[root] - rate * time for row, time in zip(self.tokens, self.times, strict=True))
            for root in self.roots
        ]


#: The position of an action at every root.
Choice: TypeAlias = Sequence[int]


def best_static(given: RootTable) -> Choice:
    """One action for all roots, that of the most tokens per time."""
    every = [[action] * len(given.weights) for action in range(len(given.times))]
    return every[best_position(given.rate(choice) for choice in every)]


def best_ratio(given: RootTable) -> Choice:
    """At every root the action with the most tokens per time there."""
    return [
        best_position(row[root] / time for row, time in zip(given.tokens, given.times, strict=True))
        for root in given.roots
    ]


def best_choice(given: RootTable) -> Choice:
    """Of all choices that of the most tokens per time over all roots.

    By Dinkelbach's steps from the best static action; exact in fractions.
    """
    choice = best_static(given)
    while True:
        rate = given.rate(choice)
        following = given.best_at(rate)
        least = rate if isinstance(rate, Fraction) else rate * (1 + STEP)
        if not given.rate(following) > least:
            return choice
        choice = following


def best_position(values: Iterable[Any]) -> int:
    """The position of the largest value, the first among equals."""
    listed = list(values)
    return max(range(len(listed)), key=lambda i: listed[i])


#: The policies that have a name.
AT_ROOTS: Mapping[str, Callable[[RootTable], Choice]] = MappingProxyType(
    {"static": best_static, "ratio": best_ratio, "greedy": best_choice}
)
