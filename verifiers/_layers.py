"""The sweep over layers that joint verifiers share: scores down the tree, one accepted node on the way up.

A layer is the set of nodes at one depth; every node `c` of it has a score `a_c >= 0` with `sum a_c <= 1`, the root 1.
1. Down: from a layer and all that is drafted so far, a rule gives the drafted children scores of sum at most 1. The
   mean `m(c, y)` of the score of `(c, y)` over the drafts of the next layer must satisfy `m(c, y) <= a_c p(y|c)`.
2. Up, from the deepest layer: accept node `c` with probability `a_c - sum_y m(c, y)`, divided by the probability that
   nothing below the layer was accepted, `1 - sum m` over the layer. The root is accepted if no other node is.
3. The correction at `c` comes from normalised `a_c p - m(c, .)`.

Lossless for every rule. By induction from the leaves: given all that is drafted down to a layer, something in the
subtree of `c` is accepted with probability exactly `a_c`: `sum_y m(c, y)` below it and the rest at `c` itself, which
step 2 can give, since `sum_c (a_c - sum_y m(c, y)) <= 1 - sum m`. After `c` then comes the token `y` with mass
`m(c, y)` by acceptance and `a_c p(y|c) - m(c, y)` by correction, together `a_c p(y|c)`; and so it is on average.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq

from draftproof.simulator.protocol import Coin, Context, DraftNode, Vector, Verdict
from draftproof.simulator.residual import is_tensor, positive_part
from draftproof.verifiers._classes import CLASSES, WHOLE

#: Tokens of a row that are added up at a time: so few fit into the processor's cache.
PIECE = 2**14


@dataclass(frozen=True)
class Scored:
    """A node with its score."""

    node: DraftNode
    score: Any


@dataclass(frozen=True)
class Step:
    """The result of a rule on one layer.

    scores: of the drafted children, by context; 0 where it has none. means: for each node with children a function from
    a slice of the tokens to that part of `m(c, .)`.
    """

    scores: Mapping[Context, Any] = field(default_factory=dict)
    means: Mapping[Context, Callable[[slice], Vector]] = field(default_factory=dict)


#: Scores for the children of a layer: a function of the layer and of what is drafted down to its children.
Rule: TypeAlias = Callable[[Sequence[Scored]], Step]


def sweep(root: DraftNode, coin: Coin, rule: Rule) -> Verdict:
    """Steps 1 to 3 under `root`; nodes of a layer are in the order of their contexts."""
    layers = [[Scored(root, 1)]]
    steps: list[Step] = []
    while any(scored.node.children for scored in layers[-1]):
        steps.append(rule(layers[-1]))
        layers.append(_below(layers[-1], steps[-1].scores))
    steps.append(Step())
    while len(layers) > 1:
        layer, step = layers.pop(), steps.pop()
        chosen = _accepted(layer, step, coin)
        if chosen is not None:
            return _verdict(chosen, step, coin)
    return _verdict(layers[0][0], steps[0], coin)


def _below(layer: Sequence[Scored], scores: Mapping[Context, Any]) -> list[Scored]:
    """The children that have a score."""
    return [
        Scored(scored.node.child(token), scores[context])
        for scored in layer
        for token in sorted(set(scored.node.children))
        if (context := (*scored.node.context, token)) in scores
    ]


def _accepted(layer: Sequence[Scored], step: Step, coin: Coin) -> Scored | None:
    """Step 2 for one layer."""
    masses = []
    for scored in layer:
        means = step.means.get(scored.node.context)
        masses.append(scored.score if means is None else scored.score - total_mean(means, scored.node.target))
    masses.append(1 - sum(scored.score for scored in layer))
    masses = [mass if mass > 0 else 0 for mass in masses]  # rounding may leave less than nothing
    chosen = coin.choose(masses) if any(mass > 0 for mass in masses) else len(layer)
    return layer[chosen] if chosen < len(layer) else None


def _verdict(chosen: Scored, step: Step, coin: Coin) -> Verdict:
    """Step 3."""
    node = chosen.node
    means = step.means.get(node.context)
    rest = node.target if means is None else positive_part(chosen.score * node.target - means(WHOLE))
    return Verdict(node.context, coin.choose(rest if rest.sum() > 0 else node.target))


def total_mean(means: Callable[[slice], Vector], like: Vector) -> Any:
    """The sum of `m(c, .)`, in double precision for a real vocabulary. like: a row of the node."""
    if like.dtype == object or len(like) <= CLASSES:
        return means(WHOLE).sum()
    if is_tensor(like):
        return means(WHOLE).double().sum().item()
    return sum(means(slice(start, start + PIECE)).sum(dtype=np.float64) for start in range(0, len(like), PIECE))


def portion(mass: Any, weight: int, total: int) -> Any:
    """`mass * weight / total`; whole numbers may be too large for floats of low precision, their quotient is not."""
    return mass * weight / total if isinstance(mass, fmpq) else mass * (weight / total)
