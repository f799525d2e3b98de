"""What an audit found, in words: the same lines for the command, `assert_lossless` and the pytest plugin."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from draftproof.simulator.audit.judge import TOLERANCE, Finding
from draftproof.simulator.audit.verdict import AuditVerdict, Record
from draftproof.simulator.laws.law import Violation
from draftproof.simulator.shown import number_text

#: The tolerance for a function that computes in 16 bits.
HALF = "1e-2"
#: The entries of the catalogue about random numbers that decide twice.
REUSES = {"coin in the race", "coin reuse", "race numbers twice"}
#: Places where one random number decides twice that are told; the result has them all.
REUSE_SHOWN = 5
#: A float this close to a fraction of at most this denominator is shown with the fraction.
_CLOSE, _DENOMINATOR = 1e-12, 100_000


def said(record: Record) -> Iterator[str]:
    """What speaks against the function, what may be the cause, and where it was not judged; nothing if it is lossless.

    Corner coins that were tried and show nothing are told, too.
    """
    refuted = record.verdict.refuted
    if refuted is not None:
        yield from _refutation(record, refuted)
    yield from (f"fails {failure}" for failure in record.failures)
    yield from (f"not judged {refusal}" for refusal in record.refusals)
    for rank, hypothesis in enumerate(record.hypotheses):
        yield f"{'it also fits' if rank else 'hypothesis'}: {hypothesis}"
    if refuted is not None and record.complete and not record.hypotheses:
        yield "hypothesis: none of the catalogue fits"
    yield from (f"corner coin: {corner}" for corner in record.corners)
    if record.request.boundary and record.complete and not record.corners:
        yield "corner coins (0, the largest float below 1, the threshold): no token of probability zero"
    if record.verdict.alarm:
        yield "more tokens a block than the certified optimum of all lossless verifiers (second alarm)"
    reuse = reused(record)
    yield from (f"one random number decides twice: {lines}" for lines in reuse[:REUSE_SHOWN])
    if len(reuse) > REUSE_SHOWN:
        yield f"and {len(reuse) - REUSE_SHOWN} more such places"


def reused(record: Record) -> list[str]:
    """Where one random number of a refuted function decides twice, unless another cause is known."""
    named = {hypothesis.name for hypothesis in record.hypotheses} - {"first token exact"}
    if record.verdict.refuted is None or (named and not named & REUSES):
        return []
    return list(record.request.audit.audited.log.reuse)


def _refutation(record: Record, finding: Finding) -> Iterator[str]:
    audit, case = record.request.audit, record.judged[record.findings.index(finding)]
    scheme, of_batch = finding.scheme, ""
    if finding.row is not None:
        scheme = audit.requests(finding.instance, finding.scheme)[finding.row][1]
        of_batch = f", request {finding.row} of the batch"
    first, worst = finding.first, finding.check.metrics.worst
    place = "requests of the batch depend on each other" if first is None else _imbalance(first)
    yield f"{audit.name} is not lossless on {scheme}{of_batch} ({case.title}): {place}"
    if first is not None and worst is not None and worst != first:
        yield f"largest imbalance: {_imbalance(worst)}"
    yield f"exact total variation of the first L + 1 tokens: {precise(finding.check.total_variation)}"
    yield from way_out(record.verdict)
    if finding.dependence is not None:
        yield f"requests of the batch together: total variation {precise(finding.dependence)} from independence"


def way_out(verdict: AuditVerdict) -> list[str]:
    """What to do about a bias as small as the rounding of 16 bits, in one line; nothing for another one."""
    if verdict.refuted is None or not TOLERANCE < verdict.bias <= float(HALF):
        return []
    return [f"a bias of {float(verdict.bias):.2g} may be the rounding of 16 bits: a tolerance of {HALF} allows that"]


def _imbalance(violation: Violation) -> str:
    expected, found = precise(violation.expected), precise(violation.found)
    if expected == found:
        expected, found = f"{float(violation.expected)!r}", f"{float(violation.found)!r}"
    return (
        f"after context {violation.context}, token {violation.token} must have mass {expected}; "
        f"the block gives it {found} (off by {precise(violation.deviation)})"
    )


def precise(value: Fraction | float | None) -> str:
    """A number to twelve digits, with the simple fraction that it equals or is close to."""
    if value is None:
        return "not computed"
    if isinstance(value, Fraction):
        return number_text(value)
    fraction = Fraction(value).limit_denominator(_DENOMINATOR)
    if fraction == value:
        return str(fraction) if fraction.denominator == 1 else f"{value:.12g} (= {fraction})"
    if value and abs(value - fraction) <= _CLOSE and fraction.denominator > 1:
        return f"{value:.12g} (= {fraction} up to rounding)"
    return f"{value:.12g}"
