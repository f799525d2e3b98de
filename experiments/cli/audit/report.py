"""What is known at the end of an audit beside what it was decided by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from draftproof.simulator.audit import Hypothesis
from draftproof.simulator.audit.verdict import Record
from draftproof.simulator.instances.case import Case
from draftproof.simulator.verdicts.witness import Witness


@dataclass(frozen=True)
class Beside:
    """Block efficiencies on one instance: of verifiers of the zoo, and the certified optimum, None where unknown."""

    zoo: Mapping[str, Fraction | float]
    optimum: Fraction | None


@dataclass
class Report(Record):
    """A record with what is shown beside it.

    beside: for each finding. witness: the smallest one of a refuted balance. first: what stands beside the first case,
    where that was asked for before it was judged.
    """

    beside: list[Beside | None] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    witness: Witness | None = None
    first: tuple[Case, Beside | None] | None = None
    calls: float = 0.0
