"""Sequoia's verification: rejection without replacement, uniform where the draft has nothing left.

[chen2024sequoia], the verification of the paper. At each node with different drafts `X1..Xk`:
1. Try them in order; accept with probability `min(1, R/D)`, where `R = p` and `D = q` to begin with.
2. On rejection `R` becomes normalised `(R - D)+`, and `D` loses the token and is renormalised; where nothing is left
   of `D` it becomes the uniform law over the tokens that were not tried: so drafts the scheme `sequoia`.
3. When none is left draw from `R`.

Where the draft is never exhausted this is `rejection_without_replacement`, and a token that comes again is skipped as
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import perm
from typing import Any, ClassVar

from draftproof.simulator.drafts.sequoia import remaining
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Draws, Source, TokenProcess, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.tables import context_count
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.rejection_without_replacement import branch_in_turn, next_in_turn

#: A measurement is refused above so many rows times orders of drafts: some ten seconds in rationals.
MOST_STEPS = 1e6


@dataclass(frozen=True)
class SequoiaVerification:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="sequoia",
        title="Sequoia's sampling without replacement",
        source=Source("chen2024sequoia", "verification"),
        needs=Draws.SIBLINGS_IN_TURN,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, partial(next_in_turn, _tries))

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=partial(branch_in_turn, _tries))


def acceptance_vector(target: TokenProcess, draft: TokenProcess, depth: int, width: int) -> list[Any]:
    """The probability that the first, second, .. of `width` children is the accepted one: disjoint events.

    Computed exactly: the average over the depths 0..depth-1 of the mean over the contexts there, weighted by their
    target probability. There are fewer than `width` where a node has fewer tokens, or where more could not be listed.
    Raises `TooLarge` where even the contexts are too many.
    """
    size = target.vocab_size
    last = context_count(size, depth - 1)
    fitting = [k for k in range(1, min(width, size) + 1) if last * perm(size, k) <= MOST_STEPS]
    if not fitting:
        raise TooLarge(
            f"an acceptance vector at V = {size} goes through {context_count(size, depth):.1e} rows at depth {depth}; "
            "give a smaller depth, keep the most probable tokens only, or name the tree itself"
        )
    width = fitting[-1]
    layer: dict[Context, Any] = {(): 1}
    total = [0] * width
    for _ in range(depth):
        below: dict[Context, Any] = {}
        for context, mass in layer.items():
            p = target.row(context)
            shares = _shares(p, draft.row(context), (), width)
            total = [sum_ + mass * share for sum_, share in zip(total, shares, strict=True)]
            below |= {(*context, token): mass * p[token] for token in range(size) if p[token] > 0}
        layer = below
    return [share / depth for share in total]


def _shares(p: Vector, q: Vector, tried: tuple[int, ...], width: int) -> list[Any]:
    """For each of the next `width` children the probability that it is drawn after `tried` and accepted."""
    if not width:
        return []
    first, later = p.sum() * 0, [p.sum() * 0] * (width - 1)
    left = remaining(q, tried)
    for token, mass in enumerate(left):
        if mass > 0:
            accepted = acceptance(p, left, token)
            first = first + mass * accepted
            if accepted < 1:
                rest = _shares(residual(p, left), q, (*tried, token), width - 1)
                later = [sum_ + mass * (1 - accepted) * share for sum_, share in zip(later, rest, strict=True)]
    return [first, *later]


def _tries(p: Vector, q: Vector, drafted: tuple[int, ...]) -> Iterator[tuple[int | None, Any]]:
    tried: tuple[int, ...] = ()
    for token in dict.fromkeys(drafted):
        left = remaining(q, tried)
        yield token, acceptance(p, left, token)
        p, tried = residual(p, left), (*tried, token)
    yield None, p
