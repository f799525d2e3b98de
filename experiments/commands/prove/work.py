"""`draftproof prove`: one verifier at one shape, for all p and q."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from experiments.shared.names import NamedVerifier
from experiments.shared.planned import Planned
from experiments.shared.progress import bar, duration, named_errors, remark
from experiments.shared.rows import versions
from simulator.errors import InvalidInput, TooLarge
from simulator.protocol import DraftScheme
from simulator.theorems.balance import places
from simulator.theorems.explore import Explorer
from simulator.theorems.oracle import Oracle, solver_module
from simulator.theorems.proof import Proof, Subject, fields_of, prove
from simulator.theorems.rows import Shape

#: Seconds after which it is said how long the rest will take.
PATIENCE = 5.0


@dataclass(frozen=True)
class Request:
    """What is asked. max_trees: the largest number of draft trees that is followed."""

    named: NamedVerifier
    vocab_size: int
    scheme: DraftScheme
    zeros: bool
    max_trees: int


@dataclass(frozen=True)
class Report:
    """The answer, and how long it took."""

    request: Request
    proof: Proof
    trees: int
    seconds: float

    @property
    def verdict(self) -> str:
        """proved, refuted or open."""
        return "proved" if self.proof.proved else "refuted" if self.proof.refutation else "open"

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        shape = self.proof.shape
        return {
            "verifier": self.request.named.label,
            "identity": self.request.named.identity,
            "vocab_size": shape.vocab_size,
            "scheme": shape.scheme.as_dict(),
            "zeros": shape.zeros,
            "verdict": self.verdict,
            "draft_trees": self.trees,
            **fields_of(self.proof),
            "seconds": round(self.seconds, 3),
            "versions": versions(),
        }


class Watch:
    """Advances a bar by steps, and says once how long all of it will take."""

    def __init__(self, total: int, tick: Any) -> None:
        self.total, self.done, self.tick, self.start = total, 0, tick, time.perf_counter()
        self.silent = False

    def __call__(self, step: str) -> None:
        elapsed = time.perf_counter() - self.start
        if not self.silent and elapsed > PATIENCE and self.done:
            remark(f"{step}: {duration(elapsed / self.done * (self.total - self.done))} to go")
            self.silent = True
        self.done += 1
        self.tick(1)


def conduct(request: Request) -> Report:
    """The proof, with progress; raises `InvalidInput` or `TooLarge` before any work that cannot end well."""
    if isinstance(request.named.verifier, Planned):
        raise InvalidInput(f"{request.named.spec} is planned for one instance: nothing is the same for all p and q")
    solver_module()
    shape = Shape(request.vocab_size, request.scheme, request.zeros)
    trees = request.scheme.count(shape.instance(shape.point).draft)
    if trees > request.max_trees:
        raise TooLarge(
            f"{shape} has {trees:,} draft trees, more than {request.max_trees:,}; take a smaller shape or --max-trees"
        )
    start = time.perf_counter()
    steps = trees + len(list(places(shape)))
    with named_errors(request.named.label), bar(f"{request.named.label}, {shape}", steps) as tick:
        proof = prove(Subject.of(request.named.verifier), shape, Explorer(Oracle(shape.ring)), Watch(steps, tick))
    return Report(request, proof, trees, time.perf_counter() - start)
