"""All pairs of distributions at a shape as one region: a variable for every free probability.

`V` is the vocabulary size. The row of a context has `V - 1` variables; the last probability is one minus their sum. On
the open domain every probability is positive, on the closed one it may be zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Context, DraftScheme, Vector
from draftproof.simulator.tables import TableProcess, table_entries
from draftproof.simulator.theorems.algebra.polynomials import POSITIVE, ZERO, Point, Ring, mirrored, rational
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.proof.numbers import Run

#: Most probabilities of p and q together: with more of them no proof ends in reasonable time.
MOST_NUMBERS = 1_000


@dataclass(frozen=True)
class Shape:
    """What a theorem is about: vocabulary size, draft scheme, free numbers, and whether zeros are allowed.

    Raises `InvalidInput` for a vocabulary below 2.
    """

    vocab_size: int
    scheme: DraftScheme
    zeros: bool = False
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.vocab_size < 2:
            raise InvalidInput(
                f"V = {self.vocab_size}: with one token there is nothing to prove; choose a vocabulary of 2 or more"
            )

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        """Every context of the target, shortest first."""
        depths = range(self.scheme.depth + 1)
        return tuple(context for depth in depths for context in product(range(self.vocab_size), repeat=depth))

    @cached_property
    def ring(self) -> Ring:
        """The variables: `p_0`, `p01_0` for `p(0|0,1)`, and so on; then the parameters."""
        rows = [("p", context) for context in self.contexts]
        rows += [("q", context) for context in self.contexts if len(context) < self.scheme.depth]
        names = [variable_name(side, c, token) for side, c in rows for token in range(self.vocab_size - 1)]
        return Ring([*names, *self.parameters])

    @cached_property
    def start(self) -> dict[tuple[str, Context], int]:
        """Position of the first variable of each row."""
        sides = [("p", c) for c in self.contexts] + [("q", c) for c in self.contexts if len(c) < self.scheme.depth]
        return {row: number * (self.vocab_size - 1) for number, row in enumerate(sides)}

    @cached_property
    def domain(self) -> Region:
        """All pairs of rows that the theorem is about, and all values of the parameters."""
        masks: dict[int, int] = {}
        signs = POSITIVE | (ZERO if self.zeros else 0)
        for row in self.start:
            for ratio in self.ratios(row):
                masks[self.ring.atom(ratio.num)] = signs if ratio.num.leading_coefficient() > 0 else mirrored(signs)
        for name in self.parameters:
            variable = self.ring.variable(name)
            masks[self.ring.atom(variable)] = POSITIVE | ZERO
            masks[self.ring.atom(variable - 1)] = mirrored(POSITIVE | ZERO)
        return Region(self.ring, masks)

    def ratios(self, row: tuple[str, Context]) -> list[Ratio]:
        """The probabilities of one row."""
        first = self.start[row]
        free = list(self.ring.variables[first : first + self.vocab_size - 1])
        last = self.ring.one
        for variable in free:
            last = last - variable
        return [Ratio(self.ring, polynomial) for polynomial in (*free, last)]

    @cached_property
    def point(self) -> Point:
        """A point of the domain that is on no tie of small numbers."""
        values = []
        for number, _ in enumerate(self.start):
            weights = [7 + (3 * number + 5 * token) % 11 for token in range(self.vocab_size)]
            values += [rational(weight, sum(weights)) for weight in weights[:-1]]
        return tuple(values + [rational(3 + number, 7 + number) for number, _ in enumerate(self.parameters)])

    def instance(self, point: Point) -> Instance:
        """The pair of processes at a point."""
        sides = []
        for side, depth in (("p", self.scheme.depth), ("q", max(self.scheme.depth - 1, 0))):
            tables = []
            for length in range(depth + 1):
                rows = [self._values((side, c), point) for c in self.contexts if len(c) == length]
                tables.append(np.array(rows, dtype=object))
            sides.append(TableProcess(tables, "target" if side == "p" else "draft"))
        return Instance(sides[0], sides[1], self.scheme)

    def _values(self, row: tuple[str, Context], point: Point) -> list[Any]:
        if row not in self.start:  # a draft without a token is never asked for its row
            return [rational(1, self.vocab_size)] * self.vocab_size
        return [ratio.at(point) for ratio in self.ratios(row)]

    def __str__(self) -> str:
        return f"V = {self.vocab_size}, {self.scheme}"


def variable_name(side: str, context: Sequence[int], token: int) -> str:
    """`p01_0` for `p(0|0,1)`; commas keep apart tokens of two digits."""
    return f"{side}{','.join(map(str, context)) if max(context, default=0) > 9 else ''.join(map(str, context))}_{token}"


class SideRows:
    """One side of a shape as a process of numbers of a run; see `TokenProcess`."""

    def __init__(self, shape: Shape, run: Run, side: str) -> None:
        self.vocab_size = shape.vocab_size
        self._shape, self._run, self._side = shape, run, side
        self._rows: dict[Context, Vector] = {}

    def row(self, context: Context) -> Vector:
        """The row of a context, shape `(V,)`."""
        if context not in self._rows:
            vector = np.empty(self.vocab_size, dtype=object)
            vector[:] = [self._run.evaluated(ratio) for ratio in self._shape.ratios((self._side, tuple(context)))]
            vector.setflags(write=False)
            self._rows[context] = vector
        return self._rows[context]


def check_numbers(shape: Shape) -> None:
    """Raise `TooLarge` for a shape with more probabilities than a proof can have."""
    size, depth = shape.vocab_size, shape.scheme.depth
    numbers = table_entries(size, depth) + table_entries(size, depth - 1)
    if numbers > MOST_NUMBERS:
        raise TooLarge(
            f"V = {size}, {shape.scheme}: p and q have {numbers:,.0f} probabilities, more than the {MOST_NUMBERS:,} "
            "that a proof can have; take a smaller shape, or draftproof check on instances"
        )
