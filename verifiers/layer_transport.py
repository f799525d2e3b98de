"""Layer transport: all nodes of a layer verified together, by the selection law with the most equal `r/t`.

New here, after [cha2026layer], who score the nodes of a layer and sweep layer by layer; the sweep and its proof are in
`verifiers._layers`. On a delayed tree, from a layer with scores `a_c`, whose node `c` has `k_c` branches:
1. The pair of node and token has the target mass `t(c, y) = a_c p(y|c)`. Select one of the branches, or the null
   option, by a race, see `verifiers._race`: blocks of pairs in strict order, whole weights within a block. Its law
   is `r(c, y)`.
   Where branches have laws of their own, see `verifiers._branch_groups`.
2. Blocks and weights, see `verifiers._equalised`: among pairs with `r < t`, `r/t` is as equal as any selection
   allows, which maximises `sum min(t, r)`, the probability to accept a node of the next layer. All other pairs are
   one block, in which the null option takes part such that `r = t`.
3. The score of a drafted pair is the probability that it is selected, given what is drafted, times `min(1, t/r)`. So
   `m(c, y) = min(r, t)`.

Lossless for every choice of blocks and weights, as long as `r` is the law that they induce. One branch: block
verification. One layer: optimal transport. For vocabularies of more than 32 tokens a race of classes of tokens of like
`p/q` replaces that of tokens, see `verifiers._layer_classes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.structures import Layered
from draftproof.simulator.vectors import is_tensor, joined, minimum
from draftproof.verifiers._branch_groups import added, divided, groups_of, selectable
from draftproof.verifiers._equalised import equalised
from draftproof.verifiers._layer_classes import class_outcomes, class_step
from draftproof.verifiers._layer_outcomes import race_outcomes
from draftproof.verifiers._layers import Scored, Step, portion, sweep
from draftproof.verifiers._newton import newton_weights
from draftproof.verifiers._paths import child_weight
from draftproof.verifiers._programs import memoised
from draftproof.verifiers._race import Race, exact_law, race_law
from draftproof.verifiers._ratio_classes import CLASSES

#: Inputs of a program are rounded to so many decimals, so that float64 and rational runs solve the same one.
DECIMALS = 10
#: Classes of less draft mass than this in every node of a layer are left out.
RARE = 1e-6


def race_of(target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> Race:
    """Step 2; a pure function of the numbers rounded to `DECIMALS`."""
    shape = (1, len(branches), -1)
    posed, masses = (_floats(part).round(DECIMALS).reshape(shape) for part in (target_mass, draft))
    race = equalised(posed, masses, branches)
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
            return class_step(forks, [groups_of(scored.node) for scored in forks], _class_race)
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
        race, laws = self.raced(joined(parts), joined([group.law for group in flat]), branches)
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
            return class_outcomes(scores, target, draft, branches, _class_race)
        return _outcomes(scores, target, draft, branches)

    def raced(self, target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Race, Vector]:
        """The race of a layer, arrays of shape `(n, V)`, and its law; target_mass, draft and law: shape `(n V,)`."""
        if self.solver is race_of:
            return _raced(target_mass, draft, branches)
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
    posed, masses = _floats(target_mass).round(DECIMALS), _floats(draft).round(DECIMALS)
    races = equalised(posed, masses, branches)
    layers = list(races.layers())
    if draft.dtype == object:
        flat = [law_of(race, q.reshape(-1), branches) for race, q in zip(layers, draft, strict=True)]
        law = np.array(flat, dtype=object).reshape(draft.shape)
    else:
        law = race_law(races, draft, branches)
    means = minimum(target_mass, law)
    kept = means / (law + (law <= 0))
    return means, (
        race_outcomes(race, q.tolist(), branches, rate.tolist())
        for race, q, rate in zip(layers, draft, kept, strict=True)
    )


def _class_race(target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Race, Vector]:
    """The race of classes of tokens; shapes `(n J,)`. Its weights are found by Newton's method."""
    posed, masses = (_floats(part).round(DECIMALS).reshape(len(branches), -1) for part in (target_mass, draft))
    used = (masses > RARE).any(axis=0)  # the others are never selected
    small = equalised(posed[None][:, :, used], masses[None][:, :, used], branches, newton_weights)
    blocks, weights = np.zeros((2, *masses.shape), dtype=np.int64)
    blocks[:, used], weights[:, used] = small.blocks[0], small.weights[0]
    race = Race(blocks, weights, int(small.null_block[0]), int(small.null_weight[0]))
    if draft.dtype == object:
        return race, law_of(race, draft, branches)
    law = np.zeros(masses.shape)
    law[:, used] = race_law(small, draft.reshape(masses.shape)[None][:, :, used], branches)[0]
    return race, law.reshape(-1)


@memoised
def _raced(target_mass: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Race, Vector]:
    race = race_of(target_mass, draft, branches)
    return race, law_of(race, draft, branches)


def law_of(race: Race, draft: Vector, branches: tuple[int, ...]) -> Vector:
    """`r` of a race, shape `(n V,)`: rationals by sums, floats by the integral, in the precision of the draft."""
    n = len(branches)
    if isinstance(draft, np.ndarray) and draft.dtype == object:
        law = exact_law(race, draft.reshape(n, -1).tolist(), branches)
        return np.concatenate([RATIONAL.vector(row) for row in law])
    one = Race(*(np.asarray(part)[None] for part in race))
    floats = race_law(one, _floats(draft).reshape(1, n, -1), branches).reshape(-1)
    return draft.new_tensor(floats) if is_tensor(draft) else floats.astype(draft.dtype)


def _single(scored: Scored) -> Step:
    """One branch: the law of the race is that of the branch."""
    node, score = scored.node, scored.score
    (law,) = node.laws
    means = minimum(score * node.target, law)
    context, token = node.context, node.children[0]
    kept = child_weight(score, node.target, law, token)
    return Step({(*context, token): kept} if kept > 0 else {}, {context: means.__getitem__})


def _floats(row: Vector) -> Any:
    """The numbers in float64, on the machine where programs are solved."""
    return row.detach().double().cpu().numpy() if is_tensor(row) else row.astype(np.float64)
