"""A layer over a real vocabulary: tokens of like `p/q` share one weight, so that the race does not grow with `V`.

1. The class of a token is half an octave of `p/q` wide, see `verifiers._ratio_classes`.
2. The race is that of `J` classes a node. Its law is `r(c, y) = q(y|c) rho(class)`.
3. `m = min(a p, q rho)` takes one more pass over the row; it is computed on the way up, where nothing below was
   accepted.

In float64 the law of the classes of a layer sums to 1 within 1e-11, the error of the integral. No other error exceeds
the rounding of sums over rows.

Exact for rational rows too, whatever the classes. Shapes: `V` tokens, `n` nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from draftproof.simulator.protocol import Context, Vector
from draftproof.simulator.vectors import is_tensor, minimum
from draftproof.verifiers._layer_outcomes import Child, race_outcomes
from draftproof.verifiers._layers import Scored, Step, portion
from draftproof.verifiers._race import Race
from draftproof.verifiers._ratio_classes import CLASSES, Sorted, by_classes, number, spread

#: From target masses, draft masses and branches the race of `(n, J)` classes, with its law.
Racing = Callable[[Vector, Vector, tuple[int, ...]], tuple[Race, Vector]]


def class_step(forks: Sequence[Scored], branches: tuple[int, ...], racing: Racing) -> Step:
    """Steps 1 to 3 for the nodes of a layer that have children."""
    rows = forks[0].node.target
    scratch = None if is_tensor(rows) else np.empty(len(rows))
    nodes = [by_classes(scored.node.target, scored.node.draft, scratch) for scored in forks]
    race, rho = _raced([number(scored.score) for scored in forks], nodes, branches, racing)
    parts = list(zip(forks, nodes, rho, strict=True))
    return Step(_scores(forks, nodes, race, rho), {part[0].node.context: partial(_mean, *part) for part in parts})


def class_outcomes(
    scores: Vector, target: Vector, draft: Vector, branches: tuple[int, ...], racing: Racing
) -> tuple[Vector, Iterator[list[tuple[Any, list[Child]]]]]:
    """`class_step` for `B` layers, with the shapes of `draftproof.simulator.structures.Layered`."""
    means, parts = [], []
    for factors, p, q in zip(scores[..., 0], target, draft, strict=True):
        nodes = [by_classes(*rows) for rows in zip(p, q, strict=True)]
        race, rho = _raced(factors, nodes, branches, racing)
        places = np.stack([node.place for node in nodes])
        laws = q * np.take_along_axis(rho, places, axis=1)
        means.append(minimum(factors[:, None] * p, laws))
        kept = means[-1] / (laws + (laws <= 0))
        blocks, weights = (np.take_along_axis(part, places, axis=1) for part in (race.blocks, race.weights))
        tokens = Race(blocks, weights, race.null_block, race.null_weight)
        parts.append((tokens, q.tolist(), branches, kept.tolist()))
    return np.stack(means), (race_outcomes(*part) for part in parts)


def _raced(
    scores: Sequence[Any], nodes: Sequence[Sorted], branches: tuple[int, ...], racing: Racing
) -> tuple[Race, Any]:
    """The race of nodes with these scores, and its law over draft masses by class, shape `(n, J)`."""
    target_mass = np.concatenate([score * node.p for score, node in zip(scores, nodes, strict=True)])
    draft = np.concatenate([node.q for node in nodes])
    race, law = racing(target_mass, draft, branches)
    return race, (law / (draft + (draft <= 0))).reshape(len(nodes), CLASSES)


def _scores(forks: Sequence[Scored], nodes: Sequence[Sorted], race: Race, rho: Any) -> dict[Context, Any]:
    """Of the drafted tokens those of the best block, with their scores."""
    drafted = []
    for c, scored in enumerate(forks):
        for token in dict.fromkeys(scored.node.children):
            at = int(nodes[c].place[token])
            weight = int(race.weights[c, at]) * scored.node.children.count(token)
            if weight > 0:
                drafted.append((int(race.blocks[c, at]), c, token, weight, rho[c, at]))
    best = race.best_block(block for block, *_ in drafted)
    first = [entry for entry in drafted if entry[0] == best]
    total = sum(weight for _, _, _, weight, _ in first) + race.null_weight_in(best)
    scores = {}
    for _, c, token, weight, share in first:
        node = forks[c].node
        target_mass, law = forks[c].score * node.target[token], node.draft[token] * share
        if target_mass > 0 and law > 0:
            kept = target_mass / law if target_mass < law else 1
            scores[*node.context, token] = portion(kept * (law * 0 + 1), weight, total)
    return scores


def _mean(scored: Scored, node: Sorted, rho: Any, part: slice) -> Vector:
    """A part of `m(c, .)`."""
    draft = scored.node.draft[part]
    return minimum(scored.score * scored.node.target[part], spread(rho, node, draft, part) * draft)
