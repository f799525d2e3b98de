"""Estimates of the cost of a check before it runs; a check that would be too large is refused.

An enumeration costs draft trees and runs of `verify`, a structured engine contexts and bytes. Seconds are estimated
from trials on small shapes, with the clock of the caller.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.structured import MetricsSink, TableRows, assert_structure_agrees, run
from draftproof.simulator.laws.structured.declared import declared_for
from draftproof.simulator.laws.structured.size import COLLAPSED, Work, deepest, most_steps, steps, structured_work
from draftproof.simulator.laws.trials import assert_function, estimate_size
from draftproof.simulator.numbers import arithmetic_named
from draftproof.simulator.origins import is_library
from draftproof.simulator.protocol import DraftScheme, TokenProcess, Verifier
from draftproof.simulator.structures import Layered, declared
from draftproof.simulator.tables import table_entries
from draftproof.simulator.verdicts.lossless import Evaluator, choose_engine

#: Enumerations of more runs are refused unless the caller allows more.
MOST_RUNS = 20_000_000
#: From so many runs on, messages say that a structured engine would be faster.
LONG = 10_000
#: Steps of trial evaluations; the larger trial runs only if the smaller one was quick.
TRIAL_STEPS = (300, 20_000)
#: Trials shorter than this many seconds measure the overhead of calls rather than the steps.
QUICK = 0.02

#: The key in `known` for the seconds of a check on the smallest shape.
_CALL = "call"
#: Part of the key in `known` for the first trial of its kind, whose seconds say nothing about later ones.
_LOADED = "loaded"

Clock: TypeAlias = Callable[[], float]
#: Target and draft.
Pair: TypeAlias = tuple[TokenProcess, TokenProcess]


@dataclass(frozen=True)
class Cost:
    """The mean cost of one instance. steps: runs of `verify`, or steps of a structured engine.

    trees: draft trees of an enumeration. work: the plan of a structured engine.
    """

    engine: str
    steps: float
    seconds: float
    trees: float = 0.0
    work: Work | None = None


@dataclass(frozen=True)
class Costing:
    """Estimates the costs of checks by one evaluator.

    name: the verifier's name in errors. clock: in seconds. user_defined: whether the verifier is user-defined; then it
    is checked for state, and errors say what would make it fast. most_runs: of an enumeration. known: seconds of the
    trials so far, by shape, shared by the shapes of one problem.
    """

    evaluator: Evaluator
    name: str
    clock: Clock
    user_defined: bool
    most_runs: float
    known: dict[Any, float]

    @property
    def verifier(self) -> Verifier:
        """The verifier itself."""
        return self.evaluator.verifier

    def cost(self, scheme: DraftScheme, samples: Sequence[Pair]) -> Cost:
        """The mean cost of instances like `samples`.

        Raises `TooLarge` for work beyond the limits, `InvalidVerifier` for a user-defined verifier that keeps state
        or contradicts its structure.
        """
        if choose_engine(self.verifier, scheme, self.evaluator.engine, samples[0][1]) == "enumerate":
            return self._enumeration(scheme, samples)
        assert isinstance(scheme, Delayed)
        return self._structured(scheme, samples[0])

    def _enumeration(self, scheme: DraftScheme, samples: Sequence[Pair]) -> Cost:
        generator = np.random.default_rng(0)
        arithmetic = arithmetic_named(self.evaluator.arithmetic)
        _refuse_state(self.evaluator, scheme, samples[-1])
        tries = max(1, 6 // len(samples))
        runs = trees = seconds = 0.0
        for target, draft in samples:
            instance = Instance.of(target, draft, scheme.depth, arithmetic)
            count = scheme.count(instance.draft)
            sized = partial(
                estimate_size, self.verifier, instance.target, instance.draft, scheme, generator, trees=count
            )
            if not runs:
                sized(1, 1)  # the first runs also load and compile
            times = [self.clock()]
            sizes = []
            for _ in range(2):  # the second run uses what the verifier caches of the instance
                sizes.append(sized(tries))
                times.append(self.clock())
            first, again = (end - start for start, end in pairwise(times))
            wanted = (sizes[0].runs + sizes[1].runs) / 2
            runs += wanted / len(samples)
            seconds += (wanted * again / max(sizes[1].tried, 1) + max(first - again, 0.0)) / len(samples)
            trees += float(min(count, 10**300)) / len(samples)
        assert_runs(self.verifier, scheme, runs, self.most_runs, samples[0][0].vocab_size, self.name, self.user_defined)
        return Cost("enumerate", runs, seconds, trees)

    def _structured(self, scheme: Delayed, sample: Pair) -> Cost:
        arithmetic = arithmetic_named(self.evaluator.arithmetic)
        work = structured_work(self.verifier, *sample, scheme, arithmetic, self.evaluator.memory)
        size = sample[0].vocab_size
        if self.user_defined and scheme.K not in self.known:
            self._check_user_code(scheme, sample)
            self.known[scheme.K] = 0.0
        first = replace(scheme, L1=0, L2=min(scheme.L2, 1))
        if (_LOADED, first) not in self.known:  # the first one loads and compiles
            self.known[_LOADED, first] = self._trial_seconds(first, sample)
        for most in TRIAL_STEPS:
            trial = self._trial(scheme, size, most)
            if trial not in self.known:
                self.known[trial] = self._trial_seconds(trial, sample)
            if self.known[trial] > QUICK:
                break
        step_seconds = self.known[trial] / steps(self.verifier, trial, size)
        # a collapsed pass serves every depth up to its own, so each depth pays one step of it
        shared = max(scheme.depth, 1) if work.mode == COLLAPSED else 1
        if _CALL not in self.known:
            self.known[_CALL] = self._call_seconds(sample)
        return Cost(work.engine, work.steps, work.steps * step_seconds / shared + self.known[_CALL], work=work)

    def _call_seconds(self, sample: Pair) -> float:
        """The seconds of a check on the smallest shape."""
        self.evaluator.check(*sample, Delayed(1, 0, 0))  # the first one loads and compiles
        started = self.clock()
        self.evaluator.check(*sample, Delayed(1, 0, 0))
        return self.clock() - started

    def _check_user_code(self, scheme: Delayed, sample: Pair) -> None:
        """Raise `InvalidVerifier` for a user-defined verifier that keeps state or contradicts its structure."""
        _refuse_state(self.evaluator, self._trial(scheme, sample[0].vocab_size, TRIAL_STEPS[0]), sample)
        assert_structure_agrees(self.verifier, *sample, scheme, arithmetic_named(self.evaluator.arithmetic))

    def _trial_seconds(self, trial: Delayed, sample: Pair) -> float:
        instance = Instance.of(*sample, trial.depth, arithmetic_named(self.evaluator.arithmetic))
        rows = TableRows.of(instance.target, instance.draft)
        started = self.clock()
        run(self.verifier, rows, trial, MetricsSink(rows, trial.depth))
        return self.clock() - started

    def _trial(self, scheme: Delayed, vocab_size: int, most: float) -> Delayed:
        """The deepest shape within this one whose evaluation has at most so many steps.

        Layers of one path take no time, so that of several it is the deepest with all branches from the root on.
        """
        if scheme.K > 1 and isinstance(declared_for(self.verifier, scheme), Layered):
            shapes = [Delayed(scheme.K, 0, length) for length in range(1, scheme.L2 + 1)]
            return [shapes[0], *(shape for shape in shapes if steps(self.verifier, shape, vocab_size) <= most)][-1]
        return deepest(scheme, lambda shape: steps(self.verifier, shape, vocab_size) <= most) or Delayed(1, 0, 0)


def _refuse_state(evaluator: Evaluator, scheme: DraftScheme, pair: Pair) -> None:
    """Raise `InvalidVerifier` for a user-defined verifier that keeps state; called before it has run on any tree."""
    if not is_library(evaluator.verifier):
        instance = Instance.of(*pair, scheme.depth, arithmetic_named(evaluator.arithmetic))
        assert_function(evaluator.verifier, instance.target, instance.draft, scheme, np.random.default_rng(0))


def assert_runs(
    verifier: Verifier,
    scheme: DraftScheme,
    runs: float,
    most: float,
    vocab_size: int,
    name: str,
    user_defined: bool = False,
) -> None:
    """Raises `TooLarge` above the largest number of runs. user_defined: whether the verifier is user-defined."""
    if runs > most:
        raise TooLarge(
            f"{name} on {scheme} at V = {vocab_size} needs about {runs:.1e} runs, more than {most:,}; "
            f"{_nearest(scheme, runs, most, vocab_size)}"
            f"{structure_hint(verifier, scheme, runs, vocab_size, name) if user_defined else ''}"
        )


def structure_hint(verifier: Verifier, scheme: DraftScheme, runs: float, vocab_size: int, name: str) -> str:
    """For a verifier that is enumerated: how a structure would make it faster, and the cost with it."""
    if not isinstance(scheme, Delayed) or runs < LONG:
        return ""
    contexts = table_entries(vocab_size, scheme.depth) / max(vocab_size - 1, 1)
    if declared(verifier) is not None:
        return f"; by its structure about {contexts:,.0f} contexts, which proves nothing: use the engine structured"
    return f"; {name} has no `structure`: with one, such as TopDown(branch=..), about {contexts:,.0f} contexts"


def assert_steps(verifier: Verifier, scheme: DraftScheme, arithmetic: str, cost: Cost, count: int, name: str) -> None:
    """Raises `TooLarge` for more instances than the limit of steps allows."""
    fits = int(most_steps(verifier, arithmetic_named(arithmetic)) / cost.steps)
    if count > fits:
        raise TooLarge(
            f"{name} on {scheme}: {float(min(count, 10**300)):.1e} instances of {cost.steps:,.0f} steps are too many; "
            f"{fits:,} fit, so make V, L or the denominator of the grid smaller"
        )


def _nearest(scheme: DraftScheme, runs: float, limit: float, vocab_size: int) -> str:
    """What an error suggests in place of an enumeration that is too large."""
    fits = [
        smaller
        for smaller in scheme.reductions()
        if 1 < smaller.depth < smaller.nodes
        and runs * float(vocab_size) ** max(smaller.nodes - scheme.nodes, -300) <= limit
    ]
    return f"the nearest shape that fits is {fits[-1]}, or allow more runs" if fits else "allow more runs"
