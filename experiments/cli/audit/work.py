"""`draftproof audit`: judges a function of another project on instances, and looks for the cause of a refutation."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from draftproof import verifiers
from draftproof.experiments.shared.progress import bar, counted, duration, quiet, remark
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.audit import (
    Audit,
    Evidence,
    Finding,
    Hypothesis,
    SelfDrafted,
    diagnose,
    diagnose_corners,
)
from draftproof.simulator.audit.verdict import CaseCost, Record, Request, check_states, conclude, judge, survey
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import DraftproofError, InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import telling
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import Check, Evaluator
from draftproof.simulator.verdicts.witness import Witness


@dataclass(frozen=True)
class Comparison:
    """Block efficiencies of registered verifiers on one instance, and the certified optimum, if computed."""

    verifiers: Mapping[str, Fraction | float]
    optimum: Fraction | None


@dataclass
class Report(Record):
    """The findings of an audit with what the command adds: comparisons, the witness, and hypotheses about the bug.

    comparisons: one for each finding, none for a batch. witness: the smallest instance found on which the function is
    not lossless. first: the first case with its comparison, if that was computed for the estimate of the duration.
    """

    comparisons: list[Comparison | None] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    witness: Witness | None = None
    first: tuple[Case, Comparison | None] | None = None
    calls: float = 0.0


#: Random examples on each shape while a witness is shrunk: an audited function runs slowly.
EXAMPLES = 40
#: The share of the bias that a smaller witness keeps: one bug varies less, and what it hides is often far smaller.
KEPT = 0.1
#: An estimate above this many seconds is measured a second time.
MEASURE_AGAIN_FROM = 0.5
#: The certified optimum is computed where `V**L` is at most this.
OPTIMUM_PATHS = 64
#: Registered verifiers whose block efficiency is shown for comparison, for one path and for several.
COMPARED = {False: ("naive", "block"), True: ("naive_tree", "specinfer", "traversal")}


def run_audit(request: Request, seconds: float = math.inf) -> Report:
    """Announce the size of the audit and judge all instances, with a bar. Raises as `survey` and `conclude` do.

    After a refutation find the smallest witness within so many seconds (0: keep the refuted instance), and hypotheses
    about the bug.
    """
    report = Report(request)
    surveyed = survey(report, clock=time.perf_counter)
    cases, sizes = [case for case, _ in surveyed], [size for _, size in surveyed]
    report.calls = sum(size.runs + size.checks for size in sizes)
    trees = sum(size.trees for size in sizes)
    remark(
        f"{counted(len(cases), 'instance')}, {counted(trees, 'draft tree')}, about {report.calls:,.0f} calls of "
        f"{request.audit.name}, {duration(estimated_seconds(report, surveyed))}; a witness takes longer"
    )
    try:
        with bar(f"{request.audit.name}: called again, for state", len(cases)) as tick:
            cases = check_states(report, cases, tick)
        with bar(
            f"{request.audit.name}: draft trees", sum(size.trees for case, size in surveyed if case in cases)
        ) as tick:
            judge(report, cases, partial(_optimum, report), tick)
        conclude(report)
    except KeyboardInterrupt:
        found = "it is refuted on one of them" if report.verdict.refuted else "no violation on these"
        remark(f"interrupted after {len(report.findings)} of {len(request.cases)} instances: {found}")
        raise
    refuted = report.verdict.refuted
    if refuted is not None:
        remark("looking for the cause (Ctrl-C ends the audit)")
        with quiet():
            report.hypotheses = diagnose(Evidence(request.audit, refuted, report.findings))
        report.witness = find_witness(report, seconds) if seconds else unshrunk_witness(refuted)
        with quiet():
            report.hypotheses = _on_witness(report)
    report.hypotheses += diagnose_corners(report.corners)
    return report


def _optimum(report: Report, case: Case) -> Fraction | None:
    """The certified optimum on a case that was judged; its comparison, if it has one, is added to the report."""
    if report.request.audit.batch > 1:
        return _certified(case.instance.converted(RATIONAL, case.scheme.depth), case.scheme)
    known = report.first is not None and report.first[0] is case
    comparison = report.first[1] if known and report.first is not None else _comparison(report.request.audit, case)
    report.comparisons.append(comparison)
    return None if comparison is None else comparison.optimum


def _on_witness(report: Report) -> list[Hypothesis]:
    """The hypotheses that hold on the smallest witness, too; where there are none, those for drafts of its shape."""
    audit, smallest = report.request.audit, report.witness
    if smallest is None or not smallest.shrunk or smallest.instance.scheme is None:
        return report.hypotheses
    judged = audit.judge(smallest.instance, smallest.instance.scheme)
    evidence = Evidence(audit, judged, [judged])
    if not report.hypotheses:
        return [replace(found, reason=f"on such drafts {found.reason}") for found in diagnose(evidence)]
    return [found for found in report.hypotheses if found.test(evidence) is not None]


def estimated_seconds(report: Report, surveyed: Sequence[tuple[Case, CaseCost]]) -> float:
    """Expected seconds of the verdict: calls of the function, and the comparisons.

    The comparison of the first case is measured, and scaled by the number of draft trees for the others. The search for
    a witness is not included, as its length is not known.
    """
    if not surveyed:
        return 0.0
    from draftproof import lp_analysis  # noqa: F401 - so that its import is not measured

    (case, first), *others = surveyed
    ratio, seconds = sum(size.trees for _, size in others) / first.trees, math.inf
    for _ in range(2):  # the first time includes imports and caches
        started = time.thread_time()  # a pause of the machine would count for every tree
        with quiet():
            report.first = case, _comparison(report.request.audit, case)
        seconds = min(seconds, time.thread_time() - started)
        if seconds * ratio < MEASURE_AGAIN_FROM:
            break
    return sum(size.seconds for _, size in surveyed) + seconds * ratio


def _comparison(audit: Audit, case: Case) -> Comparison | None:
    """The comparison on one instance; None where there is none.

    A function that drafts by itself may make any number of blocks, so no bound applies to it.
    """
    scheme: DraftScheme = case.scheme
    if audit.batch > 1 or isinstance(scheme, SelfDrafted):
        return None
    given = replace(case.instance, draft=telling(case.instance.draft, None))
    processed = audit.processing.instance(given).converted(RATIONAL, scheme.depth)
    efficiencies = {}
    for name in COMPARED[audit.audited.interface.multi_path]:
        try:
            check = Evaluator(verifiers.make(name)).check(processed.target, processed.draft, scheme)
            if check.lossless:  # the block efficiency of a lossy one is not comparable
                efficiencies[name] = check.block_efficiency
        except DraftproofError:  # not defined on this scheme
            continue
    return Comparison(efficiencies, _certified(processed, scheme))


def _certified(rows: Instance, scheme: DraftScheme) -> Fraction | None:
    """The certified optimum on rational rows, None where there are too many paths."""
    if not isinstance(scheme, Delayed) or rows.vocab_size**scheme.depth > OPTIMUM_PATHS:
        return None
    from draftproof.lp_analysis import optimum

    return optimum(rows.target, rows.draft, scheme).upper


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
