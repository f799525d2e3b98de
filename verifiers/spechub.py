"""SpecHub's verification: the mass that no pair can use goes to the most probable draft token, the hub.

[sun2024spechub], the pairs of the scheme `spechub`, with the hub `a` and `m(x) = q(a) q(x)/(1 - q(a))`, the mass of
the pair `(a, x)`. At each node:
1. Pair `(x, a)`: accept `x` with probability `min(1, p(x)/q(x))`.
2. Pair `(a, x)`: accept `x` with probability `min(1, (p(x) - q(x))+/m(x))`.
3. Else accept the hub, with the probability that gives it `min(p(a), M)` in all, where `M` is the mass that comes here.
4. Else draw from normalised `p` minus the mass accepted in steps 1 to 3.

The acceptance rate is `min(1, p(a) + sum min(p(x), q(x)/(1 - q(a))))` over the other tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import residual
from draftproof.simulator.vectors import minimum, top_tokens
from draftproof.verifiers._top_down import walk


@dataclass(frozen=True)
class SpecHubVerification:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="spechub",
        title="SpecHub",
        source=Source("sun2024spechub", "optimal transport of the hub's pairs"),
        needs=Draws.HUB_PAIRS,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token; raises `UnsupportedTree` for other drafts."""
        return walk(root, coin, _next_token)


def _next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    hub = top_tokens(q, 1)[0]
    _check(hub, drafted, q)
    others = q * 1
    others[hub] = q[hub] * 0
    drawn = (
        others / (1 - q[hub]) if len(drafted) == 2 else others
    )  # a pair has the token with this probability, in either order
    used = minimum(p, drawn)
    if len(drafted) == 2:
        token = next(token for token in drafted if token != hub)
        if coin.flip(_accepted(p, q, token, hub, drafted[0] == hub)):
            return token
    rejected = 1 - used.sum()
    used[hub] = p[hub] if p[hub] < rejected else rejected
    if rejected > 0 and coin.flip(used[hub] / rejected):
        return hub
    return coin.choose(residual(p, used))


def _accepted(p: Vector, q: Vector, token: int, hub: int, hub_first: bool) -> object:
    """The probability of step 1 or 2."""
    mass = q[hub] * q[token] / (1 - q[hub]) if hub_first else q[token]
    left = p[token] - q[token] if hub_first else p[token]
    if not left > 0:
        return 0
    return left / mass if left < mass else 1


def _check(hub: int, drafted: Sequence[int], q: Vector) -> None:
    pair = len(drafted) == 2 and hub in drafted and drafted[0] != drafted[1] and min(q[token] for token in drafted) > 0
    if not pair and (tuple(drafted) != (hub,) or q[hub] < q.sum()):
        raise UnsupportedTree(f"spechub verifies pairs of the most probable draft token and another one, not {drafted}")
