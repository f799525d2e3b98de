"""Layer transport: all nodes of a layer verified together, by the selection law with the most equal `r/t`.

New here, after [cha2026layer], who score the nodes of a layer and sweep layer by layer; the sweep and its proof are in
`verifiers._layers`. On a delayed tree, from a layer with scores `a_c`, whose node `c` has `k_c` branches:
1. The pair of node and token has the target mass `t(c, y) = a_c p(y|c)`. Select one of the branches, or the null
   option, by a race, see `verifiers._race`: blocks of pairs in strict order, whole weights within a block. Its law
   is `r(c, y)`.
   Where branches have laws of their own, see `verifiers._classes`.
2. Blocks and weights, see `verifiers._equalised`: among pairs with `r < t`, `r/t` is as equal as any selection
   allows, which maximises `sum min(t, r)`, the probability to accept a node of the next layer. All other pairs are
   one block, in which the null option takes part such that `r = t`.
3. The score of a drafted pair is the probability that it is selected, given what is drafted, times `min(1, t/r)`. So
   `m(c, y) = min(r, t)`.

Lossless for every choice of blocks and weights, as long as `r` is the law that they induce. One branch: block
verification. One layer: optimal transport.

For vocabularies of more than 32 tokens a race of `J` classes of tokens of like `p/q` a node replaces that of tokens, so
that it does not grow with `V`. A class is half an octave of `p/q` wide, see `verifiers._classes`; weights are
found by Newton's method; the law is `r(c, y) = q(y|c) rho(class)`, exact for rational rows too. `m` takes one more pass
over the row; it is computed on the way up, where nothing below was accepted. In float64 the law of the classes of a
layer sums to 1 within 1e-11, the error of the integral.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.structures import Layered
from draftproof.simulator.vectors import joined, minimum
from draftproof.verifiers._classes import (
    AN_OCTAVE,
    CLASSES,
    ClassLaw,
    Group,
    Sorted,
    added,
    classes_of,
    divided,
    groups_of,
    number,
    race_classes,
)
from draftproof.verifiers._equalised import equalised, newton_weights
from draftproof.verifiers._layers import Scored, Step, portion, sweep
from draftproof.verifiers._paths import child_weight
from draftproof.verifiers._programs import host_floats, memoised, posed
from draftproof.verifiers._race import Child, Race, exact_law, race_law, race_outcomes

#: Classes of less draft mass than this in every node of a layer are left out.
RARE = 1e-6


def race_of(target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> Race:
    """Step 2; a pure function of the numbers rounded to `DECIMALS`."""
    shape = (1, len(branches), -1)
    wanted, masses = (posed(part).reshape(shape) for part in (target_mass, draft))
    race = equalised(wanted, masses, branches)
    return next(race.layers())


@dataclass(frozen=True)
class LayerTransport:
    """See the module. Any tree whose nodes have independent children, their number a function of the drafts above."""

    #: Vocabularies up to this size have a weight for every token, larger ones a weight for every class of tokens.
    most_tokens: ClassVar[int] = CLASSES

    card: ClassVar[Card] = Card(
        name="layer_transport",
        title="Layer transport: the joint transport of a layer, equalised",
        source=None,
        needs=Draws.INDEPENDENT_BRANCHES,
    )

    #: Step 2; see `race_of`.
    solver: Callable[[Vector, Vector, tuple[int, ...]], Race] = field(default=race_of, repr=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return sweep(root, coin, self.step)

    def step(self, layer: Sequence[Scored]) -> Step:
        """Steps 1 to 3 for one layer."""
        forks = [scored for scored in layer if scored.node.children]
        if sum(len(scored.node.children) for scored in forks) == 1:
            return _single(forks[0])
        if len(forks[0].node.target) > self.most_tokens:
            return class_step(forks, [groups_of(scored.node) for scored in forks])
        target_mass = [scored.score * scored.node.target for scored in forks]
        return scored_by(forks, target_mass, *self.selection(forks, target_mass))

    def selection(
        self, forks: Sequence[Scored], target_mass: Sequence[Vector]
    ) -> tuple[list[Vector], dict[tuple[int, int], Any], Any]:
        """Steps 1 and 2: `r` of each node; see `scored_by` for the weights and their sum."""
        groups = [groups_of(scored.node) for scored in forks]
        flat = [group for here in groups for group in here]
        branches = tuple(len(group.drafted) for group in flat)
        parts = [part for mass, here in zip(target_mass, groups, strict=True) for part in divided(mass, here)]
        race, laws = self.race_of(joined(parts), joined([group.law for group in flat]), branches)
        rows = iter(laws.reshape(len(flat), -1))
        law = [added([next(rows) for _ in here]) for here in groups]
        return law, *selectable(race, groups, lambda _, token: token)

    @property
    def structure(self) -> Layered | None:
        """See `Layered`; none for another solver."""
        return Layered(self._outcomes) if self.solver is race_of else None

    def _outcomes(self, scores: Vector, target: Vector, draft: Vector, branches: tuple[int, ...]) -> Any:
        """See `Layered`: by classes where `step` goes by classes."""
        if target.shape[-1] > self.most_tokens:
            return class_outcomes(scores, target, draft, branches)
        return _outcomes(scores, target, draft, branches)

    def race_of(self, target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Race, Vector]:
        """The race of a layer, arrays of shape `(n, V)`, and its law; target_mass, draft and law: shape `(n V,)`."""
        if self.solver is race_of:
            return _race_of(target_mass, draft, branches)
        race = self.solver(target_mass, draft, branches)
        return race, law_of(race, draft, branches)


def scored_by(
    forks: Sequence[Scored],
    target_mass: Sequence[Vector],
    laws: Sequence[Vector],
    weights: Mapping[tuple[int, int], Any],
    total: Any,
) -> Step:
    """Step 3. laws: `r` of each node. weights: of the drafted pairs that may be selected, by node and token.

    total: the sum of all weights, that of the null option among them.
    """
    means = [minimum(*pair) for pair in zip(target_mass, laws, strict=True)]
    scores = {}
    for (place, token), weight in weights.items():
        mean = means[place][token]
        if mean > 0:
            scores[*forks[place].node.context, token] = portion(mean / laws[place][token], weight, total)
    return Step(scores, {fork.node.context: mean.__getitem__ for fork, mean in zip(forks, means, strict=True)})


def _outcomes(scores: Vector, target: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Vector, Iterable[Any]]:
    """See `Layered`: many layers with the same branches."""
    target_mass = scores * target
    wanted, masses = posed(target_mass), posed(draft)
    races = equalised(wanted, masses, branches)
    layers = list(races.layers())
    if draft.dtype == object:
        flat = [law_of(race, q.reshape(-1), branches) for race, q in zip(layers, draft, strict=True)]
        law = np.array(flat, dtype=object).reshape(draft.shape)
    else:
        law = race_law(races, draft, branches)
    means = minimum(target_mass, law)
    rates = means / (law + (law <= 0))
    return means, (
        race_outcomes(race, q.tolist(), branches, rate.tolist())
        for race, q, rate in zip(layers, draft, rates, strict=True)
    )


def _class_race(target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Race, Vector]:
    """The race of classes of tokens; shapes `(n J,)`. Its weights are found by Newton's method."""
    wanted, masses = (posed(part).reshape(len(branches), -1) for part in (target_mass, draft))
    used = (masses > RARE).any(axis=0)  # the others are never selected
    small = equalised(wanted[None][:, :, used], masses[None][:, :, used], branches, newton_weights)
    blocks, weights = np.zeros((2, *masses.shape), dtype=np.int64)
    blocks[:, used], weights[:, used] = small.blocks[0], small.weights[0]
    race = Race(blocks, weights, int(small.null_block[0]), int(small.null_weight[0]))
    if draft.dtype == object:
        return race, law_of(race, draft, branches)
    law = np.zeros(masses.shape)
    law[:, used] = race_law(small, draft.reshape(masses.shape)[None][:, :, used], branches)[0]
    return race, law.reshape(-1)


@memoised
def _race_of(target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Race, Vector]:
    race = race_of(target_mass, draft, branches)
    return race, law_of(race, draft, branches)


def law_of(race: Race, draft: Vector, branches: tuple[int, ...]) -> Vector:
    """`r` of a race, shape `(n V,)`: rationals by sums, floats by the integral, in the precision of the draft."""
    n = len(branches)
    if isinstance(draft, np.ndarray) and draft.dtype == object:
        law = exact_law(race, draft.reshape(n, -1).tolist(), branches)
        return np.concatenate([RATIONAL.vector(row) for row in law])
    one = Race(*(np.asarray(part)[None] for part in race))
    floats = race_law(one, host_floats(draft).reshape(1, n, -1), branches).reshape(-1)
    return draft.new_tensor(floats) if is_tensor(draft) else floats.astype(draft.dtype)


def _single(scored: Scored) -> Step:
    """One branch: the law of the race is that of the branch."""
    node, score = scored.node, scored.score
    (law,) = node.laws
    means = minimum(score * node.target, law)
    context, token = node.context, node.children[0]
    weight = child_weight(score, node.target, law, token)
    return Step({(*context, token): weight} if weight > 0 else {}, {context: means.__getitem__})


def class_step(forks: Sequence[Scored], groups: Sequence[Sequence[Group]]) -> Step:
    """Steps 1 to 3 by classes for the nodes of a layer that have children. groups: of their branches, by node."""
    rows = forks[0].node.target
    scratch = None if is_tensor(rows) else np.empty(len(rows))
    nodes = [
        race_classes(scored.node.target, here, CLASSES, AN_OCTAVE, scratch)
        for scored, here in zip(forks, groups, strict=True)
    ]
    scores = [number(scored.score) for scored, here in zip(forks, groups, strict=True) for _ in here]
    branches = tuple(len(group.drafted) for here in groups for group in here)
    race, rho = _race_of_classes(scores, [node for here in nodes for node in here], branches)
    rates = iter(rho)
    laws = [
        [(group.law, ClassLaw(node, next(rates))) for group, node in zip(*here, strict=True)]
        for here in zip(groups, nodes, strict=True)
    ]
    means = {fork.node.context: partial(_class_mean, fork, law) for fork, law in zip(forks, laws, strict=True)}
    return Step(_class_scores(forks, groups, race, laws), means)


def class_outcomes(
    scores: Vector, target: Vector, draft: Vector, branches: tuple[int, ...]
) -> tuple[Vector, Iterator[list[tuple[Any, list[Child]]]]]:
    """`class_step` for `B` layers, with the shapes of `draftproof.simulator.structures.Layered`."""
    means, parts = [], []
    for factors, p, q in zip(scores[..., 0], target, draft, strict=True):
        nodes = [race_classes(a, [Group(b, (0,))], CLASSES, AN_OCTAVE)[0] for a, b in zip(p, q, strict=True)]
        race, rho = _race_of_classes(factors, nodes, branches)
        places = np.stack([node.place for node in nodes])
        laws = q * np.take_along_axis(rho, places, axis=1)
        means.append(minimum(factors[:, None] * p, laws))
        passed = means[-1] / (laws + (laws <= 0))
        blocks, weights = (np.take_along_axis(part, places, axis=1) for part in (race.blocks, race.weights))
        tokens = Race(blocks, weights, race.null_block, race.null_weight)
        parts.append((tokens, q.tolist(), branches, passed.tolist()))
    return np.stack(means), (race_outcomes(*part) for part in parts)


def _race_of_classes(scores: Sequence[Any], nodes: Sequence[Sorted], branches: tuple[int, ...]) -> tuple[Race, Any]:
    """The race of nodes with these scores, and its law over draft masses by class, shape `(n, J)`."""
    target_mass = np.concatenate([float(score) * node.p for score, node in zip(scores, nodes, strict=True)])
    draft = np.concatenate([node.q for node in nodes])
    race, law = _class_race(target_mass, draft, branches)
    return race, (law / (draft + (draft <= 0))).reshape(len(nodes), CLASSES)


def _class_scores(
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
            rate = target_mass / law if target_mass < law else 1
            scores[*node.context, token] = portion(rate * (law * 0 + 1), weight, total)
    return scores


def _class_mean(scored: Scored, laws: Sequence[tuple[Vector, ClassLaw]], part: slice) -> Vector:
    """A part of `m(c, .)`."""
    return minimum(scored.score * scored.node.target[part], added([law.law(q, part) for q, law in laws]))


def selectable(
    race: Race, groups: Sequence[Sequence[Group]], column: Callable[[int, int], int]
) -> tuple[dict[tuple[int, int], Any], Any]:
    """Of the drafted pairs those of the best block with their weights, and the sum of all weights in it.

    groups: by node. column: the place in the race of a token of a node. Pairs are named by node and token.
    """
    blocks, weights = race.blocks.tolist(), race.weights.tolist()
    drafted = []
    row = 0
    for place, here in enumerate(groups):
        for group in here:
            for token in dict.fromkeys(group.drafted):
                at = column(place, token)
                if weights[row][at] > 0:
                    drafted.append((blocks[row][at], place, token, weights[row][at] * group.drafted.count(token)))
            row += 1
    best = race.best_block(block for block, *_ in drafted)
    pairs: dict[tuple[int, int], Any] = {}
    for block, place, token, weight in drafted:
        if block == best:
            pairs[place, token] = pairs[place, token] + weight if (place, token) in pairs else weight
    return pairs, sum(pairs.values()) + race.null_weight_in(best)
