"""The walk that every top-down verifier shares: one node at a time, from the root."""

from __future__ import annotations

from collections.abc import Callable

from simulator.protocol import Coin, DraftNode, Vector, Verdict

#: `solve(p, q, drafted, coin)` returns the next token: its law is `p` when the drafted ones are i.i.d. from `q`.
Solver = Callable[[Vector, Vector, tuple[int, ...], Coin], int]


def walk(root: DraftNode, coin: Coin, solve: Solver) -> Verdict:
    """Follow the solver's tokens while they are drafted; the first that is not is the correction.

    At a leaf the correction is drawn from `p`.
    """
    node = root
    while node.children:
        token = solve(node.target, node.draft, node.children, coin)
        if token not in node.children:
            return Verdict(node.context, token)
        node = node.child(token)
    return Verdict(node.context, coin.choose(node.target))
