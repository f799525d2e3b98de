"""Theorems for every vocabulary size, beside those for one size and enumeration."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("z3")

from flint import fmpq

from draftproof import verifiers
from draftproof.simulator.drafts import Delayed, WithoutReplacement
from draftproof.simulator.protocol import Card, DraftScheme, Draws, Verdict
from draftproof.simulator.theorems.any_vocabulary.depth import hypotheses
from draftproof.simulator.theorems.any_vocabulary.theorem import LOSSLESS, Theorem, expected_length
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS
from draftproof.simulator.theorems.proof.watch import NotFollowed

PATH, PAIR, DIFFERENT = Delayed(1, 0, 2), Delayed(2, 0, 1), WithoutReplacement(2, 0, 1)

QUICK = [("naive", Delayed(1, 0, 1)), ("block", PATH), ("nss", PAIR), ("naive_tree", PAIR), ("nss", DIFFERENT)]
LONG = [
    ("naive", PATH),
    ("tree_monte_carlo", PATH),
    ("traversal", PATH),
    *((name, PAIR) for name in ("naive", "block", "block_tree")),
    ("hsd", PATH),
    ("block", Delayed(1, 0, 3)),
    *((name, PAIR) for name in ("specinfer", "traversal", "rejection_without_replacement")),
    *((name, Delayed(2, 1, 1)) for name in ("naive_tree", "block_tree", "specinfer", "traversal")),
    *((name, Delayed(2, 0, 2)) for name in ("nss", "naive_tree", "block_tree")),
    *((name, DIFFERENT) for name in ("naive_tree", "rejection_without_replacement", "traversal")),
    ("layer_transport", PATH),
]
#: A shape on which each lossy verifier is lossy.
LOSSY = [
    ("naive_from_target", Delayed(1, 0, 1)),
    ("ensemble", Delayed(1, 0, 1)),
    *(pytest.param(name, PATH, marks=pytest.mark.heavy) for name in ("block_by_weights", "hsd_uncapped")),
    pytest.param("specinfer", DIFFERENT, marks=pytest.mark.heavy),
]


def proved(name: str, scheme: DraftScheme, kind: str = LOSSLESS, other: str | None = None) -> bool:
    theorem = Theorem(kind, scheme, verifiers.make(name), None if other is None else verifiers.make(other))
    return all(theorem.step(depth).proved for depth in theorem.depths)


@pytest.mark.parametrize(("name", "scheme"), QUICK, ids=str)
def test_lossless_verifiers_are_proved(name: str, scheme: DraftScheme) -> None:
    assert proved(name, scheme)


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "scheme"), LONG, ids=str)
def test_lossless_verifiers_are_proved_at_longer_shapes(name: str, scheme: DraftScheme) -> None:
    assert proved(name, scheme)


@pytest.mark.parametrize(("name", "scheme"), LOSSY, ids=str)
def test_lossy_verifiers_are_not_proved(name: str, scheme: DraftScheme) -> None:
    assert not proved(name, scheme)


@pytest.mark.parametrize(
    ("kind", "one", "other", "holds"),
    [
        (DOMINATES, "block", "naive", True),
        *(
            pytest.param(*each, marks=pytest.mark.heavy)
            for each in (
                (EQUALS, "tree_monte_carlo", "block", True),
                (EQUALS, "traversal", "block", True),
                (EQUALS, "hsd", "block", True),
                (EQUALS, "naive", "block", False),
                (DOMINATES, "naive", "block", False),
            )
        ),
    ],
)
def test_relations(kind: str, one: str, other: str, holds: bool) -> None:
    assert proved(one, PATH, kind, other) == holds


def test_block_efficiency_of_one_draft_is_one_plus_the_overlap() -> None:
    formulas = {}
    for case, draft in expected_length(verifiers.make("naive"), Delayed(1, 0, 1)).cases:
        below = [each for each in case.classes.values() if any(t.mask == 1 for t in each.thresholds.values())]
        formulas[len(below)] = draft.value.key
        if below:
            expected = below[0].target - below[0].draft
            assert (draft.value - expected).key == "2"  # 1 + sum min(p, q) = 2 - sum (q - p)+
    assert formulas == {0: "2", 1: "p0 - q0 + 2"}


@pytest.mark.parametrize("name", ["naive", *(pytest.param(n, marks=pytest.mark.heavy) for n in ("block", "traversal"))])
def test_the_hypotheses_of_the_induction_hold_on_a_path(name: str) -> None:
    assert all(step.proved for _, _, step in hypotheses(verifiers.make(name), 1))


@pytest.mark.heavy
def test_a_hypothesis_of_the_induction_fails_for_a_control() -> None:
    assert [step.proved for _, _, step in hypotheses(verifiers.make("hsd_uncapped"), 1)] == [False, True, True]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["naive", "block"])
def test_the_hypotheses_of_the_induction_hold_with_two_branches(name: str) -> None:
    assert all(step.proved for _, _, step in hypotheses(verifiers.make(name), 2))


class Biased:
    """Token-by-token verification with one change."""

    card = Card(name="biased", title="changed", source=None, needs=Draws.FIRST_PATH_FROM_Q)

    def __init__(self, change: str) -> None:
        self.change = change

    def verify(self, root: Any, coin: Any) -> Verdict:
        p, q, token = root.target, root.draft, root.children[0]
        if self.special(p, q, token):
            return Verdict((), coin.choose(p))
        if coin.flip(p[token] / q[token] if p[token] < q[token] else 1):
            return Verdict((token,), coin.choose(root.child(token).target))
        rest = np.maximum(p - q, 0)
        if self.change == "square":
            rest = rest * rest
        return Verdict((), coin.choose(rest if self.change != "target" else p))

    def special(self, p: Any, q: Any, token: Any) -> bool:
        if self.change == "caught":
            try:
                return bool(max(p) < fmpq(1, 100))
            except Exception:
                return False
        return {
            "length": lambda: len(p) > 50,
            "number": lambda: token == 7,
            "order": lambda: token > 3,
            "entry": lambda: p[0] > q[0],
        }.get(self.change, lambda: False)()


@pytest.mark.parametrize("change", ["length", "number", "order", "entry", "caught", "square"])
def test_what_depends_on_numbers_of_tokens_or_on_the_size_is_refused(change: str) -> None:
    with pytest.raises(NotFollowed, match=r"test_any_vocabulary|token"):
        Theorem(LOSSLESS, Delayed(1, 0, 1), Biased(change)).step(0)


def test_the_same_code_without_that_is_proved_and_with_another_correction_is_not() -> None:
    assert Theorem(LOSSLESS, Delayed(1, 0, 1), Biased("")).step(0).proved
    assert not Theorem(LOSSLESS, Delayed(1, 0, 1), Biased("target")).step(0).proved
