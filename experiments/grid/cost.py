"""The expected cost of a computation, and the line that announces it; `simulator.verdicts.costs` computes it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.experiments.grid.bounds import expected_seconds
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings
from draftproof.experiments.shared.progress import duration, named_errors
from draftproof.lp_analysis.problem import delayed_only
from draftproof.simulator.laws.structured.size import Work
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.tables import context_count
from draftproof.simulator.verdicts.costs import (
    Cost,
    Costing,
    Pair,
    assert_runs,
    assert_steps,
    structure_hint,
)


@dataclass(frozen=True)
class ExpectedCost:
    """Expected work for one instance. about: the work in words."""

    engine: str
    about: str
    steps: float
    seconds: float


def expected_cost(
    named: NamedVerifier,
    scheme: DraftScheme,
    settings: Settings,
    samples: Sequence[Pair],
    trials: dict[str, dict[Any, float]] | None = None,
) -> ExpectedCost:
    """The mean cost of instances like `samples` (target and draft of each); raises as `Costing.cost` does.

    trials: steps that trial runs have taken so far, by verifier; shared by the schemes of one problem.
    """
    if isinstance(named.verifier, Planned):
        return _program(scheme, settings, samples[0])
    steps = {} if trials is None else trials.setdefault(named.spec, {})
    clock = time.thread_time  # leaves out pauses of the machine
    costing = Costing(settings.evaluator(named), named.label, clock, named.user_defined, settings.max_runs, steps)
    with named_errors(f"{named.label} on {scheme}"):
        cost = costing.cost(scheme, samples)
    return ExpectedCost(cost.engine, _words(named, scheme, cost, samples[0][0].vocab_size), cost.steps, cost.seconds)


def _program(scheme: DraftScheme, settings: Settings, sample: Pair) -> ExpectedCost:
    delayed_only(scheme, "the verifier optimum is planned")
    size = sample[0].vocab_size
    engine = "enumerate" if settings.engine == "enumerate" else "structured (path)"
    paths = context_count(size, scheme.depth)
    return ExpectedCost(engine, f"1 program over {paths:,.0f} paths", paths, expected_seconds(size, scheme, sample[1]))


def check_runs(named: NamedVerifier, scheme: DraftScheme, settings: Settings, runs: float, vocab_size: int) -> None:
    """Raises `TooLarge` above the largest number of runs."""
    assert_runs(named.verifier, scheme, runs, settings.max_runs, vocab_size, named.label, named.user_defined)


def check_steps(named: NamedVerifier, scheme: DraftScheme, settings: Settings, cost: ExpectedCost, count: int) -> None:
    """Raises `TooLarge` where structured evaluation of so many instances would take too many steps."""
    one = Cost(cost.engine, cost.steps, cost.seconds)
    assert_steps(named.verifier, scheme, settings.arithmetic, one, count, named.label)


def _words(named: NamedVerifier, scheme: DraftScheme, cost: Cost, vocab_size: int) -> str:
    if cost.work is not None:
        return _work_words(cost.work)
    hint = structure_hint(named.verifier, scheme, cost.steps, vocab_size, named.label) if named.user_defined else ""
    return f"{cost.trees:,.0f} draft trees, about {cost.steps:,.0f} runs of {named.label}{hint}"


def _work_words(work: Work) -> str:
    steps = "states" if work.structure == "leaf-to-root" or work.mode == "collapsed" else "contexts"
    return f"{work.structure}, {work.mode}: {work.steps:,.0f} {steps}, about {max(work.bytes / 2**20, 1):,.0f} MiB"


def announcement(cost: ExpectedCost, count: int = 1) -> str:
    """The cost of `count` instances in a line."""
    times = f"{count:,} x " if count > 1 else ""
    return f"{times}{cost.about}, {duration(cost.seconds * count)}"
