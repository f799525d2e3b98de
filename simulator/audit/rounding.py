"""Is what a function deviates by the rounding of a lower precision inside? It is run again without that precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.simulator.audit.judge import Audit, Finding
from draftproof.simulator.audit.rows import KINDS
from draftproof.simulator.errors import DraftproofError

#: What some dozen roundings leave: a float32 is rounded by 2^-24 of itself, a float16 by 2^-11, a bfloat16 by 2^-8.
SINGLE, HALF = KINDS["float32"].tolerance, 2.0**-5


@dataclass(frozen=True)
class Rounding:
    """The deviations of a function that is lossless but for a low precision.

    precision: the lower one inside. bias: the largest deviation.
    """

    precision: str
    bias: float

    def __str__(self) -> str:
        return f"{self.precision} rounding, bias {self.bias:.2g}"


def only_rounding(audit: Audit, findings: Sequence[Finding]) -> Rounding | None:
    """What rounding the findings show, None where it does not explain all of them.

    It does where every deviation is as small as rounding leaves it, and is gone once the function computes in float64
    wherever it asks for less.
    """
    if audit.audited.rows.kind.arithmetic.exact:
        return None
    failed = [finding for finding in findings if not finding.lossless]
    bias = max((largest(item) for item in failed), default=0.0)
    if not 0 < bias <= HALF:
        return None
    wide = audit.with_(wide=True)
    try:
        if not all(wide.judge(element.instance, element.scheme).lossless for element in failed):
            return None
    except DraftproofError:  # it wants its precision: nothing is known
        return None
    return Rounding("float32" if bias <= SINGLE else "float16 or bfloat16", bias)


def largest(finding: Finding) -> float:
    """The largest deviation, or dependence of the requests of a batch."""
    return max(float(finding.check.max_deviation), float(finding.dependence or 0))
