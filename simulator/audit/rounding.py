"""Whether deviations come from a lower precision inside the function, or from guards: they vanish without these."""

from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.simulator.audit.judge import Audit, Finding
from draftproof.simulator.audit.rows import KINDS
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.protocol import Progress

#: Largest deviations after some dozen roundings: relative 2^-24 each in float32, 2^-11 in float16, 2^-8 in bfloat16.
SINGLE, HALF = KINDS["float32"].tolerance, 2.0**-5
#: The largest deviation that guards may cause, unless another is asked for; and how many of them are named.
GUARDED, GUARDS_SHOWN = 1e-6, 3


@dataclass(frozen=True)
class Rounding:
    """The deviations of a function that is lossless in float64, or without its guards.

    precision: that of its own computation, "" for that of the audit. bias: the largest deviation of a probability, on
    the instances of the audit. guards: its tiny constants with their places, where they cause deviations.
    """

    precision: str
    bias: float
    guards: tuple[str, ...] = ()

    @property
    def cause(self) -> str:
        """What causes the deviations, in words."""
        causes = [f"{self.precision} rounding"] if self.precision else []
        causes += [f"a guard of {guard}" for guard in self.guards[:GUARDS_SHOWN]]
        return " and ".join(causes)

    def __str__(self) -> str:
        return f"{self.cause}, bias {self.bias:.2g}"


def only_rounding(
    audit: Audit, findings: Sequence[Finding], guarded: float = GUARDED, progress: Progress | None = None
) -> Rounding | None:
    """The rounding, or the guards, that explain all deviations; None where they do not.

    It does if every deviation is at most `SINGLE` and vanishes when float64 replaces float32 wherever the function
    names it, or is at most `HALF`, and vanishes only when float64 replaces the precisions of 16 bits, too. Guards
    explain it if every deviation is at most `guarded` and vanishes without them, in float64. progress: as in
    `Audit.judge`, for every finding that is computed again.
    """
    if audit.audited.rows.kind.arithmetic.exact:
        return None
    failed = [finding for finding in findings if not finding.lossless]
    bias = max((largest(item) for item in failed), default=0.0)
    if not 0 < bias <= HALF:
        return None
    names = audit.audited.guards
    tried = [("float32", "float32", SINGLE), ("all", "float16 or bfloat16", HALF)]
    tried += [("guards", "", guarded), ("guards float32", "float32", guarded)] if names else []
    for wide, precision, most in tried:
        widened = audit.with_(wide=wide)
        try:
            if all(widened.judge(element.instance, element.scheme, progress).lossless for element in failed):
                return Rounding(precision, bias, names if "guards" in wide else ()) if bias <= most else None
        except DraftproofError:  # it does not run in float64, so this shows nothing
            continue
    return None


def largest(finding: Finding) -> float:
    """The largest deviation, or dependence of the requests of a batch."""
    return max(float(finding.check.max_deviation), float(finding.dependence or 0))
