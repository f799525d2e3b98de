"""`draftproof audit --sample N`: a function that no exact audit can follow is run with real random numbers.

Its blocks, each continued with the target's law to one length, are texts with the target's law if it is lossless. The
sequential test (`e_process.py`) looks at them after every portion: the probability that it ever refutes a lossless
function, however long it runs, is at most the level. Nothing that it finds is a proof, but for a call that fails: a
function that fails on a legal case is not lossless, however rarely it does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from math import exp, inf, log

import numpy as np

from draftproof.experiments.cli.audit.e_process import FOUND, Counts, RowsAfter, log_e_value, refutes, smallest_found
from draftproof.experiments.cli.audit.views import about
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.progress import INTERRUPTED, bar, duration, named_errors, remark
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.audit.failures import FunctionFailed
from draftproof.simulator.audit.program import Program
from draftproof.simulator.audit.verdict import Failure, Record, Request, assert_called_rightly, one_thread
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.enumeration import assert_verdict
from draftproof.simulator.protocol import DraftNode, Verdict
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.symbolic import NotFollowed
from draftproof.simulator.tables import context_at

#: Calls on one instance between two looks at the test.
PORTION = 128
#: Exit code where nothing was found: neither a proof nor a refutation.
NOT_JUDGED = 2
#: Calls from which the duration is estimated.
_PILOT = 8
#: Replaces the logarithm of an infinite e-value, which JSON cannot hold.
_INFINITE = 1e9


@dataclass(frozen=True)
class Place:
    """Where texts differ most from the target, in standard deviations: a token after a context of one instance."""

    case: Case
    context: tuple[int, ...]
    token: int
    seen: int
    visits: int
    expected: float
    deviations: float

    def __str__(self) -> str:
        share = f"{self.seen:,} of {self.visits:,}, where {self.expected:.6g} is its probability"
        return f"after context {self.context}, token {self.token} came {share} ({self.case.title}, {self.case.scheme})"


@dataclass(frozen=True)
class Sampled:
    """What samples showed.

    largest: the logarithm of the largest e-value. would_find: see `smallest_found`. refusal: why there is no exact
    answer. failures: of single calls, after which the test ends. stopped: why no further call is possible. finished:
    False after Ctrl-C.
    """

    request: Request
    refusal: str
    seed: int
    level: float
    wanted: int
    samples: int
    largest: float
    would_find: float
    place: Place
    failures: tuple[Failure, ...] = ()
    stopped: str = ""
    finished: bool = True

    @property
    def refuted(self) -> bool:
        """Whether the e-process reached `1 / level`, or a call failed."""
        return bool(self.failures) or refutes(self.largest, self.level)

    @property
    def p_value(self) -> float:
        """Valid whenever one looks: a lossless function ever gets one below `a` with a probability of at most `a`."""
        return min(1.0, exp(-self.largest))


class _Instance:
    """The texts of one case, and the counts of their tokens."""

    def __init__(self, request: Request, case: Case, generator: np.random.Generator) -> None:
        self.audit, self.case, self.length = request.audit, case, case.scheme.depth + 1
        self._expected: Instance = self.audit.expected_instance(case.instance, case.scheme)
        self._verifier = self.audit.verifier(case.instance, case.scheme)
        self._generator, self._coin = generator, SamplingCoin(generator)
        plain = self._expected.converted(FLOAT64, case.scheme.depth)
        self._target = plain.target
        self.rows = RowsAfter(tuple(plain.target.tables), tuple(plain.draft.tables[: case.scheme.depth]))
        self.counts = self._counted([])
        self.failures: list[Failure] = []

    @property
    def calls(self) -> int:
        """All calls so far."""
        return int(self.counts.counts[0].sum()) + len(self.failures)

    def add(self, calls: int, seed: Sequence[int]) -> None:
        """Count the texts and the failures of so many more calls."""
        scheme, expected = self.case.scheme, self._expected
        if not calls:
            return
        trees = [scheme.draw(expected.draft, self._coin) for _ in range(calls)]
        roots: list[DraftNode] = [tree.root(expected.target, expected.draft) for tree in trees]
        texts = []
        ends = self._verifier.sampled(roots, seed)
        for end, tree in zip(ends, trees, strict=False):
            if isinstance(end, FunctionFailed):
                self.failures.append(Failure(self.case, end))
            elif isinstance(end, Verdict):
                assert_verdict(end, tree, expected.vocab_size)
                texts.append(self._text(end))
        self.counts += self._counted(texts)
        if isinstance(ends[-1], NotFollowed):
            raise ends[-1]

    def worst(self) -> Place:
        """The token that came most unlike its probability."""
        places = []
        for depth, (counts, rows) in enumerate(zip(self.counts.counts, self.rows.target, strict=True)):
            visits = counts.sum(1, keepdims=True)
            spread = np.sqrt(np.maximum(visits * rows * (1 - rows), 0))
            gaps = abs(counts - visits * rows)
            with np.errstate(divide="ignore", invalid="ignore"):
                deviations = np.where(spread > 0, gaps / spread, np.where((rows == 0) & (counts > 0), inf, 0))
            row, token = map(int, np.unravel_index(int(np.argmax(deviations)), rows.shape))
            context = context_at(row, depth, rows.shape[1])
            number = float(deviations[row, token])
            seen = int(counts[row, token]), int(visits[row, 0])
            places.append(Place(self.case, context, token, *seen, float(rows[row, token]), number))
        return max(places, key=lambda place: place.deviations)

    def _text(self, verdict: Verdict) -> tuple[int, ...]:
        """The block, continued with the target's law."""
        text = (*verdict.accepted, verdict.correction)
        while len(text) < self.length:
            text = (*text, self._coin.choose(self._target.row(text)))
        return text

    def _counted(self, texts: list[tuple[int, ...]]) -> Counts:
        return Counts.of(np.array(texts, dtype=np.int64).reshape(-1, self.length), self._expected.vocab_size)


def sample(request: Request, refusal: str, wanted: int, level: float, seed: int) -> Sampled:
    """The test on up to so many calls, the instances in turn; it ends where it refutes, or after calls that failed.

    Raises `InvalidInput` for a batch, and `InvalidVerifier` where every call fails in a way that wrong arguments
    explain.
    """
    if request.audit.batch > 1:
        raise InvalidInput("samples are of one request a call; leave out the batch")
    generator = np.random.default_rng([seed, wanted])
    instances = [_Instance(request, case, generator) for case in request.cases]
    portions, largest = count(), 0.0

    def add(calls: int) -> int:
        """That many more calls on every instance, as far as they are wanted; their number."""
        before = done_by()
        for instance in instances:
            where = f"{request.spec} on {instance.case.scheme} ({instance.case.title}), not followed exactly"
            with named_errors(where), one_thread():
                instance.add(min(calls, wanted - done_by()), (seed, next(portions)))
        return done_by() - before

    def done_by() -> int:
        return sum(instance.calls for instance in instances)

    def failures() -> list[Failure]:
        return [failure for instance in instances for failure in instance.failures]

    started = time.perf_counter()
    done = add(_PILOT)
    if len(failures()) == done:
        assert_called_rightly(Record(request, failures=failures()))
    seconds = (time.perf_counter() - started) / done * wanted
    remark(f"no exact answer: {refusal}")
    remark(f"up to {wanted:,} calls with real random numbers on {len(instances)} instances, {duration(seconds)}")
    finished, stopped = False, ""
    with bar(f"{request.audit.name}: calls", wanted) as tick, suppress(KeyboardInterrupt):
        tick(done)
        try:
            while done < wanted and not refutes(largest, level) and not failures():
                made = add(PORTION)
                done += made
                tick(made)
                largest = max(largest, _log_value(instances))
        except NotFollowed as error:
            stopped = str(error)
        finished = True
    largest, done = max(largest, _log_value(instances)), done_by()
    would_find = smallest_found([instance.counts for instance in instances], [each.rows for each in instances], level)
    place = max((instance.worst() for instance in instances), key=lambda place: place.deviations)
    ends = tuple(failures()), stopped, finished
    return Sampled(request, refusal, seed, level, wanted, done, largest, would_find, place, *ends)


def _log_value(instances: Sequence[_Instance]) -> float:
    return log_e_value([instance.counts for instance in instances], [instance.rows for instance in instances])


_ROWS = (
    Column("verdict", "verdict"),
    Column("instances", "count"),
    Column("samples", "count"),
    Column("seed"),
    Column("level"),
)


def sampled_result(found: Sampled) -> Result:
    """What was found; verdict 1 where refuted, else 2, since nothing is proved."""
    audit, place = found.request.audit, found.place
    value, needed = min(found.largest / log(10), _INFINITE), -log(found.level) / log(10)
    row = {
        **about(found.request.spec, audit),
        "verdict": _verdict(found),
        "instances": len(found.request.cases),
        "samples": found.samples,
        "seed": found.seed,
        "level": found.level,
        "lossless": False if found.refuted and found.finished else None,
        "proved": bool(found.failures) and found.finished,
        "log10_e_value": value,
        "log10_needed": needed,
        "p_value": found.p_value,
        "would_find": found.would_find,
        "place": {
            "case": place.case.name,
            "scheme": str(place.case.scheme),
            "context": list(place.context),
            "token": place.token,
            "seen": place.seen,
            "visits": place.visits,
            "expected": place.expected,
        },
        "refusal": found.refusal,
        "versions": versions(),
    }
    notes = [f"fails here: {failure}" for failure in found.failures[:1]]
    if not found.failures:  # the texts of the other calls are not all that it writes
        unlike = "most unlike the target" if found.refuted else "largest difference"
        notes += [
            f"e-process 10^{value:.2f} at most, alarm at 10^{needed:.2f}; p-value {found.p_value:.2g}, at any time: "
            f"a lossless function is refuted with a probability of at most {found.level:g}",
            f"{unlike}: {place}",
        ]
    if not found.refuted:
        notes.append(
            f"a total variation of {found.would_find:.2g} on any one of these instances would have been found with a "
            f"probability of about {FOUND:.0%}; a smaller one may be there"
        )
    if isinstance(audit.audited.function, Program):
        notes += audit.audited.function.notes
    notes += [f"no exact answer: {found.refusal}", audit.audited.adapter, *audit.audited.log.notes]
    failures = [{"case": each.case.name, "error": each.error.what} for each in found.failures]
    tables = [Table.whole(_ROWS, [row]), Table.whole((), failures, name="failures", shown=False)]
    title = f"{found.request.spec} ({audit.audited.interface.name} interface)"
    code = (1 if found.refuted else NOT_JUDGED) if found.finished else INTERRUPTED
    return Result(title, tables, notes, code)


def _verdict(found: Sampled) -> str:
    counted = f"{found.samples:,} samples on {len(found.request.cases)} instances"
    if found.failures and found.finished:
        calls = f"{len(found.failures):,} of {found.samples:,} calls with real random numbers"
        return f"FAILS in {calls}: {found.failures[0].error.what}"
    if not found.finished:
        return f"UNFINISHED, no verdict: {counted}"
    if found.stopped and not found.refuted:
        return f"NOT JUDGED, no bias found in {counted}, then: {found.stopped}"
    return f"REFUTED by {counted}" if found.refuted else f"NO BIAS FOUND in {counted}: not a proof"
