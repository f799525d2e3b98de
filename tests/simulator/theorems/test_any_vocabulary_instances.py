"""Cases and sums for every vocabulary size, held against enumeration on instances of a few tokens, with ties.

An instance and a choice of the named tokens belong to exactly one case: tokens go to the classes in one way such that
all that the case knows of them holds. There the sum is the number that enumeration gives.
"""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from draftproof.simulator.drafts import Delayed, WithoutReplacement
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.protocol import Card, Verdict
from draftproof.simulator.tables import context_index
from draftproof.simulator.theorems.algebra.polynomials import rational, sign_of
from draftproof.simulator.theorems.any_vocabulary.cases import Case
from draftproof.simulator.theorems.any_vocabulary.theorem import Step, Theorem
from draftproof.simulator.theorems.proof.judging import LOSSLESS
from draftproof.simulator.theorems.proof.points import random_point
from draftproof.simulator.theorems.proof.rows import Shape
from draftproof.verifiers import make


class Compared:
    """Accepts by comparisons that rational numbers meet in ties only, and is not lossless."""

    card = Card(name="compared", title="Compared", source=None, needs=None)

    def verify(self, root: Any, coin: Any) -> Verdict:
        x, p, q = root.children[0], root.target, root.draft
        if p[x] == q[x]:
            return Verdict((), coin.choose(p))
        if 2 * p[x] >= q[x] and p[x] < q[x]:
            return Verdict((), coin.choose(np.maximum(q - p, 0)))
        return Verdict((x,), coin.choose(root.child(x).target))


class Second:
    """Accepts the second token where it is likelier under the draft than the first."""

    card = Card(name="second", title="Second", source=None, needs=None)

    def verify(self, root: Any, coin: Any) -> Verdict:
        x = root.children[0]
        node = root.child(x)
        y = node.children[0]
        if root.draft[x] < root.target[x]:
            return Verdict((x,), coin.choose(np.minimum(node.target, node.draft)))
        return Verdict((x, y), coin.choose(node.child(y).target))


class AtOne:
    """Goes on at one of two drafted tokens, by a coin, and is not lossless."""

    card = Card(name="at_one", title="AtOne", source=None, needs=None)

    def verify(self, root: Any, coin: Any) -> Verdict:
        third = root.target.sum() / 3
        place = coin.choose([1, 2])
        x = root.children[place]
        if coin.flip(third if place else 1 - third):
            return Verdict((), coin.choose(root.target))
        node = root.child(x)
        y = node.children[-1]
        if node.target[y] < node.draft[y] and coin.flip(third):
            return Verdict((x,), coin.choose(node.draft))
        return Verdict((x, y), coin.choose(node.child(y).target))


class Where:
    """Chooses by rows at the tokens where one row is above another, and is not lossless."""

    card = Card(name="where", title="Where", source=None, needs=None)

    def verify(self, root: Any, coin: Any) -> Verdict:
        x, p, q = root.children[0], root.target, root.draft
        if q[x] > p[x]:
            return Verdict((), coin.choose(p * (2 * p <= q) + (q < p) * q))
        return Verdict((x,), coin.choose(root.child(x).target))


class _Placed:
    """A case at an instance. tokens: the numbers of its named tokens, in the order of naming."""

    def __init__(self, case: Case, tokens: tuple[int, ...], instance: Any):
        self.case, self.size = case, instance.target.vocab_size
        self.contexts = list(case.rows)
        self.classes = list(case.rows.values())  # of each context; tokens are no keys outside of the library
        self.named = list(zip(case.names, case.names.values(), tokens, strict=True))
        self.rows = []
        for context in self.contexts:
            actual = tuple(next(n for each, _, n in self.named if each is token) for token in context)
            draft = instance.draft.row(actual) if len(actual) < instance.target.depth else None
            self.rows.append((instance.target.row(actual) if len(actual) <= instance.target.depth else None, draft))

    def points(self) -> Iterator[tuple[Any, ...]]:
        """The values of the variables for every way in which tokens go to classes as the case says."""
        drafted = [n for n, (_, draft) in enumerate(self.rows) if draft is not None]
        classes = [self.classes[n] for n in drafted]
        for choice in product(*(product(each, repeat=self.size) for each in classes)):
            if all(set(each) == set(one) for one, each in zip(choice, classes, strict=True)):  # no class is empty
                point = self._point(dict(zip(drafted, choice, strict=True)))
                if point is not None:
                    yield point

    def _point(self, of_class: dict[int, tuple[int, ...]]) -> tuple[Any, ...] | None:
        case, ring = self.case, self.case.ring
        values: dict[int, Any] = {}
        for _, named, token in self.named:
            row = self.contexts.index(named.row)
            values[named.first] = self.rows[row][0][token]
            if row in of_class:
                values[named.first + 1] = self.rows[row][1][token]
                if of_class[row][token] != named.of_class:
                    return None
        equations = [
            (ratio, sum((self.rows[row][side][t] for t, each in enumerate(classes) if each == number), rational(0, 1)))
            for row, classes in of_class.items()
            for number in self.classes[row]
            for side, ratio in enumerate((case.classes[number].target, case.classes[number].draft))
        ]
        for ratio, total in equations * len(equations):
            polynomial = ratio.num - ratio.den * ring.constant(total)
            unknown = [n for n, d in enumerate(polynomial.degrees()[: len(ring.names)]) if d > 0 and n not in values]
            if len(unknown) == 1:
                full = tuple(values.get(n, rational(0, 1)) for n in range(len(ring.names)))
                slope = ring.at(polynomial.derivative(unknown[0]), full)
                values[unknown[0]] = -ring.at(polynomial, full) / slope
        point = tuple(values.get(n, rational(1, 2)) for n in range(len(ring.names)))
        holds = point in case.region and all(ratio.at(point) == total for ratio, total in equations)
        return point if holds and self._signs_hold(of_class, point) else None

    def _signs_hold(self, of_class: dict[int, tuple[int, ...]], point: tuple[Any, ...]) -> bool:
        return all(
            sign_of(self.rows[row][0][token] - known.ratio.at(point) * self.rows[row][1][token]) & known.mask
            for row, classes in of_class.items()
            for token, number in enumerate(classes)
            for known in self.case.classes[number].thresholds.values()
        )


def hold_against_enumeration(verifier: Any, scheme: Delayed, step: Step, size: int, points: int, seed: int) -> None:
    """The sums of a step are those of enumeration."""
    shape, random = Shape(size, scheme), Random(seed)
    for number in range(points):
        instance = shape.instance(random_point(shape, random, (4, 6, 9, 12, 5)[number % 5]))
        law = enumerate_law(verifier, instance.target, instance.draft, scheme)
        for tokens in product(range(size), repeat=len(step.context) + 1):
            found = [
                (draft.value, point) for case, draft in step.cases for point in _Placed(case, tokens, instance).points()
            ]
            assert len(found) == 1, (len(found), tokens, instance.target.row(()), instance.draft.row(()))
            (value, point), *_ = found
            place = context_index(tokens[:-1], size), tokens[-1]
            assert value.at(point) == law.balance(instance.target)[len(step.context)][place]


ONE, TWO = Delayed(1, 0, 1), Delayed(1, 0, 2)


@pytest.mark.parametrize(
    ("verifier", "scheme"),
    [
        (make("naive"), ONE), pytest.param(Where(), ONE, marks=pytest.mark.heavy),
        pytest.param(Compared(), ONE, marks=pytest.mark.heavy),
        pytest.param(make("block"), TWO, marks=pytest.mark.heavy), pytest.param(Second(), TWO, marks=pytest.mark.heavy),
        pytest.param(AtOne(), Delayed(2, 0, 2), marks=pytest.mark.heavy),
        pytest.param(make("specinfer"), Delayed(2, 0, 1), marks=pytest.mark.heavy),
        pytest.param(make("naive_tree"), WithoutReplacement(2, 0, 1), marks=pytest.mark.heavy),
        pytest.param(make("rejection_without_replacement"), WithoutReplacement(2, 0, 1), marks=pytest.mark.heavy),
    ],
    ids=lambda each: str(getattr(getattr(each, "card", each), "name", each)),
)  # fmt: skip
def test_every_instance_is_in_one_case_and_its_sum_is_what_enumeration_gives(verifier, scheme):
    theorem = Theorem(LOSSLESS, scheme, verifier)
    for depth in theorem.depths:
        step = theorem.step(depth)
        assert not step.reason
        for size, points in ((2, 5), (3, 2), (4, 1)) if scheme == ONE else ((2, 4), (3, 1)):
            hold_against_enumeration(verifier, scheme, step, size, points, seed=depth)
