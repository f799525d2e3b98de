"""Computes the steps of a proof on several machines and stores each result, so that an interrupted proof resumes.

A step finds the cells of one draft tree (the regions of rows on which its verdicts have one formula), proves that one
balance is zero (the mass of a context less the target's), or judges one difference of two laws. Its result does not
depend on other steps or on its process, so the theorem, its cells and its certificate do not depend on the number of
processes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.store import Store
from draftproof.simulator.theorems.algebra.plain import read_number
from draftproof.simulator.theorems.proof.certificate import RecordingOracle
from draftproof.simulator.theorems.proof.judging import judged
from draftproof.simulator.theorems.proof.laws import Part, explored, read_part
from draftproof.simulator.theorems.proof.points import starting_points

#: The kind of steps that find the cells of draft trees; those of others judge functions of laws.
TREE = "draft tree"

Result = Mapping[str, Any]
Law = Mapping[str, Any]
Step = tuple[int, Result]


class Worker:
    """What a process keeps while it computes steps of one kind. laws: those that the steps are about; see `plain_law`.

    kind: `TREE`, or the claim of which balances or differences are judged; see `judging`.
    """

    def __init__(self, request: Request, kind: str, laws: Sequence[Law]) -> None:
        self._arguments = request, kind, laws
        self.kind, self.laws = kind, laws
        self.subject, self.shape = request.subject_and_shape()
        self.oracle = RecordingOracle(self.shape.ring)
        self.known_points = starting_points(self.shape) if kind == TREE else []
        for point in laws[0]["points"] if laws else ():
            self.oracle.points.append(tuple(map(read_number, point)))
        self._parts: dict[int, list[Part]] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return Worker, self._arguments

    def result(self, task: Any) -> Result:
        """The result of one step. task: plain data of a draft tree, or the number of a part of the laws and a place."""
        if self.kind == TREE:
            return explored(self.shape, self.subject.formal, task, self.oracle, self.known_points)
        number, place = task
        if number not in self._parts:
            self._parts[number] = [read_part(law, number, self.shape.ring) for law in self.laws]
        return judged(self.kind, self._parts[number], place, self.shape, self.oracle)


@dataclass
class StepExecutor:
    """Computes the steps; see `theorem.ProofExecutor`.

    machines: for the steps that are left after a while. store: of the results. done: is called after each step.
    reused: how many results the store had already.
    """

    request: Request
    machines: Machines = HERE
    store: Store = field(default_factory=lambda: Store(None))
    done: Callable[[], None] = lambda: None
    reused: int = 0

    def explored(self, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
        """The cells of every draft tree, with what it adds to the law on each."""
        return self._steps(TREE, TREE, (), tasks)

    def judged(self, kind: str, laws: Sequence[Law], wanted: Sequence[tuple[int, tuple[Any, ...]]]) -> Iterator[Step]:
        """The signs of functions of one or two laws. wanted: of each the part of the laws, by number, and the place."""
        return self._steps(f"{kind} of {_digest(laws)}", kind, laws, wanted)

    def _steps(self, name: str, kind: str, laws: Sequence[Law], tasks: Sequence[Any]) -> Iterator[Step]:
        """Results by number: the stored ones first."""
        names = [self.request.row_id("step", step=name, task=task) for task in tasks]
        known = [number for number, name in enumerate(names) if name in self.store]
        self.reused += len(known)
        for number in known:
            self.done()
            yield number, self.store[names[number]]["result"]
        missing = [number for number in range(len(tasks)) if names[number] not in self.store]
        worker = Worker(self.request, kind, laws)
        for number, result in self.machines.after_a_while(
            _work, [(number, tasks[number]) for number in missing], worker
        ):
            row = {"kind": "step", "strong_id": names[number], "step": name.partition(" of ")[0], "result": result}
            self.store.add(row)
            self.done()
            yield number, result


def _digest(laws: Any) -> str:
    return hashlib.sha256(json.dumps(laws).encode()).hexdigest()


def _work(number: int, task: Any, worker: Worker) -> Step:
    return number, worker.result(task)
