"""The best any verifier can do at one node: a largest exact flow from sets of drafts to tokens.

[sun2023spectr] pose the program, [khisti2025multi] and [hu2025towards] analyse it. At a node with `k` drafts from `q`:
1. Only the set `S` of different drafted tokens matters; `P(S)` is its probability.
2. Send as much mass as possible from the sets to the tokens in them, at most `P(S)` from `S`, at most `p(y)` to `y`.
3. Given `S`, return `y` with probability `flow(S, y)/P(S)`; with what is left draw from normalised `p` minus all flow.

The flow is found by augmenting paths in the arithmetic of the run, so it is exact for rationals, and the acceptance
rate is the optimum of one step, `min over sets T of [p(not T) + 1 - (1 - q(T))^k]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar

from simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from simulator.structures import TopDown
from simulator.vectors import ascending_ratio, entries, layers, one_hot, stacked, stacked_layers
from verifiers._set_flow import set_masses, transport
from verifiers._top_down import walk


@dataclass(frozen=True)
class OptimalTransport:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="optimal_transport",
        title="Optimal transport at every node",
        source=Source("sun2023spectr", "the optimal-transport program, equation 6"),
        lossless_for=("delayed", "specinfer_config", "adaptive"),
        exchangeable=True,
        departs="The program is solved as a maximum flow from sets of drafts, without a solver, so that it is exact.",
        max_vocab=12,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _solve)

    def acceptance_rate(self, p: Vector, q: Vector, k: int) -> Any:
        """`min over T of [p(not T) + 1 - (1 - q(T))^k]`, the optimum of one step. p, q: shape `(n.., V)`.

        The minimum is attained by a set of tokens with the largest `p/q`, so that one sort suffices.
        """
        return stacked(lambda target, draft: _optimum(target, draft, k), p, q)

    @property
    def structure(self) -> TopDown:
        """See `TopDown`."""
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


def _solve(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    masses, flow, rest = transport(p, q, len(drafted))
    drafts = tuple(sorted(set(drafted)))
    sent = flow[drafts]
    missing = masses[drafts] - sum(sent.values())
    rejected = missing if missing > 0 and max(rest) > 0 else 0  # rounding may leave one side of nothing
    choice = coin.choose([*sent.values(), rejected])
    return list(sent)[choice] if choice < len(sent) else coin.choose(rest)


def _optimum(p: Vector, q: Vector, k: int) -> Any:
    kept, drafted = p.sum(), q.sum() * 0
    best = kept
    order = ascending_ratio(p, q)[::-1]
    for token in sorted(order, key=lambda token: bool(q[token] > 0)):  # tokens with q = 0 first: they cost nothing
        kept, drafted = kept - p[token], drafted + q[token]
        best = min(best, kept + 1 - (1 - drafted) ** k)
    return best


def _child_law(p: Vector, q: Vector, k: int) -> Vector:
    masses, flow, rest = transport(p, q, k)
    fewer = [set_masses(entries(q), drafts) for drafts in range(k)]
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
    masses, flow, rest = transport(p, q, len(drafted))
    drafts = tuple(sorted(set(drafted)))
    law = p * 0
    for token, sent in flow[drafts].items():
        law = law + sent / masses[drafts] * one_hot(p, token)
    spare = sum(rest)
    missing = 1 - law.sum()
    for token, mass in enumerate(rest):
        law[token] = law[token] + (missing * mass / spare if spare > 0 else mass * 0)
    return law
