"""Block efficiency of many verifiers on many schemes after the same contexts: exact where tables are small.

Elsewhere it is the mean over sampled trees, on each over the verifier's coin as `TreeMean` does. All verifiers and all
schemes see the same trees of a context, so that differences between them are surer than each alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from draftproof.experiments.models.predicted.betting import mean_interval
from draftproof.experiments.models.predicted.grown import RootTrees
from draftproof.experiments.models.predicted.prediction import Prediction, predict
from draftproof.experiments.models.predicted.sampled import TreeMean
from draftproof.experiments.models.predicted.tables import root_case
from draftproof.experiments.models.speed.most import most_tokens
from draftproof.experiments.models.validation.contest import Setting
from draftproof.experiments.shared.cost import Settings, expected_cost
from draftproof.experiments.shared.names import NamedVerifier, Player
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import table_entries
from draftproof.simulator.protocol import Context, DraftScheme

#: Tables of more numbers are not made for one context.
MOST_ENTRIES = 10_000
#: Sampled trees of a context.
TREES = 4
#: Seconds, as announced, up to which the block efficiency after all contexts is computed exactly.
LONG = 3.0


@dataclass(frozen=True)
class Expected:
    """Tokens a block along a text. error: standard error for these contexts, 0 where it is exact; spread: for all.

    high: what the mean over these contexts exceeds with probability 2.5 % at most.
    """

    mean: float
    error: float
    spread: float
    high: float

    @classmethod
    def of(cls, means: Any, most: float) -> Expected:
        """Of means after contexts over trees, shape `(contexts, trees)`; one tree stands for exact means.

        most: what none exceeds. Trees of all contexts are independent and their means differ: the wealth of a bet on
        more than their average has a mean of at most 1 still, the product of its factors' means being at most the power
        of their average (`betting`).
        """
        contexts, trees = means.shape
        error = sqrt(float(means.var(axis=1, ddof=1).mean()) / means.size) if trees > 1 else 0.0
        spread = float(means.mean(axis=1).std(ddof=1)) / sqrt(contexts) if contexts > 1 else error
        high = mean_interval(means.ravel(), 1.0, most)[1] if trees > 1 else float(means.mean())
        return cls(along(means.mean(axis=1), error * sqrt(contexts)), error, max(error, spread), high)


def along(means: Any, error: float) -> float:
    """Tokens a block along a text with these means after places of it, each known up to a standard error.

    Where blocks are short more of them begin: over a stretch of `n` tokens with mean `m` there are `n / m`. So it is
    the harmonic mean, of numbers that are drawn together until they differ by no more than their errors leave. Right
    where means change slowly along the text; were each block's independent of the last, it would be their average.
    """
    centre, variance = float(means.mean()), float(means.var())
    kept = sqrt(max(1 - error**2 / variance, 0.0)) if variance > 0 else 0.0
    return 1 / float((1 / (centre + kept * (means - centre))).mean())


class Expectations:
    """Block efficiencies after `contexts`, which count alike."""

    def __init__(self, setting: Setting, contexts: Sequence[Context], schemes: Sequence[DraftScheme]) -> None:
        self.contexts = contexts
        self._setting, self._schemes = setting, list(dict.fromkeys(schemes))
        size = setting.pair.vocab_size
        depths = [max(scheme.depth, 1) for scheme in schemes]
        self._deepest = max((depth for depth in depths if table_entries(size, depth) <= MOST_ENTRIES), default=0)
        self._cases = [root_case(setting.pair, setting.warp, context, self._deepest) for context in contexts]
        self._costs: dict[str, dict[Any, float]] = {}

    def most(self, scheme: DraftScheme) -> float:
        return most_tokens(scheme, self._cases)

    def seconds(self, named: NamedVerifier, scheme: DraftScheme) -> float | None:
        """How long the exact answer is expected to take; None where there is none."""
        if max(scheme.depth, 1) > self._deepest:
            return None
        with suppress(TooLarge):
            settings, sample = Settings("float64", "auto"), [(self._cases[0].target, self._cases[0].draft)]
            seconds = expected_cost(named, scheme, settings, sample, self._costs).seconds * len(self.contexts)
            return seconds if seconds <= LONG else None
        return None

    def trial(self) -> None:
        """Draw one tree of every scheme, after the first context."""
        trees = RootTrees(self._setting.pair, self._setting.warp, self.contexts[0])
        trees.drawn(self._schemes, SamplingCoin(np.random.default_rng(self._setting.seed)))

    def of(self, players: Sequence[Player], progress: Tick | None = None) -> list[Expected]:
        """Of each verifier on its scheme; progress: told of every player and context.

        Raises `InvalidInput` for a verifier that is not lossless where that can be seen and for one whose card does
        not claim the scheme where it cannot, and what verifiers raise.
        """
        found: dict[int, Expected] = {}
        for place, (named, scheme) in enumerate(players):
            with named_errors(named.label), suppress(TooLarge):
                if self.seconds(named, scheme) is not None:
                    found[place] = self._exact(named, scheme)
            if place not in found and scheme.name not in lossless_for(named.verifier.card):
                raise InvalidInput(
                    f"{named.label}: its card does not say that it is lossless on {scheme}, "
                    "and this is too large to show it"
                )
            if progress and place in found:
                progress(len(self.contexts))
        rest = [place for place in range(len(players)) if place not in found]
        found |= dict(zip(rest, self._sampled([players[place] for place in rest], progress), strict=True))
        return [found[place] for place in range(len(players))]

    def _exact(self, named: NamedVerifier, scheme: DraftScheme) -> Expected:
        prediction = predict(named.verifier, self._cases, scheme)
        self._assert_lossless(named, scheme, prediction)
        means = np.array([[float(law.block_efficiency)] for law in prediction.laws])
        return Expected.of(means, 1.0 + scheme.depth)

    def _assert_lossless(self, named: NamedVerifier, scheme: DraftScheme, prediction: Prediction) -> None:
        for case, law in zip(self._cases, prediction.laws, strict=True):
            target = Instance.of(case.target, case.draft, scheme.depth, FLOAT64).target
            deviation = float(law.metrics(target).max_deviation)
            if not deviation <= FLOAT64.tolerance:
                raise InvalidInput(
                    f"not lossless on {scheme}: it deviates by {deviation:.3g} after a context of the text; "
                    "choose among verifiers that keep the target's distribution"
                )

    def _sampled(self, players: Sequence[Player], progress: Tick | None) -> Iterable[Expected]:
        if not players:
            return []
        means = np.zeros((len(players), len(self.contexts), TREES))
        for number, context in enumerate(self.contexts):
            # trees of all schemes, so that they are the same whoever is asked about, in this call or another
            grower, own = (np.random.default_rng([self._setting.seed, number, which]) for which in range(2))
            trees, judges = RootTrees(self._setting.pair, self._setting.warp, context), dict[str, TreeMean]()
            drawn = [trees.drawn(self._schemes, SamplingCoin(grower)) for _ in range(TREES)]
            for place, (named, scheme) in enumerate(players):
                judge = judges.setdefault(named.spec, TreeMean(named.verifier, own))
                at = self._schemes.index(scheme)
                with named_errors(named.label):
                    means[place, number] = [judge.of(each[at]) for each in drawn]
                if progress:
                    progress(1)
        return [Expected.of(each, 1.0 + scheme.depth) for each, (_, scheme) in zip(means, players, strict=True)]
