"""`draftproof check`: one verifier on one or many instances, and the witness if it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from experiments.names import NamedVerifier
from experiments.output import number_fields
from experiments.problem import FamilyProblem, FileProblem, Problem, Root
from experiments.progress import Tick, bar, duration, quiet, remark
from experiments.rows import accepted_length, mixture, versions
from simulator.arithmetic import arithmetic_named
from simulator.enumerate import assert_function, estimate_size
from simulator.errors import DraftproofError, InvalidInput, TooLarge
from simulator.instance import Instance
from simulator.lossless import Check, check
from simulator.protocol import DraftScheme
from simulator.search import Witness, generic_row, grid, grid_sample, grid_size, shrink


@dataclass(frozen=True)
class Stream:
    """The instances of one check: how many, whether the first failure ends it, how to produce them.

    sample: some of them, from which the cost of all is estimated.
    """

    planned: int
    stop_at_failure: bool
    open: Callable[[], Iterator[Root]]
    sample: Callable[[], list[Instance]]
    about: str


def choose_stream(problem: Problem, depth: int, instances: int | None, exhaustive: int | None) -> Stream:
    """Random instances, an exhaustive grid, or the roots of the problem; raises `InvalidInput` on a contradiction."""
    if instances is not None and exhaustive is not None:
        raise InvalidInput("--instances and --exhaustive both say what to check; give one of them")
    if instances is None and exhaustive is None:
        roots = problem.roots(depth)
        return Stream(len(roots), False, lambda: iter(roots), lambda: [roots[0].instance], str(problem))
    if not isinstance(problem, FamilyProblem):
        flag = "--instances" if instances is not None else "--exhaustive"
        raise InvalidInput(f"{flag} makes its own instances; leave out {problem.flag}")
    if exhaustive is not None:
        random = Random(0)
        return Stream(
            grid_size(problem.vocab_size, depth, exhaustive),
            True,
            lambda: _numbered(grid(problem.vocab_size, depth, exhaustive)),
            lambda: [grid_sample(problem.vocab_size, depth, exhaustive, random) for _ in range(24)],
            f"every p and q with probabilities in multiples of 1/{exhaustive}, V = {problem.vocab_size}; "
            f"the target after the last drafted token is held at {generic_text(problem.vocab_size)}",
        )
    assert instances is not None
    seeds = range(problem.seed, problem.seed + instances)
    return Stream(
        instances,
        True,
        lambda: (Root(f"seed {seed}", Fraction(1), problem.member(seed, depth)) for seed in seeds),
        lambda: [problem.member(seed, depth) for seed in seeds[:4]],
        f"{problem} and the next ones, probabilities in multiples of 1/{problem.denominator}",
    )


@dataclass
class Report:
    """What is known after some instances: the worst deviations, the sums for averages, and what failed first."""

    named: NamedVerifier
    scheme: DraftScheme
    arithmetic: str
    engine: str
    stream: Stream
    source: dict[str, Any]
    complete: bool = True
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
            "source": self.source,
            "versions": versions(),
            "lossless": self.lossless,
            **number_fields("max_deviation", self.max_deviation),
            **number_fields("total_variation", self.total_variation),
            **accepted_length(self.average()),
        }
        if not self.stream.stop_at_failure:
            fields["roots"] = [
                {"root": label, **number_fields("weight", weight), **accepted_length(masses)}
                for label, weight, masses in zip(self.labels, self.weights, self.distributions, strict=True)
            ]
        return fields


def generic_text(vocab_size: int) -> str:
    """The row at which an exhaustive grid holds the leaves, for people."""
    return f"({', '.join(map(str, generic_row(vocab_size)))})"


def _numbered(instances: Iterator[Instance]) -> Iterator[Root]:
    for number, each in enumerate(instances, start=1):
        yield Root(f"grid instance {number:,}", Fraction(1), each)


def announce(report: Report, max_runs: int) -> None:
    """State the cost on stderr before the work, and make sure that `verify` is a function.

    Raises `TooLarge` above `max_runs` runs of the verifier, `InvalidVerifier` for one that keeps state.
    """
    generator = np.random.default_rng(0)
    verifier, scheme, stream = report.named.verifier, report.scheme, report.stream
    started = time.perf_counter()
    runs = trees = sampled = 0.0
    samples = [each.converted(arithmetic_named(report.arithmetic), scheme.depth) for each in stream.sample()]
    tries = max(1, 12 // len(samples))
    with named_errors(f"{report.named.label} on {scheme}"):
        for instance in samples:
            size = estimate_size(verifier, instance.target, instance.draft, scheme, generator, tries)
            runs += size.runs / len(samples)
            trees += float(min(size.trees, 10**300)) / len(samples)
            sampled += size.runs_per_tree * tries
        seconds = runs * stream.planned * (time.perf_counter() - started) / max(sampled, 1)
        runs *= min(stream.planned, 10**300)
        if runs > max_runs:
            raise TooLarge(
                f"at V = {samples[0].vocab_size} this needs about {runs:.1e} runs, more than {max_runs:,}; "
                f"{nearest_hint(scheme, runs, max_runs, samples[0].vocab_size)}"
            )
        assert_function(verifier, samples[0].target, samples[0].draft, scheme, generator)
    each = f"{stream.planned:,} x " if stream.planned > 1 else ""
    remark(
        f"{each}{trees:,.0f} draft trees, about {runs:,.0f} runs of {report.named.label} in all, {duration(seconds)}"
    )


@contextmanager
def named_errors(where: str) -> Iterator[None]:
    """For whatever runs a verifier: errors raised on purpose get the culprit before them, prints go to stderr."""
    try:
        with quiet():
            yield
    except DraftproofError as error:
        raise type(error)(f"{where}: {error}") from error


def nearest_hint(scheme: DraftScheme, runs: float, limit: int, vocab_size: int) -> str:
    """The way out of a problem that is too large."""
    fits = [
        smaller
        for smaller in scheme.reductions()
        if 1 < smaller.depth < smaller.nodes
        and runs * float(vocab_size) ** max(smaller.nodes - scheme.nodes, -300) <= limit
    ]
    return f"the nearest shape that fits is {fits[-1]}, or raise --max-runs" if fits else "raise --max-runs"


def run(report: Report) -> None:
    """Check the instances one by one into `report`, with a bar; Ctrl-C leaves it incomplete."""
    stream = report.stream
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
            report.complete = False


def _check(report: Report, root: Root, tick: Tick | None) -> Check:
    instance = root.instance.converted(arithmetic_named(report.arithmetic), report.scheme.depth)
    with named_errors(f"{report.named.label} on {report.scheme}, {root.label}"):
        return check(
            report.named.verifier,
            instance.target,
            instance.draft,
            report.scheme,
            report.arithmetic,
            report.engine,
            tick,
        )


def find_witness(report: Report, problem: Problem) -> Witness:
    """The smallest witness for a failed report; on an instance file it is that instance."""
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
        with quiet():
            return shrink(verifier, known)
    except (DraftproofError, KeyboardInterrupt):  # no exact run, or no patience
        return as_found
