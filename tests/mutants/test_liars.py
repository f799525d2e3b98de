"""Verifiers with one small bug each: the conformance checks catch every one, and no theorem is proved about one.

They are `naive` on one path and `specinfer` on trees but for one step, with bugs that a reader could overlook. The
kinds of checks named for each are complete, so a check that caught less, or more, than it should would show here.
"""

from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import Card, Coin, DraftNode, Verdict
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import Draws
from draftproof.simulator.residual import acceptance, positive_part, residual
from draftproof.verifiers import make
from tests.judged import assert_no_theorem, kinds_failed

LOSSLESS = {"lossless-random", "lossless-corner"}
#: Every check that runs it stops with an error.
INVALID = LOSSLESS | {"function-of-tree-and-coin", "float-equals-rational", "law-sums-to-one"}


def card(name: str, **fields: Any) -> Card:
    base = make("naive" if fields.pop("one_path", True) else "specinfer").card
    return replace(base, name=name, needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS, **fields)


class Liar:
    """Walks down the first path like `naive`; each liar changes one step."""

    card = card("honest")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node = root
        while node.children:
            token = self.pick(node, coin)
            if not coin.flip(self.accept(node, token)):
                return Verdict(node.context, self.correct(node, coin))
            node = node.child(token)
        return Verdict(node.context, self.last(root, node, coin))

    def pick(self, node: DraftNode, coin: Coin) -> int:
        return node.children[0]

    def accept(self, node: DraftNode, token: int) -> Any:
        return acceptance(node.target, node.draft, token)

    def correct(self, node: DraftNode, coin: Coin) -> int:
        return coin.choose(residual(node.target, node.draft))

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        return coin.choose(node.target)


class TreeLiar:
    """`specinfer`, with `reject` and `drop` to be changed."""

    card = card("honest_specinfer", one_path=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        node = root
        while node.children:
            token = self.solve(node.target, node.draft, list(node.children), coin)
            if token not in node.children:
                return Verdict(node.context, token)
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def solve(self, p: Any, q: Any, remaining: list[int], coin: Coin) -> int:
        while remaining:
            place = coin.choose([1] * len(remaining))
            token = remaining[place]
            if coin.flip(acceptance(p, q, token)):
                return token
            p = self.reject(p, q)
            self.drop(remaining, place)
        return coin.choose(p)

    def reject(self, p: Any, q: Any) -> Any:
        return residual(p, q)

    def drop(self, remaining: list[int], place: int) -> None:
        remaining.pop(place)


class Counting(Liar):
    """Accepts outright on every hundredth call."""

    def __init__(self) -> None:
        self.calls = 0

    def accept(self, node: DraftNode, token: int) -> Any:
        self.calls += 1
        return 1 if self.calls % 100 == 0 else super().accept(node, token)


class Remembering(Liar):
    """Corrects with token 0 on every seventh call; the coin cannot notice."""

    def __init__(self) -> None:
        self.seen = count(1)

    def correct(self, node: DraftNode, coin: Coin) -> int:
        drawn = coin.choose(residual(node.target, node.draft))
        return drawn if next(self.seen) % 7 else 0


class OwnRandomness(Liar):
    """Draws from its own generator (seeded here, so that this test always does the same) instead of the coin."""

    def __init__(self) -> None:
        self.random = Random(0).random

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        masses = np.cumsum([float(mass) for mass in node.target])
        return min(int(np.searchsorted(masses, self.random(), side="right")), len(masses) - 1)


class OutsideTree(Liar):
    """Returns the first token as accepted although it was the correction."""

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        verdict = super().verify(root, coin)
        corrected = root.children and verdict.accepted == ()
        return Verdict((verdict.correction,), 0) if corrected else verdict


class FloatConstant(Liar):
    """Throws a coin of probability 0.5 where it does not matter."""

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        coin.flip(0.5)
        return super().last(root, node, coin)


class SwappedRatio(Liar):
    """Accepts with `min(1, q/p)`."""

    def accept(self, node: DraftNode, token: int) -> Any:
        return acceptance(node.draft, node.target, token) if node.target[token] > 0 else 0


class StaleTarget(Liar):
    """Draws the token after the last draft from the target at the root."""

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        return coin.choose(root.target)


class SecondChance(Liar):
    """Throws the acceptance coin again when it shows tails."""

    def accept(self, node: DraftNode, token: int) -> Any:
        once = acceptance(node.target, node.draft, token)
        return 1 - (1 - once) * (1 - once)


class LastTokenDropped(Liar):
    """Looks at the last draft, accepts it, and then hands over the token before with a fresh correction."""

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        verdict, node = super().verify(root, coin), root
        for token in verdict.accepted[:-1]:
            node = node.child(token)
        is_leaf = verdict.accepted and not node.child(verdict.accepted[-1]).children
        return Verdict(node.context, coin.choose(node.target)) if is_leaf else verdict


class RightInRationals(Liar):
    """Smooths the target in float64 runs only."""

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        return coin.choose(node.target if node.target.dtype == object else node.target + 1e-6)


class SecretReader(Liar):
    """Reads `q` and declares that it does not."""

    card = card("secret_reader", reads_draft=False)


class SecondPath(Liar):
    """Goes on along another path where the residual meets one, and declares that it sees the first path only."""

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return make("naive_tree").verify(root, coin)


class LastPath(Liar):
    """Follows the last path (lossless, since paths are i.i.d.) and declares that it sees the first path only."""

    def pick(self, node: DraftNode, coin: Coin) -> int:
        return node.children[-1]


class KeepsTarget(TreeLiar):
    """Leaves `p` as it was after a rejection."""

    def reject(self, p: Any, q: Any) -> Any:
        return p


class ForgetsToNormalise(TreeLiar):
    """Leaves `(p - q)+` without dividing by its sum."""

    def reject(self, p: Any, q: Any) -> Any:
        excess = positive_part(p - q)
        return excess if excess.sum() > 0 else p


class DropsWrongDraft(TreeLiar):
    """Drops the first remaining draft instead of the one that was rejected."""

    def drop(self, remaining: list[int], place: int) -> None:
        remaining.pop(0)


class DropsEveryCopy(TreeLiar):
    """Drops all copies of a rejected token instead of one occurrence."""

    def drop(self, remaining: list[int], place: int) -> None:
        rejected = remaining[place]
        remaining[:] = [token for token in remaining if token != rejected]


class FloatNormaliser(TreeLiar):
    """Normalises the residual with a float."""

    def reject(self, p: Any, q: Any) -> Any:
        excess = positive_part(p - q)
        return excess * (1 / float(excess.sum())) if excess.sum() > 0 else p


class BestFirst(TreeLiar):
    """Tries the child with the largest `p/q` first, as if the order could not matter."""

    def solve(self, p: Any, q: Any, remaining: list[int], coin: Coin) -> int:
        best = max(remaining, key=lambda token: p[token] / q[token])
        remaining.remove(best)
        if coin.flip(acceptance(p, q, best)):
            return best
        return super().solve(residual(p, q), q, remaining, coin)


class SwappedResidual(TreeLiar):
    """Goes on with normalised `(q - p)+`."""

    def reject(self, p: Any, q: Any) -> Any:
        return residual(q, p)


FIRST_PATH = {"reads-first-path-only"}
ON_ONE_PATH: dict[type, set[str]] = {
    **dict.fromkeys((Counting, Remembering, OwnRandomness, OutsideTree, FloatConstant), INVALID | FIRST_PATH),
    **dict.fromkeys((SwappedRatio, StaleTarget, SecondChance, LastTokenDropped), LOSSLESS),
    RightInRationals: LOSSLESS | {"float-equals-rational"},
    SecretReader: {"does-not-read-draft"},
    **dict.fromkeys((SecondPath, LastPath), FIRST_PATH),
}
ON_TREES: dict[type, set[str]] = {
    **dict.fromkeys(
        (KeepsTarget, ForgetsToNormalise, DropsWrongDraft, DropsEveryCopy, BestFirst, SwappedResidual), LOSSLESS
    ),
    FloatNormaliser: INVALID,
}
LIARS: list[Any] = [*ON_ONE_PATH, *ON_TREES]
for each in LIARS:
    if "card" not in vars(each):
        each.card = card(each.__name__, one_path=each in ON_ONE_PATH)


@pytest.mark.heavy
@pytest.mark.parametrize("base", [Liar, TreeLiar])
def test_without_a_bug_the_base_passes(base: Any) -> None:
    assert kinds_failed(base()) == set()


@pytest.mark.one_in(20)
@pytest.mark.parametrize("liar", LIARS, ids=lambda liar: liar.__name__)
def test_a_liar_is_caught_by_exactly_the_checks_named_here(liar: Any) -> None:
    assert kinds_failed(liar()) == {**ON_ONE_PATH, **ON_TREES}[liar]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("liar", [liar for liar in ON_ONE_PATH if ON_ONE_PATH[liar] >= LOSSLESS])
def test_no_theorem_is_proved_about_a_liar_on_one_path(liar: type) -> None:
    assert_no_theorem(liar, 2, Delayed(1, 0, 2))


@pytest.mark.one_in(7)
@pytest.mark.parametrize("liar", ON_TREES)
def test_no_theorem_is_proved_about_a_liar_on_trees(liar: type) -> None:
    assert_no_theorem(liar, 3, Delayed(3, 0, 1))
