"""A few draft trees of an enumeration: whether `verify` is a function on them, and how much work all of them are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.changes import Watch
from draftproof.simulator.coins import outcomes
from draftproof.simulator.errors import NoFunction
from draftproof.simulator.laws.guarded import failing_on, guarded
from draftproof.simulator.protocol import AttachedTree, Coin, Context, DraftScheme, Verdict, Verifier
from draftproof.simulator.tables import TableProcess

#: Runs on one draft tree that `assert_function` compares.
MOST_COMPARED_RUNS = 200
#: Accepted context, correction token and probability of each run on one tree, in the order of the enumeration.
Runs: TypeAlias = list[tuple[Context, int, Any]]
TWO_LAWS = (
    "verify gave two laws on one draft tree: it must be a function of the tree and the coin, "
    "without state or other randomness"
)


def assert_function(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    generator: np.random.Generator,
    samples: int = 12,
    most: int | None = MOST_COMPARED_RUNS,
    again: bool = True,
) -> list[Runs]:
    """Raise `InvalidVerifier` unless `verify` gives the same law on the same tree again, in any order.

    Detects state and randomness beside the coin on sampled draft trees. First comes one run on each tree with recorded
    random answers: state that the first run on a tree sets, and no later run changes, shows only against that run. Then
    each tree is enumerated twice in a row, then all trees, where there are several, in reverse order, then the first
    runs are repeated with the same answers. most: runs of an enumeration, None for all. again: whether enumerations are
    repeated; if not, the caller compares them. Returns the runs of each tree.
    """
    coin, watch = _SupportCoin(generator), Watch.of(verifier)
    trees = [scheme.draw(draft, coin) for _ in range(samples)]

    def visit(tree: AttachedTree) -> Runs:
        runs = outcomes(guarded(verifier, tree.root(target, draft), watch=watch), target.arithmetic)
        return [(run.accepted, run.correction, mass) for run, mass in islice(runs, most)]

    def once(seed: int) -> tuple[Context, int, float]:
        answers = _SupportCoin(np.random.default_rng(seed))
        verdict = guarded(verifier, trees[seed].root(target, draft), watch=watch)(answers)
        return verdict.accepted, verdict.correction, answers.ways

    first_runs = list(map(once, range(samples)))
    with failing_on(verifier, target, draft, scheme):
        pairs = [(runs, visit(tree) if again else runs) for tree, runs in zip(trees, map(visit, trees), strict=True)]
    backwards = [visit(tree) for tree in reversed(trees)][::-1] if samples > 1 else [second for _, second in pairs]
    same = all(first == second == third for (first, second), third in zip(pairs, backwards, strict=True))
    if not same or first_runs != list(map(once, range(samples))):
        raise NoFunction(TWO_LAWS)
    return [runs for runs, _ in pairs]


@dataclass(frozen=True)
class EnumerationSize:
    """How much work an enumeration is: draft trees (exact) and runs of the verifier per tree (sampled).

    tried: runs that were made for the estimate.
    """

    trees: int
    runs_per_tree: float
    tried: int = field(default=0, compare=False)

    @property
    def runs(self) -> float:
        """Expected number of runs of the verifier."""
        return float(self.trees) * self.runs_per_tree if self.trees.bit_length() < 1000 else float("inf")


def estimate_size(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    generator: np.random.Generator,
    samples: int = 12,
    cap: int = 500,
    trees: int | None = None,
) -> EnumerationSize:
    """The size of an enumeration, from the runs on `samples` draft trees. trees: how many there are, if that is known.

    On a tree of more than `cap` runs their number is estimated from `cap` random runs: the product of the numbers of
    possible answers at each question has the number of all runs as its mean (Knuth 1975).
    """
    coin, watch = _SupportCoin(generator), Watch.of(verifier)
    runs, tried = 0.0, 0
    for _ in range(samples):
        run = guarded(verifier, scheme.draw(draft, coin).root(target, draft), watch=watch)
        with failing_on(verifier, target, draft, scheme):
            counted = sum(1 for _ in islice(outcomes(run, target.arithmetic), cap + 1))
        estimated = sum(_ways(run, generator) for _ in range(cap)) / cap if counted > cap else 0.0
        runs += max(counted, estimated)
        tried += counted + (cap if counted > cap else 0)
    return EnumerationSize(scheme.count(draft) if trees is None else trees, runs / samples, tried)


def _ways(run: Callable[[Coin], Verdict], generator: np.random.Generator) -> float:
    """In one run with random answers, the product of the numbers of answers that were possible."""
    coin = _SupportCoin(generator)
    run(coin)
    return coin.ways


class _SupportCoin:
    """Chooses uniformly among the possible answers. ways: the product of their numbers."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self.ways = 1.0

    def flip(self, probability: Any) -> bool:
        if not 0 < probability < 1:
            return bool(probability >= 1)
        self.ways *= 2
        return bool(self._generator.random() < 1 / 2)

    def choose(self, weights: Any) -> int:
        possible = [i for i, weight in enumerate(weights) if weight > 0] or [0]  # an enumeration refuses it
        self.ways *= len(possible)
        return int(self._generator.choice(possible))
