"""Layer transport for greedy trees: the most probable tokens of each node, and one drawn from the rest.

New here; the sweep is that of `layer_transport`, the law of what a layer may draft next is listed by sets, see
`verifiers._layer_sets`. The scheme is that of [hu2025towards].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from simulator.protocol import Card, Coin, DraftNode, Verdict
from verifiers._layer_sets import greedy_sets, set_step
from verifiers._layers import Scored, Step, sweep


@dataclass(frozen=True)
class LayerGreedy:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="layer_greedy",
        title="Layer transport on greedy trees",
        source=None,
        lossless_for=("greedy", "adaptive", "spechub"),
        max_vocab=64,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return sweep(root, coin, self.step)

    def step(self, layer: Sequence[Scored]) -> Step:
        """The rule of the sweep."""
        return set_step(layer, greedy_sets)
