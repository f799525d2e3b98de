"""What a block brings (replaced below)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np

from draftproof.experiments.models.expect.tables import continued_rows, pair_tables, root_case
from draftproof.experiments.models.expect.trees import RootRows, RootTrees
from draftproof.experiments.models.loop.sequential import joint, mean_interval
from draftproof.experiments.models.loop.setting import Setting
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.shared.cost import Settings, expected_cost
from draftproof.experiments.shared.names import NamedVerifier, Player
from draftproof.experiments.shared.planned import Planned
from draftproof.experiments.shared.progress import Tick, named_errors
from draftproof.simulator.arithmetic import FLOAT64, arithmetic_of
from draftproof.simulator.coins import EnumeratingCoin, SamplingCoin, outcomes
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess, table_entries
from draftproof.simulator.laws.enumeration import enumerate_law, estimate_size
from draftproof.simulator.laws.estimator import TreeEfficiency, closed_form, tree_efficiency
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme, Progress, Verifier
from draftproof.simulator.structures import Branch, branch_of
from draftproof.simulator.verdicts.lossless import block_law, choose_engine

#: Runs of the verifier, over all draft trees of one root, up to which a law is enumerated.
MOST_RUNS = 300_000


@dataclass(frozen=True)
class Prediction:
    """The laws of a block from each of several roots, which count alike.

    laws: one a root.
    """

    laws: tuple[BlockLaw, ...]

    @property
    def mean(self) -> float:
        """Block efficiency `E[tau + 1]`, averaged over the roots."""
        return float(np.mean([float(law.block_efficiency) for law in self.laws]))

    @property
    def variance(self) -> float:
        """The variance of `tau` within a root, averaged over the roots: that of one run from each in turn."""
        return float(np.mean([max(float(law.variance), 0.0) for law in self.laws]))  # rounding may leave less than 0

    @property
    def depth_distribution(self) -> list[float]:
        """`P(tau = d)` for `d = 0..L`, averaged over the roots."""
        masses = [[float(mass) for mass in law.depth_distribution] for law in self.laws]
        return [float(mass) for mass in np.mean(masses, axis=0)]

    def standard_error(self, runs: int) -> float:
        """Of the mean over `runs` blocks from each root."""
        return sqrt(self.variance / (runs * len(self.laws)))

    def runs(self, standard_error: float) -> int:
        """The least number of blocks from each root whose mean has this standard error or a smaller one."""
        if not standard_error > 0:
            raise InvalidInput(f"a standard error of {standard_error} cannot be reached; ask for one above 0")
        return max(1, int(np.ceil(self.variance / (standard_error**2 * len(self.laws)))))


def predict(verifier: Verifier, tables: Sequence[Case], scheme: DraftScheme) -> Prediction:
    """The exact law of one block from each root, in float64.

    Raises `TooLarge` where the verifier has no structured engine and enumeration would take too long, `InvalidInput`
    for a verifier that is planned for one instance, and what `block_law` raises.
    """
    if isinstance(verifier, Planned):
        raise InvalidInput(f"{verifier.card.name} is planned for one instance; real models need a verifier of all rows")
    return Prediction(
        tuple(_law(verifier, Instance.of(case.target, case.draft, scheme.depth, FLOAT64), scheme) for case in tables)
    )


def _law(verifier: Verifier, tables: Instance, scheme: DraftScheme) -> BlockLaw:
    target, draft = tables.target, tables.draft
    if choose_engine(verifier, scheme) != "enumerate":
        return block_law(verifier, target, draft, scheme, "float64")
    size = estimate_size(verifier, target, draft, scheme, np.random.default_rng(0))
    if size.runs > MOST_RUNS:
        raise TooLarge(
            f"{verifier.card.name} on {scheme} at V = {target.vocab_size} means {size.runs:,.0f} runs for one root, "
            f"more than {MOST_RUNS:,}; use a smaller tree or vocabulary, or offer a structured engine (branch)"
        )
    return enumerate_law(verifier, target, draft, scheme)


#: Trees whose rows are computed in the same passes.
TOGETHER = 64


@dataclass(frozen=True)
class SampledPrediction:
    """Means over draft trees of the exact means of `tau + 1` and `(tau + 1)**2` on each, one item a tree.

    means: shape `(roots, trees)`. squares: likewise. depth: `L`.
    """

    means: Any
    squares: Any
    depth: int

    @property
    def mean(self) -> float:
        """Block efficiency, averaged over the roots."""
        return float(self.means.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return sqrt(float(self.means.var(axis=1, ddof=1).mean()) / self.means.size)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval that holds the block efficiency with at least this probability, for any number of trees.

        Trees of one number after all roots make one mean; these are independent and between 1 and `L + 1` (`betting`).
        """
        return mean_interval(self.means.mean(axis=0), 1.0, 1.0 + self.depth, level)

    @property
    def variance(self) -> float:
        """The variance of `tau` within a root, averaged over the roots."""
        return max(float((self.squares.mean(axis=1) - self.means.mean(axis=1) ** 2).mean()), 0.0)

    @property
    def saved(self) -> float:
        """How much of that variance is the coin's: what averaging over it exactly saves."""
        return 1 - float(self.means.var(axis=1, ddof=1).mean()) / self.variance if self.variance > 0 else 0.0


def predict_sampled(
    pair: Pair,
    verifier: Verifier,
    scheme: DraftScheme,
    warp: Warp,
    roots: Sequence[Context],
    trees: int,
    generator: np.random.Generator,
    progress: Progress | None = None,
) -> SampledPrediction:
    """The estimate from `trees` trees a root (at least 2); progress is told how many trees are done.

    Raises what the verifier raises, and `InvalidInput` where the device has no space.
    """
    means = []
    for root in roots:
        found: list[tuple[float, float]] = []
        for first in range(0, trees, TOGETHER):
            nodes = draw_trees(pair, scheme, warp, root, min(TOGETHER, trees - first), SamplingCoin(generator))
            found += [tree_moments(verifier, node, generator) for node in nodes]
            if progress:
                progress(len(nodes))
        means.append(found)
    array = np.array(means)
    return SampledPrediction(array[..., 0], array[..., 1], scheme.depth)


def draw_trees(pair: Pair, scheme: DraftScheme, warp: Warp, root: Context, count: int, coin: Coin) -> list[DraftNode]:
    """The roots of `count` draft trees after the tokens of `root`, with rows from plain passes, each computed once."""
    rows = RootRows(pair, warp, root)
    return rows.roots(rows.trees(scheme, count, coin))


class FlipsCoin(EnumeratingCoin):
    """Explores every outcome of flips and samples one of each choice.

    The mean over its outcomes has the right mean over its generator; with thousands of tokens a full enumeration of the
    correction token would visit each for nothing.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__(arithmetic_of(np.zeros(1)))
        self._sampler = SamplingCoin(generator)

    def choose(self, weights: Any) -> int:
        asked = weights.tolist() if hasattr(weights, "tolist") else list(weights)
        if self._next < len(self._script):
            return int(self._replay(asked))
        return int(self._branch(asked, [(self._sampler.choose(asked), self.weight)]))


def tree_moments(verifier: Verifier, root: DraftNode, generator: np.random.Generator) -> tuple[float, float]:
    """The means of `tau + 1` and of `(tau + 1)**2` on one tree.

    Exact for verifiers with `branch`; for others flips of the coin are explored and choices sampled.
    """
    branch = branch_of(verifier)
    if branch is not None:
        return _by_branches(verifier, branch, root)
    mean = square = 0.0
    for verdict, mass in outcomes(
        lambda coin: verifier.verify(root, coin), arithmetic_of(root.target), FlipsCoin(generator)
    ):
        length = len(verdict.accepted) + 1
        mean, square = mean + length * float(mass), square + length**2 * float(mass)
    return mean, square


def _by_branches(verifier: Verifier, branch: Branch, root: DraftNode) -> tuple[float, float]:
    """The mean by the estimator; the square as the sum over depths of `(2 d + 1) P(tau >= d)`."""
    reach = _reach(branch, root)
    return float(tree_efficiency(verifier, root)), sum((2 * depth + 1) * mass for depth, mass in enumerate(reach))


def _reach(branch: Branch, node: DraftNode) -> list[float]:
    """`P(tau >= d)` from this node on, as deep as its subtree."""
    if not node.children:
        return [1.0]
    law = branch(node.target, node.draft, node.children)
    below = [
        [float(law[token]) * mass for mass in _reach(branch, node.child(token))]
        for token in dict.fromkeys(node.children)
    ]
    return [1.0, *map(sum, zip_longest(*below, fillvalue=0.0))]


class TreeMean:
    """`E[tau + 1]` on many trees of one pair of processes, exact over the coin but that choices are sampled where there
    is no closed form (`FlipsCoin`).
    """

    def __init__(self, verifier: Verifier, generator: np.random.Generator) -> None:
        self._verifier, self._generator = verifier, generator
        self._efficiency = TreeEfficiency(verifier) if closed_form(verifier) else None

    def of(self, root: DraftNode) -> float:
        """The mean on the tree under this root."""
        if self._efficiency is not None:
            return float(self._efficiency.of(root))
        return tree_moments(self._verifier, root, self._generator)[0]


def most_tokens(scheme: DraftScheme, cases: Sequence[Case]) -> float:
    """The bound, a mean over cases given by tables; below the tables a depth brings what the last one in them does."""
    if type(scheme) is not Delayed or not scheme.depth:
        return 1.0 + scheme.depth
    return float(np.mean([_of_case(scheme, case) for case in cases]))


def _of_case(scheme: Delayed, case: Case) -> float:
    target, draft = _tables(case.target), _tables(case.draft)
    seen = min(scheme.depth, len(draft))
    shares = [_accepted(scheme, target, draft, depth) for depth in range(1, seen + 1)]
    shares += [shares[-1]] * (scheme.depth - seen)
    return 1 + sum(shares)


def _accepted(scheme: Delayed, target: Sequence[Any], draft: Sequence[Any], depth: int) -> float:
    """The bound on the probability that a block accepts so many drafts."""
    trunk = joint(draft[: min(depth, scheme.L1)])
    reached = joint(draft[:depth])
    before = np.repeat(trunk, len(reached) // len(trunk))
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(before > 0, reached / before, 0.0)
    there = before * (1 - (1 - np.clip(alone, 0, 1)) ** (scheme.K if depth > scheme.L1 else 1))
    return float(np.minimum(joint(target[:depth]), there).sum())


def _tables(process: Any) -> list[Any]:
    assert isinstance(process, TableProcess)
    return [np.asarray(table, dtype=np.float64) for table in process.tables]


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


#: Numbers in the tables of one root up to which labels are exact; trees a label elsewhere, unless it is said.
LABEL_ENTRIES, LABEL_TREES = 300_000, 16


def labels_are_exact(verifier: Verifier, actions: Sequence[Delayed], vocab_size: int) -> bool:
    """Whether a label is a law on tables, not a mean over sampled trees."""
    return branch_of(verifier) is not None and table_entries(vocab_size, _depth(actions)) <= LABEL_ENTRIES


def exact_labels(
    pair: Pair, verifier: Verifier, actions: Sequence[Delayed], warp: Warp, root: Context
) -> list[tuple[float, float]]:
    """`E[tau + 1]` and `Var[tau]` of every action, from the tables of the pair; for verifiers from the top down."""
    case = Case("root", *upper_tables(pair, warp, root, _depth(actions)))
    laws = [predict(verifier, [case], scheme) for scheme in actions]
    return [(law.mean, law.variance) for law in laws]


def upper_tables(pair: Pair, warp: Warp, root: Context, depth: int) -> tuple[TableProcess, TableProcess]:
    """The tables for trees of this depth, but that the target's deepest rows are uniform: only corrections see them."""
    size, (target, draft) = pair.vocab_size, pair_tables(pair, warp, root, depth - 1)
    deepest = np.full((size**depth, size), 1 / size)
    if depth > 1:
        last = np.indices((size,) * (depth - 1)).reshape(depth - 1, -1).T
        draft = TableProcess([*draft.tables, continued_rows(pair, "draft", warp, root, last)], "draft")
    return TableProcess([*target.tables, deepest], "target"), draft


def sampled_labels(
    pair: Pair,
    verifier: Verifier,
    actions: Sequence[Delayed],
    warp: Warp,
    root: Context,
    trees: int,
    generator: np.random.Generator,
) -> list[tuple[float, float]]:
    """The mean of every action over `trees` trees, and the variance of that mean."""
    forest = Forest(pair, verifier, tuple(actions), warp, root, generator)
    found = np.array([forest.means(SamplingCoin(generator)) for _ in range(trees)])
    spread = found.var(0, ddof=1) / trees if trees > 1 else np.zeros(len(actions))
    return [(float(mean), float(noise)) for mean, noise in zip(found.mean(0), spread, strict=True)]


class Forest:
    """Trees after one root; every row is computed once for all of them."""

    def __init__(
        self,
        pair: Pair,
        verifier: Verifier,
        actions: tuple[Delayed, ...],
        warp: Warp,
        root: Context,
        generator: np.random.Generator,
    ) -> None:
        self._trees, self._mean, self._actions = RootTrees(pair, warp, root), TreeMean(verifier, generator), actions

    def means(self, coin: Coin) -> list[float]:
        """`E[tau + 1]` of every action on its part of one tree that is drawn with this coin."""
        return [self._mean.of(node) for node in self._trees.drawn(self._actions, coin)]


def label_row(
    key: str, pair: Pair, verifier: Verifier, actions: Sequence[Delayed], warp: Warp, root: Context, trees: int | None
) -> dict[str, Any]:
    """One root, as a row that is kept. trees: None for exact labels; their seed follows from the key."""
    started = perf_counter()
    if trees is None:
        found = exact_labels(pair, verifier, actions, warp, root)
    else:
        generator = np.random.default_rng(int(key[:15], 16))
        found = sampled_labels(pair, verifier, actions, warp, root, trees, generator)
    return {
        "strong_id": key,
        "tokens": [mean for mean, _ in found],
        "variances": [variance for _, variance in found],
        "seconds": round(perf_counter() - started, 4),
    }


def _depth(actions: Sequence[Delayed]) -> int:
    deepest = max(scheme.depth for scheme in actions)
    if not deepest:
        raise InvalidInput("no action drafts anything; widen --K, --L1 or --L2")
    return deepest
