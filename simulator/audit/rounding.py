"""Whether deviations come from a lower precision inside the function: they vanish when it computes in float64."""

from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.simulator.audit.judge import Audit, Finding
from draftproof.simulator.audit.rows import KINDS
from draftproof.simulator.errors import DraftproofError

#: Largest deviations after some dozen roundings: relative 2^-24 each in float32, 2^-11 in float16, 2^-8 in bfloat16.
SINGLE, HALF = KINDS["float32"].tolerance, 2.0**-5


@dataclass(frozen=True)
class Rounding:
    """The deviations of a function that is lossless in float64.

    precision: that of its own computation. bias: the largest deviation of a probability.
    """

    precision: str
    bias: float

    def __str__(self) -> str:
        return f"{self.precision} rounding, bias {self.bias:.2g}"


def only_rounding(audit: Audit, findings: Sequence[Finding]) -> Rounding | None:
    """The rounding that explains all deviations; None where it does not.

    It does if every deviation is at most `SINGLE` and vanishes when float64 replaces float32 wherever the function
    names it, or is at most `HALF`, and vanishes only when float64 replaces the precisions of 16 bits, too.
    """
    if audit.audited.rows.kind.arithmetic.exact:
        return None
    failed = [finding for finding in findings if not finding.lossless]
    bias = max((largest(item) for item in failed), default=0.0)
    if not 0 < bias <= HALF:
        return None
    for wide, precision, most in (("float32", "float32", SINGLE), ("all", "float16 or bfloat16", HALF)):
        widened = audit.with_(wide=wide)
        try:
            if all(widened.judge(element.instance, element.scheme).lossless for element in failed):
                return Rounding(precision, bias) if bias <= most else None
        except DraftproofError:  # it does not run in float64, so this shows nothing
            continue
    return None


def largest(finding: Finding) -> float:
    """The largest deviation, or dependence of the requests of a batch."""
    return max(float(finding.check.max_deviation), float(finding.dependence or 0))
