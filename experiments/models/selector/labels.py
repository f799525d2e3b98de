"""Labels: the block efficiency `E` of every action after a root, exact, or the mean over sampled trees.

Exact for verifiers that go from the top down, whose law takes milliseconds on tables: a row of the target at the
deepest nodes is looked at by corrections alone, so it is not computed. For others, and where tables would be too large,
trees are sampled: one tree that branches off its trunk everywhere labels all shapes that are parts of it, and on each
part the mean over the verifier's coin is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.predicted.grown import RootTrees
from draftproof.experiments.models.predicted.prediction import predict
from draftproof.experiments.models.predicted.sampled import TreeMean
from draftproof.experiments.models.predicted.tables import continued_rows, pair_tables
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import TableProcess, table_entries
from draftproof.simulator.protocol import Coin, Context, Verifier
from draftproof.simulator.structures import branch_of

#: Numbers in the tables of one root up to which labels are exact; trees a label elsewhere, unless it is said.
MOST_ENTRIES, TREES = 300_000, 16


def labels_are_exact(verifier: Verifier, actions: Sequence[Delayed], vocab_size: int) -> bool:
    """Whether a label is a law on tables, not a mean over sampled trees."""
    return branch_of(verifier) is not None and table_entries(vocab_size, _depth(actions)) <= MOST_ENTRIES


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
