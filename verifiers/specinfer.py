"""Multi-step speculative sampling: try the children in random order, shrinking the target each time.

[miao2024specinfer], algorithm 2. At each node with drafts `X1..Xk`:
1. Pick one of the remaining drafts uniformly; accept it with probability `min(1, p/q)`.
2. On rejection set `p` to normalised `(p - q)+` and drop that one occurrence.
3. When none is left draw from `p`.

The token has law `p` when the drafts are independent: a round accepts the mass `min(p, q)` of its current target. Where
drafts have laws of their own, as `DraftNode.laws` tells, that of the draft stands for `q`; see `flattest_first`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.verifiers._top_down import walk


@dataclass(frozen=True)
class SpecInfer:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="specinfer",
        title="Multi-step speculative sampling (SpecInfer)",
        source=Source("miao2024specinfer", "algorithm 2"),
        needs=Draws.INDEPENDENT_BRANCHES,
        exchangeable=True,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token, attrgetter("laws"))


def _next_token(p: Vector, laws: tuple[Vector, ...], drafted: tuple[int, ...], coin: Coin) -> int:
    drafts = flattest_first(drafted, laws)
    while drafts:
        q = drafts[0][1]
        alike = [place for place, (_, law) in enumerate(drafts) if law is q]
        token, _ = drafts.pop(alike[coin.choose([1] * len(alike))])
        if coin.flip(acceptance(p, q, token)):
            return token
        p = residual(p, q)
    return coin.choose(p)


def flattest_first(drafted: Sequence[int], laws: Sequence[Vector]) -> list[tuple[int, Vector]]:
    """Drafts with their laws in the order in which they are judged; those of one law stay in their order.

    The flattest law comes first, that whose likeliest token is least likely: what it leaves of the target is then on
    the likely tokens, which the others draw. The other way round a token of several laws is often drafted too late.
    """
    drafts = list(zip(drafted, laws, strict=True))
    return drafts if all(law is laws[0] for law in laws) else sorted(drafts, key=lambda draft: draft[1].max())
