"""Theorems for every vocabulary size, beside those for one size and enumeration."""

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("z3")

from flint import fmpq

from draftproof import verifiers
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.protocol import Card, Draws, Verdict
from draftproof.simulator.theorems.algebra.polynomials import sign_of
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.cases import Case, TokenClass
from draftproof.simulator.theorems.any_vocabulary.depth import hypotheses
from draftproof.simulator.theorems.any_vocabulary.sums import Draft, Leaf
from draftproof.simulator.theorems.any_vocabulary.theorem import LOSSLESS, Theorem, expected_length
from draftproof.simulator.theorems.any_vocabulary.tokens import OTHER, Token
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS
from draftproof.simulator.theorems.proof.watch import NotFollowed

PATH, PAIR = Delayed(1, 0, 2), Delayed(2, 0, 1)

QUICK = [("naive", Delayed(1, 0, 1)), ("block", PATH), ("nss", PAIR), ("naive_tree", PAIR)]
LONG = [
    ("naive", PATH),
    ("tree_monte_carlo", PATH),
    ("traversal", PATH),
    *((name, PAIR) for name in ("naive", "block", "block_tree")),
    ("hsd", PATH),
    ("block", Delayed(1, 0, 3)),
    *((name, PAIR) for name in ("specinfer", "traversal", "rejection_without_replacement")),
    *((name, Delayed(2, 1, 1)) for name in ("naive_tree", "block_tree", "specinfer")),
    *((name, Delayed(2, 0, 2)) for name in ("nss", "naive_tree", "block_tree")),
]
#: A shape on which each lossy verifier is lossy.
LOSSY = [
    ("naive_from_target", Delayed(1, 0, 1)),
    ("ensemble", Delayed(1, 0, 1)),
    *(pytest.param(name, PATH, marks=pytest.mark.heavy) for name in ("block_by_weights", "hsd_uncapped")),
]


def proved(name: str, scheme: Delayed, kind: str = LOSSLESS, other: str | None = None) -> bool:
    theorem = Theorem(kind, scheme, verifiers.make(name), None if other is None else verifiers.make(other))
    return all(theorem.step(depth).proved for depth in theorem.depths)


@pytest.mark.parametrize(("name", "scheme"), QUICK, ids=str)
def test_lossless_verifiers_are_proved(name: str, scheme: Delayed) -> None:
    assert proved(name, scheme)


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "scheme"), LONG, ids=str)
def test_lossless_verifiers_are_proved_at_longer_shapes(name: str, scheme: Delayed) -> None:
    assert proved(name, scheme)


@pytest.mark.parametrize(("name", "scheme"), LOSSY, ids=str)
def test_lossy_verifiers_are_not_proved(name: str, scheme: Delayed) -> None:
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


def random_row(random: Random, size: int, most: int) -> list[Any]:
    weights = [random.randint(1, most) for _ in range(size)]
    return [fmpq(weight, sum(weights)) for weight in weights]


def random_instance(random: Random, size: int, scheme: Delayed) -> Instance:
    """Small weights, so that ties are frequent."""
    sides = []
    for depth in (scheme.depth, scheme.depth - 1):
        tables = [
            np.array([random_row(random, size, 3) for _ in range(size**length)], dtype=object)
            for length in range(depth + 1)
        ]
        sides.append(TableProcess(tables, "target" if not sides else "draft"))
    return Instance(sides[0], sides[1], scheme)


class Actual:
    """An instance and the tokens of it that names stand for."""

    def __init__(self, instance: Instance, names: dict[Token, int]) -> None:
        self.instance, self.names = instance, names

    def row(self, context: tuple[Token, ...]) -> tuple[Any, Any]:
        """The rows of p and q after a context; any q after the last token."""
        plain = tuple(self.names[token] for token in context)
        p = self.instance.target.row(plain)
        return p, self.instance.draft.row(plain) if len(plain) < self.instance.scheme.depth else p

    def point(self, case: Case) -> dict[int, Any]:
        """The values of all variables: first the named tokens, then sums of classes, one after the other."""
        values: dict[int, Any] = {}
        for token, named in case.names.items():
            p, q = self.row(named.row)
            values[named.first], values[named.first + 1] = p[self.names[token]], q[self.names[token]]
        waiting = list(case.classes.values())
        while waiting:
            known = next(each for each in waiting if self._ready(each, values))
            waiting.remove(known)
            p, q = self.row(known.row)
            inside = [y for y in range(len(p)) if self._in_class(p[y], q[y], known, values)]
            for ratio, total in ((known.draft, sum(q[y] for y in inside)), (known.target, sum(p[y] for y in inside))):
                unknown = [n for n in support(ratio) if n not in values]
                if unknown:
                    rest = value_of(ratio, {**values, unknown[0]: fmpq(0)})
                    slope = value_of(ratio, {**values, unknown[0]: fmpq(1)}) - rest
                    values[unknown[0]] = (total - rest) / slope
                elif value_of(ratio, values) != total:
                    raise ZeroDivisionError("the class has another sum")
        return values

    def _ready(self, known: TokenClass, values: dict[int, Any]) -> bool:
        """Whether the thresholds of a class have values, and at most one variable of each sum has none."""
        missing = [n for each in known.thresholds.values() for n in support(each.ratio) if n not in values]
        open_sums = [[n for n in support(ratio) if n not in values] for ratio in (known.draft, known.target)]
        return not missing and all(len(each) <= 1 for each in open_sums)

    def _in_class(self, p: Any, q: Any, known: TokenClass, values: dict[int, Any]) -> bool:
        thresholds = known.thresholds.values()
        return all(sign_of(p - value_of(each.ratio, values) * q) & each.mask for each in thresholds)

    def holds(self, case: Case) -> bool:
        """Whether this instance, with these names, is in a case."""
        try:
            values = self.point(case)
        except ZeroDivisionError:
            return False
        for token, named in case.names.items():
            p, q = self.row(named.row)
            place = self.names[token]
            if not self._in_class(p[place], q[place], case.classes[named.of_class], values):
                return False
        sums = [value_of(ratio, values) for each in case.classes.values() for ratio in (each.target, each.draft)]
        point = tuple(values.get(n, fmpq(0)) for n in range(len(case.ring.names)))
        signs = ((case.ring.sign_at(atom, point), mask) for atom, mask in case.region)
        return all(value > 0 for value in sums) and all(sign & mask for sign, mask in signs)

    def leaves(self, case: Case, draft: Draft, drafted: list[int], context: list[int]) -> Iterator[tuple[Case, Leaf]]:
        """The leaves of the proof at a path that is drafted: those whose case holds."""
        if draft.leaf is not None:
            if self.holds(case):
                yield case, draft.leaf
            return
        row = {self.names[token]: token for token in case.names if self._is_after(case, token, context)}
        if drafted[0] in row:
            after = next(after for token, _, after in draft.named if token == row[drafted[0]])
            yield from self.leaves(case, after, drafted[1:], [*context, drafted[0]])
            return
        for new in draft.new:
            inside = Actual(self.instance, {**self.names, new.token: drafted[0]})
            for each, after in new.cases:
                yield from inside.leaves(each, after, drafted[1:], [*context, drafted[0]])

    def _is_after(self, case: Case, token: Token, context: list[int]) -> bool:
        return [self.names[each] for each in case.names[token].row] == context


def support(ratio: Ratio) -> list[int]:
    parts = (ratio.num.degrees(), ratio.den.degrees())
    return sorted({n for degrees in parts for n, degree in enumerate(degrees) if degree > 0})


def value_of(ratio: Ratio, values: dict[int, Any]) -> Any:
    return ratio.at(tuple(values.get(n, fmpq(0)) for n in range(len(ratio.ring.names))))


@pytest.mark.parametrize("name", ["naive", *(pytest.param(n, marks=pytest.mark.heavy) for n in ("block", "hsd"))])
def test_every_instance_is_in_one_case_whose_formulas_give_its_verdicts(name: str) -> None:
    """p and q with ties at V = 2 to 4, all paths: one leaf of the proof holds, and its masses are the true ones."""
    random, verifier = Random(5), verifiers.make(name)
    cases = Theorem(LOSSLESS, PATH, verifier).step(0).cases
    for most in (2, 3) if name == "naive" else (2, 3, 3, 4):
        instance = random_instance(random, most, PATH)
        size = instance.vocab_size
        for token, *path in itertools.product(range(size), repeat=3):
            found = [
                (case, leaf, Actual(instance, {Token(0): token}))
                for start, draft in cases
                for case, leaf in Actual(instance, {Token(0): token}).leaves(start, draft, path, [])
            ]
            assert len(found) == 1
            case, leaf, _ = found[0]
            names = names_of(case, token, path)
            point = Actual(instance, names).point(case)
            true = verdicts(verifier, DraftTree.from_paths((), [path]), instance.target, instance.draft, RATIONAL)
            assert_masses(leaf, true, names, point)


def names_of(case: Case, token: int, path: list[int]) -> dict[Token, int]:
    """The tokens that the names of a leaf stand for, in the order of drafting."""
    names, context = {Token(0): token}, ()
    for drafted in path:
        row = [each for each in case.names if case.names[each].row == context and names.get(each) == drafted]
        if not row:
            row = [next(each for each in case.names if each not in names and case.names[each].row == context)]
            names[row[0]] = drafted
        context = (*context, row[0])
    return names


def assert_masses(leaf: Leaf, true: Any, names: dict[Token, int], point: dict[int, Any]) -> None:
    claimed: dict[Any, Any] = {}
    for (accepted, correction), mass in leaf.masses[0].items():
        block = tuple(names[token] for token in accepted), None if correction == OTHER else names[correction]
        claimed[block] = claimed.get(block, 0) + value_of(mass, point)
    wanted: dict[Any, Any] = {}
    for (accepted, correction), mass in true.items():
        block = accepted, correction if (accepted, correction) in claimed else None
        wanted[block] = wanted.get(block, 0) + mass
    assert {block: mass for block, mass in claimed.items() if mass} == {b: m for b, m in wanted.items() if m}
