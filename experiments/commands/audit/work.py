"""`draftproof audit`: somebody else's function on the default instances or on given ones, and what is wrong with it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import verifiers
from experiments.shared.progress import bar, duration, named_errors, quiet, remark
from simulator.arithmetic import RATIONAL
from simulator.audit import (
    Audit,
    Case,
    Corner,
    Evidence,
    Finding,
    Hypothesis,
    SelfDrafted,
    Suspect,
    corners,
    diagnose,
    diagnose_corners,
)
from simulator.drafts import Delayed
from simulator.errors import DraftproofError, InvalidInput, TooLarge
from simulator.protocol import DraftScheme
from simulator.verdicts.lossless import Evaluator
from simulator.verdicts.search import Witness, shrink

#: Random examples on each shape while a witness is shrunk: a function under interception is slow.
EXAMPLES = 40
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


@dataclass(frozen=True)
class Request:
    """What is asked for. spec: the function as it was typed. Raises `InvalidInput` for corner coins that cannot be."""

    spec: str
    audit: Audit
    cases: Sequence[Case]
    boundary: bool
    max_runs: int

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


@dataclass
class Report:
    """What is known in the end, case by case."""

    request: Request
    findings: list[Finding] = field(default_factory=list)
    beside: list[Beside | None] = field(default_factory=list)
    corners: list[Corner] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    complete: bool = True
    calls: float = 0.0

    @property
    def refuted(self) -> Finding | None:
        """The finding that is shown: the first one whose balance fails, or whose requests depend on each other."""
        failed = [each for each in self.findings if not each.lossless]
        return next((each for each in failed if not each.check.lossless), failed[0] if failed else None)

    @property
    def alarm(self) -> bool:
        """Whether the function exceeds the optimum anywhere."""
        pairs = zip(self.findings, self.beside, strict=True)
        return any(beside is not None and beside.exceeded(finding) for finding, beside in pairs)

    @property
    def lossless(self) -> bool:
        """Whether nothing was found against it."""
        return self.refuted is None and not self.corners and not self.alarm


def conduct(request: Request) -> Report:
    """Judge every case, with the size on stderr before it and a bar; Ctrl-C leaves the report incomplete."""
    report = Report(request)
    audit, cases = request.audit, request.cases
    with named_errors(f"{request.spec} on {cases[0].scheme}"):
        audit.check_state(cases[0].instance, cases[0].scheme)
    started = time.perf_counter()
    report.calls, tried = _estimate(request)
    each = (time.perf_counter() - started) / max(tried, 1)
    trees = sum(audit.trees(case.instance, case.scheme) for case in cases)
    plural = "s" if len(cases) > 1 else ""
    remark(
        f"{len(cases)} instance{plural}, {trees:,} draft trees, about {report.calls:,.0f} calls of {audit.name}, "
        f"{duration(report.calls * each)}"
    )
    with bar(f"{audit.name}: draft trees", trees) as tick:
        try:
            for case in cases:
                with named_errors(_where(request, case)):
                    report.findings.append(audit.judge(case.instance, case.scheme, tick))
                report.beside.append(_beside(audit, case))
            if request.boundary:
                _run_corners(report)
        except KeyboardInterrupt:
            report.complete = False
    report.beside += [None] * (len(report.findings) - len(report.beside))
    if report.refuted is not None:
        with quiet():
            report.hypotheses = diagnose(Evidence(audit, report.refuted, report.findings, _known()))
    report.hypotheses += diagnose_corners(report.corners)
    return report


def _where(request: Request, case: Case) -> str:
    """What errors name; a default instance that the function does not take can be left out."""
    title = f"{case.title}; --cases chooses others" if len(request.cases) > 1 else case.title
    return f"{request.spec} on {case.scheme} ({title})"


def _estimate(request: Request) -> tuple[float, float]:
    """Expected calls of all cases, and calls made to find out; raises `TooLarge`."""
    calls = tried = 0.0
    for case in request.cases:
        with named_errors(_where(request, case)):
            runs = request.audit.runs(case.instance, case.scheme)
        calls += runs
        tried += 3 * runs / max(request.audit.trees(case.instance, case.scheme), 1)
        if calls > request.max_runs:
            raise TooLarge(
                f"{request.spec} on {case.scheme} needs about {runs:.1e} calls, more than {request.max_runs:,} in all; "
                "use shorter or fewer drafts or a smaller vocabulary, or raise --max-runs"
            )
    return calls, tried


def _run_corners(report: Report) -> None:
    request = report.request
    zeros = [case for case in request.cases if case.name in ("zeros", "disjoint", "one_hot")]
    for case in zeros or request.cases:
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
