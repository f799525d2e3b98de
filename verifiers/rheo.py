"""RheoSampling's verification: only the child that was sampled is judged with its probability.

[rheo2026resolving], losslessness as a public port of the paper has it. At each node:
1. With one child draw from `p`; a draw that equals the child continues there.
2. With several the last is the sampled one: accept it with probability `min(1, p/q')`, where `q'` is `q` without the
   first child, the likeliest token, renormalised.
3. Else draw from normalised `(p - q')+`; a draw that equals a child continues there.

With two children this is `greedy_multi_draft`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.structures import TopDown
from draftproof.verifiers import greedy_multi_draft
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.rejection_without_replacement import branch_in_turn, next_in_turn


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
        return walk(root, coin, partial(next_in_turn, _tries))

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=partial(branch_in_turn, _tries))


def _tries(p: Vector, q: Vector, drafted: tuple[int, ...]) -> Iterator[tuple[int | None, Any]]:
    return iter([(None, p)]) if len(drafted) == 1 else greedy_multi_draft.tries(p, q, (drafted[0], drafted[-1]))
