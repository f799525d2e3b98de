"""Negative control: the bonus token after a full path is drawn with the random numbers of the position before it.

The bug: a key that does not change from one position to the next, as of keyed noise and of generators that are seeded
by request. That the last token was the smallest of `S / q` and of `S / p` says something about every `S`, so the bonus
token has another law than `p`: the mean over all keys is not the target's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from draftproof.simulator.protocol import Card, Coin, DraftNode, Source, Vector, Verdict
from draftproof.verifiers._paths import conditional
from draftproof.verifiers.gls import branch


@dataclass(frozen=True)
class ReusedNoise:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="gls_reused_noise",
        title="Gumbel-max sampling of one path that uses the noise of a position twice",
        source=Source("daliri2024coupling", "Gumbel sampling, with one bug"),
        needs=None,
        control=True,
        single_path=True,
        departs="The bonus token reads the random numbers of the last drafted one.",
        max_vocab=32,
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path and draw a correction token."""
        node, bonus = root, root.target
        while node.children:
            drafted = node.children[0]
            token = coin.choose(branch(node.target, node.draft, (drafted,)))
            if token != drafted:
                return Verdict(node.context, token)
            seen = known_to_win(node.target, node.draft, token)
            node = node.child(token)
            bonus = branch(node.target, seen, (token,))
        return Verdict(node.context, coin.choose(bonus))


def known_to_win(p: Vector, q: Vector, token: int) -> Vector:
    """The row `m` for which `token` has the smallest `S / m` just where it has the smallest `S / p` and `S / q`."""
    one, other = p / p[token], conditional(q, q[token])
    larger = np.maximum(one, other) if isinstance(one, np.ndarray) else one.maximum(other)
    return larger / larger.sum()
