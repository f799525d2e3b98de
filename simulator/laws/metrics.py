"""The summary of a law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from draftproof.simulator.laws.law import BlockLaw, Violation
from draftproof.simulator.tables import TableProcess


def moments(distribution: Sequence[Fraction | float]) -> tuple[Fraction | float, Fraction | float]:
    """Mean of `tau + 1` and variance of `tau`, from `P(tau = d)` for `d = 0..L`."""
    mean: Fraction | float = sum((depth + 1) * mass for depth, mass in enumerate(distribution))
    square: Fraction | float = sum((depth + 1) ** 2 * mass for depth, mass in enumerate(distribution))
    return mean, square - mean * mean


def as_fields(violation: Violation) -> dict[str, Any]:
    """Where a law fails, and the two sides."""
    sides = {"expected": violation.expected, "found": violation.found, "deviation": violation.deviation}
    return {"context": violation.context, "token": violation.token, **sides}


@dataclass(frozen=True)
class Metrics:
    """The numbers of a law, which may be too large to be stored.

    depth_distribution: `P(tau = d)` for `d = 0..L`. max_deviation: the largest violation of the balance equation.
    total_variation: None where it was not computed. worst: where the balance fails most, None where that is not known.
    """

    depth_distribution: list[Fraction | float]
    max_deviation: Fraction | float
    total_variation: Fraction | float | None
    worst: Violation | None

    @classmethod
    def of(cls, law: BlockLaw, target: TableProcess) -> Metrics:
        """A law in numbers."""
        worst = law.violation(target)
        return cls(law.depth_distribution, worst.deviation, law.total_variation(target), worst)

    @property
    def block_efficiency(self) -> Fraction | float:
        """`E[tau + 1]`: accepted tokens plus the correction token."""
        return moments(self.depth_distribution)[0]

    @property
    def variance(self) -> Fraction | float:
        """The variance of the accepted depth `tau`."""
        return moments(self.depth_distribution)[1]

    def to_dict(self) -> dict[str, Any]:
        """Every number, exact ones as `Fraction`."""
        return {
            "block_efficiency": self.block_efficiency,
            "variance": self.variance,
            "depth_distribution": list(self.depth_distribution),
            "max_deviation": self.max_deviation,
            "total_variation": self.total_variation,
            "violation": as_fields(self.worst) if self.worst is not None and self.worst.deviation else None,
        }
