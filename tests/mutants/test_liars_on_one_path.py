"""Verifiers with one small bug each: the conformance checks catch every one, and the checks that do are named.

They walk one path, like `naive`. The kinds of checks named for each are complete, so a check that caught less, or more,
than it should would show here.
"""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import Card, Coin, DraftNode, Verdict
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import Draws
from draftproof.simulator.vectors import acceptance, residual
from draftproof.verifiers import make
from tests.judged import assert_no_theorem, kinds_failed

LOSSLESS = {"lossless-random", "lossless-corner"}
#: Every check that runs it stops with an error.
INVALID = LOSSLESS | {"function-of-tree-and-coin", "float-equals-rational", "reads-first-path-only", "law-sums-to-one"}


def card(name: str, **fields: Any) -> Card:
    return replace(make("naive").card, name=name, needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS, **fields)


class Liar:
    """Walks down the first path like `naive`; each subclass changes one step."""

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


class Counting(Liar):
    """Keeps a counter and accepts outright on every hundredth call."""

    card = card("counting")

    def __init__(self) -> None:
        self.calls = 0

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        self.calls += 1
        return super().verify(root, coin)

    def accept(self, node: DraftNode, token: int) -> Any:
        return 1 if self.calls % 100 == 0 else super().accept(node, token)


class Remembering(Liar):
    """Gives each row the correction that it drew there the first time; the coin cannot notice."""

    card = card("remembering")

    def __init__(self) -> None:
        self.seen = 0

    def correct(self, node: DraftNode, coin: Coin) -> int:
        self.seen += 1
        drawn = coin.choose(residual(node.target, node.draft))
        return drawn if self.seen % 7 else 0


class OwnRandomness(Liar):
    """Draws from its own generator (seeded here, so that this test always does the same) instead of the coin."""

    card = card("own_randomness")

    def __init__(self) -> None:
        self.random = Random(0).random

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        masses = np.cumsum([float(mass) for mass in node.target])
        return min(int(np.searchsorted(masses, self.random(), side="right")), len(masses) - 1)


class OutsideTree(Liar):
    """Returns the first token as accepted although it was the correction."""

    card = card("outside_tree")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        verdict = super().verify(root, coin)
        if root.children and verdict.accepted == ():
            return Verdict((verdict.correction,), 0)
        return verdict


class FloatConstant(Liar):
    """Throws a coin of probability 0.5 where it does not matter."""

    card = card("float_constant")

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        coin.flip(0.5)
        return super().last(root, node, coin)


class SwappedRatio(Liar):
    """Accepts with `min(1, q/p)`."""

    card = card("swapped_ratio")

    def accept(self, node: DraftNode, token: int) -> Any:
        return acceptance(node.draft, node.target, token) if node.target[token] > 0 else 0


class StaleTarget(Liar):
    """Draws the token after the last draft from the target at the root."""

    card = card("stale_target")

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        return coin.choose(root.target)


class SecondChance(Liar):
    """Throws the acceptance coin again when it shows tails."""

    card = card("second_chance")

    def accept(self, node: DraftNode, token: int) -> Any:
        once = acceptance(node.target, node.draft, token)
        return 1 - (1 - once) * (1 - once)


class LastTokenDropped(Liar):
    """Looks at the last draft, accepts it, and then hands over the token before with a fresh correction."""

    card = card("last_token_dropped")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        verdict, node = super().verify(root, coin), root
        for token in verdict.accepted[:-1]:
            node = node.child(token)
        is_leaf = verdict.accepted and not node.child(verdict.accepted[-1]).children
        return Verdict(node.context, coin.choose(node.target)) if is_leaf else verdict


class RightInRationals(Liar):
    """Smooths the target in float64 runs only."""

    card = card("right_in_rationals")

    def last(self, root: DraftNode, node: DraftNode, coin: Coin) -> int:
        return coin.choose(node.target if node.target.dtype == object else node.target + 1e-6)


class SecretReader(Liar):
    """Reads `q` and declares that it does not."""

    card = card("secret_reader", reads_draft=False)


class SecondPath(Liar):
    """Goes on along another path where the residual meets one, and declares that it sees the first path only."""

    card = card("second_path")

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return make("naive_tree").verify(root, coin)


class LastPath(Liar):
    """Follows the last path (lossless, since paths are i.i.d.) and declares that it sees the first path only."""

    card = card("last_path")

    def pick(self, node: DraftNode, coin: Coin) -> int:
        return node.children[-1]


CAUGHT = [
    (Counting, INVALID),
    (Remembering, INVALID),
    (OwnRandomness, INVALID),
    (OutsideTree, INVALID),
    (FloatConstant, INVALID),
    (SwappedRatio, LOSSLESS),
    (StaleTarget, LOSSLESS),
    (SecondChance, LOSSLESS),
    (LastTokenDropped, LOSSLESS),
    (RightInRationals, LOSSLESS | {"float-equals-rational"}),
    (SecretReader, {"does-not-read-draft"}),
    (SecondPath, {"reads-first-path-only"}),
    (LastPath, {"reads-first-path-only"}),
]


def test_without_a_bug_the_base_passes() -> None:
    assert kinds_failed(Liar()) == set()


@pytest.mark.one_in(15)
@pytest.mark.parametrize(("liar", "kinds"), CAUGHT, ids=lambda value: getattr(value, "__name__", ""))
def test_liar_is_caught_by_exactly_the_checks_named_here(liar: type, kinds: set[str]) -> None:
    assert kinds_failed(liar()) == kinds


@pytest.mark.one_in(4)
@pytest.mark.parametrize("liar", [liar for liar, kinds in CAUGHT if kinds >= LOSSLESS], ids=lambda liar: liar.__name__)
def test_no_theorem_is_proved_about_a_liar(liar: type) -> None:
    assert_no_theorem(liar, 2, Delayed(1, 0, 2))
