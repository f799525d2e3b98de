"""Small verifiers made of rules, one of which has a bug; the law of an audited function is compared with theirs.

They repeat steps of `draftproof.verifiers`, which `simulator` does not import. `p`, `q` are the rows at a node,
`(x)+ = max(x, 0)`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.audit.interfaces import paths_of
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Vector, Verdict
from draftproof.simulator.residual import acceptance, positive_part, residual
from draftproof.simulator.vectors import without

#: Cards that declare nothing: of a verifier of one path, and of several.
_ONE_PATH, _PATHS = (Card("reference", "reference", None, needs=None, single_path=single) for single in (True, False))


#: The weights of a correction from `p` and `q`.
Corrections = Callable[[Vector, Vector], Vector]


def from_target(p: Vector, q: Vector) -> Vector:
    """The whole of `p`."""
    return p


def softmax_of_residual(p: Vector, q: Vector) -> Vector:
    """The exponentials of the normalised residual."""
    return _softmax(residual(p, q))


def softmax_of_weights(p: Vector, q: Vector) -> Vector:
    """The exponentials of `(p - q)+`."""
    return _softmax(positive_part(p - q))


def _softmax(values: Vector) -> Vector:
    weights = np.exp(values.astype(float))
    return weights / weights.sum()


def missing_to(place: int) -> Corrections:
    """`(p - q)+` without dividing by its sum: an inverse cumulative sum gives what is missing to 1 to one token."""

    def weights(p: Vector, q: Vector) -> Vector:
        excess = positive_part(p - q)
        excess[place] = excess[place] + 1 - excess.sum()
        return excess

    return weights


@dataclass(frozen=True)
class At:
    """A place on a path, from 0: its `p` and `q`, or those so many positions further, and the token drafted there.

    Beyond its ends the path has the rows of its ends; before the first one those of the last one if `wraps`, as with
    Python's index -1.
    """

    path: Sequence[DraftNode]
    place: int
    wraps: bool = False

    @property
    def token(self) -> int:
        """The drafted token."""
        return self.path[self.place].children[0]

    def p(self, by: int = 0) -> Vector:
        """Shape `(V,)`."""
        return self.path[self._position(by, len(self.path) - 1)].target

    def q(self, by: int = 0) -> Vector:
        """Shape `(V,)`."""
        return self.path[self._position(by, len(self.path) - 2)].draft

    def _position(self, by: int, last: int) -> int:
        return last if self.wraps and self.place + by < 0 else min(max(self.place + by, 0), last)


def ratio(at: At, p: int = 0, q: int = 0) -> Any:
    """`min(1, p / q)` of the token, with rows of so many positions further."""
    return acceptance(at.p(p), at.q(q), at.token) if at.q(q)[at.token] > 0 else 1


def inverse_ratio(at: At) -> Any:
    """`min(1, q / p)` of the token."""
    return acceptance(at.q(), at.p(), at.token) if at.p()[at.token] > 0 else 1


def without_coin(at: At) -> int:
    """1 where `p >= q`, else 0."""
    return int(ratio(at) >= 1)


def relaxed(at: At, w: Any) -> Any:
    """`1 - w + w p / q` of the token."""
    return 1 - w + w * ratio(at)


def correcting(weights: Corrections = residual, p: int = 0, q: int = 0) -> Callable[[At], Vector]:
    """The weights of a correction from rows of so many positions further."""
    return lambda at: weights(at.p(p), at.q(q))


#: The right correction.
RIGHT = correcting()


def likeliest(at: At) -> Vector:
    """All mass on the likeliest token."""
    row = at.p() * 0
    row[int(np.argmax(at.p()))] += 1
    return row


#: Whether a bug is at a place of a path, given the last one.
Where = Callable[[int, int], bool]
#: Where a bug that is not everywhere may be, by its words.
PLACES: Mapping[str, Where] = {
    "at the last drafted token only": lambda place, last: place == last,
    "after the first drafted token only": lambda place, last: place > 0,
    "at the first drafted token only": lambda place, last: place == 0,
    "before the last drafted token only": lambda place, last: place < last,
}


def everywhere(place: int, last: int) -> bool:
    """At every place."""
    return True


@dataclass(frozen=True)
class TokenWise:
    """Token-by-token verification of the first path.

    accepts: the probability of accepting the token at a place. corrects: the weights of the token after a rejection.
    bonus: of the one after the last draft. keeps: "" for the tokens before the first rejection, "counted" for as many
    as were accepted, "latest" for those up to the last accepted one. wraps: see `At`. where: both rules hold there, and
    the right ones elsewhere.
    """

    accepts: Callable[[At], Any] = ratio
    corrects: Callable[[At], Vector] = RIGHT
    bonus: Callable[[At], Vector] = At.p
    keeps: str = ""
    wraps: bool = False
    where: Where = everywhere

    card: ClassVar[Card] = _ONE_PATH

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        path = first_path(root)
        places = [At(path, place, self.wraps) for place in range(len(path))]
        rules = [self if self.where(place, len(path) - 2) else TokenWise() for place in range(len(path) - 1)]
        accepted: list[bool] = []
        for rule, at in zip(rules, places, strict=False):
            accepted.append(coin.flip(rule.accepts(at)))
            if not (accepted[-1] or self.keeps):
                break
        count = sum(accepted)
        if self.keeps == "latest":
            count = max((place + 1 for place, answer in enumerate(accepted) if answer), default=0)
        last = rules[count].corrects if count < len(rules) else self.bonus
        return Verdict(path[count].context, coin.choose(last(places[count])))


@dataclass(frozen=True)
class SampledAgain:
    """A token drawn from `p` is compared with the draft; if it is another one, a new one is drawn from `p`."""

    card: ClassVar[Card] = _ONE_PATH

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

    corrections: Corrections = residual
    capped: bool = True
    weights: bool = False

    card: ClassVar[Card] = _ONE_PATH

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
                return Verdict(node.context, coin.choose(self.corrections(weight * node.target, node.draft)))
        raise AssertionError("the root is always accepted")


@dataclass(frozen=True)
class Recursive:
    """Recursive rejection at every node: the drafts in their order, each against what the ones before it left of `p`.

    normalised: whether what is left is divided by its sum. counted: whether the ratio of a token is multiplied by the
    number of its duplicates. distinct: whether duplicates are skipped. excluding: whether a rejected draft leaves `q`,
    as drafts without replacement ask for. late: whether every node is judged with the `q` of the node before it.
    whole: whether every draft is judged by the whole of `p`; once: whether the correction is what one draft leaves of
    it. where: the rule holds there, and the right one elsewhere.
    """

    corrections: Corrections = residual
    normalised: bool = True
    counted: bool = False
    distinct: bool = False
    excluding: bool = False
    late: bool = False
    whole: bool = False
    once: bool = False
    where: Where = everywhere

    card: ClassVar[Card] = _PATHS

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node, before, last = root, root.draft, len(first_path(root)) - 2
        while node.children:
            rule = self if self.where(len(node.context) - len(root.context), last) else Recursive()
            token, p, q = rule._judged(node, before if rule.late else node.draft, coin)
            if token is None:
                return Verdict(node.context, coin.choose(rule.corrections(p, q)))
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
        if self.corrections is from_target:
            return p
        return residual(p, q) if self.normalised else positive_part(p - q)


@dataclass(frozen=True)
class OwnCoins:
    """A sibling is accepted where its coin is below the sum of `p` over the siblings so far; one for all is right."""

    card: ClassVar[Card] = _PATHS

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
        verdicts = []
        for path, count in zip(paths, own, strict=True):
            node = path[min(own)]
            weights = residual if count == min(own) else self.corrections
            verdicts.append(
                Verdict(node.context, coin.choose(weights(node.target, node.draft) if node.children else node.target))
            )
        return verdicts


@dataclass(frozen=True)
class Longest:
    """Every path is judged token by token with coins of its own, and the one that is accepted furthest is taken.

    last: whether the last of several such paths is taken, not the first.
    """

    corrections: Corrections = residual
    last: bool = False

    card: ClassVar[Card] = _PATHS

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        best = root
        for place, path in enumerate(paths_of(root)):
            accepted = self._accepted(root, path, coin)
            longer = len(accepted.context) - len(best.context)
            if longer > 0 or (longer == 0 and (self.last or not place)):
                best = accepted
        if not best.children:
            return Verdict(best.context, coin.choose(best.target))
        return Verdict(best.context, coin.choose(self.corrections(best.target, best.draft)))

    @staticmethod
    def _accepted(root: DraftNode, path: Context, coin: Coin) -> DraftNode:
        node = root
        for token in path:
            if not coin.flip(acceptance(node.target, node.draft, token)):
                return node
            node = node.child(token)
        return node
