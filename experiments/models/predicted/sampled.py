"""Block efficiency where tables would be too large: a mean over sampled draft trees and the verifier's coin.

On each tree the mean is exact for verifiers with a closed form and for those that only flip until they correct. Others
choose on the way, as verifiers of layers choose the node that is accepted: their choices are sampled, so that the mean
of a tree is right on average, and intervals hold, but are wider.

The trees are drawn without the generation loop: each row comes from a plain forward pass over its whole context,
without cache and without tree attention. So prediction and measurement share models, scheme and verifier, and that a
scheme is drawn anew when a row that it missed has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import sqrt
from typing import Any

import numpy as np

from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.models.pair.warp import Warp
from draftproof.experiments.models.predicted.betting import mean_interval
from draftproof.experiments.models.predicted.root_rows import RootRows
from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.coins import EnumeratingCoin, SamplingCoin, outcomes
from draftproof.simulator.laws.estimator import TreeEfficiency, closed_form, tree_efficiency
from draftproof.simulator.protocol import Coin, Context, DraftNode, DraftScheme, Progress, Verifier
from draftproof.simulator.structures import Branch, branch_of

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
