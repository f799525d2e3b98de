"""Declared lossy: block verification that spends a bias of at most `eps` a block, as early on the path as it can.

New here. The bias is the total variation of the first `L + 1` tokens of a block from the target. Along the first path
every node has three numbers: `w`, the probability that the path is accepted down to it, given that it was drafted;
`u`, the same for the mass that the target still owes to this node, per unit of draft mass; `b`, what is left of `eps`.
At the root `w = u = 1` and `b = eps`. With `p`, `q` at a node:
1. `a = min(q, k p)`, with the largest `k <= u` for which `sum a <= w`.
2. Add `g = min((w - u)+ + b, w - sum a)` to `sum a`, in the ratios of `q - a`; `b` pays all but `(w - u)+` of it.
3. The corrections are `e = (u p - t q)+`, with the `t >= 1` for which `sum e = w - sum a`. Where tokens with `q = 0`
   alone have more than that, each gets the same part of it.
4. The drafted child `y` has `w = a(y)/q(y)`, `u = (u p(y) - e(y))/q(y)` and what is left of `b`.
5. Accept the last node with probability `w`. Else, from there up, accept a node with probability
   `sum e / (sum e + 1 - w)`, corrected from normalised `e`; after the last node the correction comes from `p`.

Where `w = u` and `b = 0` this is `block`. The output has mass `q(c) (w - u)` in excess of the target's at `c`, so its
bias is the mean over drafts of what is spent on the path, at most `eps` on every instance; and no node is reached less
often than by `block`. Proofs: `docs/theory/bounds.md`, "What a bias buys".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import hold_fractions
from draftproof.simulator.protocol import Card, Coin, DraftNode, Vector, Verdict
from draftproof.simulator.residual import positive_part
from draftproof.simulator.vectors import minimum


@dataclass(frozen=True)
class Entered:
    """A node of the path. reach: `w`; owed: `u`; left: `b`."""

    reach: Any
    owed: Any
    left: Any


@dataclass(frozen=True)
class Spent:
    """Steps 1 to 3 at a node. accepted: `a`; corrections: `e`, both of shape `(V,)`; left: `b` for the children."""

    accepted: Vector
    corrections: Vector
    left: Any

    def child(self, here: Entered, p: Vector, q: Vector, token: int) -> Entered:
        """Step 4."""
        mass, owed = q[token], here.owed * p[token]
        if not mass > 0:  # drafted only where the verifier is told another q: as `block`
            reach = mass * 0 + (1 if owed > 0 else 0)
            return Entered(reach, reach, self.left)
        return Entered(self.accepted[token] / mass, (owed - self.corrections[token]) / mass, self.left)


@dataclass(frozen=True)
class Budgeted:
    """See the module. eps: the largest total variation of a block, in [0, 1]; anything else raises `InvalidInput`."""

    eps: Fraction = Fraction(1, 50)

    card: ClassVar[Card] = Card(
        name="budgeted",
        title="Block verification with a budget of bias",
        source=None,
        needs=None,
        single_path=True,
        dominates=("naive", "block"),
        departs="Rounding in floats may add to the bias; in rationals eps is never exceeded.",
        parameters={"eps": "largest total variation of a block; 0 is lossless"},
    )

    def __post_init__(self) -> None:
        hold_fractions(self)
        if not 0 <= self.eps <= 1:
            raise InvalidInput(f"budgeted: eps = {self.eps} must lie between 0 and 1")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        path = first_path(root)
        return _decided(path, *self._walked(path), coin)

    def _walked(self, path: Sequence[DraftNode]) -> tuple[list[Entered], list[Spent]]:
        one = path[0].target[0] * 0 + 1
        entered, spent = [Entered(one, one, one * self.eps.numerator / self.eps.denominator)], []
        for node, child in pairwise(path):
            here = entered[-1]
            spent.append(spend(here, node.target, node.draft))
            entered.append(spent[-1].child(here, node.target, node.draft, child.context[-1]))
        return entered, spent


def _decided(path: Sequence[DraftNode], entered: Sequence[Entered], steps: Sequence[Spent], coin: Coin) -> Verdict:
    """Step 5."""
    if coin.flip(capped(entered[-1].reach)):
        return Verdict(path[-1].context, coin.choose(path[-1].target))
    for node, here, step in list(zip(path, entered, steps, strict=False))[:0:-1]:
        ended = step.corrections.sum()
        if ended > 0 and coin.flip(capped(ended / (ended + 1 - here.reach))):
            return Verdict(node.context, coin.choose(step.corrections))
    rest = steps[0].corrections
    return Verdict(path[0].context, coin.choose(rest if rest.sum() > 0 else path[0].target))


def spend(here: Entered, p: Vector, q: Vector) -> Spent:
    """Steps 1 to 3."""
    owed = here.owed * p
    accepted = minimum(q, owed)
    if accepted.sum() > here.reach:
        accepted = minimum(q, p * share(p, q, here.reach))
    room, before = q - accepted, here.reach - accepted.sum()
    over = here.reach - here.owed
    over = over if over > 0 else over * 0
    extra, rest = over + here.left, room.sum()
    extra = before if before < extra else extra
    if extra > 0 and rest > 0:
        accepted = accepted + room * (extra / rest)
    ended = before - extra
    left = here.left - (extra - over)
    corrections = positive_part(owed - q * level(owed, q, ended))
    total = corrections.sum()
    if total > 0:
        corrections = corrections * (ended / total if ended > 0 else 0)
    return Spent(accepted, corrections, left if left > 0 else left * 0)


def share(p: Vector, q: Vector, total: Any) -> Any:
    """The least `k` with `sum min(q, k p) >= total`, by Newton's method from below, which ends: only sets matter."""
    k = total * 0
    while True:
        below = q > p * k
        mass = (p * below).sum()
        following = (total - (q - q * below).sum()) / mass if mass > 0 else k
        if not following > k:
            return k
        k = following


def level(owed: Vector, q: Vector, total: Any) -> Any:
    """The least `t >= 1` with `sum (owed - t q)+ <= total`, or where only tokens with `q = 0` are left; as `share`."""
    t = total * 0 + 1
    while True:
        above = owed > q * t
        mass = (q * above).sum()
        following = ((owed * above).sum() - total) / mass if mass > 0 else t
        if not following > t:
            return t
        t = following


def capped(probability: Any) -> Any:
    """At most 1: rounding may bring more."""
    return probability if probability < 1 else 1
