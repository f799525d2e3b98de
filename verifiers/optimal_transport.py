"""The best any verifier can do at one node: a largest exact flow from sets of drafts to tokens.

[sun2023spectr] pose the program, [khisti2025multi] and [hu2025towards] analyse it. At a node with `k` drafts from `q`:
1. Only the set `S` of different drafted tokens matters; `P(S)` is its probability. Where the drafts are independent
   with laws of their own, as `DraftNode.laws` tells, so it is of these.
2. Send as much mass as possible from the sets to the tokens in them, at most `P(S)` from `S`, at most `p(y)` to `y`.
3. Given `S`, return `y` with probability `flow(S, y)/P(S)`; with what is left draw from normalised `p` minus all flow.

The flow is found by augmenting paths in the arithmetic of the run, so it is exact for rationals, and the acceptance
rate is the optimum of one step, `min over sets T of [p(not T) + 1 - prod_i (1 - q_i(T))]` with the law `q_i` of the
`i`-th draft.

Where the sets are too many to list, i.i.d. drafts get scores instead, which need one pass over the rows: the law `r` of
the draft taken has the largest overlap with `p` that classes of tokens of like `p/q` allow, see `verifiers._scores`. It
is accepted with probability `min(1, p/r)`, else the token is drawn from normalised `(p - r)+`. Drafts with laws of
their own are one layer of `layer_transport`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import (
    ascending_ratio,
    entries,
    joined,
    layers,
    minimum,
    one_hot,
    residual,
    stacked,
    stacked_layers,
)
from draftproof.verifiers._branch_groups import groups_of
from draftproof.verifiers._layers import Scored
from draftproof.verifiers._paths import capped
from draftproof.verifiers._ratio_classes import WHOLE, numbers
from draftproof.verifiers._scores import Scores, joint_law, scored
from draftproof.verifiers._set_flow import can_list_sets, set_masses, transport
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.layer_transport import LayerTransport


@dataclass(frozen=True)
class OptimalTransport:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="optimal_transport",
        title="Optimal transport at every node",
        source=Source("sun2023spectr", "the optimal-transport program, equation 6"),
        needs=Draws.INDEPENDENT_BRANCHES,
        exchangeable=True,
        departs=(
            "The program is solved as a maximum flow from sets of drafts, without a solver, so that it is exact; by "
            "classes of tokens where the sets are too many, which accepts a trace less than the optimum."
        ),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token, lambda node: node)

    def acceptance_rate(self, p: Vector, q: Vector, k: int) -> Any:
        """`min over T of [p(not T) + 1 - (1 - q(T))^k]`, the optimum of one step. p, q: shape `(n.., V)`.

        The minimum is attained by a set of tokens with the largest `p/q`, so that one sort suffices. Where the sets are
        too many to list, what the scores attain.
        """
        return stacked(lambda target, draft: _rate(target, draft, k), p, q)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch, child_law=child_law)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`."""
    return stacked(lambda target, draft: _branch(target, draft, drafted), p, q)


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    The drafts have the set `S` and `m` of them equal `y` in `S` with probability `C(k, m) q(y)^m` times that of
    `k - m` drafts having the set `S` without `y`.
    """
    return stacked_layers(lambda target, draft: _child_law(target, draft, k), p, q)


def _next_token(p: Vector, node: DraftNode, drafted: tuple[int, ...], coin: Coin) -> int:
    groups = groups_of(node)
    laws, counts = [group.law for group in groups], tuple(len(group.drafted) for group in groups)
    if not can_list_sets(laws, counts):
        return _solve_layer(node, coin) if len(groups) > 1 else _solve_scored(p, laws[0], drafted, coin)
    masses, flow, rest = transport(p, joined(laws), counts)
    drafts = tuple(sorted(set(drafted)))
    sent = flow[drafts]
    missing = masses[drafts] - sum(sent.values())
    rejected = missing if missing > 0 and max(rest) > 0 else 0  # rounding may leave one side of nothing
    choice = coin.choose([*sent.values(), rejected])
    return list(sent)[choice] if choice < len(sent) else coin.choose(rest)


def _solve_scored(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    scores = one_step(p, q, len(drafted))
    taken = drafted[coin.choose(scores.chances(drafted))]
    if coin.flip(kept(scores, p, q, [taken])[0]):
        return taken
    return coin.choose(residual(p, scores.law(q)))


def _solve_layer(node: DraftNode, coin: Coin) -> int:
    step = LayerTransport().step([Scored(node, 1)])
    (means,) = step.means.values()
    taken = coin.choose([*step.scores.values(), max(1 - sum(step.scores.values()), 0)])
    if taken < len(step.scores):
        return list(step.scores)[taken][-1]
    return coin.choose(residual(node.target, means(WHOLE)))


def one_step(p: Vector, q: Vector, k: int) -> Scores:
    """The scores of a node with `k` drafts; the sum of p may be less than 1."""
    return scored(p, q, (*[0] * (k - 1), 1))


def kept(scores: Scores, p: Vector, q: Vector, tokens: Sequence[int]) -> list[Any]:
    """`min(1, p/r)` of drafted tokens."""
    laws = [mass * rho for mass, rho in zip(numbers(q, tokens), scores.rates(tokens), strict=True)]
    return [capped(target, law) for target, law in zip(numbers(p, tokens), laws, strict=True)]


def _rate(p: Vector, q: Vector, k: int) -> Any:
    return _optimum(p, q, k) if can_list_sets([q], (k,)) else _child_law(p, q, k)[1:].sum()


def _optimum(p: Vector, q: Vector, k: int) -> Any:
    kept, drafted = p.sum(), q.sum() * 0
    best = kept
    order = ascending_ratio(p, q)[::-1]
    for token in sorted(order, key=lambda token: bool(q[token] > 0)):  # tokens with q = 0 first: they cost nothing
        kept, drafted = kept - p[token], drafted + q[token]
        best = min(best, kept + 1 - (1 - drafted) ** k)
    return best


def _child_law(p: Vector, q: Vector, k: int) -> Vector:
    if not can_list_sets([q], (k,)):
        return joint_law(one_step(p, q, k), p, q, k)
    masses, flow, rest = transport(p, q, (k,))
    fewer = [set_masses([entries(q)] * drafts) for drafts in range(k)]
    spare = sum(rest)
    law = layers([p * 0] * (k + 1))
    for drafts, mass in masses.items():
        if not mass > 0:  # too small for floats
            continue
        missing = mass - sum(flow[drafts].values())
        for token in range(len(p)):
            share = missing * rest[token] / spare if spare > 0 else mass * 0
            if token not in drafts:
                law[0, token] += share
                continue
            others = tuple(other for other in drafts if other != token)
            given = (flow[drafts].get(token, 0) + share) / mass
            for equal in range(1, k + 1):
                beside = fewer[k - equal].get(others, 0)
                law[equal, token] += comb(k, equal) * q[token] ** equal * beside * given
    return law


def _branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    if not can_list_sets([q], (len(drafted),)):
        return _branch_scored(p, q, drafted)
    masses, flow, rest = transport(p, q, (len(drafted),))
    drafts = tuple(sorted(set(drafted)))
    law = p * 0
    for token, sent in flow[drafts].items():
        law = law + sent / masses[drafts] * one_hot(p, token)
    spare = sum(rest)
    missing = 1 - law.sum()
    for token, mass in enumerate(rest):
        law[token] = law[token] + (missing * mass / spare if spare > 0 else mass * 0)
    return law


def _branch_scored(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    scores, given = one_step(p, q, len(drafted)), p * 0
    for token, chance in accepted(scores, p, q, drafted).items():
        given[token] = given[token] + chance
    return given + (1 - given.sum()) * residual(p, mean_accepted(scores, p, q, WHOLE))


def accepted(scores: Scores, p: Vector, q: Vector, drafted: Sequence[int]) -> dict[int, Any]:
    """The probability that each drafted token is accepted, given the drafts."""
    given: dict[int, Any] = {}
    for token, chance, rate in zip(drafted, scores.chances(drafted), kept(scores, p, q, drafted), strict=True):
        given[token] = given.get(token, 0) + chance * rate
    return given


def mean_accepted(scores: Scores, p: Vector, q: Vector, part: slice) -> Vector:
    """That on average, `min(p, r)`; a part of the row."""
    return minimum(p[part], scores.law(q, part))
