"""Tree Monte Carlo: walk the path once, carrying the mass of every correction that is still possible.

[hu2024accelerated], accelerated speculative sampling. Along the first path, with the weights `w_i` of `block`:
1. At position `i` (prefix `x_1..x_i`, next draft `x_{i+1}`): `S = sum (q - w_i p)+` and `t = (1 - w_{i+1})/S`
   (1 where `S = 0`). Multiply all earlier masses by `t` and add the masses `t (w_i p(y) - q(y))+`: correction `y` here.
2. After the last draft the masses and `w_L` sum to 1: draw one of them; `w_L` stands for the
   whole path, with a correction from `p`.

Given the drafts its law is that of `block`, although the literature ranks it below: with `s_i = sum (w_i p - q)+` the
sum `S_i` is `s_i + 1 - w_i`, so the product of the factors `t` from `i` on is the probability that `block` rejects at
all deeper nodes, divided by `S_i`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Verdict
from draftproof.simulator.residual import positive_part
from draftproof.simulator.structures import OnePath
from draftproof.verifiers._paths import at_rejection, child_weights, weighted_path


@dataclass(frozen=True)
class TreeMonteCarlo:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="tree_monte_carlo",
        title="Tree Monte Carlo (accelerated speculative sampling)",
        source=Source("hu2024accelerated", "accelerated speculative sampling"),
        needs=Draws.FIRST_PATH_FROM_Q,
        single_path=True,
        dominates=("naive", "block"),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        path = weighted_path(root)
        masses: list[Any] = []
        for (node, weight), (_, after) in pairwise(path):
            p, q = node.target, node.draft
            missing = positive_part(q - weight * p).sum()
            scale = (1 - after) / missing if missing > 0 else 1
            masses = [earlier * scale for earlier in masses]
            masses.append(positive_part(weight * p - q) * scale)
        leaf, whole = path[-1]
        shares = [*(mass.sum() for mass in masses), whole]
        if not any(share > 0 for share in shares):  # of a draft that neither p nor a told q has
            return Verdict(root.context, coin.choose(root.target))
        depth = coin.choose(shares)
        if depth == len(masses):
            return Verdict(leaf.context, coin.choose(leaf.target))
        return Verdict(path[depth][0].context, coin.choose(masses[depth]))

    @property
    def structure(self) -> OnePath:
        """See `OnePath`: that of `block`."""
        return OnePath(child_weights, at_rejection)
