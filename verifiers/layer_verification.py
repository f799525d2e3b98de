"""Layer verification: every node of a layer scores its children by a one-step rule, within its share of the layer.

[cha2026layer], of which only the abstract and two formulas were at hand; the sweep is in `verifiers._layers`. From a
layer with scores `a_c`, whose nodes have i.i.d. children:
1. With `A = sum a_c` over the nodes that have children, node `c` has the share `a_c / A` of the layer's capacity.
2. Within it the one-step rule moves drafts from `q` to the incomplete target `A p`, of mass at most 1:
   `specinfer`: drafts are tried in random order, each accepted with `min(1, u/(R q))`, where `u` is what is still owed
   of `A p` and `R` the probability that none was accepted, then `u <- (u - R q)+`, `R <- sum (R q - u)+`;
   `khisti`: a tournament, whose winner of law `r` is accepted with `min(1, A p/r)`;
   `optimal_transport`: a largest flow from sets of drafts to tokens, or scores where the sets are too many.
3. The score of a child is the share times the probability that the rule returns it, given the drafts of its node.

Lossless for every rule that returns `y` with probability at most `A p(y)`: the mean score is `a_c / A` times that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from simulator.errors import InvalidInput
from simulator.protocol import Card, Coin, Context, DraftNode, Source, Vector, Verdict
from simulator.structures import Layered
from simulator.vectors import minimum, one_hot, positive_part
from verifiers._layers import Scored, Step, sweep
from verifiers._memo import memoised
from verifiers._set_flow import few_sets, transport
from verifiers.khisti import winner_and_law
from verifiers.optimal_transport import accepted_and_law

#: `rule(owed, q, drafted)`: the probability that each token is returned, given the drafts, and on average; `(V,)` each.
OneStep: TypeAlias = Callable[[Vector, Vector, tuple[int, ...]], tuple[Vector, Vector]]


@dataclass(frozen=True)
class LayerVerification:
    """See the module. rule: the name of the one-step rule; any other raises `InvalidInput`."""

    rule: str = "optimal_transport"

    card: ClassVar[Card] = Card(
        name="layer_verification",
        title="Layer verification with a one-step rule",
        source=Source("cha2026layer", "scores by a one-step rule"),
        lossless_for=("delayed", "specinfer_config", "adaptive"),
        departs="Made from the abstract and two formulas; a node's share of the layer is ours where they are silent.",
        parameters={"rule": "one-step rule: specinfer, khisti or optimal_transport"},
    )

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise InvalidInput(f"layer_verification: rule = {self.rule} is unknown; choose from {', '.join(RULES)}")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return sweep(root, coin, self.step)

    @property
    def structure(self) -> Layered:
        """See `Layered`."""
        return Layered(partial(_outcomes, RULES[self.rule]))

    def step(self, layer: Sequence[Scored]) -> Step:
        """Steps 1 to 3 for one layer."""
        forks = [scored for scored in layer if scored.node.children]
        capacity = sum(scored.score for scored in forks)
        scores: dict[Context, Any] = {}
        met: dict[Context, Vector] = {}
        for scored in forks:
            node, share = scored.node, scored.score
            given, mean = RULES[self.rule](capacity * node.target, node.draft, node.children)
            met[node.context] = mean * share / capacity
            for token in set(node.children):
                if given[token] > 0:
                    scores[*node.context, token] = given[token] * share / capacity
        return Step.of(scores, met)


def _outcomes(
    rule: OneStep, scores: Vector, target: Vector, draft: Vector, branches: tuple[int, ...]
) -> tuple[Vector, Iterable[Any]]:
    """See `Layered`: the nodes of a layer draw each for itself, within shares that do not depend on what is drawn."""
    met = target * 0
    layers = []
    for number, (shares, p, q) in enumerate(zip(scores[..., 0].tolist(), target, draft, strict=True)):
        capacity = sum(shares)
        by_node = []
        for place, (share, k) in enumerate(zip(shares, branches, strict=True)):
            ask = partial(rule, capacity * p[place], q[place])
            met[number, place] = ask((int(q[place].argmax()),) * k)[1] * share / capacity
            by_node.append(partial(_drawn, ask, q[place].tolist(), k, share, capacity))
        layers.append(by_node)
    return met, map(_together, layers)


def _drawn(ask: Any, q: Sequence[Any], k: int, share: Any, capacity: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """What one node may draw: the probability, and each token with the branches through it and its score."""
    found: dict[tuple[Any, ...], Any] = {}
    for drafted in product([token for token, mass in enumerate(q) if mass > 0], repeat=k):
        given, _ = ask(drafted)
        tokens = [token for token in sorted(set(drafted)) if given[token] > 0]
        scored = tuple((token, drafted.count(token), given[token] * share / capacity) for token in tokens)
        found[scored] = found.get(scored, 0) + prod(q[token] for token in drafted)
    return [(chance, scored) for scored, chance in found.items()]


def _together(by_node: Sequence[Callable[[], list[Any]]]) -> Iterator[tuple[Any, list[Any]]]:
    for drawn in product(*(node() for node in by_node)):
        scored = [(place, *child) for place, (_, children) in enumerate(drawn) for child in children]
        if scored:
            yield prod(chance for chance, _ in drawn), scored


@memoised
def _specinfer(owed: Vector, q: Vector, drafted: tuple[int, ...]) -> tuple[Vector, Vector]:
    rounds = []
    missed: Any = 1
    mean = owed * 0
    for _ in drafted:
        accepted = minimum(owed, missed * q)
        rounds.append(accepted / (missed * q + (q <= 0)) if missed > 0 else q * 0)
        mean = mean + accepted
        owed, missed = owed - accepted, positive_part(missed * q - accepted).sum()
    known: dict[tuple[int, ...], Vector] = {(): q * 0}

    def law(left: tuple[int, ...]) -> Vector:
        if left not in known:
            accepted = rounds[len(drafted) - len(left)]
            total: Any = 0
            for place, token in enumerate(left):
                rest = law(left[:place] + left[place + 1 :])
                total = total + accepted[token] * one_hot(q, token) + (1 - accepted[token]) * rest
            known[left] = total / len(left)
        return known[left]

    return law(tuple(sorted(drafted))), mean


@memoised
def _khisti(owed: Vector, q: Vector, drafted: tuple[int, ...]) -> tuple[Vector, Vector]:
    winner, law = winner_and_law(owed, q, drafted)
    mean = minimum(owed, law)
    return winner * mean / (law + (law <= 0)), mean


@memoised
def _optimal_transport(owed: Vector, q: Vector, drafted: tuple[int, ...]) -> tuple[Vector, Vector]:
    if not few_sets(q, len(drafted)):
        return accepted_and_law(owed, q, drafted)
    masses, flow, _ = transport(owed, q, len(drafted))
    drafts = tuple(sorted(set(drafted)))
    given, mean = owed * 0, owed * 0
    for sent in flow.values():
        for token, mass in sent.items():
            mean[token] = mean[token] + mass
    for token, mass in flow[drafts].items():
        given[token] = given[token] + mass / masses[drafts]
    return given, mean


RULES: Mapping[str, OneStep] = MappingProxyType(
    {"specinfer": _specinfer, "khisti": _khisti, "optimal_transport": _optimal_transport}
)
