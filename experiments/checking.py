"""`draftproof check`: one verifier on one or many instances, and the witness if it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from experiments.names import NamedVerifier
from experiments.output import number_fields
from experiments.problem import FamilyProblem, FileProblem, Problem, Root
from experiments.progress import Tick, bar, duration, remark
from experiments.rows import accepted_length, mixture
from simulator.arithmetic import arithmetic_named
from simulator.enumerate import estimate_size
from simulator.errors import DraftproofError, InvalidInput, InvalidVerifier, TooLarge
from simulator.instance import Instance
from simulator.lossless import Check, check
from simulator.schemes import Delayed
from simulator.search import Witness, grid, grid_size, shrink


@dataclass(frozen=True)
class Stream:
    """The instances of one check: how many, whether the first failure ends it, and how to produce them."""

    planned: int
    stop_at_failure: bool
    open: Callable[[], Iterator[Root]]


def choose_stream(problem: Problem, depth: int, instances: int | None, exhaustive: int | None) -> Stream:
    """Random instances, an exhaustive grid, or the roots of the problem; raises `InvalidInput` on a contradiction."""
    if instances is not None and exhaustive is not None:
        raise InvalidInput("--instances and --exhaustive both say what to check; give one of them")
    if instances is None and exhaustive is None:
        roots = problem.roots(depth)
        return Stream(len(roots), False, lambda: iter(roots))
    if not isinstance(problem, FamilyProblem):
        flag = "--instances" if instances is not None else "--exhaustive"
        raise InvalidInput(f"{flag} makes its own instances; leave out {problem.flag}")
    if exhaustive is not None:
        return Stream(
            grid_size(problem.vocab_size, depth, exhaustive),
            True,
            lambda: _numbered(grid(problem.vocab_size, depth, exhaustive)),
        )
    assert instances is not None
    seeds = range(problem.seed, problem.seed + instances)
    return Stream(
        instances, True, lambda: (Root(f"seed {seed}", Fraction(1), problem.member(seed, depth)) for seed in seeds)
    )


@dataclass
class Report:
    """What is known after some instances: the worst deviations, the sums for averages, and what failed first."""

    named: NamedVerifier
    scheme: Delayed
    arithmetic: str
    engine: str
    planned: int
    instances: int = 0
    deviations: list[tuple[Fraction | float, Fraction | float]] = field(default_factory=list)
    weights: list[Fraction] = field(default_factory=list)
    distributions: list[list[Fraction | float]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    failed: Root | None = None
    failed_check: Check | None = None

    @property
    def lossless(self) -> bool:
        """Whether no instance failed so far."""
        return self.failed is None

    @property
    def max_deviation(self) -> Fraction | float:
        """The largest violation of the balance equation so far."""
        return max(deviation for deviation, _ in self.deviations)

    @property
    def total_variation(self) -> Fraction | float:
        """The largest total variation so far."""
        return max(distance for _, distance in self.deviations)

    def add(self, root: Root, found: Check) -> None:
        """Take in the verdict on one instance."""
        self.instances += 1
        self.deviations.append((found.max_deviation, found.total_variation))
        self.weights.append(root.weight)
        self.labels.append(root.label)
        self.distributions.append(found.law.depth_distribution)
        if self.failed is None and not found.lossless:
            self.failed, self.failed_check = root, found

    def average(self) -> list[Fraction | float]:
        """The depth distribution, averaged over the instances by weight."""
        total = sum(self.weights)
        shares = [weight / total for weight in self.weights]
        return [
            mixture(shares, [masses[depth] for masses in self.distributions]) for depth in range(self.scheme.depth + 1)
        ]

    def as_json(self) -> dict[str, Any]:
        """The fields that programs read."""
        fields = {
            "verifier": self.named.label,
            "scheme": self.scheme.as_dict(),
            "arithmetic": self.arithmetic,
            "engine": self.engine,
            "instances": self.instances,
            "lossless": self.lossless,
            **number_fields("max_deviation", self.max_deviation),
            **number_fields("total_variation", self.total_variation),
            **accepted_length(self.average()),
        }
        if len(set(self.weights)) > 1 or self.planned == 1:
            fields["roots"] = [
                {"root": label, **number_fields("weight", weight), **accepted_length(masses)}
                for label, weight, masses in zip(self.labels, self.weights, self.distributions, strict=True)
            ]
        return fields


def _numbered(instances: Iterator[Instance]) -> Iterator[Root]:
    for number, each in enumerate(instances, start=1):
        yield Root(f"grid instance {number:,}", Fraction(1), each)


def announce(report: Report, stream: Stream, max_runs: int) -> None:
    """State the cost on stderr before the work; raises `TooLarge` above `max_runs` runs of the verifier."""
    first = next(stream.open())
    arithmetic = arithmetic_named(report.arithmetic)
    instance = first.instance.converted(arithmetic, report.scheme.depth)
    started = time.perf_counter()
    samples = 12
    size = estimate_size(
        report.named.verifier, instance.target, instance.draft, report.scheme, np.random.default_rng(0), samples
    )
    runs = size.runs * stream.planned
    seconds = runs * (time.perf_counter() - started) / max(samples * size.runs_per_tree, 1)
    if runs > max_runs:
        raise TooLarge(
            f"{report.named.label} on {report.scheme} at V = {instance.vocab_size} needs about {runs:.1e} runs, "
            f"more than {max_runs:,}; {nearest_hint(report.scheme, runs, max_runs, instance.vocab_size)}"
        )
    each = f"{stream.planned:,} x " if stream.planned > 1 else ""
    remark(
        f"{each}{size.trees:,} draft trees x {size.runs_per_tree:.1f} runs = {runs:,.0f} runs of "
        f"{report.named.label}, {duration(seconds)}"
    )


def nearest_hint(scheme: Delayed, runs: float, limit: int, vocab_size: int) -> str:
    """The way out of a problem that is too large."""
    fits = [
        smaller
        for smaller in scheme.reductions()
        if smaller.K > 1 and smaller.depth > 0 and runs * float(vocab_size) ** (smaller.nodes - scheme.nodes) <= limit
    ]
    nearest = f"the nearest shape that fits is --K {fits[-1].K} --L1 {fits[-1].L1} --L2 {fits[-1].L2}, " if fits else ""
    return f"{nearest}or raise --max-runs"


def run(report: Report, stream: Stream) -> bool:
    """Check the instances one by one into `report`, with a bar; False if Ctrl-C ended it early."""
    several = stream.planned > 1
    steps = stream.planned if several else report.scheme.count(next(stream.open()).instance.draft)
    with bar(f"{report.named.label}: {'instances' if several else 'draft trees'}", steps) as tick:
        try:
            for root in stream.open():
                report.add(root, _check(report, root, None if several else tick))
                if several:
                    tick(1)
                if stream.stop_at_failure and not report.lossless:
                    break
        except KeyboardInterrupt:
            return False
    return True


def _check(report: Report, root: Root, tick: Tick | None) -> Check:
    instance = root.instance.converted(arithmetic_named(report.arithmetic), report.scheme.depth)
    try:
        return check(
            report.named.verifier,
            instance.target,
            instance.draft,
            report.scheme,
            report.arithmetic,
            report.engine,
            tick,
        )
    except DraftproofError as error:
        raise type(error)(f"{report.named.label} on {report.scheme}, {root.label}: {error}") from error


def find_witness(report: Report, problem: Problem) -> Witness:
    """The smallest witness for a failed report; that of an instance file is the file itself."""
    assert report.failed is not None
    assert report.failed_check is not None
    verifier = report.named.verifier
    exact = report.failed.instance.converted(arithmetic_named("rational"), report.scheme.depth)
    as_found = Witness.of(replace(report.failed_check, instance=exact), shrunk=False)
    try:
        known = check(verifier, exact.target, exact.draft, report.scheme)
        if known.lossless:  # float64 rounding looked like a violation
            return as_found
        as_found = Witness.of(known, shrunk=False)
        if isinstance(problem, FileProblem):
            return as_found
        remark("refuted; looking for the smallest witness (Ctrl-C keeps the one at hand)")
        return shrink(verifier, known)
    except (InvalidVerifier, KeyboardInterrupt):  # no exact run, or no patience
        return as_found
