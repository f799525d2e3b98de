"""The walk that every top-down verifier shares: one node at a time, from the root."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, DraftNode, Vector, Verdict
from draftproof.simulator.structures import TopDown

#: `solve(p, q, drafted, coin)` returns the next token: its law is `p` when the drafted ones are i.i.d. from `q`.
NextToken = Callable[[Vector, Any, tuple[int, ...], Coin], int]


def draft_of(node: DraftNode) -> Vector:
    """The row `q`."""
    return node.draft


def laws_of(node: DraftNode) -> tuple[Vector, ...]:
    """The law of each draft."""
    return node.laws


def walk(
    root: DraftNode, coin: Coin, next_token: NextToken, drawn_from: Callable[[DraftNode], Any] = draft_of
) -> Verdict:
    """Go down the tree while the next token is a drafted one; the first that is not is the correction.

    At a leaf the correction is drawn from `p`. drawn_from: what `next_token` gets as `q`.
    """
    node = root
    while node.children:
        token = next_token(node.target, drawn_from(node), node.children, coin)
        if token not in node.children:
            return Verdict(node.context, token)
        node = node.child(token)
    return Verdict(node.context, coin.choose(node.target))


class _HasStructure(Protocol):
    @property
    def structure(self) -> TopDown | None: ...


def acceptance_rate(verifier: _HasStructure, p: Vector, q: Vector, k: int) -> Any:
    """Probability that one node accepts one of `k` i.i.d. drafts: what its child law goes on with, shape `(n..)`.

    p, q: shape `(n.., V)`.
    """
    structure = verifier.structure
    if structure is None:
        raise InvalidInput("acceptance rates have no closed form with this solver; use block_law")
    if structure.last_step is not None:
        return structure.last_step(p, q, {k: 1})[1].sum(-1)
    assert structure.child_law is not None
    return structure.child_law(p, q, k)[1:].sum(0).sum(-1)
