"""Layer transport for trees whose children are drawn without replacement.

New here; the sweep is that of `layer_transport`, the law of what a layer may draft next is listed by sets, see
`verifiers._layer_sets`. A node with as many children as it has tokens always has the same children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Verdict
from draftproof.verifiers._layer_sets import Solver, race_weights, set_step, without_replacement_sets
from draftproof.verifiers._layers import Scored, Step, sweep


@dataclass(frozen=True)
class LayerWithoutReplacement:
    """See the module. Any tree whose nodes draw different tokens, their number a function of the drafts above."""

    card: ClassVar[Card] = Card(
        name="layer_without_replacement",
        title="Layer transport without replacement",
        source=None,
        needs=Draws.DISTINCT_SIBLINGS,
        max_vocab=20,
    )

    #: Gives the weights of the drafted sets; see `race_weights`.
    solver: Solver = field(default=race_weights, repr=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return sweep(root, coin, self.step)

    def step(self, layer: Sequence[Scored]) -> Step:
        """The rule of the sweep."""
        return set_step(layer, without_replacement_sets, self.solver)
