"""The walk that every top-down verifier shares: one node at a time, from the root."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from draftproof.simulator.protocol import Coin, DraftNode, Vector, Verdict

#: `next_token(p, q, drafted, coin)` returns the next token: its law is `p` when the drafted ones are i.i.d. from `q`.
NextToken = Callable[[Vector, Any, tuple[int, ...], Coin], int]


def walk(
    root: DraftNode, coin: Coin, next_token: NextToken, drawn_from: Callable[[DraftNode], Any] = attrgetter("draft")
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
