"""`layer_transport` with any selection, for a theorem about every vocabulary size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from flint import fmpq

from draftproof.simulator.protocol import Vector
from draftproof.simulator.theorems.any_vocabulary.rows import ClassRow
from draftproof.simulator.theorems.any_vocabulary.selection import Paths
from draftproof.simulator.vectors import minimum
from draftproof.verifiers._layers import Scored, Step
from draftproof.verifiers.layer_transport import LayerTransport


@dataclass(frozen=True)
class AnySelected(LayerTransport):
    """The verifier with a given selection; see `draftproof.simulator.theorems.any_vocabulary.selection`."""

    paths: Paths | None = None

    def by_classes(self, forks: Sequence[Scored]) -> bool:
        return False

    def step(self, layer: Sequence[Scored]) -> Step:
        assert self.paths is not None
        if len(layer[0].node.context) >= self.paths.given:
            return super().step(layer)
        scores, means = dict[Any, Any](), dict[Any, Any]()
        for scored in layer:
            context, target = scored.node.context, cast(Any, scored.node.target)
            run, mass = target.run, target * scored.score
            branches: list[Any] = [(*context, token) for token in scored.node.children]
            scores |= {each: run.evaluated(self.paths.chances[each]) for each in branches if each in self.paths.chances}
            law = ClassRow.of(run, cast(Any, context), "q")
            one = len(self.paths.branches) == 1  # for more branches this would take several times as long
            means[context] = partial(_given, minimum(mass, law) if one else mass - law * (scored.score * fmpq(1, 2)))
        return Step(scores, means)

    def selection(self, forks: Sequence[Scored], target_mass: Sequence[Vector]) -> Any:
        assert self.paths is not None
        laws: list[Any] = []
        weights: dict[Any, Any] = {}
        row: Any = forks[0].node.target
        scale = self.paths.totals.get(len(forks[0].node.context) + 1)
        total = 1 if scale is None else row.run.evaluated(scale)
        for place, fork in enumerate(forks):
            context: Any = fork.node.context
            laws.append(ClassRow.of(row.run, context, "q") * row.run.evaluated(self.paths.masses[context]))
            for token in fork.node.children:
                branch: Any = (*context, token)
                if branch in self.paths.chances:
                    weights[place, token] = row.run.evaluated(self.paths.chances[branch]) * total
        return laws, weights, total


def _given(row: Any, _: slice) -> Any:
    return row


def any_selected(paths: Paths) -> AnySelected:
    """See `AnySelected`."""
    return AnySelected(paths=paths)
