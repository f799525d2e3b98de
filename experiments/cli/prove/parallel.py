"""The steps of a proof over processes, kept in a store of rows, so that a proof that was ended goes on where it was.

A step is a draft tree whose cells are found, or a balance that is shown to be zero. Each is found by itself and the
same wherever it is found, so the theorem, its cells and its certificate do not depend on the number of processes.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from draftproof.experiments.cli.prove.free import subject_of
from draftproof.experiments.grid.pool import spread
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

#: Below this many seconds of expected work the cost of starting processes is not worth it.
PARALLEL_FROM_SECONDS = 3.0
#: From this many seconds it is said how long the rest will take.
PATIENCE = 5.0
#: How much longer a draft tree with one more node with drafts takes, and a balance one layer up, while none was seen.
GROWTH, HIGHER = 3.0, 6.0

Result = Mapping[str, Any]
Step = tuple[int, Result]


@dataclass(frozen=True)
class Place:
    """What a process needs to know to make the subject and the shape: names, since objects may not travel."""

    spec: str
    vocab_size: int
    scheme: DraftScheme | str
    zeros: bool
    free: tuple[str, ...]

    @classmethod
    def of(cls, spec: str, vocab_size: int, scheme: DraftScheme, zeros: bool, free: tuple[str, ...]) -> Place:
        """The place; an outsider's scheme travels by name."""
        return cls(spec, vocab_size, scheme_spec(scheme) if isinstance(scheme, UserScheme) else scheme, zeros, free)

    def made(self) -> tuple[Subject, Shape]:
        """Subject and shape in this process."""
        scheme = find_scheme(self.scheme) if isinstance(self.scheme, str) else self.scheme
        subject = subject_of(find_verifier(self.spec), self.free, self.vocab_size, scheme)
        return subject, Shape(self.vocab_size, scheme, self.zeros, subject.parameters)


@dataclass
class StepExecutor:
    """Does the steps in `jobs` processes; see `theorem.ProofExecutor`. about: what is proved, and by which code.

    kept: counts the steps that the store of rows had. announced: what was said about steps, and what came true.
    """

    place: Place
    jobs: int
    about: Mapping[str, Any]
    file: Store
    kept: int = 0
    processes: int = 1
    announced: list[Announced] = field(default_factory=list)

    def explored(self, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
        """The masses of draft trees."""
        return self.steps("draft tree", tasks, _start_exploring, ())

    def balances(self, law: Mapping[str, Any], wanted: Sequence[tuple[int, int]]) -> Iterator[Step]:
        """Balances."""
        digest = hashlib.sha256(json.dumps(law).encode()).hexdigest()
        return self.steps(f"balance of {digest}", wanted, _start_balances, (law,))

    def steps(
        self, kind: str, tasks: Sequence[Any], start: Callable[..., None], given: tuple[Any, ...]
    ) -> Iterator[Step]:
        """Results by number: those from before, then here until it is known that processes are worth it, then there."""
        names = [strong_id({**self.about, "step": kind, "task": task}) for task in tasks]
        known = [number for number, name in enumerate(names) if name in self.file]
        self.kept += len(known)
        for number in known:
            yield number, self.file[names[number]]["result"]
        missing = [number for number in range(len(tasks)) if names[number] not in self.file]
        for number, result in self._found(kind.partition(" of ")[0], tasks, missing, start, given):
            row = {"kind": "step", "strong_id": names[number], "step": kind.partition(" of ")[0], "result": result}
            self.file.add(row)
            yield number, result

    def _found(
        self, kind: str, tasks: Sequence[Any], missing: list[int], start: Callable[..., None], given: tuple[Any, ...]
    ) -> Iterator[Step]:
        start(self.place, *given)
        pace = _Pace([_size(tasks[number], self.place.vocab_size) for number in missing], _growth(kind))
        said: Announced | None = None
        for done, number in enumerate(missing):
            left = pace.left(done)
            spreading = self.jobs > 1 and len(missing) - done > 1 and left > PARALLEL_FROM_SECONDS
            if (done > 1 or (done and spreading)) and said is None and left > PATIENCE:
                remark(f"{len(missing) - done} of {len(missing)} {kind}s to go, {duration(left / self.jobs)}")
                said = Announced(kind, len(missing) - done, left / self.jobs)
                self.announced.append(said)
            if done and spreading:
                self.processes = min(self.jobs, len(missing) - done)
                calls = [(each, tasks[each]) for each in missing[done:]]
                yield from spread(self.processes, _work, calls, start, self.place, *given)
                break
            began = time.perf_counter()
            yield _work(number, tasks[number])
            pace.add(time.perf_counter() - began)
        if said is not None:
            said.end()


@dataclass
class Announced:
    """What was said about steps of one kind, with how many of them to go. seconds: said; took: what came true."""

    kind: str
    steps: int
    seconds: float
    took: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    def end(self) -> None:
        """The last of them is done."""
        self.took = time.perf_counter() - self.began

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        fields = asdict(self)
        del fields["began"]
        return {key: round(value, 3) if isinstance(value, float) else value for key, value in fields.items()}


@dataclass(frozen=True)
class Both:
    """Does the steps of a relation of two verifiers; see `theorem.RelationExecutor`."""

    executors: tuple[StepExecutor, StepExecutor]

    def judged(
        self, kind: str, laws: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[int, tuple[Any, ...]]]
    ) -> Iterator[Step]:
        """Differences."""
        digest = hashlib.sha256(json.dumps(laws).encode()).hexdigest()
        name = f"difference of {kind} of {digest}"
        return self.executors[0].steps(name, wanted, _start_judging, (kind, laws))


class _Pace:
    """How long steps take, by their size: larger ones that were not seen yet are taken for `growth` times as long.

    The first step also does what all of them share: it counts only as long as no other was seen.
    """

    def __init__(self, sizes: Sequence[int], growth: float = GROWTH) -> None:
        self._sizes, self._growth, self._seen = sizes, growth, list[float]()

    def add(self, seconds: float) -> None:
        """One more step was done."""
        self._seen.append(seconds)

    def left(self, done: int) -> float:
        """Seconds for all steps after the first `done`, in one process."""
        known: dict[int, list[float]] = {}
        for size, seconds in list(zip(self._sizes, self._seen, strict=False))[len(self._seen) > 1 :]:
            known.setdefault(size, []).append(seconds)
        means = {size: sum(seconds) / len(seconds) for size, seconds in known.items()}
        return sum(_mean(means, size, self._growth) for size in self._sizes[done:])


def _mean(means: Mapping[int, float], size: int, growth: float) -> float:
    if not means:
        return 0.0
    nearest = min(means, key=lambda known: abs(known - size))
    return float(means[nearest] * growth ** (size - nearest))


def _growth(kind: str) -> float:
    return HIGHER if kind == "balance" else GROWTH


def _size(task: Any, vocab_size: int) -> int:
    """Nodes with drafts of a draft tree; layers above a balance, negative; differences are taken for equal."""
    if isinstance(task, Mapping):
        return len(task["children"])
    if not isinstance(task[1], int):
        return 0
    context, depth = task[1] // (vocab_size - 1), 0
    while context >= vocab_size**depth:
        context, depth = context - vocab_size**depth, depth + 1
    return -depth


_do: Callable[[Any], Result]


def _work(number: int, task: Any) -> Step:
    return number, _do(task)


def _start_exploring(place: Place) -> None:
    global _do  # noqa: PLW0603 - one proof for the life of the process, sent once
    subject, shape = place.made()
    oracle, known = RecordingOracle(shape.ring), starting_points(shape)
    _do = lambda task: explored(shape, subject.formal, task, oracle, known)  # noqa: E731


def _start_judging(place: Place, kind: str, laws: Sequence[Mapping[str, Any]]) -> None:
    global _do  # noqa: PLW0603
    _, shape = place.made()
    oracle = RecordingOracle(shape.ring)
    oracle.points += [tuple(map(read_number, point)) for point in laws[0]["points"]]
    parts: dict[int, tuple[Part, Part]] = {}

    def judge(task: tuple[int, tuple[Any, ...]]) -> Result:
        number, place = task
        if number not in parts:
            one, other = (read_part(law, number, shape.ring) for law in laws)
            parts[number] = one, other
        return judged(kind, parts[number], place, shape, oracle)

    _do = judge


def _start_balances(place: Place, law: Mapping[str, Any]) -> None:
    global _do  # noqa: PLW0603
    subject, shape = place.made()
    oracle = RecordingOracle(shape.ring)
    oracle.points += [tuple(map(read_number, point)) for point in law["points"]]
    parts: dict[int, Part] = {}

    def settle(task: tuple[int, int]) -> Result:
        number, place = task
        if number not in parts:
            parts[number] = read_part(law, number, shape.ring)
        return prove_balance(subject, shape, parts[number], place, oracle)

    _do = settle
