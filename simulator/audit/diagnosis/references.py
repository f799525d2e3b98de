"""Small verifiers whose arguments choose one bug; the law of an audited function is compared with theirs.

They repeat steps of `draftproof.verifiers`, which `simulator` does not import. `p`, `q` are the rows at a node,
`(x)+ = max(x, 0)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.audit.interfaces import paths_of
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Vector, Verdict
from draftproof.simulator.vectors import acceptance, positive_part, residual, without


def card_of(name: str, single_path: bool) -> Card:
    """A card that declares nothing."""
    return Card(name, name, None, needs=None, single_path=single_path)


@dataclass(frozen=True)
class Corrections:
    """How a correction is drawn after a rejection: the residual, or what one bug makes of it.

    kind: "residual"; "target" (from `p`); "softmax", "softmax of weights" (from the exponentials of the normalised
    residual, or of `(p - q)+`); "last", "first" (from `(p - q)+` without dividing by its sum: an inverse cumulative sum
    gives what is missing to the last token, or to the first).
    """

    kind: str = "residual"

    def weights(self, p: Vector, q: Vector) -> Vector:
        """The weights of the correction token."""
        if self.kind == "target":
            return p
        excess = positive_part(p - q)
        if self.kind == "residual":
            return residual(p, q)
        if self.kind.startswith("softmax"):
            weights = np.exp((residual(p, q) if self.kind == "softmax" else excess).astype(float))
            return weights / weights.sum()
        place = len(p) - 1 if self.kind == "last" else 0
        excess[place] = excess[place] + 1 - excess.sum()
        return excess


#: The right correction.
RESIDUAL = Corrections()


#: Where on a path a bug is, in words; everywhere if it has no name of these.
PLACES = {
    "last": "at the last drafted token only",
    "later": "after the first drafted token only",
    "first": "at the first drafted token only",
    "earlier": "before the last drafted token only",
}


def _is_at(at: str, place: int, length: int) -> bool:
    """Whether a place of a path of this length is one of those."""
    last = length - 1
    places = {"last": place == last, "later": place > 0, "first": place == 0, "earlier": place < last}
    return places.get(at, True)


@dataclass(frozen=True)
class TokenWise:
    """Token-by-token verification of the first path, with rows from other positions.

    accept_p, accept_q, correct_p, correct_q: by how many positions the rows are off where a token is judged, and where
    a correction is drawn. bonus: likewise for the token after the last draft. wraps: whether the row before the first
    is the last one, as with Python's index -1; otherwise positions are clipped. relaxed: `w` of the acceptance
    `1 - w + w p/q`, 1 for the exact one. randomised: whether a coin decides; otherwise a token is accepted where
    `p >= q`. swapped: whether a token is accepted with `q / p`. greedy_bonus: whether the token after the last draft is
    the likeliest one. kept: "" where the tokens before the first rejection are kept; "counted" for as many as were
    accepted, "latest" for those up to the last accepted one. at: in `PLACES`, the rule is right elsewhere.
    """

    corrections: Corrections = RESIDUAL
    accept_p: int = 0
    accept_q: int = 0
    correct_p: int = 0
    correct_q: int = 0
    bonus: int = 0
    wraps: bool = False
    relaxed: Any = 1
    randomised: bool = True
    swapped: bool = False
    greedy_bonus: bool = False
    kept: str = ""
    at: str = ""

    card: ClassVar[Card] = card_of("token-by-token verification", single_path=True)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        path = first_path(root)
        rules = [self if _is_at(self.at, place, len(path) - 1) else TokenWise() for place in range(len(path) - 1)]
        accepted: list[bool] = []
        for place, rule in enumerate(rules):
            accepted.append(rule._accepts(path, place, coin))
            if not (accepted[-1] or self.kept):
                break
        kept = sum(accepted)
        if self.kept == "latest":
            kept = max((place + 1 for place, answer in enumerate(accepted) if answer), default=0)
        if kept < len(rules):
            return Verdict(path[kept].context, coin.choose(rules[kept]._weights(path, kept)))
        row = self._p(path, kept + self.bonus)
        return Verdict(path[kept].context, int(np.argmax(row)) if self.greedy_bonus else coin.choose(row))

    def _accepts(self, path: Sequence[DraftNode], place: int, coin: Coin) -> bool:
        token = path[place].children[0]
        numerator, denominator = self._p(path, place + self.accept_p), self._q(path, place + self.accept_q)
        if self.swapped:
            numerator, denominator = denominator, numerator
        ratio = acceptance(numerator, denominator, token) if denominator[token] > 0 else 1
        return coin.flip(1 - self.relaxed + self.relaxed * ratio) if self.randomised else bool(ratio >= 1)

    def _weights(self, path: Sequence[DraftNode], place: int) -> Vector:
        return self.corrections.weights(self._p(path, place + self.correct_p), self._q(path, place + self.correct_q))

    def _p(self, path: Sequence[DraftNode], place: int) -> Vector:
        last = len(path) - 1
        return path[last if self.wraps and place < 0 else min(max(place, 0), last)].target

    def _q(self, path: Sequence[DraftNode], place: int) -> Vector:
        last = len(path) - 1
        return path[last - 1 if self.wraps and place < 0 else min(max(place, 0), last - 1)].draft


@dataclass(frozen=True)
class SampledAgain:
    """A token drawn from `p` is compared with the draft; if it is another one, a new one is drawn from `p`."""

    card: ClassVar[Card] = card_of("a comparison with a sample", single_path=True)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node = root
        while node.children and coin.choose(node.target) == node.children[0]:
            node = node.child(node.children[0])
        return Verdict(node.context, coin.choose(node.target))


@dataclass(frozen=True)
class Blockwise:
    """Block verification of the first path.

    capped: whether the weight of the last token is built from capped ones; otherwise it is the product of all ratios,
    capped once, at 1. weights: whether depths are accepted with the weights themselves.
    """

    corrections: Corrections = RESIDUAL
    capped: bool = True
    weights: bool = False

    card: ClassVar[Card] = card_of("block verification", single_path=True)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        path = first_path(root)
        capped: list[Any] = [1]
        ratio: Any = 1
        for node in path[:-1]:
            token = node.children[0]
            step = node.target[token] / node.draft[token]
            ratio = ratio * step
            grown = capped[-1] * step
            capped.append(grown if grown < 1 else 1)
        last = capped[-1] if self.capped else (ratio if ratio < 1 else 1)
        if coin.flip(last):
            return Verdict(path[-1].context, coin.choose(path[-1].target))
        for node, weight in zip(reversed(path[:-1]), reversed(capped[:-1]), strict=True):
            spare = positive_part(weight * node.target - node.draft).sum()
            stop = weight if self.weights else spare / (spare + 1 - weight) if spare > 0 else 0
            if node is root or coin.flip(stop):
                return Verdict(node.context, coin.choose(self.corrections.weights(weight * node.target, node.draft)))
        raise AssertionError("the root is always accepted")


@dataclass(frozen=True)
class Recursive:
    """Recursive rejection at every node: the drafts in their order, each against what the ones before it left of `p`.

    normalised: whether what is left is divided by its sum. counted: whether the ratio of a token is multiplied by the
    number of its duplicates. distinct: whether duplicates are skipped. excluding: whether a rejected draft leaves `q`,
    as drafts without replacement ask for. late: whether every node is judged with the `q` of the node before it.
    whole: whether every draft is judged by the whole of `p`; once: whether the correction is what one draft leaves of
    it. at: in `PLACES`, the rule is right elsewhere.
    """

    corrections: Corrections = RESIDUAL
    normalised: bool = True
    counted: bool = False
    distinct: bool = False
    excluding: bool = False
    late: bool = False
    whole: bool = False
    once: bool = False
    at: str = ""

    card: ClassVar[Card] = card_of("recursive rejection sampling", single_path=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node, before, length = root, root.draft, len(first_path(root)) - 1
        while node.children:
            rule = self if _is_at(self.at, len(node.context) - len(root.context), length) else Recursive()
            token, p, q = rule._judged(node, before if rule.late else node.draft, coin)
            if token is None:
                return Verdict(node.context, coin.choose(rule.corrections.weights(p, q)))
            before, node = node.draft, node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def _judged(self, node: DraftNode, q: Vector, coin: Coin) -> tuple[int | None, Vector, Vector]:
        """The accepted draft, None for none; then what the drafts before the last one left of `p`, and its `q`."""
        p, children = node.target, tuple(dict.fromkeys(node.children)) if self.distinct else node.children
        for place, token in enumerate(children):
            if place:
                p, q = self._left(p, q), without(q, children[place - 1]) if self.excluding else q
            mass = (node.target if self.whole else p)[token] * (children.count(token) if self.counted else 1)
            ratio = mass / q[token] if q[token] > 0 else 0
            if coin.flip(ratio if ratio < 1 else 1):
                return token, p, q
        return None, node.target if self.once else p, q

    def _left(self, p: Vector, q: Vector) -> Vector:
        if self.corrections.kind == "target":
            return p
        return residual(p, q) if self.normalised else positive_part(p - q)


@dataclass(frozen=True)
class OwnCoins:
    """A sibling is accepted where its coin is below the sum of `p` over the siblings so far; one for all is right."""

    card: ClassVar[Card] = card_of("siblings with coins of their own", single_path=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node = root
        while node.children:
            left, total = node.target, 0 * node.target[0]
            for token in dict.fromkeys(node.children):
                total = total + node.target[token]
                if coin.flip(total if total < 1 else 1):
                    node = node.child(token)
                    break
                left = without(left, token)
            else:
                return Verdict(node.context, coin.choose(left))
        return Verdict(node.context, coin.choose(node.target))


@dataclass(frozen=True)
class CommonMinimum:
    """A batch whose requests all keep as many tokens as the one that keeps fewest, each correcting by itself there.

    corrections: of a request that accepted the draft at this place.
    """

    corrections: Corrections

    def __call__(self, roots: Sequence[DraftNode], coin: Coin) -> list[Verdict]:
        """The verdicts of all requests."""
        paths = [first_path(root) for root in roots]
        own = [len(TokenWise().verify(root, coin).accepted) - len(root.context) for root in roots]
        found = []
        for path, kept in zip(paths, own, strict=True):
            node = path[min(own)]
            weights = (RESIDUAL if kept == min(own) else self.corrections).weights
            found.append(
                Verdict(node.context, coin.choose(weights(node.target, node.draft) if node.children else node.target))
            )
        return found


@dataclass(frozen=True)
class Longest:
    """Every path is judged token by token with coins of its own, and the one that is accepted furthest is taken.

    last: whether the last of several such paths is taken, not the first.
    """

    corrections: Corrections = RESIDUAL
    last: bool = False

    card: ClassVar[Card] = card_of("the longest of independent paths", single_path=False)

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
