"""`draftproof audit`: judges a function of another project, and looks for the smallest witness and the cause."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from draftproof import verifiers
from draftproof.experiments.shared.progress import bar, counted, duration, quiet, remark
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import Evidence, Finding, Hypothesis, SelfDrafted, diagnose, diagnose_corners
from draftproof.simulator.audit.verdict import CaseCost, Record, run_audit
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import telling
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Evaluator
from draftproof.simulator.verdicts.witness import Witness


@dataclass
class Report(Record):
    """The findings of an audit with what the command adds.

    beside: for each finding the exact block efficiency of verifiers of the registry there. witness: the smallest
    instance found on which the function is not lossless. calls: of the function, about.
    """

    beside: list[dict[str, Fraction | float]] = field(default_factory=list)
    witness: Witness | None = None
    calls: float = 0.0


#: Random examples on each shape while a witness is shrunk: an audited function runs slowly.
EXAMPLES = 40
#: The share of the bias that a smaller witness keeps: one bug varies less, and what it hides is often far smaller.
KEPT = 0.1
#: The certified optimum is computed where `V**L` is at most this.
OPTIMUM_PATHS = 64
#: Registered verifiers whose block efficiency is shown for comparison, for one path and for several.
COMPARED = {False: ("naive", "block"), True: ("naive_tree", "specinfer", "traversal")}


def carry_out(report: Report, seconds: float = math.inf) -> Report:
    """Announce the size of the audit and judge all instances; the report has what was found so far at Ctrl-C.

    After a refutation find hypotheses about the bug and the smallest witness, within so many seconds (0: keep the
    refuted instance). Raises as `run_audit` does.
    """
    run_audit(report, partial(_optimum, report), partial(_announce, report), bar, time.perf_counter)
    refuted = report.verdict.refuted
    if refuted is not None:
        remark("looking for the cause (Ctrl-C ends the audit)")
        with quiet():
            report.hypotheses = diagnose(Evidence(report.request.audit, refuted, report.findings))
        report.witness = find_witness(report, seconds) if seconds else unshrunk_witness(refuted)
        with quiet():
            report.hypotheses = _on_witness(report)
    report.hypotheses += diagnose_corners(report.corners)
    return report


def _announce(report: Report, costs: Sequence[CaseCost]) -> None:
    report.calls = sum(cost.runs + cost.checks for cost in costs)
    trees, seconds = sum(cost.trees for cost in costs), sum(cost.seconds for cost in costs)
    remark(
        f"{counted(len(costs), 'instance')}, {counted(trees, 'draft tree')}, about {report.calls:,.0f} calls of "
        f"{report.request.audit.name}, {duration(seconds)}; a witness takes longer"
    )


def _optimum(report: Report, case: Case) -> Fraction | None:
    """The certified optimum on a case that was judged; what verifiers of the registry bring there goes to the report.

    A function that drafts by itself may make any number of blocks, so no bound applies to it.
    """
    audit, scheme = report.request.audit, case.scheme
    if isinstance(scheme, SelfDrafted):
        report.beside.append({})
        return None
    given = replace(case.instance, draft=telling(case.instance.draft, None))
    rows = audit.processing.instance(given).converted(RATIONAL, scheme.depth)
    if audit.batch == 1:
        report.beside.append(_efficiencies(COMPARED[audit.audited.interface.multi_path], rows, scheme))
    if not isinstance(scheme, Delayed) or rows.vocab_size**scheme.depth > OPTIMUM_PATHS:
        return None
    from draftproof.lp_analysis import optimum

    return optimum(rows.target, rows.draft, scheme).upper


def _efficiencies(names: Sequence[str], rows: Instance, scheme: DraftScheme) -> dict[str, Fraction | float]:
    """E[tau + 1] of the verifiers that are defined and lossless there; that of a lossy one is not comparable."""
    efficiencies = {}
    for name in names:
        try:
            check = Evaluator(verifiers.make(name)).check(rows.target, rows.draft, scheme)
        except DraftproofError:  # not defined on this scheme
            continue
        if check.lossless:
            efficiencies[name] = check.block_efficiency
    return efficiencies


def _on_witness(report: Report) -> list[Hypothesis]:
    """The hypotheses that hold on the smallest witness, too; where there are none, those for drafts of its shape."""
    audit, smallest = report.request.audit, report.witness
    if smallest is None or not smallest.shrunk or smallest.instance.scheme is None:
        return report.hypotheses
    judged = audit.judge(smallest.instance, smallest.instance.scheme)
    evidence = Evidence(audit, judged, [judged])
    if not report.hypotheses:
        return [replace(bug, reason=f"on such drafts {bug.reason}") for bug in diagnose(evidence)]
    return [bug for bug in report.hypotheses if bug.test(evidence) is not None]


def unshrunk_witness(finding: Finding) -> Witness | None:
    """The refuted instance as it is; None where only the requests of a batch depend on each other."""
    if finding.check.lossless:
        return None
    return Witness.of(finding.instance, replace(finding.check, scheme=finding.scheme), shrunk=False)


class _TimeIsUp(KeyboardInterrupt):
    """Ends a search as Ctrl-C does."""


def find_witness(report: Report, seconds: float = math.inf) -> Witness | None:
    """The smallest witness of a refuted balance; None where only the requests of a batch depend on each other.

    It keeps the first hypothesis and at least `KEPT` of the bias, so that it shows the same bug. seconds: after them,
    or at Ctrl-C, the smallest one so far is taken.
    """
    finding = report.verdict.refuted
    unshrunk = None if finding is None else unshrunk_witness(finding)
    if finding is None or unshrunk is None:
        return None
    audit = report.request.audit
    drawn = None if finding.instance.draft.told is None else report.request.drawn
    given = len(report.request.cases) == 1 and Path(report.request.cases[0].name).suffix == ".json"
    if given or (drawn is None and finding.instance.draft.told is not None):
        return unshrunk
    from draftproof.simulator.verdicts.search import shrink  # Hypothesis takes a while to import

    best, ends = [unshrunk], time.monotonic() + seconds

    def judged(instance: Instance, scheme: DraftScheme) -> Check:
        if time.monotonic() > ends:
            raise _TimeIsUp
        if audit.processing.masked and instance.vocab_size < finding.instance.vocab_size:
            raise InvalidInput("masks are for one vocabulary: with fewer tokens they differ")
        judged = audit.judge(instance, scheme)
        check = replace(judged.check, scheme=scheme)  # of a batch, not of one request
        if not check.lossless:  # what is tried after a violation is smaller
            evidence = Evidence(audit, judged, [judged])
            if judged.bias < KEPT * finding.bias or any(one.test(evidence) is None for one in report.hypotheses[:1]):
                raise InvalidInput("another bug, or one that hardly shows")
            best[0] = Witness.of(instance, check, shrunk=True)
        return check

    limit = f", {duration(seconds).replace('about', 'for at most')}" if seconds < math.inf else ""
    remark(f"refuted; shrinking the witness{limit} (Ctrl-C keeps the smallest one so far)")
    try:
        with quiet():
            return shrink(audit.audited, finding.instance, finding.scheme, EXAMPLES, judged, drawn)
    except KeyboardInterrupt as ended:
        if isinstance(ended, _TimeIsUp):
            remark("the smallest witness so far is kept; a larger shrink_seconds allows more")
        return best[0]
    except DraftproofError:
        return unshrunk
