"""Small verifiers of several paths with one bug each; see `references`."""

from __future__ import annotations

from dataclasses import dataclass

from draftproof.simulator.audit.diagnosis.references import RESIDUAL, Corrections, card_of
from draftproof.simulator.audit.interfaces import paths_of
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Vector, Verdict
from draftproof.simulator.vectors import acceptance, positive_part, residual, without


@dataclass(frozen=True)
class Recursive:
    """Recursive rejection at every node: the drafts in their order, each against what the ones before it left of `p`.

    normalised: whether what is left is divided by its sum. counted: whether the ratio of a token is multiplied by the
    number of its duplicates. excluding: whether a rejected draft leaves `q`, as drafts without replacement ask for.
    late: whether every node is judged with the `q` of the node before it.
    """

    corrections: Corrections = RESIDUAL
    normalised: bool = True
    counted: bool = False
    excluding: bool = False
    late: bool = False

    @property
    def card(self) -> Card:
        """A card that declares nothing."""
        return card_of("recursive rejection sampling", single_path=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node, before = root, root.draft
        while node.children:
            judged = before if self.late else node.draft
            token, p, q = self._judged(node, judged, coin)
            if token is None:
                return Verdict(node.context, coin.choose(self.corrections.weights(p, q)))
            before, node = node.draft, node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def _judged(self, node: DraftNode, q: Vector, coin: Coin) -> tuple[int | None, Vector, Vector]:
        """The accepted draft, None for none; then what the drafts before the last one left of `p`, and its `q`."""
        p = node.target
        for place, token in enumerate(node.children):
            if place:
                p, q = self._left(p, q), without(q, node.children[place - 1]) if self.excluding else q
            ratio = p[token] / q[token] * (node.children.count(token) if self.counted else 1) if q[token] > 0 else 0
            if coin.flip(ratio if ratio < 1 else 1):
                return token, p, q
        return None, p, q

    def _left(self, p: Vector, q: Vector) -> Vector:
        if self.corrections.kind == "target":
            return p
        return residual(p, q) if self.normalised else positive_part(p - q)


@dataclass(frozen=True)
class Longest:
    """Every path is judged token by token with coins of its own, and the one that is accepted furthest is taken.

    last: whether the last of several such paths is taken, not the first.
    """

    corrections: Corrections = RESIDUAL
    last: bool = False

    @property
    def card(self) -> Card:
        """A card that declares nothing."""
        return card_of("the longest of independent paths", single_path=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        best = root
        for place, path in enumerate(paths_of(root)):
            accepted = self._accepted(root, path, coin)
            longer = len(accepted.context) - len(best.context)
            if longer > 0 or (longer == 0 and (self.last or not place)):
                best = accepted
        if not best.children:
            return Verdict(best.context, coin.choose(best.target))
        return Verdict(best.context, coin.choose(self.corrections.weights(best.target, best.draft)))

    @staticmethod
    def _accepted(root: DraftNode, path: Context, coin: Coin) -> DraftNode:
        node = root
        for token in path:
            if not coin.flip(acceptance(node.target, node.draft, token)):
                return node
            node = node.child(token)
        return node
