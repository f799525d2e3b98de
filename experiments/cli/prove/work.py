"""`draftproof prove`: one verifier at one shape, for all p and q."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from draftproof.experiments.cli.prove.free import subject_of
from draftproof.experiments.cli.prove.parallel import ProofInputs, StepExecutor
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge, UnsupportedTree
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.algebra.oracle import solver_module
from draftproof.simulator.theorems.certificate.formulas import FormulaCell, formula_cells
from draftproof.simulator.theorems.certificate.theorems import (
    RecordingOracle,
    certificate_of,
)
from draftproof.simulator.theorems.proof.balance import places
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.points import tree_sets
from draftproof.simulator.theorems.proof.rows import Shape, check_numbers
from draftproof.simulator.theorems.proof.theorem import Proof, Subject, fields_of, prove, tried


def announce(shape: Shape, trees: int) -> None:
    """Warn where the set of possible draft trees depends on q: then the proof has to find a cell for every such set."""
    sets, points = tree_sets(shape, trees)
    if sets > 1:
        remark(
            f"{shape.scheme} has {sets} sets of possible draft trees at {points} random points; the "
            "proof takes each on its own, so its duration is not known before; fewer nodes or layers make it shorter"
        )


#: Points of a larger vocabulary are checked if there are at most this many draft trees.
MOST_TREES_TRIED = 200
#: Kinds of rows that a proof stores.
KINDS = ("theorem", "step")


@dataclass(frozen=True)
class Request:
    """The theorem to prove.

    zeros: whether p and q may have zeros. free: numbers of the verifier that may have any value in [0, 1].
    max_trees: shapes with more draft trees are refused.
    """

    named: NamedVerifier
    vocab_size: int
    scheme: DraftScheme
    zeros: bool
    free: tuple[str, ...]
    max_trees: int

    @property
    def identity(self) -> dict[str, Any]:
        """The fields whose hash, the `strong_id`, names the stored row of the theorem."""
        return {**self.theorem_fields, "versions": versions()}

    @property
    def theorem_fields(self) -> dict[str, Any]:
        """Everything that defines the theorem."""
        return {
            "verifier": self.named.identity,
            "vocab_size": self.vocab_size,
            "scheme": self.scheme.as_dict(),
            "zeros": self.zeros,
            "free": list(self.free),
        }


@dataclass(frozen=True)
class LargerVocabulary:
    """Checks at points of a larger vocabulary. points: where the balance holds; holds: whether no point failed."""

    vocab_size: int
    points: int
    holds: bool

    def __str__(self) -> str:
        return (
            f"at V = {self.vocab_size} it is lossless at {self.points} points of p and q, which proves nothing: "
            f"--vocab {self.vocab_size} tries a proof"
        )


@dataclass(frozen=True)
class Report:
    """The answer, and how long it took. larger: the checks at a larger vocabulary, if there were any."""

    request: Request
    proof: Proof
    trees: int
    seconds: float
    processes: int = 1
    formulas: Sequence[FormulaCell] = ()
    larger: LargerVocabulary | None = None

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
            "free": list(self.proof.subject.parameters),
            **fields_of(self.proof),
            "formulas": [asdict(cell) for cell in self.formulas],
            "seconds": round(self.seconds, 3),
            "processes": self.processes,
            "larger": None if self.larger is None else asdict(self.larger),
            "versions": versions(),
        }


def try_points(request: Request, size: int) -> LargerVocabulary | None:
    """Check the balance at points of another vocabulary; None where there are too many draft trees, or none."""
    request = replace(request, vocab_size=size, max_trees=MOST_TREES_TRIED)
    try:
        subject = subject_of(request.named, request.free, size, request.scheme)
        shape, _ = shape_of(request, (request.named,), subject.parameters)
    except (TooLarge, UnsupportedTree):
        return None
    with named_errors(request.named.label):
        count, point = tried(subject, shape, Random(0))
    return LargerVocabulary(size, count, point is None)


def run_proof(
    request: Request,
    formulas: bool = False,
    certificate: str | None = None,
    jobs: int = 1,
    store: Store | None = None,
) -> Report:
    """The proof, with progress; raises `InvalidInput` or `TooLarge` before any work if the request is not possible.

    jobs: number of processes. store: for the result of every step.
    """
    subject = subject_of(request.named, request.free, request.vocab_size, request.scheme)
    shape, trees = shape_of(request, (request.named,), subject.parameters)
    announce(shape, trees)
    start = time.perf_counter()
    steps = trees + len(list(places(shape)))
    executor = executor_of(request, jobs, store)
    label = request.named.label
    with named_errors(label), bar(f"{label}, {shape}", steps, even=False) as tick, blame_stored_steps(executor):
        proof = prove(subject, shape, Explorer(RecordingOracle(shape.ring)), lambda _: tick(1), executor)
        cells = list(formula_cells(proof)) if formulas and proof.proved else []
    if certificate is not None and proof.proved:
        write_whole(certificate, json.dumps(certificate_of(proof, request.theorem_fields), indent=1) + "\n")
    return Report(request, proof, trees, time.perf_counter() - start, executor.processes, cells)


def executor_of(request: Request, jobs: int, store: Store | None) -> StepExecutor:
    """The executor of the steps of a theorem."""
    inputs = ProofInputs.of(request.named.spec, request.vocab_size, request.scheme, request.zeros, request.free)
    return StepExecutor(inputs, jobs, request.identity, Store(None) if store is None else store)


@contextmanager
def blame_stored_steps(*executors: StepExecutor) -> Iterator[None]:
    """Raise an error about the store instead where stored steps were used and something failed."""
    try:
        yield
    except DraftproofError:
        raise
    except Exception as error:
        if not any(executor.reused for executor in executors):
            raise
        reason = f"the steps stored in the --resume file do not fit this proof ({type(error).__name__})"
        raise InvalidInput(f"{reason}; name another file") from error


def subject_and_shape(request: Request) -> tuple[Subject, Shape]:
    """What a theorem is about, for the check of its certificate."""
    subject = subject_of(request.named, request.free, request.vocab_size, request.scheme)
    return subject, shape_of(request, (request.named,), subject.parameters)[0]


def known_row(request: Request, store: Store) -> dict[str, Any] | None:
    """The stored row of this theorem."""
    return store.get(strong_id(request.identity))


def store_row(report: Report, store: Store) -> None:
    """Store a proved theorem; one that is refuted or open is tried again next time."""
    if report.verdict == "proved":
        name = strong_id(report.request.identity)
        if name not in store:  # proved again for its certificate, or by another run meanwhile
            store.add({"kind": "theorem", **report.as_json(), "strong_id": name})


def assert_provable(named: Sequence[NamedVerifier]) -> None:
    """Raise `InvalidInput` for verifiers that no theorem is about, and where the solver is not installed."""
    for verifier in named:
        if isinstance(verifier.verifier, Planned):
            raise InvalidInput(f"{verifier.spec} is computed for one instance, so no theorem covers all p and q")
    solver_module()


def shape_of(request: Request, named: Sequence[NamedVerifier], parameters: tuple[str, ...]) -> tuple[Shape, int]:
    """The shape of a theorem and how many draft trees it has."""
    assert_provable(named)
    shape = Shape(request.vocab_size, request.scheme, request.zeros, parameters)
    check_numbers(shape)
    trees = request.scheme.count(shape.instance(shape.point).draft)
    if trees > request.max_trees:
        raise TooLarge(
            f"{shape} has {trees:,} draft trees, more than {request.max_trees:,}; take a smaller shape or --max-trees"
        )
    return shape, trees
