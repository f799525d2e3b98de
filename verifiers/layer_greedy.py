"""Layer transport for greedy trees: the most probable tokens of each node, and one drawn from the rest.

New here; the sweep is that of `layer_transport`, the law of what a layer may draft next is listed by sets, see
`verifiers._layer_sets`; over more than 64 tokens the sets are those of classes of tokens of like `p/q`, see
`verifiers._greedy_classes`. The scheme is that of [hu2025towards].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Verdict
from draftproof.verifiers._greedy_classes import greedy_class_step
from draftproof.verifiers._layer_sets import Solver, greedy_sets, race_weights, set_step
from draftproof.verifiers._layers import Scored, Step, sweep

#: Vocabularies up to this size have a weight for every token.
MOST_TOKENS = 64


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
        if len(layer[0].node.target) > MOST_TOKENS:
            return greedy_class_step(layer)
        return set_step(layer, greedy_sets, self.solver)
