"""Values of exact laws as plain ones, and laws from plain values."""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq


def fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q)) if value else Fraction(0)


def equally_likely(outcomes: Sequence[Hashable]) -> dict[Hashable, fmpq]:
    """The law of equally likely outcomes, which can be equal."""
    return {outcome: fmpq(outcomes.count(outcome), len(outcomes)) for outcome in outcomes}
