"""Recursive rejection without replacement, slot by slot: the gain of one more drafted token.

A slot is a place for one more child of a node: the node and the children tried before. Verification reaches it with a
probability, its mass, which depends on the tokens drawn before only. So the block efficiency of a tree, however it has
grown, is `1 + sum of mass times acceptance` over its filled slots.
"""

from dataclasses import dataclass, field
from typing import Any

from draftproof.simulator.protocol import Context, TokenProcess, Vector
from draftproof.simulator.vectors import acceptance, residual, without

#: A node and the children that were tried there before, in order.
Slot = tuple[Context, tuple[int, ...]]


@dataclass(frozen=True)
class Draw:
    """One token that may fill a slot. probability: of drawing it. accepted: that verification then takes it."""

    token: int
    probability: Any
    accepted: Any


@dataclass
class Slots:
    """The slots of one pair of processes. by_draft: whether acceptance is taken to be the token's draft probability."""

    target: TokenProcess
    draft: TokenProcess
    by_draft: bool = False
    _rows: dict[Slot, tuple[Vector, Vector]] = field(default_factory=dict)
    _draws: dict[Slot, list[Draw]] = field(default_factory=dict)

    def draws(self, place: Slot) -> list[Draw]:
        """The tokens that may come next; none where the draft has no other token."""
        if place not in self._draws:
            self._draws[place] = self._listed(place)
        return self._draws[place]

    def rate(self, place: Slot) -> Any:
        """The probability that the next drawn token is accepted."""
        return sum(draw.probability * draw.accepted for draw in self.draws(place))

    def _listed(self, place: Slot) -> list[Draw]:
        p, q = self._left(place)
        if any(q[token] > 0 for token in place[1]):
            return []  # all tokens with q > 0 were tried
        draws = []
        for token, share in enumerate(q):
            if share > 0:
                draws.append(Draw(token, share, share if self.by_draft else acceptance(p, q, token)))
        return draws

    def _left(self, place: Slot) -> tuple[Vector, Vector]:
        """The target's and the draft's row after the rejection of the tried children."""
        if place not in self._rows:
            context, tried = place
            if tried:
                p, q = self._left((context, tried[:-1]))
                self._rows[place] = residual(p, q), without(q, tried[-1])
            else:
                self._rows[place] = self.target.row(context), self.draft.row(context)
        return self._rows[place]
