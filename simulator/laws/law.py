"""The law of a block, the result of one call of a verifier, as exact tables.

`V` is the vocabulary size and `L` the depth of the draft trees. Contexts are in lexicographic
order; `accepted[d]` has shape `(V**d,)` and `correction[d]` has shape `(V**d, V)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic, as_python
from draftproof.simulator.protocol import Context
from draftproof.simulator.tables import TableProcess, context_at


@dataclass(frozen=True)
class Violation:
    """A place where the balance equation fails: `expected` is `D(c) p(y|c)`, `found` is `D(c,y) + e(c,y)`."""

    context: Context
    token: int
    expected: Fraction | float
    found: Fraction | float

    @property
    def deviation(self) -> Fraction | float:
        """`|expected - found|`."""
        gap: Fraction | float = self.expected - self.found
        return gap if gap >= 0 else -gap

    def __str__(self) -> str:
        return (
            f"after context {self.context}, token {self.token} must have mass {self.expected}; "
            f"the block gives it {self.found}"
        )


@dataclass(frozen=True, repr=False)
class BlockLaw:
    """The exact distribution of a block: accepted node and correction token.

    correction: for each depth `d = 0..L`, `e(c, y)` with shape `(V**d, V)`: the probability that
    `c` is accepted and the correction token is `y`.
    """

    correction: Sequence[Any]
    arithmetic: Arithmetic

    @property
    def depth(self) -> int:
        """`L`."""
        return len(self.correction) - 1

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return int(self.correction[0].shape[1])

    @cached_property
    def accepted(self) -> list[Any]:
        """For each depth, shape `(V**d,)`: the probability that exactly this context is accepted."""
        return [masses.sum(axis=1) for masses in self.correction]

    @cached_property
    def reach(self) -> list[Any]:
        """`D(c)` for each depth, shape `(V**d,)`: the accepted path goes through `c` or ends there."""
        reach = [self.accepted[-1]]
        for accepted in reversed(self.accepted[:-1]):
            reach.insert(0, accepted + reach[0].reshape(-1, self.vocab_size).sum(axis=1))
        return reach

    @property
    def total(self) -> Fraction | float:
        """The mass of all blocks, 1 for a law."""
        return as_python(self.reach[0][0])

    @cached_property
    def depth_distribution(self) -> list[Fraction | float]:
        """`P(tau = d)` for `d = 0..L`."""
        return [as_python(masses.sum()) for masses in self.accepted]

    @property
    def block_efficiency(self) -> Fraction | float:
        """`E[tau + 1]`: accepted tokens plus the correction token."""
        mean: Fraction | float = sum((depth + 1) * mass for depth, mass in enumerate(self.depth_distribution))
        return mean

    def as_dict(self) -> dict[tuple[Context, int], Fraction | float]:
        """`(accepted context, correction token)` to probability, for every block that has one."""
        return {
            (context_at(int(row), depth, self.vocab_size), int(token)): as_python(masses[row, token])
            for depth, masses in enumerate(self.correction)
            for row, token in zip(*np.nonzero(masses != 0), strict=True)
        }

    def __repr__(self) -> str:
        shape = f"V = {self.vocab_size}, depth {self.depth}, {self.arithmetic.name}"
        return f"BlockLaw({shape}: block efficiency {self.block_efficiency})"

    def balance(self, target: TableProcess) -> list[Any]:
        """`D(c) p(y|c) - D(c,y) - e(c,y)` for each depth, shape `(V**d, V)`: all zero if and only if lossless."""
        return [expected - found for expected, found in self._sides(target)]

    def max_deviation(self, target: TableProcess) -> Fraction | float:
        """The largest absolute entry of the balance."""
        return max(as_python(abs(entries).max()) for entries in self.balance(target))

    def violation(self, target: TableProcess) -> Violation:
        """Where the balance fails most: the largest deviation, among equals the shortest context and smallest token."""
        worst = None
        for depth, (expected, actual) in enumerate(self._sides(target)):
            place = np.unravel_index(int(np.argmax(abs(expected - actual))), expected.shape)
            candidate = Violation(
                context_at(int(place[0]), depth, self.vocab_size),
                int(place[1]),
                as_python(expected[place]),
                as_python(actual[place]),
            )
            if worst is None or candidate.deviation > worst.deviation:
                worst = candidate
        assert worst is not None
        return worst

    def total_variation(self, target: TableProcess) -> Fraction | float:
        """Distance of the first `L + 1` output tokens from the target's, short blocks continued by the target."""
        ended = self.correction[0]  # mass of output prefixes of length d + 1 whose block has ended
        wanted = target.tables[0]
        for depth in range(1, self.depth + 1):
            rows = target.tables[depth]
            ended = ended.reshape(-1, 1) * rows + self.correction[depth]
            wanted = wanted.reshape(-1, 1) * rows
        return as_python(abs(ended - wanted).sum() / 2)

    def _sides(self, target: TableProcess) -> list[tuple[Any, Any]]:
        below = [masses.reshape(-1, self.vocab_size) for masses in self.reach[1:]]  # D(c, y) by c
        sides = []
        for depth, correction in enumerate(self.correction):
            expected = self.reach[depth].reshape(-1, 1) * target.tables[depth]
            sides.append((expected, below[depth] + correction if depth < self.depth else correction))
        return sides
