"""Theorems for every vocabulary size, beside those for one size and enumeration."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("z3")

from flint import fmpq

from draftproof import check, verifiers
from draftproof.simulator.drafts import Delayed, WithoutReplacement
from draftproof.simulator.protocol import Card, DraftScheme, Draws, Verdict
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO, rational
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.depth import CUT, KEEPS, hypotheses
from draftproof.simulator.theorems.any_vocabulary.theorem import Theorem, start
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS
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


@pytest.mark.one_in(2)
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


def test_there_is_a_hypothesis_for_every_shape_of_two_layers() -> None:
    listed = Counter((what, branches) for what, branches, _ in hypotheses(verifiers.make("naive"), 3))
    assert listed == {(KEEPS, 1): 2, (KEEPS, 2): 2, (KEEPS, 3): 2, (CUT, 1): 2, (CUT, 2): 4, (CUT, 3): 4}


def hypotheses_proved(verifier: Any, branches: int) -> list[bool]:
    return [proof().proved for _, _, proof in hypotheses(verifier, branches)]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["naive", "block", "traversal"])
def test_the_hypotheses_of_the_induction_hold_on_a_path(name: str) -> None:
    assert hypotheses_proved(verifiers.make(name), 1) == [True] * 4


@pytest.mark.heavy
def test_a_hypothesis_of_the_induction_fails_for_a_control() -> None:
    assert hypotheses_proved(verifiers.make("hsd_uncapped"), 1)[:3] == [False, True, True]


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["naive", "block"])
def test_the_hypotheses_of_the_induction_hold_with_two_branches(name: str) -> None:
    assert hypotheses_proved(verifiers.make(name), 2) == [True] * 10


class Deeper:
    """Block verification on a path, but for a node whose score is below 1: there it looks two tokens ahead."""

    card = Card(name="deeper", title="changed", source=None, needs=Draws.FIRST_PATH_FROM_Q)

    def verify(self, root: Any, coin: Any) -> Verdict:
        return self.visit(root, 1, coin)

    def visit(self, node: Any, score: Any, coin: Any) -> Any:
        p, q = node.target, node.draft
        if not node.children:
            return Verdict(node.context, coin.choose(p)) if coin.flip(score) else None
        token = node.children[0]
        ratio = score * p[token] / q[token]
        below = self.visit(node.child(token), ratio if ratio < 1 else 1, coin)
        if below is not None:
            ahead = score < 1 and len(below.accepted) > len(node.context) + 1
            return Verdict(node.context, coin.choose(p)) if ahead else below
        rest = (score * p - q) * (score * p > q)
        total = rest.sum()
        if not total > 0:
            return None if score < 1 else Verdict(node.context, coin.choose(p))
        return Verdict(node.context, coin.choose(rest)) if coin.flip(total / (total + 1 - score)) else None


@pytest.mark.heavy
def test_what_a_node_below_the_root_sees_of_a_subtree_is_a_hypothesis_of_its_own() -> None:
    """At two tokens it is lossless, and the root sees only whether a subtree is rejected; at three it is lossy."""
    assert hypotheses_proved(Deeper(), 1) == [True, True, True, False]
    target, draft = (
        [[[Fraction(1, parts), 1 - Fraction(1, parts)]] * 2**depth for depth in range(4)] for parts in (3, 2)
    )
    assert check(Deeper(), ([*target], [*draft]), Delayed(1, 0, 3)).row["lossless"] is False
    assert check(Deeper(), (target[:3], draft[:3]), Delayed(1, 0, 2)).row["lossless"]


class Raised:
    """Token by token; before it looks whether a multiple of the draft is above one of the target."""

    card = Card(name="raised", title="changed", source=None, needs=Draws.FIRST_PATH_FROM_Q)

    def verify(self, root: Any, coin: Any) -> Verdict:
        p, q, token = root.target, root.draft, root.children[0]
        np.maximum((1 + p[token]) * q - p[token] * p, 0)
        if coin.flip(p[token] / q[token] if p[token] < q[token] else 1):
            return Verdict((token,), coin.choose(root.child(token).target))
        return Verdict((), coin.choose(np.maximum(p - q, 0)))


@pytest.mark.heavy
def test_a_threshold_that_not_all_tokens_can_have() -> None:
    theorem = Theorem(LOSSLESS, Delayed(1, 0, 1), Raised())
    assert all(theorem.step(depth).proved for depth in theorem.depths)


def test_the_sign_of_a_quotient_of_a_number_is_that_of_its_denominator() -> None:
    """`p = (1 + p(y))/p(y) q` for all tokens would make `1 = (1 + p(y))/p(y)`: the difference is `-1/p(y)`."""
    case, context, _ = start(1, after=False)
    p, _ = case.variables(context[0])
    one = Ratio(case.ring, case.ring.one)
    difference = one - (one + p) / p
    assert case.assuming(difference, NEGATIVE | ZERO) is case
    assert 0 in case.assuming(difference, ZERO).region.masks.values()
    assert case.assuming(one / (p - one), NEGATIVE) is case  # p < 1
    assert 0 in case.assuming(one / (p - one), POSITIVE | ZERO).region.masks.values()
    assert case.assuming(one / (p - Ratio(case.ring, case.ring.constant(rational(1, 2)))), ZERO) is case  # open


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
