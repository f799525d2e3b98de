"""Verifiers on branches that are independent but not identically distributed."""

import pytest

from draftproof.simulator import Instance, check
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.user_scheme import UserScheme
from draftproof.simulator.protocol import Verifier
from draftproof.simulator.verdicts.cases import case_instances, conformance_instances
from draftproof.verifiers import make
from tests.verifiers.stratified import Pieces
from tests.verifiers.test_layer_classes import InClasses
from tests.verifiers.test_layers import RandomRace

#: (V, K, L1, L2)
SHAPES = ((2, 2, 0, 2), (3, 2, 0, 1), (3, 3, 0, 1), (2, 2, 1, 1), (2, 3, 0, 1))
#: The shapes of the long check.
MANY = (*SHAPES, (2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2), (3, 2, 1, 1))
#: All that read the laws of their own.
NAMES = ("specinfer", "block_tree", "traversal", "layer_transport")


def deviation(verifier: Verifier, instance: Instance, shape: tuple[int, ...], by_node: bool) -> object:
    scheme = UserScheme(Pieces(*shape[1:], by_node))
    return check(verifier, instance.target, instance.draft, scheme, engine="enumerate").max_deviation


@pytest.mark.parametrize("by_node", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_branches_with_laws_of_their_own_are_lossless(name: str, shape: tuple[int, ...], by_node: bool) -> None:
    for instance in case_instances((shape[0], Delayed(*shape[1:])), 3):
        assert deviation(make(name), instance, shape, by_node) == 0


@pytest.mark.heavy
@pytest.mark.parametrize("by_node", [False, True])
@pytest.mark.parametrize("shape", MANY, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_many_instances_are_lossless(name: str, shape: tuple[int, ...], by_node: bool) -> None:
    for instance in conformance_instances(shape, 200):
        assert deviation(make(name), instance, shape, by_node) == 0


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_any_race_and_any_classes_are_lossless(shape: tuple[int, ...]) -> None:
    for number, instance in enumerate(conformance_instances(shape, 4)):
        for verifier in (RandomRace(number), InClasses()):
            assert deviation(verifier, instance, shape, False) == 0


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


@pytest.mark.parametrize("name", [*NAMES, "naive_tree", "spectr", "khisti", "optimal_transport"])
def test_who_takes_the_branches_for_identical_is_refuted(name: str) -> None:
    instances = conformance_instances((2, 2, 0, 2), 8)
    assert any(deviation(Blind(make(name)), instance, (2, 2, 0, 2), False) for instance in instances)
