"""`layer_transport` with any selection, for a theorem about every vocabulary size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from draftproof.simulator.protocol import Card, Coin, DraftNode, Verdict
from draftproof.simulator.theorems.any_vocabulary.rows import ClassRow
from draftproof.simulator.theorems.any_vocabulary.selection import Paths
from draftproof.verifiers._layers import Scored, Step, sweep
from draftproof.verifiers.layer_transport import LayerTransport, scored_by


class AnySelected:
    """`layer_transport` with a given selection; see `draftproof.simulator.theorems.any_vocabulary.selection`."""

    def __init__(self, verifier: LayerTransport, paths: Paths) -> None:
        self._verifier, self._paths = verifier, paths

    @property
    def card(self) -> Card:
        """The card of the verifier."""
        return self._verifier.card

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """The verifier's own algorithm but for how it selects a branch."""
        return sweep(root, coin, self._step)

    def _step(self, layer: Sequence[Scored]) -> Step:
        forks = [scored for scored in layer if scored.node.children]
        if sum(len(fork.node.children) for fork in forks) == 1:
            return self._verifier.step(layer)
        laws: list[Any] = []
        weights: dict[Any, Any] = {}
        for place, fork in enumerate(forks):
            context: Any = fork.node.context
            run = fork.node.target.run
            laws.append(ClassRow.of(run, context, "q") * run.evaluated(self._paths.masses[context]))
            for token in fork.node.children:
                branch: Any = (*context, token)
                if branch in self._paths.chances:
                    weights[place, token] = run.evaluated(self._paths.chances[branch])
        return scored_by(forks, [fork.score * fork.node.target for fork in forks], laws, weights, 1)
