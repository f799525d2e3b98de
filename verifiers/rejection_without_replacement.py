"""Recursive rejection sampling for drafts without replacement: both distributions shrink at every rejection.

[jeon2024recursive], recursive rejection sampling without replacement. At each node with different drafts `X1..Xk`:
1. Try them in order; accept with probability `min(1, p/q)`.
2. On rejection `p` becomes normalised `(p - q)+`, and `q` loses the token and is renormalised: that is the law from
   which the next draft was drawn.
3. When none is left draw from `p`.

Also lossless for i.i.d. drafts when a token that comes again is skipped: the different tokens among them, in order, are
drawn without replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import one_hot, stacked, without
from draftproof.verifiers._top_down import walk

#: `tries(p, q, drafted)`: the drafts of a node in the order in which they are tried, each with the probability that it
#: is accepted once all before it were rejected; at last None, with the law of the token that is drawn then.
Tries: TypeAlias = Callable[[Vector, Vector, tuple[int, ...]], Iterator[tuple[int | None, Any]]]


@dataclass(frozen=True)
class RejectionWithoutReplacement:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="rejection_without_replacement",
        title="Recursive rejection sampling without replacement",
        source=Source("jeon2024recursive", "recursive rejection sampling without replacement"),
        needs=Draws.SIBLINGS_IN_TURN,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, partial(next_in_turn, _tries))

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=partial(branch_in_turn, _tries))


def _tries(p: Vector, q: Vector, drafted: tuple[int, ...]) -> Iterator[tuple[int | None, Any]]:
    for token in drafted:
        if not q[token] > 0:
            continue  # a token drafted twice: without replacement it could not come again
        yield token, acceptance(p, q, token)
        p, q = residual(p, q), without(q, token)
    yield None, p


def next_in_turn(tries: Tries, p: Vector, q: Vector, drafted: tuple[int, ...], coin: Coin) -> int:
    """The next token of one node."""
    for token, chance in tries(p, q, drafted):
        if token is not None and coin.flip(chance):
            return token
    return coin.choose(chance)


def branch_in_turn(tries: Tries, p: Vector, q: Vector, drafted: tuple[int, ...]) -> Vector:
    """The law of the next token given the drafts in their order, shape `(n.., V)`."""
    return stacked(lambda target, draft: _law(tries(target, draft, drafted), target), p, q)


def _law(tried: Iterator[tuple[int | None, Any]], like: Vector) -> Vector:
    law, left = like * 0, 1
    for token, chance in tried:
        if token is not None:
            law = law + left * chance * one_hot(law, token)
            left = left * (1 - chance)
    return law + left * chance
