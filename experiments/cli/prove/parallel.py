"""Computes the steps of a proof in several processes and stores each result, so that an interrupted proof resumes.

A step finds the cells of one draft tree (the regions of rows on which its verdicts have one formula), or proves that
one balance is zero: the mass of a context less the target's. Its result does not depend on other steps or on its
process, so the theorem, its cells and its certificate do not depend on the number of processes.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.cli.prove.free import subject_of
from draftproof.experiments.grid.pool import pooled_results
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.schemes import find_scheme, scheme_spec
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.shared.progress import duration, remark
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.algebra.plain import read_number
from draftproof.simulator.theorems.certificate.theorems import RecordingOracle
from draftproof.simulator.theorems.proof.laws import Part, explored, read_part
from draftproof.simulator.theorems.proof.points import starting_points
from draftproof.simulator.theorems.proof.relations import judged
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Subject, prove_balance

#: Seconds of expected work below which no processes are started.
PARALLEL_FROM_SECONDS = 3.0
#: Seconds of expected work from which its duration is announced.
ANNOUNCE_FROM_SECONDS = 5.0
#: Assumed factor of duration, until one was measured: a draft tree with one more inner node, a balance one layer up.
TREE_GROWTH, BALANCE_GROWTH = 3.0, 6.0

Result = Mapping[str, Any]
Step = tuple[int, Result]


@dataclass(frozen=True)
class ProofInputs:
    """What a process needs to build the verifier of the theorem and its `Shape`: names of objects that cannot be sent.

    free: the parameters of the verifier that the theorem leaves free.
    """

    spec: str
    vocab_size: int
    scheme: DraftScheme | str
    zeros: bool
    free: tuple[str, ...]

    @classmethod
    def of(cls, spec: str, vocab_size: int, scheme: DraftScheme, zeros: bool, free: tuple[str, ...]) -> ProofInputs:
        """The inputs, with a user-defined scheme by its name."""
        return cls(spec, vocab_size, scheme_spec(scheme) if isinstance(scheme, UserScheme) else scheme, zeros, free)

    def build(self) -> tuple[Subject, Shape]:
        scheme = find_scheme(self.scheme) if isinstance(self.scheme, str) else self.scheme
        subject = subject_of(find_verifier(self.spec), self.free, self.vocab_size, scheme)
        return subject, Shape(self.vocab_size, scheme, self.zeros, subject.parameters)


@dataclass
class StepExecutor:
    """Computes the steps in `jobs` processes; see `theorem.ProofExecutor`. about: the theorem and the code.

    store: of the results. reused: how many of them it had already.
    """

    inputs: ProofInputs
    jobs: int
    about: Mapping[str, Any]
    store: Store
    reused: int = 0
    processes: int = 1

    def explored(self, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
        """The cells of every draft tree, with what it adds to the law on each."""
        return self.steps("draft tree", tasks, _start_exploring, ())

    def balances(self, law: Mapping[str, Any], wanted: Sequence[tuple[int, int]]) -> Iterator[Step]:
        """The proofs that balances are zero. wanted: of each the number of its part of the law and its index."""
        digest = hashlib.sha256(json.dumps(law).encode()).hexdigest()
        return self.steps(f"balance of {digest}", wanted, _start_balances, (law,))

    def steps(
        self, kind: str, tasks: Sequence[Any], start: Callable[..., None], arguments: tuple[Any, ...]
    ) -> Iterator[Step]:
        """Results by number: the stored ones first. More processes are started if the rest is expected to take long."""
        names = [strong_id({**self.about, "step": kind, "task": task}) for task in tasks]
        known = [number for number, name in enumerate(names) if name in self.store]
        self.reused += len(known)
        for number in known:
            yield number, self.store[names[number]]["result"]
        missing = [number for number in range(len(tasks)) if names[number] not in self.store]
        for number, result in self._compute(kind.partition(" of ")[0], tasks, missing, start, arguments):
            row = {"kind": "step", "strong_id": names[number], "step": kind.partition(" of ")[0], "result": result}
            self.store.add(row)
            yield number, result

    def _compute(
        self,
        kind: str,
        tasks: Sequence[Any],
        missing: list[int],
        start: Callable[..., None],
        arguments: tuple[Any, ...],
    ) -> Iterator[Step]:
        start(self.inputs, *arguments)
        durations = _Durations([_size(tasks[number], self.inputs.vocab_size) for number in missing], _growth(kind))
        announced = False
        for done, number in enumerate(missing):
            left = durations.rest(done)
            spreading = self.jobs > 1 and len(missing) - done > 1 and left > PARALLEL_FROM_SECONDS
            if (done > 1 or (done and spreading)) and not announced and left > ANNOUNCE_FROM_SECONDS:
                remark(f"{len(missing) - done} of {len(missing)} {kind}s to go, {duration(left / self.jobs)}")
                announced = True
            if done and spreading:
                self.processes = min(self.jobs, len(missing) - done)
                calls = [(number, tasks[number]) for number in missing[done:]]
                yield from pooled_results(self.processes, _work, calls, start, self.inputs, *arguments)
                break
            began = time.perf_counter()
            yield _work(number, tasks[number])
            durations.add(time.perf_counter() - began)


@dataclass(frozen=True)
class PairExecutor:
    """Computes the steps of a relation of two verifiers; see `theorem.RelationExecutor`."""

    executors: tuple[StepExecutor, StepExecutor]

    def judged(
        self, kind: str, laws: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[int, tuple[Any, ...]]]
    ) -> Iterator[Step]:
        """The signs of differences of two laws."""
        digest = hashlib.sha256(json.dumps(laws).encode()).hexdigest()
        name = f"difference of {kind} of {digest}"
        return self.executors[0].steps(name, wanted, _start_judging, (kind, laws))


class _Durations:
    """Expected durations of steps by size; a size not measured yet is `growth` times as long as the next smaller one.

    The first step also computes what all steps share, so its duration is used only until a second one is measured.
    """

    def __init__(self, sizes: Sequence[int], growth: float = TREE_GROWTH) -> None:
        self._sizes, self._growth, self._measured = sizes, growth, list[float]()

    def add(self, seconds: float) -> None:
        """Add the duration of the next step."""
        self._measured.append(seconds)

    def rest(self, done: int) -> float:
        """Seconds for all steps after the first `done`, in one process."""
        known: dict[int, list[float]] = {}
        for size, seconds in list(zip(self._sizes, self._measured, strict=False))[len(self._measured) > 1 :]:
            known.setdefault(size, []).append(seconds)
        means = {size: sum(seconds) / len(seconds) for size, seconds in known.items()}
        return sum(_mean(means, size, self._growth) for size in self._sizes[done:])


def _mean(means: Mapping[int, float], size: int, growth: float) -> float:
    if not means:
        return 0.0
    nearest = min(means, key=lambda known: abs(known - size))
    return float(means[nearest] * growth ** (size - nearest))


def _growth(kind: str) -> float:
    return BALANCE_GROWTH if kind == "balance" else TREE_GROWTH


def _size(task: Any, vocab_size: int) -> int:
    """The inner nodes of a draft tree; for a balance minus the depth of its context; 0 for a difference of two laws.

    The index of a balance counts the contexts by depth, with `vocab_size - 1` tokens each.
    """
    if isinstance(task, Mapping):
        return len(task["children"])
    if not isinstance(task[1], int):
        return 0
    context, depth = task[1] // (vocab_size - 1), 0
    while context >= vocab_size**depth:
        context, depth = context - vocab_size**depth, depth + 1
    return -depth


_compute_step: Callable[[Any], Result]


def _work(number: int, task: Any) -> Step:
    return number, _compute_step(task)


def _start_exploring(inputs: ProofInputs) -> None:
    global _compute_step  # noqa: PLW0603 - a process works on one proof only
    subject, shape = inputs.build()
    oracle, known_points = RecordingOracle(shape.ring), starting_points(shape)
    _compute_step = lambda task: explored(shape, subject.formal, task, oracle, known_points)  # noqa: E731


def _start_judging(inputs: ProofInputs, kind: str, laws: Sequence[Mapping[str, Any]]) -> None:
    global _compute_step  # noqa: PLW0603
    _, shape = inputs.build()
    oracle = RecordingOracle(shape.ring)
    oracle.points += [tuple(map(read_number, point)) for point in laws[0]["points"]]
    parts: dict[int, tuple[Part, Part]] = {}

    def judge(task: tuple[int, tuple[Any, ...]]) -> Result:
        number, index = task
        if number not in parts:
            one, other = (read_part(law, number, shape.ring) for law in laws)
            parts[number] = one, other
        return judged(kind, parts[number], index, shape, oracle)

    _compute_step = judge


def _start_balances(inputs: ProofInputs, law: Mapping[str, Any]) -> None:
    global _compute_step  # noqa: PLW0603
    subject, shape = inputs.build()
    oracle = RecordingOracle(shape.ring)
    oracle.points += [tuple(map(read_number, point)) for point in law["points"]]
    parts: dict[int, Part] = {}

    def prove(task: tuple[int, int]) -> Result:
        number, index = task
        if number not in parts:
            parts[number] = read_part(law, number, shape.ring)
        return prove_balance(subject, shape, parts[number], index, oracle)

    _compute_step = prove
