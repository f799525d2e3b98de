"""Verifiers on branches that are independent but not identically distributed."""

from fractions import Fraction
from itertools import chain, combinations, product
from math import prod
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import Instance, TableProcess, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.drafts.user_scheme import UserScheme
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.residual import acceptance, residual
from draftproof.simulator.verdicts.cases import case_instances, conformance_instances
from draftproof.verifiers import make, optimal_transport
from tests.quick import quick
from tests.verifiers.stratified import Powers
from tests.verifiers.test_classes import InClasses
from tests.verifiers.test_layers import RandomRace

#: (V, K, L1, L2)
SHAPES = ((2, 2, 0, 2), (3, 2, 0, 1), (3, 3, 0, 1), (2, 2, 1, 1), (2, 3, 0, 1))
#: Sums of a few products of numbers of at most 1, and the error of the integral.
ROUNDING = 1e-11
#: All that go on with other branches of stratified trees, given their laws or not.
NAMES = ("specinfer", "optimal_transport", "block_tree", "traversal", "layer_transport")
#: Those that are given laws, whatever these are.
ANY_LAWS = ("specinfer", "optimal_transport", "traversal", "layer_transport")


def deviation(verifier: Verifier, instance: Instance, scheme: DraftScheme) -> object:
    return check(verifier, instance.target, instance.draft, scheme, engine="enumerate").max_deviation


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("shape", "name"), list(product(SHAPES, ANY_LAWS)), ids=str)
def test_any_laws_of_branches_are_lossless(name: str, shape: tuple[int, ...]) -> None:
    """Those of stratified branches are among the schemes of the cards."""
    for instance in case_instances((shape[0], Delayed(*shape[1:])), 2):
        assert deviation(make(name), instance, UserScheme(Powers(*shape[1:]))) == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_optimal_transport_of_drafts_with_laws_of_their_own(shape: tuple[int, ...], monkeypatch: Any) -> None:
    """The optimum of one step, the least over all sets of tokens; as one layer where sets of drafts are not listed."""
    V, K = shape[:2]
    sets = list(chain.from_iterable(combinations(range(V), size) for size in range(V + 1)))
    for instance in conformance_instances((V, K, 0, 1), 3):
        for scheme in Stratified(K, 0, 1), UserScheme(Powers(K, 0, 1)):
            root = scheme.draw(instance.draft, _First()).root(instance.target, instance.draft)
            p = root.target.tolist()
            met = {S: 1 - prod(1 - sum(law[y] for y in S) for law in root.laws) for S in sets}
            optimum = min(1 - sum(p[y] for y in S) + met[S] for S in sets)
            found = check(make("optimal_transport"), instance.target, instance.draft, scheme)
            assert found.max_deviation == 0
            assert found.block_efficiency == 1 + as_python(optimum)
            with monkeypatch.context() as patch:
                patch.setattr(optimal_transport, "MOST_LISTED_SETS", 0)
                assert deviation(make("optimal_transport"), instance, scheme) == 0


@pytest.mark.parametrize("name", ["specinfer", "traversal"])
def test_the_flattest_law_is_judged_first(name: str) -> None:
    """With pieces (1, 0) and (4/5, 1/5) of p = q: the other way round the second draft may be token 0 in vain."""
    row = RATIONAL.vector([Fraction(9, 10), Fraction(1, 10)])
    target, draft = TableProcess([row[None], np.stack([row, row])]), TableProcess([row[None]])
    assert check(make(name), target, draft, Stratified(2, 0, 1)).block_efficiency == 2
    first, second = (piece.law(row) for piece in Stratified(2, 0, 1).pieces(2))
    accepted = sum(first[token] * acceptance(row, first, token) for token in range(2))
    left = residual(row, first)
    again = sum(second[token] * acceptance(left, second, token) for token in range(2))
    assert as_python(accepted + (1 - accepted) * again) == Fraction(92, 100)


class _First:
    """A coin that always takes the first outcome that is possible."""

    def choose(self, weights: Any) -> int:
        return next(place for place, weight in enumerate(weights) if weight > 0)


@pytest.mark.parametrize("shape", quick(SHAPES[:3], SHAPES[1:2]), ids=str)
def test_any_race_and_any_classes_are_lossless(shape: tuple[int, ...]) -> None:
    for number, instance in enumerate(conformance_instances(shape, 2)):
        for verifier in (RandomRace(number), InClasses()):
            assert deviation(verifier, instance, UserScheme(Powers(*shape[1:]))) == 0


class Blind:
    """A verifier that takes the branches for i.i.d.: it is not told their laws."""

    def __init__(self, verifier: Verifier) -> None:
        self.card, self._verifier = verifier.card, verifier

    def verify(self, root, coin):
        return self._verifier.verify(BlindNode(root), coin)


class BlindNode:
    def __init__(self, node) -> None:
        self._node = node
        self.context, self.target, self.draft, self.children = node.context, node.target, node.draft, node.children
        self.laws = (node.draft,) * len(node.children)

    def child(self, token):
        return BlindNode(self._node.child(token))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*ANY_LAWS, "spectr", "khisti"])
def test_who_takes_the_branches_for_identical_is_refuted(name: str) -> None:
    instances = conformance_instances((3, 2, 0, 2), 8)
    assert any(deviation(Blind(make(name)), instance, Stratified(2, 0, 2)) for instance in instances)
