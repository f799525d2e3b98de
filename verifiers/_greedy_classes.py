"""A layer of greedy nodes over a real vocabulary: tokens of like `p/q` share one weight, see `verifiers._layer_sets`.

1. The `k - 1` most probable tokens of `q` are always drafted; each has a weight of its own. The last draft has the law
   `q'`; its possible tokens are in `J` classes by `p/q'`.
2. So a node drafts one of `J` sets, and weights and their law are those of `verifiers._layer_sets`, with classes in
   place of tokens: `r(c, y) = q'(y) rho(class)` for the tokens of the last draft.

Lossless whatever the classes, exact for rational rows. Shapes: `V` tokens, `n` nodes, `T` most probable tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from draftproof.simulator.protocol import Context, Vector
from draftproof.simulator.vectors import minimum, top_tokens
from draftproof.verifiers._branch_groups import Group, race_classes
from draftproof.verifiers._classes import Sorted, classes_of, number, numbers, spread
from draftproof.verifiers._layer_sets import Sets, raced
from draftproof.verifiers._layers import Scored, Step, portion

#: Classes of a node, and how many there are in an octave (a factor of two) of `p/q'`.
CLASSES, AN_OCTAVE = 16, 1
#: Nodes with more combinations of sets than this are raced one by one.
MOST_TOGETHER = CLASSES**2


@dataclass(frozen=True)
class Greedy:
    """A node of the layer. top: its most probable tokens. rest: `q'`, shape `(V,)`. node: the classes of the others."""

    scored: Scored
    top: tuple[int, ...]
    rest: Vector
    node: Sorted

    @property
    def sets(self) -> int:
        """How many sets of classes it may draw."""
        return int((self.node.q > 0).sum())

    def place(self, token: int) -> int:
        """The column of a drafted token: the classes come first, then the most probable tokens."""
        return CLASSES + self.top.index(token) if token in self.top else classes_of(self.node, [token])[0]

    def row(self, masses: Sequence[Any], alone: Sequence[Any], most: int) -> Any:
        """Numbers by class and those of the most probable tokens as one row, filled up to `most` of these."""
        filled = [*masses, *alone, *[masses[0] * 0] * (most - len(alone))]
        return np.array(filled, dtype=self.node.q.dtype)


def greedy_node(scored: Scored) -> Greedy:
    """Step 1."""
    p, q, k = scored.node.target, scored.node.draft, len(scored.node.children)
    top = top_tokens(q, k - 1)
    rest = q * 1
    for token in top:
        rest[token] = rest[token] * 0
    rest /= rest.sum()
    return Greedy(scored, top, rest, *race_classes(p, [Group(rest, (0,))], CLASSES, AN_OCTAVE))


def class_sets(row: Vector, k: int) -> Sets:
    """The most probable tokens and one of the classes."""
    top = tuple(range(CLASSES, CLASSES + k - 1))
    return {(place, *top): mass for place, mass in enumerate(row[:CLASSES].tolist()) if mass > 0}


def greedy_class_step(layer: Sequence[Scored]) -> Step:
    """Steps 1 and 2 for the nodes of a layer that have children."""
    nodes = [greedy_node(scored) for scored in layer if scored.node.children]
    together = prod(node.sets for node in nodes) <= MOST_TOGETHER
    groups = [nodes] if together else [[node] for node in nodes]
    total = sum(number(node.scored.score) for node in nodes)
    scores: dict[Context, Any] = {}
    means: dict[Context, Any] = {}
    for group in groups:
        share = sum(number(node.scored.score) for node in group) / total if len(groups) > 1 else 1
        law = _raced(group, share, scores)
        for node, row in zip(group, law, strict=True):
            means[node.scored.node.context] = partial(_mean, node, row, share)
    return Step(scores, means)


def _raced(group: Sequence[Greedy], share: Any, scores: dict[Context, Any]) -> list[Any]:
    """Step 2: `r/q'` by class and `r` of the most probable tokens for each node; adds the scores of what is drafted."""
    most = max(len(node.top) for node in group)
    target_mass, draft = [], []
    for node in group:
        score, alone = number(node.scored.score), numbers(node.scored.node.target, node.top)
        target_mass.append(node.row(node.node.p * float(score / share), [mass * score / share for mass in alone], most))
        draft.append(node.row(node.node.q, [], most))
    branches = [len(node.scored.node.children) for node in group]
    weights, law = raced(np.concatenate(target_mass), np.concatenate(draft), (class_sets, *branches))
    rates = []
    for q, row in zip(draft, law.reshape(len(group), -1), strict=True):
        rate = row.copy()
        rate[:CLASSES] = row[:CLASSES] / (q[:CLASSES] + (q[:CLASSES] <= 0))
        rates.append(rate)
    drafted = [
        (at, token, int(weights[at, node.place(token)]))
        for at, node in enumerate(group)
        for token in node.scored.node.children
    ]
    total = sum(weight for _, _, weight in drafted)
    for at, token, weight in drafted:
        node, place = group[at], group[at].place(token)
        mass = rates[at][place] * (number(node.rest[token]) if place < CLASSES else 1)
        due = number(node.scored.node.target[token]) * number(node.scored.score) / share
        if weight > 0 and due > 0 and mass > 0:
            kept = due / mass if due < mass else mass * 0 + 1
            scores[*node.scored.node.context, token] = portion(share * kept, weight, total)
    return rates


def _mean(node: Greedy, rate: Any, share: Any, part: slice) -> Vector:
    """A part of `m(c, .)`."""
    rest = node.rest[part]
    law = rest * spread(rate[:CLASSES], node.node, rest, part)
    start = part.start or 0
    for place, token in enumerate(node.top):
        if start <= token < start + len(law):
            law[token - start] = law[token - start] + rate[CLASSES + place]
    return minimum(number(node.scored.score) * node.scored.node.target[part], share * law)
