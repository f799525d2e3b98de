"""Expected tokens a block after contexts, for a pair of models: `expected`, the only predictor for real models.

The law of a block is computed exactly from tables of p and q where a `Budget` allows it. Where the tables would be too
large, `P(tau >= d)` is computed exactly by sums over the contexts of fewer than `L` tokens, for the verifiers that need
no other rows (`sums`). In all other cases the answer is a mean over sampled draft trees of what each says (`on_tree`).

Trees are drawn without the generation loop: each row comes from a plain forward pass over its own path after the root,
without caches of the loop and without tree attention. So prediction and measurement share only the models, the scheme,
the verifier, and the way in which a scheme is drawn again once a row that it lacked is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from draftproof.experiments.inputs.schemes import planned_on
from draftproof.experiments.inputs.verifiers import Planned
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.on_tree import RootTrees, reaches_on_tree
from draftproof.experiments.models.expect.sums import reaches, summable
from draftproof.experiments.runtime import limited
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.drafts import Delayed, Sequoia
from draftproof.simulator.errors import DraftproofError, InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.guarded import guarded_law
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.laws.metrics import moments
from draftproof.simulator.laws.trials import estimate_size
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.structures import branch_of
from draftproof.simulator.tables import table_entries
from draftproof.simulator.verdicts.lossless import block_law, choose_engine

#: Runs of the verifier, over all draft trees of one root, up to which a law is enumerated.
MOST_RUNS = 300_000
#: Trees whose rows are computed in the same passes.
BATCH = 64
#: What reports say of a mean that is computed by exact sums.
SUMS = "exact sums"


@dataclass(frozen=True)
class Budget:
    """The most that an expectation may cost, which decides how it is computed.

    entries: the law is exact where the tables of one context have at most this many numbers. sums: the mean is an exact
    sum where the rows of one model at one depth have at most this many numbers. trees: sampled trees for each context
    where neither is possible; 0 to sample none. top_down: whether only verifiers that go from the top down get exact
    laws, which takes milliseconds; these have the right accepted depths, but not the tokens after the deepest nodes.
    seconds: the most for the sums of one context, as some verifiers solve a program for every row; None: no limit.
    """

    entries: int
    trees: int
    top_down: bool = False
    sums: int = 300_000
    seconds: float | None = 20.0

    def tables(self, vocab_size: int, depth: int) -> bool:
        """Whether tables for trees of this depth are small enough."""
        return table_entries(vocab_size, max(depth, 1)) <= self.entries

    def exact(self, verifier: Verifier, vocab_size: int, depth: int) -> bool:
        """Whether the sizes allow the exact law of a verifier; `predict` may still refuse to enumerate it."""
        return self.tables(vocab_size, depth) and (not self.top_down or branch_of(verifier) is not None)


#: The budget of a cell of `model validate`; `trees` counts those of all roots together.
VALIDATE_BUDGET = Budget(1_000_000, 2048, sums=5_000_000)
#: What `model choose` computes exactly; it samples nothing.
CHOOSE_BUDGET = Budget(10_000, 0, seconds=None)
#: The budgets of a label of a selector, and of a block of a policy.
LABEL_BUDGET, POLICY_BUDGET = Budget(300_000, 16, top_down=True), Budget(300_000, 32, top_down=True)


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
        variances = np.array([float(moments(law.depth_distribution)[1]) for law in laws])
        variances = np.maximum(variances, 0.0)  # rounding may leave less than 0
        depths = np.array([[float(mass) for mass in law.depth_distribution] for law in laws])
        return cls(means, variances, laws[0].depth, depths, tuple(laws))

    @classmethod
    def of_reaches(cls, reaches: Sequence[Sequence[float]]) -> Expected:
        """reaches: `P(tau >= d)` for `d = 0..L` after each context."""
        reached = np.array(reaches)
        masses = reached - np.pad(reached[:, 1:], ((0, 0), (0, 1)))
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

    @property
    def errors(self) -> Any:
        """The standard error of the mean after each context, shape `(contexts,)`."""
        if self.exact:
            return np.zeros(len(self.means))
        return np.sqrt(self.means.var(axis=1, ddof=1) / self.means.shape[1])

    @property
    def variance(self) -> float:
        """The variance of `tau` after one context, averaged over the contexts."""
        return max(float(self.variances.mean()), 0.0)

    @property
    def depth_distribution(self) -> list[float]:
        """`P(tau = d)` for `d = 0..L`, averaged over the contexts; only where it is exact."""
        return [float(mass) for mass in self.depths.mean(axis=0)]


def expected(
    verifier: Verifier, scheme: DraftScheme, contexts: Contexts, budget: Budget, generator: np.random.Generator
) -> Expected:
    """Expected tokens a block after these contexts, exact where the budget allows it.

    Raises what the verifier raises, `InvalidInput` where the device has no space, and `TooLarge` where the answer is
    not exact and the budget has no trees.
    """
    tells_another_q = contexts.sampling.tells_another_q
    if not scheme.depth:
        return Expected(np.ones((len(contexts), max(budget.trees, 2))), np.zeros(len(contexts)), 0)
    if budget.exact(verifier, contexts.pair.vocab_size, scheme.depth):
        with suppress(TooLarge):  # an enumeration that is too large: the mean comes from sampled trees below
            return predict(verifier, contexts.cases(scheme.depth, tells_another_q or not budget.top_down), scheme)
    if summable(verifier, scheme) and not tells_another_q:  # sums are for verifiers that are told what is drawn from
        assert isinstance(scheme, Delayed)
        seconds = None if budget.seconds is None else budget.seconds * len(contexts)
        with suppress(TooLarge), limited(seconds, "too long"):
            return Expected.of_reaches([reaches(verifier, scheme, rows) for rows in contexts.rows(budget.sums)])
    if not budget.trees:
        raise TooLarge(f"{verifier.card.name} on {scheme} has no exact mean that is small enough; sample trees")
    return sampled(verifier, scheme, contexts, budget.trees, generator)


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
    return guarded_law(verifier, target, draft, scheme)


def max_deviation(prediction: Expected, cases: Sequence[Case]) -> list[float]:
    """The largest deviation of the exact law after each context from the target's distribution, in float64."""
    targets = [Instance.of(case.target, case.draft, prediction.depth, FLOAT64).target for case in cases]
    return [float(law.max_deviation(rows)) for law, rows in zip(prediction.laws, targets, strict=True)]


def sampled(
    verifier: Verifier, scheme: DraftScheme, contexts: Contexts, trees: int, generator: np.random.Generator
) -> Expected:
    """The mean over `trees` sampled trees for each context, at least 2."""
    means, squares = [], []
    for context in contexts.contexts:
        reached = []
        for first in range(0, trees, BATCH):
            drawn = RootTrees(contexts.pair, contexts.sampling, context)
            count = min(BATCH, trees - first)
            roots = drawn.roots(drawn.drawn(scheme, count, SamplingCoin(generator)))
            reached += [np.array(reaches_on_tree(verifier, scheme, root, generator), dtype=float) for root in roots]
        means.append([on_tree.sum() for on_tree in reached])
        # (tau + 1)**2 is the sum of 2 d + 1 over all depths d that are reached
        squares.append([(on_tree * (2 * np.arange(len(on_tree)) + 1)).sum() for on_tree in reached])
    mean = np.array(means)
    return Expected(mean, np.mean(squares, axis=1) - mean.mean(axis=1) ** 2, scheme.depth)


def labels(
    verifier: Verifier, actions: Sequence[Delayed], contexts: Contexts, trees: int | None, seed: int
) -> list[float]:
    """`E[tau + 1]` of every action after these contexts.

    trees: None for exact laws; else the number of sampled trees for each, drawn from the same seed.
    """
    if trees is None:
        cases = contexts.cases(deepest(actions), leaf_rows=False)
        return [predict(verifier, cases, scheme).mean for scheme in actions]
    generators = (np.random.default_rng(seed) for _ in actions)
    return [
        sampled(verifier, scheme, contexts, trees, generator).mean
        for scheme, generator in zip(actions, generators, strict=True)
    ]


def deepest(actions: Sequence[Delayed]) -> int:
    """The depth of the deepest action; raises `InvalidInput` where no action drafts a token."""
    depth = max(scheme.depth for scheme in actions)
    if not depth:
        raise InvalidInput("no action drafts anything; widen --K, --L1 or --L2")
    return depth


def planned_scheme(scheme: DraftScheme, contexts: Contexts) -> tuple[DraftScheme, str]:
    """A Sequoia scheme with its planned tree and a note on how it was planned; other schemes unchanged, with no note.

    Sequoia's tree is planned from acceptance rates, computed exactly on the tables after the contexts, or on tables of
    the most probable tokens where full ones would be too large. A tree that the user gives is kept. Raises
    `InvalidInput` where even truncated tables are too large.
    """
    if not isinstance(scheme, Sequoia) or scheme.tree or not (scheme.nodes and scheme.depth):
        return scheme, ""
    try:
        if VALIDATE_BUDGET.tables(contexts.pair.vocab_size, scheme.depth):
            where, cases = "the tables", contexts.cases(scheme.depth)
        else:
            truncated = contexts.truncated(scheme.depth)
            if not truncated:
                raise InvalidInput("not even tables of some tokens are small enough")
            where = f"tables of the {truncated[0].tokens[0].shape[1]} most probable tokens"
            cases = [Case("root", tables.target, tables.draft) for tables in truncated]
        made = planned_on(scheme, [replace(case, weight=Fraction(1, len(cases))) for case in cases])
    except DraftproofError as error:
        raise InvalidInput(f"no tree can be planned for {scheme}: {error}; or give one, as in tree=2-1-0-0") from error
    return made, f"{made}: planned from acceptances on {where} of {len(cases)} roots"
