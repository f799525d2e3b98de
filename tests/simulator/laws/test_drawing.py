"""Schemes of others are watched while they draw: state, trees that are none, and limits that do not hold."""

import random
import sys
from typing import Any

import pytest

from draftproof.simulator import InvalidInput, InvalidVerifier, TableProcess, check
from draftproof.simulator.drafts import Delayed, UserScheme
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.protocol import Card, Coin, DraftNode, DraftScheme, TokenProcess, Verdict
from draftproof.verifiers import make

TARGET = TableProcess([[["1/2", "1/3", "1/6"]], [["1/4", "1/4", "1/2"]] * 3, [["1/3"] * 3] * 9], "target")
DRAFT = TableProcess([[["1/6", "1/3", "1/2"]], [["1/2", "1/4", "1/4"]] * 3], "draft")


class Turns:
    """Every other tree has one token more."""

    depth = 1
    drawn = 0

    def draw(self, draft: TokenProcess, coin: Coin) -> list[tuple[int, ...]]:
        self.drawn += 1
        token = coin.choose(draft.row(()))
        return [(token,)] if self.drawn % 2 else [(token,), (0,)]


class Gambling(Turns):
    """Has a coin of its own."""

    def __init__(self) -> None:
        self.own = random.Random(0)

    def draw(self, draft: TokenProcess, coin: Coin) -> list[tuple[int, ...]]:
        token = coin.choose(draft.row(()))
        return [(token,)] * self.own.randint(1, 2)


class Asking(Turns):
    """Asks the coin other questions from time to time."""

    def draw(self, draft: TokenProcess, coin: Coin) -> list[tuple[int, ...]]:
        self.drawn += 1
        row = draft.row(())
        return [(coin.choose(row if self.drawn % 3 else row[::-1]),)]


@pytest.mark.parametrize("kind", [Turns, Gambling, Asking])
def test_a_scheme_with_state_has_no_law(kind: type) -> None:
    with pytest.raises(InvalidInput, match=rf"scheme {kind.__name__}.*draw must be a function"):
        check(make("nss"), TARGET, DRAFT, UserScheme(kind()))


class Whole:
    """A scheme with all that engines ask for, around trees that it is told."""

    name, depth, nodes = "whole", 2, 2

    def __init__(self, below: Any) -> None:
        self.below = below

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        return DraftTree(self.below(coin.choose(draft.row(()))))

    def count(self, draft: TokenProcess) -> int:
        return 3

    def reductions(self) -> list[DraftScheme]:
        return [self]

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name}


@pytest.mark.parametrize(
    ("below", "words"),
    [
        (lambda token: {(): (token,), ((token + 1) % 3,): (0,)}, "which was not drafted itself"),
        (lambda token: {(): (token - 3,)}, r"tokens are 0\.\.2"),
        (lambda token: {(): (token + 3,)}, r"tokens are 0\.\.2"),
        (lambda token: {(): (token,), (token,): (0,), (token, 0): (1,)}, "beyond its depth 2"),
        (lambda token: {(): (token, token, token)}, "drafted 3 tokens, more than its nodes 2"),
    ],
)
def test_trees_that_are_none_are_refused_whatever_else_the_scheme_has(below: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check(make("nss"), TARGET, DRAFT, Whole(below))


def test_a_verifier_that_exits_is_no_verdict() -> None:
    class Exits:
        card = Card(name="exits", title="Exits", source=None)

        def verify(self, root: DraftNode, coin: Coin) -> Verdict:
            sys.exit(0)

    with pytest.raises(InvalidVerifier, match="verify raised SystemExit: 0"):
        check(Exits(), TARGET, DRAFT, Delayed(1, 0, 1))
