"""Hierarchical speculative decoding: a walk of prefix ratios, reflected at one, which is block verification.

[zhou2026overcoming], with the capped prefix ratio. Along the first path `x_1..x_L`, with `p`, `q` at `x_1..x_i`:
1. Prefix ratios `r_i = prod p(x_j)/q(x_j)`; capped ones `w_i = min(1, r_i / max(1, r_1, .., r_{i-1}))`.
2. With `s+ = sum (w_i p - q)+` and `s- = sum (q - w_i p)+`: accept the whole path with probability `w_L`; else walk
   back and accept depth `i` with probability `min(1, s+/s-)` (0 where both are zero).
3. The correction comes from normalised `(w_i p - q)+`, or from `p` at depth `L`.

The law is that of `block`: dividing by the largest earlier ratio is the recursion `w_i = min(1, w_{i-1} p/q)` written
out, and `s- = s+ + 1 - w_i`. Tested to be identical, not only as efficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import positive_part, residual
from draftproof.simulator.structures import OnePath
from draftproof.verifiers._paths import at_rejection, child_weights


@dataclass(frozen=True)
class Hierarchical:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="hsd",
        title="Hierarchical speculative decoding",
        source=Source("zhou2026overcoming", "capped branch resampling"),
        needs=Draws.FIRST_PATH_FROM_Q,
        single_path=True,
        dominates=("naive", "block"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        path = first_path(root)
        return walk_back(path, capped_ratios(path), coin)

    @property
    def structure(self) -> OnePath:
        """See `OnePath`: that of `block`."""
        return OnePath(child_weights, at_rejection)


def prefix_ratios(path: list[DraftNode]) -> list[Any]:
    """`r_0 = 1, .., r_L`: target over draft mass of every prefix of a path.

    A prefix of infinite ratio, which a told q alone has, gets the largest so far, so that it is capped to 1.
    """
    ratios: list[Any] = [1]
    for node, child in pairwise(path):
        token = child.context[-1]
        mass, drafted = ratios[-1] * node.target[token], node.draft[token]
        ratios.append(mass / drafted if drafted > 0 else max(ratios) if mass > 0 else mass)
    return ratios


def capped_ratios(path: list[DraftNode]) -> list[Any]:
    """Step 1: `w_0 = 1, .., w_L`."""
    largest: Any = 1
    capped = []
    for ratio in prefix_ratios(path):
        capped.append(ratio / largest if ratio < largest else 1)
        largest = ratio if ratio > largest else largest
    return capped


def walk_back(path: list[DraftNode], ratios: list[Any], coin: Coin) -> Verdict:
    """Steps 2 and 3, with one ratio for every node of the path; a ratio above one counts as certain at the leaf."""
    if coin.flip(ratios[-1] if ratios[-1] < 1 else 1):
        return Verdict(path[-1].context, coin.choose(path[-1].target))
    for node, ratio in list(zip(path, ratios, strict=True))[-2:0:-1]:
        if coin.flip(_branch_acceptance(ratio * node.target, node.draft)):
            return Verdict(node.context, coin.choose(residual(ratio * node.target, node.draft, otherwise=node.target)))
    return Verdict((), coin.choose(residual(path[0].target, path[0].draft)))


def _branch_acceptance(mass: Vector, q: Vector) -> Any:
    """`min(1, s+/s-)`, 0 where `s+ = 0`."""
    excess, deficit = positive_part(mass - q).sum(), positive_part(q - mass).sum()
    if not excess > 0:
        return 0
    return excess / deficit if excess < deficit else 1
