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

from experiments.models.loop.replay import nodes_of
from experiments.models.loop.rows import TreeRows
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from experiments.models.predicted.prediction import predict
from experiments.models.predicted.sampled import tree_moments
from experiments.models.predicted.tables import continued_rows, pair_tables
from simulator.coins import SamplingCoin
from simulator.drafts import Delayed
from simulator.drafts.trees import DraftTree
from simulator.errors import InvalidInput
from simulator.instances.case import Case
from simulator.instances.processes import TableProcess, table_entries
from simulator.laws.estimator import TreeEfficiency
from simulator.protocol import Coin, Context, Verifier
from simulator.structures import LeafToRoot, branch_of, offered

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
    size = pair.vocab_size
    if depth == 1:
        nothing = np.zeros((1, 0), dtype=np.int64)
        rows = [[continued_rows(pair, which, warp, root, nothing)] for which in ("target", "draft")]
    else:
        target, draft = pair_tables(pair, warp, root, depth - 1)
        last = np.indices((size,) * (depth - 1)).reshape(depth - 1, -1).T
        rows = [list(target.tables), [*draft.tables, continued_rows(pair, "draft", warp, root, last)]]
    deepest = np.full((size**depth, size), 1 / size)
    return TableProcess([*rows[0], deepest], "target"), TableProcess(rows[1], "draft")


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
        self._target, self._draft = TreeRows(pair.vocab_size), TreeRows(pair.vocab_size)
        self._pair, self._verifier, self._actions, self._warp, self._root = pair, verifier, actions, warp, root
        self._efficiency, self._generator = TreeEfficiency(verifier), generator
        self._exact = branch_of(verifier) is not None or isinstance(offered(verifier), LeafToRoot)

    def means(self, coin: Coin) -> list[float]:
        """`E[tau + 1]` of every action on its part of one tree that is drawn with this coin."""
        grown = self._grown(coin)
        parts = [_part(grown, scheme) for scheme in self._actions]
        self._compute("target", {node for tree in parts for node in ((), *nodes_of(tree))})
        roots = [tree.root(self._target, self._draft) for tree in parts]
        if self._exact:
            return [float(self._efficiency.of(node)) for node in roots]
        return [tree_moments(self._verifier, node, self._generator)[0] for node in roots]

    def _grown(self, coin: Coin) -> Grown:
        """A tree, level by level: a long trunk, and after each trunk length as many branches as any action has there.

        The first branch after each length is the trunk itself: every action finds its branches i.i.d. in the tree.
        """
        ends = {scheme.L1: 0 for scheme in self._actions}
        widths = dict.fromkeys(ends, 1)
        for scheme in self._actions:
            ends[scheme.L1] = max(ends[scheme.L1], scheme.depth)
            widths[scheme.L1] = max(widths[scheme.L1], scheme.K)
        trunk: Context = ()
        paths: Grown = {}
        for depth in range(max(ends.values())):
            paths[depth] = [trunk] * (widths.get(depth, 1) - 1)
            growing = {length: each for length, each in paths.items() if depth < ends.get(length, 0)}
            self._compute("draft", {trunk, *(path for each in growing.values() for path in each)})
            for length, each in growing.items():
                paths[length] = [self._longer(path, coin) for path in each]
            trunk = self._longer(trunk, coin)
        return {length: [trunk, *paths.get(length, [])] for length in ends}

    def _longer(self, path: Context, coin: Coin) -> Context:
        return (*path, coin.choose(self._draft.row(path)))

    def _compute(self, which: str, contexts: set[Context]) -> None:
        """Add the rows after these contexts that are missing, in one batch of passes for each length."""
        rows = {"target": self._target, "draft": self._draft}[which]
        missing = contexts - rows.known.keys()
        for length in sorted({len(context) for context in missing}):
            some = sorted(context for context in missing if len(context) == length)
            found = self._pair.rows(which, [[*self._root, *context] for context in some], self._warp, len(self._root))
            rows.known.update(zip(some, found.cpu().numpy(), strict=True))


#: By trunk length the paths that go through the trunk so far and then apart; the first one is the trunk to its end.
Grown = dict[int, list[Context]]


def _part(grown: Grown, scheme: Delayed) -> DraftTree:
    """The tree of a shape inside a grown one."""
    paths = [path[: scheme.depth] for path in grown[scheme.L1][: scheme.K]]
    return DraftTree.from_paths(paths[0][: scheme.L1], [path[scheme.L1 :] for path in paths])


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
