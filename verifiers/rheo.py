"""RheoSampling's verification: only the child that was sampled is judged with its probability.

[rheo2026resolving], losslessness as a public port of the paper has it. At each node:
1. With one child draw from `p`; a draw that equals the child continues there.
2. With several the last is the sampled one: accept it with probability `min(1, p/q')`, where `q'` is `q` without the
   first child, the likeliest token, renormalised.
3. Else draw from normalised `(p - q')+`; a draw that equals a child continues there.

With two children this is `greedy_multi_draft`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.verifiers import greedy_multi_draft
from draftproof.verifiers._top_down import walk


@dataclass(frozen=True)
class RheoVerification:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="rheo",
        title="RheoSampling's verification",
        source=Source("rheo2026resolving", "losslessness"),
        needs=Draws.ONE_FROM_REST,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts in their order, shape `(n.., V)`."""
    return p * 1 if len(drafted) == 1 else greedy_multi_draft.branch(p, q, (drafted[0], drafted[-1]))


def _next_token(p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    if len(drafted) == 1:
        return coin.choose(p)
    return greedy_multi_draft.next_token(p, q, (drafted[0], drafted[-1]), coin)
