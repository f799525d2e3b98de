"""Layer transport for greedy trees: the most probable tokens of each node, and one drawn from the rest.

New here; the sweep is that of `layer_transport`, the law of what a layer may draft next is listed by sets, see
`verifiers.layer_without_replacement`. The scheme is that of [hu2025towards].

Over more than 64 tokens, those of like `p/q` share one weight:
1. The `k - 1` most probable tokens of `q` are always drafted; each has a weight of its own. The last draft has the law
   `q'`; its possible tokens are in `J` classes by `p/q'`.
2. So a node drafts one of `J` sets, and weights and their law are those of sets, with classes in place of tokens:
   `r(c, y) = q'(y) rho(class)` for the tokens of the last draft.

Lossless whatever the classes, exact for rational rows. Shapes: `V` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.vectors import minimum, top_tokens
from draftproof.verifiers._classes import Group, Sorted, classes_of, number, numbers, on_tokens, race_classes
from draftproof.verifiers._layers import Scored, Step, sweep
from draftproof.verifiers.layer_without_replacement import (
    SetNode,
    Sets,
    Solver,
    greedy_sets,
    nodes_step,
    race_weights,
    set_step,
)

#: Vocabularies up to this size have a weight for every token.
MOST_TOKENS = 64
#: Classes of a node, and how many there are in an octave (a factor of two) of `p/q'`.
CLASSES, AN_OCTAVE = 16, 1


@dataclass(frozen=True)
class LayerGreedy:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="layer_greedy",
        title="Layer transport on greedy trees",
        source=None,
        needs=Draws.ONE_RANDOM_SIBLING,
    )

    #: Gives the weights of the drafted sets; see `race_weights`.
    solver: Solver = field(default=race_weights, repr=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return sweep(root, coin, self.step)

    def step(self, layer: Sequence[Scored]) -> Step:
        """The rule of the sweep."""
        if len(layer[0].node.target) <= MOST_TOKENS:
            return set_step(layer, greedy_sets, self.solver)
        forks = [scored for scored in layer if scored.node.children]
        most = max(len(scored.node.children) for scored in forks) - 1
        return nodes_step([_by_classes(scored, most) for scored in forks], class_sets, CLASSES**2)


def _by_classes(scored: Scored, most: int) -> ClassNode:
    """Step 1. most: places for the most probable tokens."""
    node, score = scored.node, number(scored.score)
    top = top_tokens(node.draft, len(node.children) - 1)
    rest = node.draft * 1
    for token in top:
        rest[token] = rest[token] * 0
    rest /= rest.sum()
    (classes,) = race_classes(node.target, [Group(rest, (0,))], CLASSES, AN_OCTAVE)
    target_mass, draft = np.full((2, CLASSES + most), classes.q[0] * 0, dtype=classes.q.dtype)
    target_mass[:CLASSES], draft[:CLASSES] = classes.p * float(score), classes.q
    target_mass[CLASSES : CLASSES + len(top)] = [mass * score for mass in numbers(node.target, top)]
    return ClassNode(node, score, target_mass, draft, top, rest, classes)


def class_sets(row: Vector, k: int) -> Sets:
    """The most probable tokens and one of the classes."""
    top = tuple(range(CLASSES, CLASSES + k - 1))
    return {(place, *top): mass for place, mass in enumerate(row[:CLASSES].tolist()) if mass > 0}


@dataclass(frozen=True)
class ClassNode(SetNode):
    """A node whose places are its classes, then its most probable tokens.

    top: these tokens. rest: `q'`, shape `(V,)`. classes: of the others.
    """

    top: tuple[int, ...]
    rest: Vector
    classes: Sorted

    def place(self, token: int) -> int:
        """The place of a drafted token."""
        return CLASSES + self.top.index(token) if token in self.top else classes_of(self.classes, [token])[0]

    def mass(self, law: Vector, token: int) -> Any:
        """`r` of a drafted token, given that of the places."""
        place = self.place(token)
        return law[place] if place >= CLASSES else self._rates(law)[place] * number(self.rest[token])

    def mean(self, law: Vector, share: Any, part: slice) -> Vector:
        """A part of `m(c, .)`."""
        rest = self.rest[part]
        drawn = rest * on_tokens(self._rates(law), self.classes, rest, part)
        start = part.start or 0
        for place, token in enumerate(self.top, start=CLASSES):
            if start <= token < start + len(drawn):
                drawn[token - start] = drawn[token - start] + law[place]
        return share * minimum(self.score * self.node.target[part], drawn)

    def _rates(self, law: Vector) -> Any:
        """`r/q'` by class."""
        return law[:CLASSES] / (self.classes.q + (self.classes.q <= 0))
