"""Tree verifiers with one small bug each: the losslessness checks catch every one.

They are `specinfer` but for one step; each bug is one that a reader could overlook.
"""

from dataclasses import replace
from typing import Any

import pytest

from draftproof.simulator import Card, Coin, DraftNode, Verdict
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import Draws
from draftproof.simulator.vectors import acceptance, positive_part, residual
from draftproof.verifiers import make
from tests.judged import assert_no_theorem, kinds_failed

LOSSLESS = {"lossless-random", "lossless-corner"}


def card(name: str) -> Card:
    return replace(make("specinfer").card, name=name, needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS)


class SpecInferLiar:
    """`specinfer`, with `reject` and `drop` to be changed."""

    card = card("honest_specinfer")

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


class KeepsTarget(SpecInferLiar):
    """Leaves `p` as it was after a rejection."""

    card = card("keeps_target")

    def reject(self, p: Any, q: Any) -> Any:
        return p


class ForgetsToNormalise(SpecInferLiar):
    """Leaves `(p - q)+` without dividing by its sum."""

    card = card("forgets_to_normalise")

    def reject(self, p: Any, q: Any) -> Any:
        excess = positive_part(p - q)
        return excess if excess.sum() > 0 else p


class DropsWrongDraft(SpecInferLiar):
    """Drops the first remaining draft instead of the one that was rejected."""

    card = card("drops_wrong_draft")

    def drop(self, remaining: list[int], place: int) -> None:
        remaining.pop(0)


class DropsEveryCopy(SpecInferLiar):
    """Drops all copies of a rejected token instead of one occurrence."""

    card = card("drops_every_copy")

    def drop(self, remaining: list[int], place: int) -> None:
        rejected = remaining[place]
        remaining[:] = [token for token in remaining if token != rejected]


class FloatNormaliser(SpecInferLiar):
    """Normalises the residual with a float."""

    card = card("float_normaliser")

    def reject(self, p: Any, q: Any) -> Any:
        excess = positive_part(p - q)
        return excess * (1 / float(excess.sum())) if excess.sum() > 0 else p


class BestFirst(SpecInferLiar):
    """Tries the child with the largest `p/q` first, as if the order could not matter."""

    card = card("best_first")

    def solve(self, p: Any, q: Any, remaining: list[int], coin: Coin) -> int:
        best = max(remaining, key=lambda token: p[token] / q[token])
        remaining.remove(best)
        if coin.flip(acceptance(p, q, best)):
            return best
        return super().solve(residual(p, q), q, remaining, coin)


class SwappedResidual(SpecInferLiar):
    """Goes on with normalised `(q - p)+`."""

    card = card("swapped_residual")

    def reject(self, p: Any, q: Any) -> Any:
        return residual(q, p)


CAUGHT = [
    (KeepsTarget, LOSSLESS),
    (ForgetsToNormalise, LOSSLESS),
    (DropsWrongDraft, LOSSLESS),
    (DropsEveryCopy, LOSSLESS),
    (BestFirst, LOSSLESS),
    (SwappedResidual, LOSSLESS),
    (FloatNormaliser, LOSSLESS | {"law-sums-to-one", "function-of-tree-and-coin", "float-equals-rational"}),
]


@pytest.mark.heavy
def test_without_a_bug_the_base_passes() -> None:
    assert kinds_failed(SpecInferLiar()) == set()


@pytest.mark.heavy
@pytest.mark.parametrize(("liar", "kinds"), CAUGHT, ids=lambda value: getattr(value, "__name__", ""))
def test_liar_is_caught_by_exactly_the_checks_named_here(liar: type, kinds: set[str]) -> None:
    assert kinds_failed(liar()) == kinds


@pytest.mark.one_in(7)
@pytest.mark.parametrize("liar", [liar for liar, _ in CAUGHT], ids=lambda liar: liar.__name__)
def test_no_theorem_is_proved_about_a_liar(liar: type) -> None:
    assert_no_theorem(liar, 3, Delayed(3, 0, 1))
