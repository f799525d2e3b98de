"""The steps and the verdict of every audit: of the command, `assert_lossless`, the pytest marker and the gallery.

`survey`, `check_states`, `judge` and `conclude` fill a `Record`; `decide` gives the verdict from it. A function is
lossless if and only if on every requested case
- it is judged to the end and does not fail,
- its bias, the exact total variation between the first tokens and the target's, is at most the tolerance; for a batch
  also the total variation of its requests from independence,
- no coin with a boundary value gives a token of probability zero,
- its block efficiency does not exceed what that bias can add to the best lossless verifier.
State between calls raises an error instead of a verdict, as does a case that cannot be followed where nothing on the
others speaks against the function: see `NOT_JUDGED`. Branches that only rounding makes possible are reported with the
verdict and do not change it.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, log

import numpy as np

from draftproof.simulator.audit.batches import drawn_roots
from draftproof.simulator.audit.boundary import Corner, corners
from draftproof.simulator.audit.diagnosis.catalogue import Hypothesis
from draftproof.simulator.audit.failures import FunctionFailed
from draftproof.simulator.audit.followed import Endless
from draftproof.simulator.audit.judge import Audit, Finding
from draftproof.simulator.audit.neighbours import PAIRS, unlike_neighbours
from draftproof.simulator.audit.program import Program
from draftproof.simulator.audit.real import RealCoins
from draftproof.simulator.errors import InvalidInput, InvalidVerifier, NoFunction, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.sampling import Samplings
from draftproof.simulator.laws.trials import EnumerationSize, Runs
from draftproof.simulator.progress import Progress
from draftproof.simulator.raised import named_errors, quiet
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.symbolic.where import SAMPLE, NotFollowed

#: Errors in place of a verdict: the function cannot be followed, it gives another law when it is called again (each of
#: these laws may be the target's), its arguments are wrong, or it takes too many calls. The command exits with 2, the
#: pytest plugin skips (or fails, if it is strict), `assert_lossless` and the gallery raise the error.
NOT_JUDGED = (InvalidVerifier, TooLarge)
#: Calls of the function in one audit, unless another number is asked for.
MOST_CALLS = 2_000_000
#: Draft trees of the first case that are checked for state; of others it is one.
FIRST_CHECKED = 3
#: Random calls at most by which the refutation of a program is confirmed.
CONFIRMED = 200_000
#: The largest block efficiency of a lossless verifier on a case, None where it is not known.
Optimum = Callable[[Case], Fraction | None]


@dataclass(frozen=True)
class Request:
    """What an audit is asked to do.

    spec: the name of the function in errors. boundary: whether coins with boundary values ("corner coins") are run.
    max_runs: calls of the function at most. drawn: how rows of the cases were sampled, None where that is not known.
    reproducible: whether tokens of a request must not depend on its neighbours in a batch.
    Raises `InvalidInput` where `boundary` is not possible.
    """

    spec: str
    audit: Audit
    cases: Sequence[Case]
    boundary: bool = False
    max_runs: int = MOST_CALLS
    drawn: Samplings | None = None
    reproducible: bool = False

    def __post_init__(self) -> None:
        if self.boundary and self.audit.batch > 1:
            raise InvalidInput("corner coins take one request a call; leave out the batch")
        if self.boundary and isinstance(self.audit.audited.function, Program):
            raise InvalidInput("corner coins are met where Python compares; `draftproof vectors` has them for programs")


@dataclass(frozen=True)
class Failure:
    """A legal case on which the function fails."""

    case: Case
    error: FunctionFailed

    def __str__(self) -> str:
        arguments = f"; called with ({self.error.arguments})" if self.error.arguments else ""
        return f"where {self.case.title}, {self.case.scheme}: {self.error.what}{arguments}"


@dataclass(frozen=True)
class Refusal:
    """A case on which the function is not judged, since it cannot be followed or takes too many calls."""

    case: Case
    error: NotFollowed | TooLarge

    def __str__(self) -> str:
        return f"where {self.case.title}, {self.case.scheme}: {self.error}"


@dataclass(frozen=True)
class AuditVerdict:
    """The answer of an audit.

    refuted: the finding to report, the first one whose law is not the target's, else one whose requests depend on each
    other. alarm: whether a block efficiency exceeds what any verifier of this tolerance reaches. bias: the largest one.
    """

    lossless: bool
    refuted: Finding | None
    alarm: bool
    bias: Fraction | float


def decide(
    findings: Sequence[Finding],
    failures: Sequence[Failure] = (),
    corners: Sequence[Corner] = (),
    optima: Sequence[Sequence[Fraction | None]] = (),
    *,
    complete: bool,
) -> AuditVerdict:
    """The verdict of an audit, see the module; nothing else decides one.

    optima: for each finding the largest block efficiency of a lossless verifier on every request, where it is known.
    complete: whether every case was judged.

    A bias `b` adds at most `L**2 b` tokens a block: a verifier that is made lossless by rejecting more loses at most
    `(2 d - 1) b` of its probability to accept `d` drafts.
    """
    failed = [finding for finding in findings if not finding.lossless]
    refuted = next((item for item in failed if not item.check.lossless), failed[0] if failed else None)
    alarm = any(
        best is not None and efficiency > best + finding.scheme.depth**2 * finding.tolerance
        for finding, bests in zip(findings, optima or [()] * len(findings), strict=True)
        for efficiency, best in zip(finding.efficiencies, bests, strict=False)
    )
    lossless = complete and bool(findings) and not (refuted or failures or corners or alarm)
    return AuditVerdict(lossless, refuted, alarm, max((finding.bias for finding in findings), default=0))


@dataclass
class Record:
    """The state of an audit.

    judged: the cases on which the function has a law; findings, optima: for each of them. failures: on other cases.
    corners: tokens of probability zero at boundary values. refusals: of cases that are not judged. complete: whether
    the whole request was carried out. hypotheses: about the bug of a refuted function, from `diagnose`. first_runs: by
    `id` of a case of one draft tree, what the search for state found.
    """

    request: Request
    judged: list[Case] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    optima: list[Sequence[Fraction | None]] = field(default_factory=list)
    corners: list[Corner] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    complete: bool = False
    hypotheses: list[Hypothesis] = field(default_factory=list)
    first_runs: dict[int, Runs] = field(default_factory=dict)

    @property
    def verdict(self) -> AuditVerdict:
        """The result of `decide`."""
        return decide(self.findings, self.failures, self.corners, self.optima, complete=self.complete)

    @property
    def refused(self) -> NotFollowed | TooLarge:
        """The first refusal, with the place and with what is known of the other cases."""
        first = self.refusals[0]
        text = f"{_where(self.request, first.case)}: {first.error}"
        if self.findings:
            names = ", ".join(dict.fromkeys(refusal.case.name for refusal in self.refusals))
            text += f"; not judged on {names}, lossless on the other instances ({len(self.findings)})"
        return type(first.error)(text)


@dataclass(frozen=True)
class CaseCost:
    """The estimated cost of a case: draft trees, calls of the function that judge it, calls that check it for state.

    seconds: of all these calls, on this machine.
    """

    trees: int
    runs: float
    checks: float
    seconds: float


def survey(record: Record, clock: Callable[[], float] | None = None) -> list[tuple[Case, CaseCost]]:
    """The estimated cost of each case, from one or two of its trees; cases that fail on these become failures.

    clock: gives seconds, to measure calls; without one all are 0.
    Raises `TooLarge`, and `InvalidVerifier` where every case fails in a way that wrong arguments explain.
    """
    request = record.request
    sizes: list[tuple[Case, CaseCost]] = []
    for case in request.cases:
        with named_errors(_where(request, case)), one_thread(), _failures(record, case):
            sizes.append((case, _cost(request.audit, case, clock, FIRST_CHECKED if not sizes else 1)))
        if sum(size.runs for _, size in sizes) > request.max_runs:
            _, size = sizes.pop()
            why = (
                f"it needs about {size.runs:.1e} calls, more than {request.max_runs:,} in all; use shorter or fewer "
                "drafts or a smaller vocabulary, or allow more runs"
            )
            record.refusals.append(Refusal(case, TooLarge(why)))
    if not sizes:
        assert_called_rightly(record)
    return sizes


def check_states(record: Record, cases: Sequence[Case], progress: Progress | None = None) -> list[Case]:
    """The cases without those on which the function fails; raises `InvalidVerifier` for state between calls.

    progress: called with 1 after each case.
    """
    request = record.request
    left: list[Case] = []
    for case in cases:
        with named_errors(_where(request, case)), one_thread(), _failures(record, case):
            first = request.audit.check_state(case.instance, case.scheme, 1 if left else FIRST_CHECKED)
            record.first_runs |= {} if first is None else {id(case): first}
            left.append(case)
        if progress:
            progress(1)
    return left


def judge(
    record: Record, cases: Sequence[Case], optimum: Optimum | None = None, progress: Progress | None = None
) -> None:
    """Add a finding, or a failure of the function, for each of these cases. optimum: gives the bound for the alarm."""
    request = record.request
    for case in cases:
        finding = None
        with named_errors(_where(request, case)), one_thread(), _failures(record, case):
            first = record.first_runs.get(id(case))
            finding = request.audit.judge(case.instance, case.scheme, progress, first)
        if finding is None:
            continue
        bests = [optimum(own) for own in request.audit.by_request(case)] if optimum is not None else ()
        record.judged.append(case)
        record.findings.append(finding)
        record.optima.append(bests)


@contextmanager
def _failures(record: Record, case: Case) -> Iterator[None]:
    """Within it an error of the function becomes a failure on this case, and what cannot be followed a refusal."""
    try:
        yield
    except Endless:  # it would take long on every case
        raise
    except FunctionFailed as error:
        record.failures.append(Failure(case, record.request.audit.explained(case.instance, case.scheme, error)))
    except (NotFollowed, TooLarge) as error:
        record.refusals.append(Refusal(case, error))


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it torch, where it is loaded, computes on one thread: an audit makes many calls on a few numbers."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 1
    if torch is None or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def conclude(record: Record) -> AuditVerdict:
    """The steps after all cases are judged: boundary values if requested, and the refuted case once more.

    Raises `InvalidVerifier` where the function fails on every case in a way that wrong arguments explain, `NoFunction`
    where the refuted case is lossless when it is judged again, `NotFollowed` where what bisecting missed may explain a
    refutation, and the refusal of a case where nothing on the others speaks against the function.
    """
    request = record.request
    if not record.findings:
        assert_called_rightly(record)
    if request.boundary:
        zeros = [case for case in record.judged if case.name in ("zeros", "disjoint", "one_hot")]
        for case in zeros or record.judged:
            with named_errors(f"{request.spec} at corner coins ({case.title})"), _failures(record, case):
                record.corners += corners(request.audit, case.instance, case.scheme)
    _assert_refuted_again(record)
    _assert_not_missed(record)
    record.complete = True
    if record.refusals and record.verdict.lossless:
        record.complete = False
        raise record.refused
    return record.verdict


def _assert_refuted_again(record: Record) -> None:
    refuted = record.verdict.refuted
    if refuted is None:
        return
    with one_thread(), quiet():
        again = record.request.audit.judge(refuted.instance, refuted.scheme)
    if again.lossless:
        raise NoFunction(f"{record.request.spec}: it is refuted on an instance, and lossless there in a second run")


def _assert_not_missed(record: Record) -> None:
    """Raise `NotFollowed` where answers of a refuted program that bisecting missed may explain its bias.

    The law that was found differs from the program's by at most the share of the numbers on which it answers otherwise
    than their cell. So many random calls show one of these with a probability of 1 - 1e-6.
    """
    refuted, audit = record.verdict.refuted, record.request.audit
    if refuted is None or not isinstance(audit.audited.function, Program):
        return
    calls, coin = ceil(log(1e6) / float(refuted.bias)), SamplingCoin(np.random.default_rng(0))
    if calls > CONFIRMED:
        raise NotFollowed(
            f"{record.request.spec} has a bias of {float(refuted.bias):.2g}, which answers that bisecting missed may "
            f"explain; {SAMPLE}"
        )
    requests = audit.expected_requests(refuted.instance, refuted.scheme)
    batches = (drawn_roots(requests, coin) for _ in range(calls))
    with one_thread():
        last = audit.verifier(refuted.instance, refuted.scheme).sampled(batches, RealCoins([0]))[-1]
    if isinstance(last, NotFollowed):
        raise last


def run_audit(
    record: Record,
    optimum: Optimum | None = None,
    announce: Callable[[Sequence[CaseCost]], None] | None = None,
    bar: Callable[[str, float], AbstractContextManager[Progress | None]] = lambda label, total: nullcontext(),
    clock: Callable[[], float] | None = None,
) -> Record:
    """Carry out the request of a record; raises as `survey` and `conclude` do.

    The record has what was found so far where this is interrupted. optimum: see `judge`. announce: is told the expected
    cost of each case. bar: makes the progress bar of a label and a number of steps. clock: see `survey`.
    """
    name = record.request.audit.name
    if record.request.reproducible and not _is_reproducible(record):
        return record
    surveyed = survey(record, clock)
    if announce is not None:
        announce([cost for _, cost in surveyed])
    with bar(f"{name}: called again, for state", len(surveyed)) as tick:
        cases = check_states(record, [case for case, _ in surveyed], tick)
    with bar(f"{name}: draft trees", sum(cost.trees for case, cost in surveyed if case in cases)) as tick:
        judge(record, cases, optimum, tick)
    conclude(record)
    return record


def _is_reproducible(record: Record) -> bool:
    """Whether no request is seen to depend on its neighbours; the first that does is a failure, with which it ends."""
    audit = record.request.audit
    for case in record.request.cases:
        with named_errors(_where(record.request, case)), one_thread():
            unlike = unlike_neighbours(audit, case)
        if unlike is not None:
            record.failures.append(Failure(case, FunctionFailed(f"not reproducible: {unlike}")))
            record.complete = True
            return False
    tried = f"reproducible: no request depends on its neighbours in {PAIRS} pairs of batches of each instance"
    audit.audited.log.notes[tried] = None
    return True


def assert_called_rightly(record: Record) -> None:
    """Raise `InvalidVerifier` where every failure, on a record without findings, may come from wrong arguments.

    Of a function that returns blocks in other runs they explain only that it asks something else of its rows.
    """
    if not record.failures and record.refusals:
        raise record.refused
    if not all(failure.error.called_wrongly for failure in record.failures):
        return
    audit, cases = record.request.audit, [failure.case for failure in record.failures]
    of_rows = any(isinstance(failure.error.__cause__, (TypeError, AttributeError)) for failure in record.failures)
    if of_rows or not any(audit.returns(case.instance, case.scheme) for case in cases):
        with named_errors(_where(record.request, record.failures[0].case)):
            raise InvalidVerifier(str(record.failures[0].error))


def _where(request: Request, case: Case) -> str:
    """The function and the case, for errors."""
    title = f"{case.title}; other cases can be chosen" if len(request.cases) > 1 else case.title
    return f"{request.spec} on {case.scheme} ({title})"


def _cost(audit: Audit, case: Case, clock: Callable[[], float] | None, checked: int) -> CaseCost:
    """The cost from one draft tree, with a clock from two: the first call includes set-up, so the second is measured.

    checked: trees that are checked for state.
    """
    sizes = [audit.size(case.instance, case.scheme)]
    seconds = 0.0
    if clock is not None:
        start = clock()
        sizes.append(audit.size(case.instance, case.scheme, seed=1))
        seconds = (clock() - start) / sizes[-1].tried
    size = EnumerationSize(sizes[0].trees, sum(item.runs_per_tree for item in sizes) / len(sizes))
    checks = audit.checking_runs(size, checked)
    return CaseCost(size.trees, size.runs, checks, seconds * (size.runs + checks))
