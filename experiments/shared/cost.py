"""What a piece of work will cost, said before it begins; work that does not fit is refused here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.shared.bounds import delayed_only, expected_seconds
from experiments.shared.names import NamedVerifier
from experiments.shared.planned import Planned, evaluator
from experiments.shared.progress import duration, named_errors
from simulator.arithmetic import arithmetic_named
from simulator.drafts import Delayed
from simulator.errors import TooLarge
from simulator.instances.instance import Instance
from simulator.instances.processes import table_entries
from simulator.laws.enumeration import assert_function, estimate_size
from simulator.laws.structured import MetricsSink, TableRows, assert_offered, run
from simulator.laws.structured.size import COLLAPSED, Work, deepest, most_steps, steps, structured_work
from simulator.protocol import DraftScheme, TokenProcess
from simulator.structures import offered
from simulator.verdicts.lossless import Evaluator, choose_engine

#: Trial evaluations have about so many steps, the larger one where the smaller was quick.
TRIAL_STEPS = (300, 20_000)
#: Runs from which on it is worth a word that there is a shorter way.
LONG = 10_000
#: Seconds below which a trial says more about calls than about steps.
QUICK = 0.02


@dataclass(frozen=True)
class Settings:
    """How laws are computed. max_runs: of an enumeration. max_memory: bytes for a structured evaluation.

    steady: also the long run of block after block.
    """

    arithmetic: str
    engine: str
    max_runs: int
    max_memory: float
    device: str | None = None
    jobs: int = 1
    steady: bool = False

    def evaluator(self, named: NamedVerifier) -> Evaluator:
        """What computes the laws of one verifier."""
        return evaluator(named.verifier, self.arithmetic, self.engine, self.device, self.max_memory)


@dataclass(frozen=True)
class Workload:
    """Expected work for one instance. about: in words."""

    engine: str
    about: str
    steps: float
    seconds: float


Pair = tuple[TokenProcess, TokenProcess]


def expected_cost(
    named: NamedVerifier,
    scheme: DraftScheme,
    settings: Settings,
    samples: Sequence[Pair],
    known: dict[Any, float] | None = None,
) -> Workload:
    """The mean cost of instances like `samples` (target and draft of each).

    known: what trials have shown so far, for the shapes of one problem.
    Raises `TooLarge` for work beyond the settings, `InvalidVerifier` for an outsider's verifier that is no function or
    does not do what it offers to structured engines.
    """
    if isinstance(named.verifier, Planned):
        return _program(scheme, settings, samples[0])
    engine = choose_engine(named.verifier, scheme, settings.engine)
    with named_errors(f"{named.label} on {scheme}"):
        if engine == "enumerate":
            return _enumeration(named, scheme, settings, samples)
        return _structured(named, scheme, settings, samples[0], {} if known is None else known)


def _program(scheme: DraftScheme, settings: Settings, sample: Pair) -> Workload:
    delayed = delayed_only(scheme)
    size = sample[0].vocab_size
    engine = "enumerate" if settings.engine == "enumerate" else "structured (path)"
    paths = float(size) ** scheme.depth
    return Workload(engine, f"1 program over {paths:,.0f} paths", paths, expected_seconds(size, delayed))


def check_runs(named: NamedVerifier, scheme: DraftScheme, settings: Settings, runs: float, vocab_size: int) -> None:
    """Raises `TooLarge` above the largest number of runs."""
    if runs > settings.max_runs:
        raise TooLarge(
            f"{named.label} on {scheme} at V = {vocab_size} needs about {runs:.1e} runs, more than "
            f"{settings.max_runs:,}; {_nearest(scheme, runs, settings.max_runs, vocab_size)}"
            f"{structure_hint(named, scheme, runs, vocab_size)}"
        )


def structure_hint(named: NamedVerifier, scheme: DraftScheme, runs: float, vocab_size: int) -> str:
    """For an outsider's verifier without structure: what would make it fast, and what it would cost then."""
    if not named.from_file or not isinstance(scheme, Delayed) or runs < LONG or offered(named.verifier) is not None:
        return ""
    contexts = table_entries(vocab_size, scheme.depth) / max(vocab_size - 1, 1)
    return f"; {named.label} has no `structure`: with one, such as TopDown(branch=..), about {contexts:,.0f} contexts"


def check_steps(named: NamedVerifier, scheme: DraftScheme, settings: Settings, cost: Workload, count: int) -> None:
    """Raises `TooLarge` for more instances than structured evaluation can be expected to get through."""
    most = most_steps(named.verifier, arithmetic_named(settings.arithmetic))
    fits = int(most / cost.steps)
    if count > fits:
        raise TooLarge(
            f"{named.label} on {scheme}: {float(min(count, 10**300)):.1e} instances of {cost.steps:,.0f} steps are too "
            f"many; {fits:,} fit, so make V, L or the denominator of --exhaustive smaller"
        )


def _enumeration(named: NamedVerifier, scheme: DraftScheme, settings: Settings, samples: Sequence[Pair]) -> Workload:
    generator = np.random.default_rng(0)
    arithmetic = arithmetic_named(settings.arithmetic)
    tries = max(1, 12 // len(samples))
    runs = trees = sampled = seconds = 0.0
    for target, draft in samples:
        instance = Instance.of(target, draft, scheme.depth, arithmetic)
        started = time.perf_counter()
        size = estimate_size(named.verifier, instance.target, instance.draft, scheme, generator, tries)
        seconds += time.perf_counter() - started
        runs += size.runs / len(samples)
        trees += float(min(size.trees, 10**300)) / len(samples)
        sampled += size.runs_per_tree * tries
    check_runs(named, scheme, settings, runs, samples[0][0].vocab_size)
    assert_function(named.verifier, instance.target, instance.draft, scheme, generator)
    about = f"{trees:,.0f} draft trees, about {runs:,.0f} runs of {named.label}"
    about += structure_hint(named, scheme, runs, samples[0][0].vocab_size)
    return Workload("enumerate", about, runs, runs * seconds / max(sampled, 1))


def _structured(
    named: NamedVerifier, scheme: DraftScheme, settings: Settings, sample: Pair, known: dict[Any, float]
) -> Workload:
    arithmetic = arithmetic_named(settings.arithmetic)
    work = structured_work(named.verifier, *sample, scheme, arithmetic, settings.max_memory)
    assert isinstance(scheme, Delayed)
    if named.from_file and (named.spec, scheme.K) not in known:
        known[named.spec, scheme.K] = _look_through(named, scheme, settings, sample)
    trials = [_trial(named, scheme, sample[0].vocab_size, most) for most in TRIAL_STEPS]
    for trial in trials:
        if (named.spec, trial) not in known:
            known[named.spec, trial] = _trial_seconds(named, trial, settings, sample)
        if known[named.spec, trial] > QUICK:
            break
    each = known[named.spec, trial] / steps(named.verifier, trial, sample[0].vocab_size)
    shared = max(scheme.depth, 1) if work.mode == COLLAPSED else 1  # a shape adds a step to the pass of a shorter one
    return Workload(work.engine, _words(work), work.steps, work.steps * each / shared)


def _look_through(named: NamedVerifier, scheme: Delayed, settings: Settings, sample: Pair) -> float:
    """Raise `InvalidVerifier` for an outsider's verifier that is no function or does not do what it offers."""
    arithmetic = arithmetic_named(settings.arithmetic)
    trial = _trial(named, scheme, sample[0].vocab_size, TRIAL_STEPS[0])
    instance = Instance.of(*sample, trial.depth, arithmetic)
    assert_function(named.verifier, instance.target, instance.draft, trial, np.random.default_rng(0))
    assert_offered(named.verifier, *sample, scheme, arithmetic)
    return 0.0


def _trial_seconds(named: NamedVerifier, trial: Delayed, settings: Settings, sample: Pair) -> float:
    instance = Instance.of(*sample, trial.depth, arithmetic_named(settings.arithmetic))
    rows = TableRows.of(instance.target, instance.draft)
    started = time.perf_counter()
    run(named.verifier, rows, trial, MetricsSink(rows, trial.depth))
    return time.perf_counter() - started


def _trial(named: NamedVerifier, scheme: Delayed, vocab_size: int, most: float) -> Delayed:
    """The deepest shape within this one whose evaluation has at most so many steps."""
    return deepest(scheme, lambda shape: steps(named.verifier, shape, vocab_size) <= most) or Delayed(1, 0, 0)


def _words(work: Work) -> str:
    steps = "states" if work.structure == "leaf-to-root" or work.mode == "collapsed" else "contexts"
    return f"{work.structure}, {work.mode}: {work.steps:,.0f} {steps}, about {max(work.bytes / 2**20, 1):,.0f} MiB"


def _nearest(scheme: DraftScheme, runs: float, limit: int, vocab_size: int) -> str:
    """The way out of an enumeration that is too large."""
    fits = [
        smaller
        for smaller in scheme.reductions()
        if 1 < smaller.depth < smaller.nodes
        and runs * float(vocab_size) ** max(smaller.nodes - scheme.nodes, -300) <= limit
    ]
    return f"the nearest shape that fits is {fits[-1]}, or raise --max-runs" if fits else "raise --max-runs"


def announcement(cost: Workload, count: int = 1) -> str:
    """The cost of `count` instances in a line."""
    each = f"{count:,} x " if count > 1 else ""
    return f"{each}{cost.about}, {duration(cost.seconds * count)}"
