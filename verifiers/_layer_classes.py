"""A layer over a real vocabulary: tokens of like `p/q` share one weight, so that the race does not grow with `V`.

1. The class of a token is half an octave of `p/q` wide, see `verifiers._ratio_classes`.
2. The race is that of `J` classes a node, its weights by Newton's method, see `verifiers._newton`. Its law is
   `r(c, y) = q(y|c) rho(class)`.
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
from draftproof.verifiers._branch_groups import Group, added, selectable
from draftproof.verifiers._layer_outcomes import Child, race_outcomes
from draftproof.verifiers._layers import Scored, Step, portion
from draftproof.verifiers._race import Race
from draftproof.verifiers._race_classes import race_classes
from draftproof.verifiers._ratio_classes import AN_OCTAVE, CLASSES, ClassLaw, Sorted, classes_of, number

#: From target masses, draft masses and branches the race of `(n, J)` classes, with its law.
Racing = Callable[[Vector, Vector, tuple[int, ...]], tuple[Race, Vector]]


def class_step(forks: Sequence[Scored], groups: Sequence[Sequence[Group]], racing: Racing) -> Step:
    """Steps 1 to 3 for the nodes of a layer that have children. groups: of their branches, by node."""
    rows = forks[0].node.target
    scratch = None if is_tensor(rows) else np.empty(len(rows))
    nodes = [
        race_classes(scored.node.target, here, CLASSES, AN_OCTAVE, scratch)
        for scored, here in zip(forks, groups, strict=True)
    ]
    scores = [number(scored.score) for scored, here in zip(forks, groups, strict=True) for _ in here]
    branches = tuple(len(group.drafted) for here in groups for group in here)
    race, rho = _raced(scores, [node for here in nodes for node in here], branches, racing)
    rates = iter(rho)
    laws = [
        [(group.law, ClassLaw(node, next(rates))) for group, node in zip(*here, strict=True)]
        for here in zip(groups, nodes, strict=True)
    ]
    means = {fork.node.context: partial(_mean, fork, law) for fork, law in zip(forks, laws, strict=True)}
    return Step(_scores(forks, groups, race, laws), means)


def class_outcomes(
    scores: Vector, target: Vector, draft: Vector, branches: tuple[int, ...], racing: Racing
) -> tuple[Vector, Iterator[list[tuple[Any, list[Child]]]]]:
    """`class_step` for `B` layers, with the shapes of `draftproof.simulator.structures.Layered`."""
    means, parts = [], []
    for factors, p, q in zip(scores[..., 0], target, draft, strict=True):
        nodes = [race_classes(a, [Group(b, (0,))], CLASSES, AN_OCTAVE)[0] for a, b in zip(p, q, strict=True)]
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
    target_mass = np.concatenate([float(score) * node.p for score, node in zip(scores, nodes, strict=True)])
    draft = np.concatenate([node.q for node in nodes])
    race, law = racing(target_mass, draft, branches)
    return race, (law / (draft + (draft <= 0))).reshape(len(nodes), CLASSES)


def _scores(
    forks: Sequence[Scored],
    groups: Sequence[Sequence[Group]],
    race: Race,
    laws: Sequence[Sequence[tuple[Vector, ClassLaw]]],
) -> dict[Context, Any]:
    """Of the drafted tokens those of the best block, with their scores."""
    scores = {}
    pairs, total = selectable(race, groups, lambda place, token: classes_of(laws[place][0][1].node, [token])[0])
    for (place, token), weight in pairs.items():
        node = forks[place].node
        law = sum(number(q[token]) * part.rates([token])[0] for q, part in laws[place])
        target_mass = number(forks[place].score) * number(node.target[token])
        if target_mass > 0 and law > 0:
            kept = target_mass / law if target_mass < law else 1
            scores[*node.context, token] = portion(kept * (law * 0 + 1), weight, total)
    return scores


def _mean(scored: Scored, laws: Sequence[tuple[Vector, ClassLaw]], part: slice) -> Vector:
    """A part of `m(c, .)`."""
    return minimum(scored.score * scored.node.target[part], added([law.law(q, part) for q, law in laws]))
