"""What is asked of an audit, and what is known in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from simulator.audit import Audit, Corner, Finding, FunctionFailed, Hypothesis, Rounding
from simulator.errors import InvalidInput
from simulator.instances.case import Case
from simulator.verdicts.witness import Witness


@dataclass(frozen=True)
class Request:
    """What is asked for.

    spec: the function as it was typed. strict: whether the rounding of a lower precision inside is too much.
    Raises `InvalidInput` for corner coins that cannot be.
    """

    spec: str
    audit: Audit
    cases: Sequence[Case]
    boundary: bool
    max_runs: int
    strict: bool = False

    def __post_init__(self) -> None:
        if self.boundary and self.audit.batch > 1:
            raise InvalidInput("--boundary runs one request a call; leave out --batch")
        if self.boundary and self.audit.audited.coins == "bisect":
            raise InvalidInput("--boundary needs coins that can be followed; leave out --coins bisect")


@dataclass(frozen=True)
class Beside:
    """Block efficiencies on one instance: of verifiers of the zoo, and the certified optimum, None where unknown."""

    zoo: Mapping[str, Fraction | float]
    optimum: Fraction | None

    def exceeded(self, finding: Finding) -> bool:
        """Whether the function brings more tokens than any lossless verifier can: an alarm of its own."""
        return self.optimum is not None and finding.check.block_efficiency > self.optimum + finding.tolerance


@dataclass(frozen=True)
class Failure:
    """A legal case on which the function fails."""

    case: Case
    error: FunctionFailed

    def __str__(self) -> str:
        return f"where {self.case.title}, {self.case.scheme}: {self.error.what}; called with ({self.error.arguments})"


@dataclass
class Report:
    """What is known in the end, case by case.

    judged: the cases of the findings. failures: the others. first: what stands beside the first case, where that was
    asked for before it was judged. witness: the smallest one of a refuted balance.
    """

    request: Request
    judged: list[Case] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    beside: list[Beside | None] = field(default_factory=list)
    corners: list[Corner] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    rounding: Rounding | None = None
    witness: Witness | None = None
    first: tuple[Case, Beside | None] | None = None
    complete: bool = True
    calls: float = 0.0

    @property
    def refuted(self) -> Finding | None:
        """The finding that is shown: the first one whose balance fails, or whose requests depend on each other.

        None where all of that is rounding, unless that is too much.
        """
        if self.rounding is not None and not self.request.strict:
            return None
        failed = [each for each in self.findings if not each.lossless]
        return next((each for each in failed if not each.check.lossless), failed[0] if failed else None)

    @property
    def alarm(self) -> bool:
        """Whether the function exceeds the optimum anywhere."""
        pairs = zip(self.findings, self.beside, strict=True)
        exceeded = any(beside is not None and beside.exceeded(finding) for finding, beside in pairs)
        return exceeded and self.rounding is None

    @property
    def lossless(self) -> bool:
        """Whether nothing was found against it."""
        return not (self.refuted or self.failures or self.corners or self.alarm)
