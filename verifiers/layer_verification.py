"""Layer verification: every node of a layer scores its children by a one-step rule, within its share of the layer.

[cha2026layer], of which only the abstract and two formulas were available; the sweep is in `verifiers._layers`. From a
layer with scores `a_c`, whose nodes have i.i.d. children:
1. With `A = sum a_c` over the nodes that have children, node `c` has the share `a_c / A` of the layer's capacity.
2. Within it the one-step rule moves drafts from `q` to the incomplete target `A p`, of mass at most 1: a largest flow
   from sets of drafts to tokens, or scores where the sets are too many, as in `optimal_transport`.
3. The score of a child is the share times the probability that the rule returns it, given the drafts of its node.

Lossless for every rule that returns `y` with probability at most `A p(y)`: the mean score is `a_c / A` times that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any, ClassVar, NamedTuple

from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import capped
from draftproof.simulator.structures import Layered
from draftproof.simulator.vectors import minimum
from draftproof.verifiers._classes import WHOLE, number
from draftproof.verifiers._layers import Scored, Step, sweep
from draftproof.verifiers._programs import memoised
from draftproof.verifiers.optimal_transport import can_list_sets, one_step, sent_from, transport


class Returned(NamedTuple):
    """given: the probability of each drafted token, given all drafts. mean: that on average, a part of the row."""

    given: Mapping[int, Any]
    mean: Callable[[slice], Vector]


@dataclass(frozen=True)
class LayerVerification:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="layer_verification",
        title="Layer verification with a one-step rule",
        source=Source("cha2026layer", "scores by a one-step rule"),
        needs=Draws.INDEPENDENT_SIBLINGS,
        departs="Made from the abstract and two formulas; a node's share of the layer is ours where they are silent.",
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return sweep(root, coin, self.step)

    @property
    def structure(self) -> Layered:
        return Layered(_outcomes)

    def step(self, layer: Sequence[Scored]) -> Step:
        """Steps 1 to 3 for one layer."""
        forks = [scored for scored in layer if scored.node.children]
        capacity = sum(scored.score for scored in forks)
        scores: dict[Context, Any] = {}
        means: dict[Context, Callable[[slice], Vector]] = {}
        for scored in forks:
            node, share = scored.node, scored.score
            given, mean = _returned(capacity, node.target, node.draft, node.children)
            means[node.context] = partial(_shared, mean, share, capacity)
            for token, chance in given.items():
                if chance > 0:
                    scores[*node.context, token] = chance * share / capacity
        return Step(scores, means)


def _returned(capacity: Any, p: Vector, q: Vector, drafted: tuple[int, ...]) -> Returned:
    """The result of the rule; a single draft is returned with probability `min(1, A p/q)`."""
    if len(drafted) > 1:
        return _one_step(capacity * p, q, drafted)
    token, mass = drafted[0], number(q[drafted[0]])
    return Returned(
        {token: capped(capacity * number(p[token]), mass) * (mass * 0 + 1)}, partial(_single, capacity, p, q)
    )


def _single(capacity: Any, p: Vector, q: Vector, part: slice) -> Vector:
    return minimum(capacity * p[part], q[part])


def _shared(mean: Callable[[slice], Vector], share: Any, capacity: Any, part: slice) -> Vector:
    """A part of `m(c, .)`."""
    return mean(part) * share / capacity


def _outcomes(scores: Vector, target: Vector, draft: Vector, branches: tuple[int, ...]) -> tuple[Vector, Iterable[Any]]:
    """See `Layered`: the nodes of a layer draw each for itself, within shares that do not depend on what is drawn."""
    means = target * 0
    layers = []
    for layer, (shares, p, q) in enumerate(zip(scores[..., 0].tolist(), target, draft, strict=True)):
        capacity = sum(shares)
        by_node = []
        for place, (share, k) in enumerate(zip(shares, branches, strict=True)):
            ask = partial(_returned, capacity, p[place], q[place])
            means[layer, place] = _shared(ask((int(q[place].argmax()),) * k).mean, share, capacity, WHOLE)
            by_node.append(partial(_drawn, ask, q[place].tolist(), k, share, capacity))
        layers.append(by_node)
    return means, map(_together, layers)


def _drawn(ask: Any, q: Sequence[Any], k: int, share: Any, capacity: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """What one node may draw: the probability, and each token with the branches through it and its score."""
    masses: dict[tuple[Any, ...], Any] = {}
    for drafted in product([token for token, mass in enumerate(q) if mass > 0], repeat=k):
        given = sorted((token, chance) for token, chance in ask(drafted).given.items() if chance > 0)
        scored = tuple((token, drafted.count(token), chance * share / capacity) for token, chance in given)
        masses[scored] = masses.get(scored, 0) + prod(q[token] for token in drafted)
    return [(chance, scored) for scored, chance in masses.items()]


def _together(by_node: Sequence[Callable[[], list[Any]]]) -> Iterator[tuple[Any, list[Any]]]:
    for drawn in product(*(node() for node in by_node)):
        scored = [(place, *child) for place, (_, children) in enumerate(drawn) for child in children]
        if scored:
            yield prod(chance for chance, _ in drawn), scored


@memoised
def _one_step(target_mass: Vector, q: Vector, drafted: tuple[int, ...]) -> Returned:
    if not can_list_sets([q], (len(drafted),)):
        scores = one_step(target_mass, q, len(drafted))
        return Returned(scores.accepted(target_mass, q, drafted), partial(scores.mean_accepted, target_mass, q))
    masses, flow, _ = transport(target_mass, q, (len(drafted),))
    drafts = tuple(sorted(set(drafted)))
    mean = target_mass * 0
    for sent in flow.values():
        for token, mass in sent.items():
            mean[token] = mean[token] + mass
    return Returned({token: mass / masses[drafts] for token, mass in sent_from(flow, drafts).items()}, mean.__getitem__)
