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
from draftproof.experiments.grid.pool import PERIOD
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned
from draftproof.experiments.shared.output import write_whole
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge, UnsupportedTree
from draftproof.simulator.files import cut, parse_json, read_text
from draftproof.simulator.instances.processes import table_entries
from draftproof.simulator.laws.drawing import drawn_trees
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.theorems.algebra.oracle import solver_module
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Leaf, leaves
from draftproof.simulator.theorems.certificate.formulas import condition_text
from draftproof.simulator.theorems.certificate.theorems import (
    CertificateCheck,
    RecordingOracle,
    certificate_of,
    checked,
)
from draftproof.simulator.theorems.proof.balance import SUM, acceptance, efficiency, places
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.points import random_point
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.simulator.theorems.proof.theorem import Proof, fields_of, prove, tried

#: Denominator of random points.
LARGE = 97
#: Random points at which it is looked what is drafted, over so many draft trees in all.
LOOKED, DRAWN = 40, 4_000


def announce(shape: Shape, trees: int) -> None:
    """Say so where what is drafted depends on the rows: every way of drafting is a cell that has to be found."""
    random = Random(0)
    count = max(2, min(LOOKED, DRAWN // max(trees, 1)))
    points = [random_point(shape, random, LARGE) for _ in range(count)]
    ways = {
        frozenset(
            tuple(sorted(tree.children.items()))  # type: ignore[attr-defined]
            for tree, _ in drawn_trees(shape.scheme, shape.instance(point).draft, RATIONAL)
        )
        for point in points
    }
    if len(ways) > 1:
        remark(
            f"{shape.scheme} drafts in {len(ways)} ways at {count} random points: such cells are found one by one; "
            "how many there are, or how long that takes, is not known before, and fewer nodes or layers make it short"
        )


#: Probabilities of p and q after the longest contexts: with more of them no theorem ends.
MOST_NUMBERS = 1_000
#: Draft trees up to which points of a larger vocabulary are looked at.
MOST_TREES_TRIED = 200
#: Rows that a proof keeps.
KINDS = ("theorem", "step")


@dataclass(frozen=True)
class Request:
    """What is asked. max_trees: the largest number of draft trees that is followed."""

    named: NamedVerifier
    vocab_size: int
    scheme: DraftScheme
    zeros: bool
    free: tuple[str, ...]
    max_trees: int

    @property
    def identity(self) -> dict[str, Any]:
        """What a row of it is known by."""
        return {**self.about, "versions": versions()}

    @property
    def about(self) -> dict[str, Any]:
        """Everything that defines the theorem."""
        return {
            "verifier": self.named.identity,
            "vocab_size": self.vocab_size,
            "scheme": self.scheme.as_dict(),
            "zeros": self.zeros,
            "free": list(self.free),
        }


@dataclass(frozen=True)
class FormulaCell:
    """A function on one cell. conditions: what tells the cell apart."""

    name: str
    conditions: tuple[str, ...]
    formula: str


@dataclass(frozen=True)
class Larger:
    """What was seen at points of a larger vocabulary. points: at how many the balance holds. holds: at all of them."""

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
    """The answer, and how long it took. larger: what was seen beside it, where that was asked for."""

    request: Request
    proof: Proof
    trees: int
    seconds: float
    processes: int = 1
    formulas: Sequence[FormulaCell] = ()
    larger: Larger | None = None

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


def try_points(request: Request, size: int) -> Larger | None:
    """What points of another vocabulary show; None where there are too many draft trees for a look, or none."""
    request = replace(request, vocab_size=size, max_trees=MOST_TREES_TRIED)
    try:
        subject = subject_of(request.named, request.free, size, request.scheme)
        shape, _ = shape_of(request, (request.named,), subject.parameters)
    except (TooLarge, UnsupportedTree):
        return None
    with named_errors(request.named.label):
        count, point = tried(subject, shape, Random(0))
    return Larger(size, count, point is None)


def conduct(
    request: Request,
    formulas: bool = False,
    certificate: str | None = None,
    jobs: int = 1,
    kept: Store | None = None,
) -> Report:
    """The proof, with progress; raises `InvalidInput` or `TooLarge` before any work that cannot end well.

    jobs: processes. kept: the store of rows that keeps every step.
    """
    subject = subject_of(request.named, request.free, request.vocab_size, request.scheme)
    shape, trees = shape_of(request, (request.named,), subject.parameters)
    announce(shape, trees)
    start = time.perf_counter()
    steps = trees + len(list(places(shape)))
    executor = executor_of(request, jobs, kept)
    label = request.named.label
    with named_errors(label), bar(f"{label}, {shape}", steps, even=False) as tick, steps_trusted(executor):
        proof = prove(subject, shape, Explorer(RecordingOracle(shape.ring)), lambda _: tick(1), executor)
        cells = list(formula_cells(proof)) if formulas and proof.proved else []
    if certificate is not None and proof.proved:
        write_whole(certificate, json.dumps(certificate_of(proof, request.about), indent=1) + "\n")
    return Report(request, proof, trees, time.perf_counter() - start, executor.processes, cells)


def executor_of(request: Request, jobs: int, kept: Store | None) -> StepExecutor:
    """Where the steps of a theorem are done."""
    place = ProofInputs.of(request.named.spec, request.vocab_size, request.scheme, request.zeros, request.free)
    return StepExecutor(place, jobs, request.identity, Store(None) if kept is None else kept)


@contextmanager
def steps_trusted(*executors: StepExecutor) -> Iterator[None]:
    """What fails inside because of steps that a store of rows had is told of that file."""
    try:
        yield
    except DraftproofError:
        raise
    except Exception as error:
        if not any(executor.kept for executor in executors):
            raise
        reason = f"the steps that --resume has are not those of this proof ({type(error).__name__})"
        raise InvalidInput(f"{reason}; resume into another file") from error


def verify_certificate(request: Request, path: str) -> CertificateCheck:
    """Whether a certificate holds for what is asked; raises `InvalidInput` for one about something else."""
    fields = certificate_about(path, request.about)
    subject = subject_of(request.named, request.free, request.vocab_size, request.scheme)
    shape, _ = shape_of(request, (request.named,), subject.parameters)
    with named_errors(request.named.label):
        return checked(fields, subject, shape)


def known_row(request: Request, kept: Store) -> dict[str, Any] | None:
    """The row of this theorem in a store of rows; where another run proves it just now, once that is done."""
    known = strong_id(request.identity)
    if kept.claim(known) == "theirs":
        remark("another run proves this theorem; waiting for it")
        while kept.claim(known) == "theirs":
            time.sleep(PERIOD)
    return kept.get(known)


def keep_row(report: Report, kept: Store) -> None:
    """Add a theorem to a store of rows; what is refuted or open is asked again next time."""
    if report.verdict == "proved":
        known = strong_id(report.request.identity)
        if known not in kept:  # proved again for its certificate, or by another run meanwhile
            kept.add({"kind": "theorem", **report.as_json(), "strong_id": known})


def certificate_about(path: str, about: dict[str, Any]) -> dict[str, Any]:
    """The content of a certificate about this; raises `InvalidInput` for one about something else."""
    fields: Any = parse_json(read_text(path, "certificate"), f"certificate {cut(path)}")
    different = [key for key, value in about.items() if not isinstance(fields, dict) or fields.get(key) != value]
    if different:
        key = different[0]
        its = fields.get(key) if isinstance(fields, dict) else None
        raise InvalidInput(
            f"{cut(path)} is about {key} {cut(repr(its))}, not {cut(repr(about[key]))}; "
            "give the verifier and shape that it is about"
        )
    return dict(fields)


def shape_of(request: Request, named: Sequence[NamedVerifier], parameters: tuple[str, ...]) -> tuple[Shape, int]:
    """The shape of a theorem and how many draft trees it has."""
    for each in named:
        if isinstance(each.verifier, Planned):
            raise InvalidInput(f"{each.spec} is planned for one instance: nothing is the same for all p and q")
    solver_module()
    size, depth = request.vocab_size, request.scheme.depth
    numbers = table_entries(size, depth) + table_entries(size, depth - 1)
    if numbers > MOST_NUMBERS:
        raise TooLarge(
            f"V = {size}, {request.scheme}: p and q have {numbers:,.0f} probabilities, more than the {MOST_NUMBERS:,} "
            "that a theorem is tried with; take a smaller shape, or draftproof check on instances"
        )
    shape = Shape(request.vocab_size, request.scheme, request.zeros, parameters)
    trees = request.scheme.count(shape.instance(shape.point).draft)
    if trees > request.max_trees:
        raise TooLarge(
            f"{shape} has {trees:,} draft trees, more than {request.max_trees:,}; take a smaller shape or --max-trees"
        )
    return shape, trees


def formula_cells(proof: Proof) -> Iterator[FormulaCell]:
    """Block efficiency and acceptance on cells that cover the domain; cells with one formula are one."""
    shape, oracle = proof.shape, proof.explorer.oracle
    for part in proof.law:
        if part.gap is not None:
            continue
        for name, function in (("block efficiency", efficiency), ("acceptance", acceptance)):
            for region, leaf in leaves(function(shape, part, oracle), part.region):
                if isinstance(leaf, Leaf):
                    value = leaf.values[SUM].key if leaf.values else "0"
                    yield FormulaCell(name, tuple(conditions(shape, region)), value)


def conditions(shape: Shape, region: Region) -> Iterator[str]:
    """What tells a region apart from the whole domain."""
    for atom, mask in region:
        if shape.domain.masks.get(atom) != mask:
            yield condition_text(str(shape.ring.atoms[atom]), mask)
