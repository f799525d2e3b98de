"""`draftproof audit`: somebody else's function on the default instances or on given ones, and what is wrong with it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import verifiers
from experiments.commands.audit.report import Beside, Failure, Report, Request
from experiments.shared.progress import bar, duration, named_errors, quiet, remark
from simulator.arithmetic import RATIONAL
from simulator.audit import (
    Audit,
    Evidence,
    Finding,
    FunctionFailed,
    SelfDrafted,
    Suspect,
    corners,
    diagnose,
    diagnose_corners,
    only_rounding,
)
from simulator.drafts import Delayed
from simulator.errors import DraftproofError, InvalidVerifier, TooLarge
from simulator.instances.case import Case
from simulator.protocol import DraftScheme, Progress
from simulator.verdicts.lossless import Evaluator
from simulator.verdicts.witness import Witness

#: Random examples on each shape while a witness is shrunk: a function under interception is slow.
EXAMPLES = 40
#: So many draft trees of each case are tried for its size, fewer where they take longer than so many seconds.
SAMPLES, PATIENCE = 8, 0.2
#: Seconds of which it is worth knowing better how many they are.
WORTH = 0.5
#: The certified optimum is computed where `V**L` is at most this.
OPTIMUM_PATHS = 64
#: Verifiers of the zoo beside which block efficiency is shown.
BESIDE = {False: ("naive", "block"), True: ("naive_tree", "specinfer", "traversal")}
#: Negative controls of the zoo that a wrong function may be.
CONTROLS = {
    "traversal_insertion_order": ("order of leaves", "traversal verification in the order of insertion"),
    "naive_from_target": ("correction from p", "token-by-token verification that corrects from p"),
    "block_by_weights": ("weights as probabilities", "block verification that accepts with its weights"),
}


def conduct(request: Request) -> Report:
    """Judge every case, with the size on stderr before it and a bar; Ctrl-C leaves the report incomplete.

    A case on which the function fails is a finding, and the others are judged. Raises `InvalidVerifier` where it fails
    on all of them in a way that another call might mend.
    """
    report = Report(request)
    surveyed = survey(report)
    cases, sizes = [case for case, _ in surveyed], [size for _, size in surveyed]
    report.calls = sum(size.runs for size in sizes)
    trees = sum(size.trees for size in sizes)
    plural = "s" if len(cases) != 1 else ""
    remark(
        f"{len(cases)} instance{plural}, {trees:,} draft trees, about {report.calls:,.0f} calls of "
        f"{request.audit.name}, {duration(announced(report, surveyed))}; where it is refuted, the witness takes more"
    )
    with bar(f"{request.audit.name}: draft trees", trees) as tick:
        try:
            judge_all(report, cases, tick)
            if request.boundary:
                _run_corners(report)
        except KeyboardInterrupt:
            report.complete = False
    report.beside += [None] * (len(report.findings) - len(report.beside))
    if report.refuted is not None:
        with quiet():
            report.rounding = only_rounding(request.audit, report.findings)
    if report.refuted is not None and report.rounding is None and report.complete:
        report.witness = find_witness(report)
        with quiet():
            report.hypotheses = diagnose(_evidence(report, report.refuted))
    report.hypotheses += diagnose_corners(report.corners)
    return report


def _evidence(report: Report, refuted: Finding) -> Evidence:
    """The refuted finding with its smallest witness, on which a hypothesis must hold as well."""
    audit, smallest = report.request.audit, report.witness
    judged = None
    if smallest is not None and smallest.shrunk and smallest.instance.scheme is not None:
        judged = audit.judge(smallest.instance, smallest.instance.scheme)
    return Evidence(audit, refuted, report.findings, _known(), judged)


def judge_all(report: Report, cases: Sequence[Case], tick: Progress) -> None:
    """Add what is found on these cases."""
    for case in cases:
        _judge(report, case, tick)


def _judge(report: Report, case: Case, tick: Progress) -> None:
    """Add what is found on one case."""
    audit = report.request.audit
    with named_errors(_where(report.request, case)):
        try:
            finding = audit.judge(case.instance, case.scheme, tick)
        except FunctionFailed as error:
            report.failures.append(Failure(case, error))
            return
    report.judged.append(case)
    report.findings.append(finding)
    report.beside.append(report.first[1] if report.first and report.first[0] is case else _beside(audit, case))


def _where(request: Request, case: Case) -> str:
    """What errors name; a default instance that the function does not take can be left out."""
    title = f"{case.title}; --cases chooses others" if len(request.cases) > 1 else case.title
    return f"{request.spec} on {case.scheme} ({title})"


@dataclass(frozen=True)
class Size:
    """How large a case is: draft trees, calls of the function, seconds of computing, which a busy machine stretches."""

    trees: int
    runs: float
    seconds: float


def survey(report: Report) -> list[tuple[Case, Size]]:
    """How large each case is, from some of its trees; what fails already there goes to the failures.

    Raises `TooLarge`, and `InvalidVerifier` for state between calls.
    """
    request = report.request
    sizes: list[tuple[Case, Size]] = []
    for case in request.cases:
        with named_errors(_where(request, case)):
            try:
                if not sizes:
                    request.audit.check_state(case.instance, case.scheme)
                sizes.append((case, _size(request.audit, case)))
            except FunctionFailed as error:
                report.failures.append(Failure(case, error))
                continue
        if sum(size.runs for _, size in sizes) > request.max_runs:
            raise TooLarge(
                f"{request.spec} on {case.scheme} needs about {sizes[-1][1].runs:.1e} calls, more than "
                f"{request.max_runs:,} in all; use shorter or fewer drafts or a smaller vocabulary, or raise --max-runs"
            )
    if not sizes and all(failure.error.called_wrongly for failure in report.failures):
        with named_errors(_where(request, report.failures[0].case)):
            raise InvalidVerifier(str(report.failures[0].error))
    return sizes


def announced(report: Report, surveyed: Sequence[tuple[Case, Size]]) -> float:
    """Seconds of computing that the verdict takes: calls of the function, and of the zoo and the optimum beside it.

    Those are run on the first case, which is kept, and count by draft trees on the others. What follows a refutation,
    the smallest witness and what is tried on it, is not in it: nobody knows how far it shrinks.
    """
    if not surveyed:
        return 0.0
    import lp_analysis  # noqa: F401 - what its import takes is no part of a case

    (case, first), *others = surveyed
    more, once = sum(size.trees for _, size in others) / first.trees, math.inf
    for _ in range(2):  # the first time includes what is imported and made once
        started = time.thread_time()  # a pause of the machine would count for every tree
        with quiet():
            report.first = case, _beside(report.request.audit, case)
        once = min(once, time.thread_time() - started)
        if once * more < WORTH:
            break
    beside = once * more
    return sum(size.seconds for _, size in surveyed) + beside


def _size(audit: Audit, case: Case) -> Size:
    """Some trees are tried, more of them as long as that is quick: where trees differ, few of them say little.

    A call takes the median of what it took on them: what is made at the first one is not made again.
    """
    trees = audit.trees(case.instance, case.scheme)
    most = min(trees, SAMPLES) if audit.batch == 1 else 1
    runs: list[float] = []
    clock = [time.thread_time()]
    while len(runs) < most and (not runs or clock[-1] - clock[0] < PATIENCE):
        runs.append(audit.runs(case.instance, case.scheme, 1, seed=len(runs)))
        clock.append(time.thread_time())
    wanted = sum(runs) / len(runs)
    a_call = median((end - start) / count * trees for (start, end), count in zip(pairwise(clock), runs, strict=True))
    return Size(trees, wanted, a_call * wanted)


def _run_corners(report: Report) -> None:
    request = report.request
    zeros = [case for case in report.judged if case.name in ("zeros", "disjoint", "one_hot")]
    for case in zeros or report.judged:
        with named_errors(f"{request.spec} at corner coins ({case.title})"):
            report.corners += corners(request.audit, case.instance, case.scheme)


def _beside(audit: Audit, case: Case) -> Beside | None:
    """The zoo and the optimum on the same instance; None where they do not apply.

    Of a function that drafts by itself nobody knows how often it drafts, or how many blocks it puts out: there is
    nothing that it could exceed.
    """
    scheme: DraftScheme = case.scheme
    if audit.batch > 1 or isinstance(scheme, SelfDrafted):
        return None
    processed = audit.processing.instance(case.instance).converted(RATIONAL, scheme.depth)
    zoo = {}
    for name in BESIDE[audit.audited.interface.multi_path]:
        try:
            check = Evaluator(verifiers.make(name)).check(processed.target, processed.draft, scheme)
            if check.lossless:  # what a lossy one brings on this scheme says nothing
                zoo[name] = check.block_efficiency
        except DraftproofError:  # not defined on this scheme
            continue
    best = None
    if isinstance(scheme, Delayed) and processed.vocab_size**scheme.depth <= OPTIMUM_PATHS:
        from lp_analysis import optimum

        best = optimum(processed.target, processed.draft, scheme).upper
    return Beside(zoo, best)


def _known() -> list[Suspect]:
    return [Suspect(bug, text, verifiers.make(control)) for control, (bug, text) in CONTROLS.items()]


def find_witness(report: Report) -> Witness | None:
    """The smallest witness of a refuted balance; None where only the requests of a batch depend on each other."""
    finding = report.refuted
    if finding is None or finding.check.lossless:
        return None
    audit = report.request.audit
    as_found = Witness.of(finding.instance, finding.check, shrunk=False)
    if len(report.request.cases) == 1 and Path(report.request.cases[0].name).suffix == ".json":
        return as_found
    from simulator.verdicts.search import shrink  # Hypothesis takes a while to import

    remark("refuted; looking for the smallest witness (Ctrl-C keeps the one at hand)")
    try:
        with quiet():
            return shrink(
                audit.audited,
                finding.instance,
                finding.scheme,
                EXAMPLES,
                lambda instance, scheme: audit.judge(instance, scheme).check,
            )
    except (DraftproofError, KeyboardInterrupt):
        return as_found
