"""Expected tokens a block after contexts, for a pair of models: `expected`, the only predictor for real models.

The law of a block is computed exactly from tables of p and q where a `Budget` allows it. Where the tables would be too
large, `P(tau >= d)` is computed exactly by sums over the contexts of fewer than `L` tokens, for the verifiers that need
no other rows (`sums`). In all other cases the answer is a mean over sampled draft trees. The mean on one tree is exact
for verifiers with a closed form, and for those that use only flips of the coin before the correction. The choices of
other verifiers are sampled: the mean on a tree is then unbiased, and intervals are valid but wider. `behind_cut` adds
the exact answer for the verifier on tables of the most probable tokens.

Trees are drawn without the generation loop: each row comes from a plain forward pass over its whole context, without
cache and without tree attention. So prediction and measurement share only the models, the scheme, the verifier, and the
way in which a scheme is drawn again once a row that it lacked is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import zip_longest
from math import sqrt
from typing import Any

import numpy as np

from draftproof.experiments.inputs.schemes import planned_on
from draftproof.experiments.inputs.verifiers import Planned
from draftproof.experiments.models.expect.depth_by_depth import DepthByDepth, evaluates_by_depth
from draftproof.experiments.models.expect.mean_interval import mean_interval
from draftproof.experiments.models.expect.sums import RootRows, depth_masses, reaches, summable
from draftproof.experiments.models.expect.tables import case_without_leaf_rows, root_case
from draftproof.experiments.models.expect.trees import RootTrees
from draftproof.experiments.models.expect.truncated import Truncated, truncated_of
from draftproof.experiments.models.loop.setting import Setting
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.runtime import limited
from draftproof.simulator.arithmetic import FLOAT64, arithmetic_of
from draftproof.simulator.coins import EnumeratingCoin, SamplingCoin, outcomes
from draftproof.simulator.drafts import Delayed, Sequoia
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import table_entries
from draftproof.simulator.instances.sampling import Sampling
from draftproof.simulator.laws.enumeration import enumerate_law, estimate_size
from draftproof.simulator.laws.estimator import TreeEfficiency, closed_form, tree_efficiency
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme, Progress, Verifier
from draftproof.simulator.structures import Branch, branch_of
from draftproof.simulator.verdicts.lossless import block_law, choose_engine

#: Runs of the verifier, over all draft trees of one root, up to which a law is enumerated.
MOST_RUNS = 300_000
#: Trees whose rows are computed in the same passes.
BATCH = 64
#: What reports say of a mean that is computed by exact sums.
SUMS = "exact sums"
#: Most seconds for the sums of one context: some verifiers solve a program for every row.
SUM_SECONDS = 20.0


@dataclass(frozen=True)
class Budget:
    """The most that an expectation may cost, which decides how it is computed.

    entries: the law is exact where the tables of one context have at most this many numbers. sums: the mean is an exact
    sum where the rows of one model at one depth have at most this many numbers. trees: sampled trees for each context
    where neither is possible. top_down: whether only verifiers that go from the top down get exact laws, which takes
    milliseconds.
    """

    entries: int
    trees: int
    top_down: bool = False
    sums: int = 300_000

    def tables(self, vocab_size: int, depth: int) -> bool:
        """Whether tables for trees of this depth are small enough."""
        return table_entries(vocab_size, max(depth, 1)) <= self.entries

    def exact(self, verifier: Verifier, vocab_size: int, depth: int) -> bool:
        """Whether the sizes allow the exact law of a verifier; `predict` may still refuse to enumerate it."""
        return self.tables(vocab_size, depth) and (not self.top_down or branch_of(verifier) is not None)


#: The budget of a cell of `model validate`; `trees` counts those of all roots together.
VALIDATE_BUDGET = Budget(1_000_000, 2048, sums=5_000_000)
#: What `model choose` computes exactly; it samples nothing.
CHOOSE_BUDGET = Budget(10_000, 0)
#: The budgets of a label of a selector, and of a block of a policy.
LABELS, POLICY = Budget(300_000, 16, top_down=True), Budget(300_000, 32, top_down=True)


@dataclass(frozen=True)
class Expected:
    """Expected tokens a block after contexts of equal weight.

    means: of `tau + 1` on each sampled tree, shape `(contexts, trees)`; one column where they are exact. variances: of
    `tau` after each context. depth: `L`. depths: the exact `P(tau = d)` after each context, shape
    `(contexts, L + 1)`, or None. laws: the exact law of a block after each context, or empty.
    """

    means: Any
    variances: Any
    depth: int
    depths: Any = field(default=None, compare=False)
    laws: tuple[BlockLaw, ...] = field(default=(), compare=False)

    @classmethod
    def of_laws(cls, laws: Sequence[BlockLaw]) -> Expected:
        means = np.array([[float(law.block_efficiency)] for law in laws])
        variances = np.array([max(float(law.variance), 0.0) for law in laws])  # rounding may leave less than 0
        depths = np.array([[float(mass) for mass in law.depth_distribution] for law in laws])
        return cls(means, variances, laws[0].depth, depths, tuple(laws))

    @classmethod
    def of_depths(cls, depths: Sequence[Sequence[float]]) -> Expected:
        masses = np.array(depths)
        tau = np.arange(masses.shape[1])
        means = masses @ tau
        variances = (masses * (tau - means[:, None]) ** 2).sum(axis=1)
        return cls(1 + means[:, None], variances, len(tau) - 1, masses)

    @property
    def exact(self) -> bool:
        return self.depths is not None

    @property
    def how(self) -> str:
        return "exact" if self.laws else SUMS if self.exact else f"{self.means.size:,} sampled trees"

    @property
    def mean(self) -> float:
        """Block efficiency `E[tau + 1]`, averaged over the contexts."""
        return float(self.means.mean())

    @property
    def error(self) -> float:
        """The standard error of the mean; 0 where it is exact."""
        return 0.0 if self.exact else sqrt(float(self.means.var(axis=1, ddof=1).mean()) / self.means.size)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval that holds the mean with at least this probability, for any number of trees.

        The i-th trees of all contexts are averaged; these averages are independent and lie between 1 and `L + 1`.
        """
        if self.exact:
            return self.mean, self.mean
        return mean_interval(self.means.mean(axis=0), 1.0, 1.0 + self.depth, level)

    @property
    def variance(self) -> float:
        """The variance of `tau` after one context, averaged over the contexts."""
        return max(float(self.variances.mean()), 0.0)

    @property
    def saved(self) -> float:
        """The share of that variance which comes from the coin; averaging over the coin exactly removes it."""
        return 1 - float(self.means.var(axis=1, ddof=1).mean()) / self.variance if self.variance > 0 else 0.0

    @property
    def depth_distribution(self) -> list[float]:
        """`P(tau = d)` for `d = 0..L`, averaged over the contexts; only where it is exact."""
        return [float(mass) for mass in self.depths.mean(axis=0)]

    def standard_error(self, runs: int) -> float:
        """The standard error of the mean over `runs` blocks from each context."""
        return sqrt(self.variance / (runs * len(self.means)))


def expected(
    pair: Pair,
    verifier: Verifier,
    scheme: DraftScheme,
    contexts: Sequence[Context],
    budget: Budget,
    warp: Sampling,
    generator: np.random.Generator,
    cases: Sequence[Case] | None = None,
) -> Expected:
    """Expected tokens a block after these contexts, exact where the budget allows it.

    cases: tables after the contexts if the caller has them, at least as deep as the scheme. Without them the laws of
    verifiers that go from the top down have the right accepted depths, but not the tokens after the deepest nodes.
    Raises what the verifier raises, and `InvalidInput` where the device has no space.
    """
    if not scheme.depth:
        return Expected(np.ones((len(contexts), max(budget.trees, 2))), np.zeros(len(contexts)), 0)
    if budget.exact(verifier, pair.vocab_size, scheme.depth):
        case = root_case if branch_of(verifier) is None or warp.told_apart else case_without_leaf_rows
        with suppress(TooLarge):  # an enumeration that is too large: the mean comes from sampled trees below
            return predict(verifier, cases or [case(pair, warp, root, scheme.depth) for root in contexts], scheme)
    if summable(verifier, scheme) and not warp.told_apart:  # sums are for verifiers that are told what is drawn from
        with suppress(TooLarge), limited(SUM_SECONDS * len(contexts), "too long"):
            return summed(verifier, scheme, [RootRows.of(pair, warp, root, budget.sums) for root in contexts])
    return sampled(pair, verifier, scheme, warp, contexts, budget.trees, generator)


def summed(verifier: Verifier, scheme: DraftScheme, rows: Sequence[RootRows]) -> Expected:
    """Expected tokens by exact sums, for a verifier that is `summable` on the scheme; raises `TooLarge`."""
    assert isinstance(scheme, Delayed)
    return Expected.of_depths([depth_masses(reaches(verifier, scheme, each)) for each in rows])


def predict(verifier: Verifier, cases: Sequence[Case], scheme: DraftScheme) -> Expected:
    """The exact law of one block after each context, in float64.

    Raises `TooLarge` where the verifier has no structured engine and enumeration would take too long, `InvalidInput`
    for a verifier that is solved for one instance only, and what `block_law` raises.
    """
    if isinstance(verifier, Planned):
        raise InvalidInput(f"{verifier.card.name} is planned for one instance; real models need a verifier of all rows")
    return Expected.of_laws(
        [_law(verifier, Instance.of(case.target, case.draft, scheme.depth, FLOAT64), scheme) for case in cases]
    )


def _law(verifier: Verifier, tables: Instance, scheme: DraftScheme) -> BlockLaw:
    target, draft = tables.target, tables.draft
    if choose_engine(verifier, scheme, draft=draft) != "enumerate":
        return block_law(verifier, target, draft, scheme, "float64")
    size = estimate_size(verifier, target, draft, scheme, np.random.default_rng(0))
    if size.runs > MOST_RUNS:
        raise TooLarge(
            f"{verifier.card.name} on {scheme} at V = {target.vocab_size} means {size.runs:,.0f} runs for one root, "
            f"more than {MOST_RUNS:,}; use a smaller tree or vocabulary, or offer a structured engine (branch)"
        )
    return enumerate_law(verifier, target, draft, scheme)


def behind_cut(verifier: Verifier, scheme: DraftScheme, cuts: Sequence[Truncated]) -> Expected | None:
    """The exact law of the verifier on tables of the most probable tokens; None without tables, or where too large."""
    try:
        return predict(verifier, [Case("root", cut.target, cut.draft) for cut in cuts], scheme) if cuts else None
    except TooLarge:
        return None


def max_deviation(found: Expected, cases: Sequence[Case]) -> list[float]:
    """The largest deviation of the exact law after each context from the target's distribution, in float64."""
    targets = [Instance.of(case.target, case.draft, found.depth, FLOAT64).target for case in cases]
    return [float(law.metrics(rows).max_deviation) for law, rows in zip(found.laws, targets, strict=True)]


def sampled(
    pair: Pair,
    verifier: Verifier,
    scheme: DraftScheme,
    warp: Sampling,
    contexts: Sequence[Context],
    trees: int,
    generator: np.random.Generator,
    progress: Progress | None = None,
) -> Expected:
    """The mean over `trees` trees for each context (at least 2); progress: called with numbers of finished trees."""
    moments = []
    for context in contexts:
        rows: list[tuple[float, float]] = []
        for first in range(0, trees, BATCH):
            nodes = draw_trees(pair, scheme, warp, context, min(BATCH, trees - first), SamplingCoin(generator))
            rows += [tree_moments(verifier, node, generator) for node in nodes]
            if progress:
                progress(len(nodes))
        moments.append(rows)
    array = np.array(moments)
    means, squares = array[..., 0], array[..., 1]
    return Expected(means, squares.mean(axis=1) - means.mean(axis=1) ** 2, scheme.depth)


def draw_trees(
    pair: Pair, scheme: DraftScheme, warp: Sampling, root: Context, count: int, coin: Coin
) -> list[DraftNode]:
    """The roots of `count` draft trees after the tokens of `root`, with rows from plain passes, each computed once."""
    trees = RootTrees(pair, warp, root)
    return trees.roots(trees.drawn(scheme, count, coin))


class FlipsCoin(EnumeratingCoin):
    """Enumerates both outcomes of every flip and samples one outcome of every choice.

    The mean over its outcomes is unbiased over its generator. With thousands of tokens, enumerating the correction
    token would take a run for each although its value does not change `tau`.
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
    if branch is not None:  # the square is the sum over depths of `(2 d + 1) P(tau >= d)`
        square = sum((2 * depth + 1) * mass for depth, mass in enumerate(_reach(branch, root)))
        return float(tree_efficiency(verifier, root)), square
    mean = square = 0.0
    for verdict, mass in outcomes(
        lambda coin: verifier.verify(root, coin), arithmetic_of(root.target), FlipsCoin(generator)
    ):
        length = len(verdict.accepted) + 1
        mean, square = mean + length * float(mass), square + length**2 * float(mass)
    return mean, square


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
    """`E[tau + 1]` on many trees of one pair; exact by depth or by a closed form where possible, else sampled."""

    def __init__(self, verifier: Verifier, generator: np.random.Generator) -> None:
        self._verifier, self._generator = verifier, generator
        self._by_depth, self._whole = DepthByDepth(verifier), TreeEfficiency(verifier)

    def of(self, root: DraftNode, scheme: DraftScheme) -> float:
        if evaluates_by_depth(self._verifier, scheme):
            return float(self._by_depth.of(root))
        if closed_form(self._verifier):
            return float(self._whole.of(root))
        return tree_moments(self._verifier, root, self._generator)[0]


def labels(
    pair: Pair,
    verifier: Verifier,
    actions: Sequence[Delayed],
    warp: Sampling,
    root: Context,
    trees: int | None,
    generator: np.random.Generator,
) -> list[float]:
    """`E[tau + 1]` of every action after a root.

    trees: None for the exact laws of a verifier that goes from the top down; else the number of sampled trees. Each is
    a tree with branches at every depth of its trunk, and all shapes are evaluated on parts of it.
    """
    if trees is None:
        case = case_without_leaf_rows(pair, warp, root, deepest(actions))
        return [predict(verifier, [case], scheme).mean for scheme in actions]
    grown, mean = RootTrees(pair, warp, root), TreeMean(verifier, generator)
    drawn = (grown.one_of_each(actions, SamplingCoin(generator)) for _ in range(trees))
    means = np.array([[mean.of(*each) for each in zip(nodes, actions, strict=True)] for nodes in drawn])
    return [float(each) for each in means.mean(0)]


def deepest(actions: Sequence[Delayed]) -> int:
    """The depth of the deepest action; raises `InvalidInput` where no action drafts a token."""
    depth = max(scheme.depth for scheme in actions)
    if not depth:
        raise InvalidInput("no action drafts anything; widen --K, --L1 or --L2")
    return depth


def planned_scheme(
    scheme: DraftScheme, setting: Setting, cases: Sequence[Case] | None = None
) -> tuple[DraftScheme, str]:
    """A Sequoia scheme with its planned tree and a note on how it was planned; other schemes unchanged, with no note.

    Sequoia's tree is planned from acceptance rates, computed exactly on the tables after the roots, or on tables of the
    most probable tokens where full ones would be too large. A tree that the user gives is kept. cases: tables after the
    roots if the caller has them. Raises `InvalidInput` where even cut tables are too large.
    """
    if not isinstance(scheme, Sequoia) or scheme.tree or not (scheme.nodes and scheme.depth):
        return scheme, ""
    try:
        where = "the tables"
        if not VALIDATE_BUDGET.tables(setting.pair.vocab_size, scheme.depth):
            cuts = truncated_of(setting, scheme.depth)
            if not cuts:
                raise InvalidInput("not even tables of some tokens are small enough")
            where = f"tables of the {cuts[0].tokens[0].shape[1]} most probable tokens"
            cases = [Case("root", each.target, each.draft) for each in cuts]
        found = cases or [root_case(setting.pair, setting.warp, root, scheme.depth) for root in setting.roots]
        made = planned_on(scheme, [replace(case, weight=Fraction(1, len(found))) for case in found])
    except DraftproofError as error:
        raise InvalidInput(f"no tree can be planned for {scheme}: {error}; or give one, as in tree=2-1-0-0") from error
    return made, f"{made}: planned from acceptances on {where} of {len(found)} roots"
