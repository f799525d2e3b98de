"""`draftproof audit --sample N`: a function that no exact audit can follow is run with real random numbers.

Its blocks, each continued with the target's law to one length, are texts with the target's law if it is lossless. The
sequential test (`e_process.py`) looks at them after every portion: the probability that it ever refutes a lossless
function, however long it runs, is at most the level. Nothing that it finds is a proof, but for a call that fails: a
function that fails on a legal case is not lossless, however rarely it does. The blocks of a batch are one text, one
request after the other, so that the test sees whether they depend on each other, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log
from typing import Any

import numpy as np

from draftproof.experiments.cli.audit.e_process import FOUND, RowsAfter, log_e_value, refutes, smallest_found
from draftproof.experiments.cli.audit.views import about
from draftproof.experiments.grid.rows import row_id, versions
from draftproof.experiments.grid.store import Store
from draftproof.experiments.result import Column, Result, Table
from draftproof.experiments.shared.code import file_digest
from draftproof.experiments.shared.progress import INTERRUPTED, bar, duration, named_errors, remark
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.audit.batches import drawn_roots
from draftproof.simulator.audit.failures import FunctionFailed
from draftproof.simulator.audit.program import Program
from draftproof.simulator.audit.real import RealCoins
from draftproof.simulator.audit.verdict import Failure, Record, Request, assert_called_rightly, one_thread
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import Verdict
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.symbolic import NotFollowed
from draftproof.simulator.tables import context_at, context_index

#: Calls on one instance between two looks at the test.
PORTION = 128
#: Exit code where nothing was found: neither a proof nor a refutation.
NOTHING_PROVED = 2
#: Seconds between two entries of the counts in a store.
SAVED_SECONDS = 1.0
#: Texts of one length at most that are counted.
MOST_TEXTS = 2**16
#: Calls from which the duration is estimated.
_PILOT = 8
#: Replaces the logarithm of an infinite e-value, which JSON cannot hold.
_INFINITE = 1e9


@dataclass(frozen=True)
class Place:
    """Where texts differ most from the target, in standard deviations: a token after a context of one instance.

    context: in a batch with the whole texts of the requests before.
    """

    title: str
    deviations: float
    case: str
    scheme: str
    context: tuple[int, ...]
    token: int
    seen: int
    visits: int
    expected: float

    def __str__(self) -> str:
        share = f"{self.seen:,} of {self.visits:,}, where {self.expected:.6g} is its probability"
        return f"after context {self.context}, token {self.token} came {share} ({self.title}, {self.scheme})"


class _Instance:
    """The texts of one case: how often each came, see `RowsAfter.by_depth`."""

    def __init__(self, request: Request, case: Case) -> None:
        audit, self.case = request.audit, case
        self._verifier = audit.verifier(case.instance, case.scheme)
        self._requests = audit.expected_requests(case.instance, case.scheme)
        self._plain = [expected.converted(FLOAT64, scheme.depth) for expected, scheme in self._requests]
        self._size, length = case.instance.vocab_size, sum(scheme.depth + 1 for _, scheme in self._requests)
        if self._size**length > MOST_TEXTS:
            raise InvalidInput(
                f"{self._size}^{length} texts of a batch are too many to be counted; take fewer requests or shorter "
                "drafts"
            )
        self.rows = self._rows()
        self.texts = np.zeros(self._size**length, dtype=np.int64)
        self.failures: list[Failure] = []

    def _rows(self) -> RowsAfter:
        """The rows after each token of the texts, whatever the requests before wrote."""
        target: list[Any] = []
        draft: list[Any] = []
        for (_, scheme), plain in zip(self._requests, self._plain, strict=True):
            before = self._size ** len(target)
            target += [np.tile(table, (before, 1)) for table in plain.target.tables]
            draft += [*(np.tile(table, (before, 1)) for table in plain.draft.tables[: scheme.depth]), None]
        return RowsAfter(tuple(target), tuple(draft))

    @property
    def counted(self) -> int:
        """All calls that gave texts."""
        return int(self.texts.sum())

    def add(self, calls: int, seed: Sequence[int]) -> None:
        """Count the texts and the failures of so many more calls."""
        if not calls:
            return
        coin = SamplingCoin(np.random.default_rng([*seed, 0]))
        batches = [drawn_roots(self._requests, coin) for _ in range(calls)]
        ends = self._verifier.sampled(batches, RealCoins([*seed, 1]))
        for end in ends:
            if isinstance(end, FunctionFailed):
                self.failures.append(Failure(self.case, end))
            elif isinstance(end, list):
                self.texts[context_index(self._text(end, coin), self._size)] += 1
        if isinstance(ends[-1], NotFollowed):
            raise ends[-1]

    def _text(self, verdicts: Sequence[Verdict], coin: SamplingCoin) -> tuple[int, ...]:
        """The blocks, each continued with the target's law."""
        whole: tuple[int, ...] = ()
        for verdict, (_, scheme), plain in zip(verdicts, self._requests, self._plain, strict=True):
            text = (*verdict.accepted, verdict.correction)
            while len(text) <= scheme.depth:
                text = (*text, coin.choose(plain.target.row(text)))
            whole += text[: scheme.depth + 1]
        return whole

    def worst(self) -> Place:
        """The token that came most unlike its probability."""
        places = []
        for depth, (counts, rows) in enumerate(self.rows.by_depth(self.texts)):
            visits = counts.sum(1, keepdims=True)
            unit = np.sqrt(np.maximum(visits * rows * (1 - rows), 0))
            gaps = abs(counts - visits * rows)
            with np.errstate(divide="ignore", invalid="ignore"):
                deviations = np.where(unit > 0, gaps / unit, np.where((rows == 0) & (counts > 0), inf, 0))
            row, token = map(int, np.unravel_index(int(np.argmax(deviations)), rows.shape))
            where = self.case.name, str(self.case.scheme), context_at(row, depth, rows.shape[1]), token
            seen = int(counts[row, token]), int(visits[row, 0]), float(rows[row, token])
            places.append(Place(self.case.title, float(deviations[row, token]), *where, *seen))
        return max(places, key=lambda place: place.deviations)


class Samples:
    """The state of the test on all instances, and what it shows.

    refusal: why there is no exact answer. wanted: calls at most. portions: how many were begun; each has random numbers
    of its own. largest: the logarithm of the largest e-value. stopped: why no further call is possible. finished: False
    after Ctrl-C.
    """

    def __init__(self, request: Request, refusal: str, wanted: int, level: float, seed: int) -> None:
        self.request, self.refusal, self.wanted, self.level, self.seed = request, refusal, wanted, level, seed
        self.instances = [_Instance(request, case) for case in request.cases]
        self.portions, self.largest, self.stopped, self.finished = 0, 0.0, "", False

    @property
    def calls(self) -> int:
        """All calls so far."""
        return sum(instance.counted for instance in self.instances) + len(self.failures)

    @property
    def failures(self) -> list[Failure]:
        """Those of single calls, after which the test ends."""
        return [failure for instance in self.instances for failure in instance.failures]

    @property
    def refuted(self) -> bool:
        """Whether the e-process reached `1 / level`, or a call failed."""
        return bool(self.failures) or refutes(self.largest, self.level)

    @property
    def p_value(self) -> float:
        """Valid whenever one looks: a lossless function ever gets one below `a` with a probability of at most `a`."""
        return min(1.0, exp(-self.largest))

    @property
    def would_find(self) -> float:
        """See `smallest_found`."""
        return smallest_found([instance.counted for instance in self.instances], self._rows, self.level)

    @property
    def place(self) -> Place:
        """Where the texts differ most."""
        return max((instance.worst() for instance in self.instances), key=lambda place: place.deviations)

    @property
    def _rows(self) -> list[RowsAfter]:
        return [instance.rows for instance in self.instances]

    def add(self, calls: int) -> int:
        """That many more calls on every instance, as far as they are wanted, and a look at the test; their number."""
        before = self.calls
        for instance in self.instances:
            where = f"{self.request.spec} on {instance.case.scheme} ({instance.case.title}), not followed exactly"
            self.portions += 1
            with named_errors(where), one_thread():
                instance.add(min(calls, self.wanted - self.calls), (self.seed, self.portions))
        self.look()
        return self.calls - before

    def look(self) -> None:
        """Look at the test once more."""
        self.largest = max(self.largest, log_e_value([instance.texts for instance in self.instances], self._rows))

    @cached_property
    def key(self) -> str:
        """Of its row in a store: what is called, on which instances, with which files among the words of a command."""
        audit, cases = self.request.audit, self.request.cases
        function = audit.audited.function
        subject = about(self.request.spec, audit)
        if isinstance(function, Program):
            subject |= {"numbers": function.numbers, "files": {word: file_digest(word) for word in function.command}}
        world = [
            [str(case.scheme), *(str(table.tolist()) for table in rows.tables)]
            for case in cases
            for rows in (case.instance.target, case.instance.draft)
        ]
        subject |= {"batch": audit.batch, "logprobs": audit.audited.logprobs, "processing": audit.processing.text}
        return row_id("samples", world, subject=subject, seed=self.seed)

    def as_row(self) -> dict[str, Any]:
        """Its state as a row of a store."""
        texts = [instance.texts.tolist() for instance in self.instances]
        state = {"portions": self.portions, "largest": min(self.largest, _INFINITE), "counts": texts}
        return {"strong_id": self.key, "kind": "samples", **state}

    def restore(self, row: Mapping[str, Any]) -> None:
        """Go on from such a row."""
        self.portions, self.largest = row["portions"], row["largest"]
        for instance, texts in zip(self.instances, row["counts"], strict=True):
            instance.texts[:] = texts


def sample(request: Request, refusal: str, wanted: int, level: float, seed: int, store: Store | None = None) -> Samples:
    """The test on up to so many calls, the instances in turn; it ends where it refutes, or after calls that failed.

    store: has the counts of a run that was killed, and gets those of this one. Raises `InvalidInput` for a batch with
    too many texts, and `InvalidVerifier` where every call fails in a way that wrong arguments explain.
    """
    samples, store = Samples(request, refusal, wanted, level, seed), Store(None) if store is None else store
    if samples.key in store:
        samples.restore(store[samples.key])
        remark(f"goes on after {samples.calls:,} calls")
    started, before = time.perf_counter(), samples.calls
    tried = samples.add(_PILOT)
    if tried and len(samples.failures) == tried:
        assert_called_rightly(Record(request, failures=samples.failures))
    seconds = (time.perf_counter() - started) / max(tried, 1) * (wanted - before)
    remark(f"no exact answer: {refusal}")
    remark(f"up to {wanted:,} calls with real random numbers on {len(request.cases)} instances, {duration(seconds)}")
    saved = started
    with bar(f"{request.audit.name}: calls", wanted) as tick, suppress(KeyboardInterrupt):
        tick(samples.calls)
        try:
            while samples.calls < wanted and not samples.refuted:
                tick(samples.add(PORTION))
                if time.perf_counter() > saved + SAVED_SECONDS and not samples.failures:
                    store.add(samples.as_row())
                    saved = time.perf_counter()
        except NotFollowed as error:
            samples.stopped = str(error)
        samples.finished = True
    samples.look()
    if not samples.failures:
        store.add(samples.as_row())
    return samples


_ROWS = (
    Column("verdict", "verdict"),
    Column("instances", "count"),
    Column("samples", "count"),
    Column("seed"),
    Column("level"),
)


def sampled_result(samples: Samples) -> Result:
    """What was found; verdict 1 where refuted, else 2, since nothing is proved."""
    audit, place = samples.request.audit, samples.place
    value, needed = min(samples.largest / log(10), _INFINITE), -log(samples.level) / log(10)
    row = {
        **about(samples.request.spec, audit),
        "verdict": _verdict(samples),
        "instances": len(samples.request.cases),
        "samples": samples.calls,
        "seed": samples.seed,
        "level": samples.level,
        "lossless": False if samples.refuted and samples.finished else None,
        "proved": bool(samples.failures) and samples.finished,
        "log10_e_value": value,
        "log10_needed": needed,
        "p_value": samples.p_value,
        "would_find": samples.would_find,
        "place": {name: value for name, value in vars(place).items() if name not in ("title", "deviations")},
        "refusal": samples.refusal,
        "versions": versions(),
    }
    notes = [f"fails here: {failure}" for failure in samples.failures[:1]]
    if not samples.failures:  # the texts of the other calls are not all that it writes
        unlike = "most unlike the target" if samples.refuted else "largest difference"
        notes += [
            f"e-process 10^{value:.2f} at most, alarm at 10^{needed:.2f}; p-value {samples.p_value:.2g}, at any time: "
            f"a lossless function is refuted with a probability of at most {samples.level:g}",
            f"{unlike}: {place}",
        ]
    if not samples.refuted:
        notes.append(
            f"a total variation of {samples.would_find:.2g} on any one of these instances would have been found with a "
            f"probability of about {FOUND:.0%}; a smaller one may be there"
        )
    if isinstance(audit.audited.function, Program):
        notes += audit.audited.function.notes
    notes += [f"no exact answer: {samples.refusal}", audit.audited.adapter, *audit.audited.log.notes]
    failures = [{"case": failure.case.name, "error": failure.error.what} for failure in samples.failures]
    tables = [Table.whole(_ROWS, [row]), Table.whole((), failures, name="failures", shown=False)]
    title = f"{samples.request.spec} ({audit.audited.interface.name} interface)"
    code = (1 if samples.refuted else NOTHING_PROVED) if samples.finished else INTERRUPTED
    return Result(title, tables, notes, code)


def _verdict(samples: Samples) -> str:
    counted = f"{samples.calls:,} samples on {len(samples.request.cases)} instances"
    if samples.failures and samples.finished:
        calls = f"{len(samples.failures):,} of {samples.calls:,} calls with real random numbers"
        return f"FAILS in {calls}: {samples.failures[0].error.what}"
    if not samples.finished:
        return f"UNFINISHED, no verdict: {counted}"
    if samples.stopped and not samples.refuted:
        return f"NOT JUDGED, no bias found in {counted}, then: {samples.stopped}"
    return f"REFUTED by {counted}" if samples.refuted else f"NO BIAS FOUND in {counted}: not a proof"
