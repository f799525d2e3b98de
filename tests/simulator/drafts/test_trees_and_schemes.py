"""Draft trees keep what was drafted, and delayed schemes draw them with the right weights and count."""

from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import FAMILIES, Delayed, DraftTree, InvalidInput, InvalidVerifier, outcomes
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import scheme_from_dict
from draftproof.simulator.drafts._parts import Part
from draftproof.simulator.instances.processes import TableProcess

SHAPES = [(1, 0, 0), (1, 2, 0), (1, 0, 2), (1, 1, 1), (2, 0, 1), (3, 0, 1), (2, 0, 2), (2, 1, 1), (3, 1, 1), (2, 2, 1)]
#: Branches 01, 02, 01 and 21 after the trunk 1: duplicates at the root of the branches and below token 0.
EXAMPLE = DraftTree.from_paths((1,), [(0, 1), (0, 2), (0, 1), (2, 1)])


def test_example_tree_has_the_children_written_by_hand() -> None:
    assert EXAMPLE.children == {(): (1,), (1,): (0, 0, 0, 2), (1, 0): (1, 2, 1), (1, 2): (1,)}


def test_nodes_carry_rows_and_leaves_carry_no_draft_row() -> None:
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(0), 20)
    root = EXAMPLE.root(instance.target, instance.draft)
    leaf = root.child(1).child(0).child(2)
    assert (root.context, root.children) == ((), (1,))
    assert root.target.tolist() == instance.target.row(()).tolist()
    assert root.child(1).child(0).draft.tolist() == instance.draft.row((1, 0)).tolist()
    assert (leaf.context, leaf.children, leaf.draft) == ((1, 0, 2), (), None)
    assert leaf.target.tolist() == instance.target.row((1, 0, 2)).tolist()


def test_drafts_of_a_tree_without_pieces_have_the_draft_row_itself_as_law() -> None:
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(0), 20)
    node = EXAMPLE.root(instance.target, instance.draft).child(1)
    assert len(node.laws) == 4
    assert all(law is node.draft for law in node.laws)
    assert node.child(0).child(2).laws == ()


#: The border 1/2 lies in token 1, at 5/6 of it in descending order and at 1/3 in the order of the numbers.
UNEVEN = TableProcess([[["3/10", "6/10", "1/10"]], [["1/2", "1/4", "1/4"]] * 3], "draft")
#: The laws of two branches by order.
BY_HAND = {True: [["0", "1", "0"], ["3/5", "1/5", "1/5"]], False: [["3/5", "2/5", "0"], ["0", "4/5", "1/5"]]}


def halves(descending: bool) -> tuple[Part, ...]:
    return Part(0, 2, descending), Part(1, 2, descending)


@pytest.mark.parametrize("descending", BY_HAND)
def test_branches_from_pieces_have_the_laws_written_by_hand(descending: bool) -> None:
    root = DraftTree({(): (1, 1), (1,): (0, 2)}, {(): halves(descending)}).root(UNEVEN, UNEVEN)
    assert [list(map(str, law)) for law in root.laws] == BY_HAND[descending]
    assert all(law is root.child(1).draft for law in root.child(1).laws)


def test_a_node_has_as_many_pieces_as_drafts() -> None:
    root = DraftTree({(): (0, 1, 0)}, {(): halves(True) * 2}).root(UNEVEN, UNEVEN)
    with pytest.raises(InvalidInput, match=r"^4 pieces for the 3 drafts after \(\)$"):
        _ = root.laws


def test_a_row_without_mass_has_no_pieces() -> None:
    with pytest.raises(InvalidInput, match=r"^a row of the draft sums to 0"):
        halves(True)[0].law(np.zeros(3))


def test_paths_through_one_context_share_its_node() -> None:
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(0), 20)
    root = EXAMPLE.root(instance.target, instance.draft)
    assert root.child(1).child(0) is root.child(1).child(0)


def test_a_token_that_was_not_drafted_has_no_node() -> None:
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(0), 20)
    with pytest.raises(InvalidVerifier) as caught:
        EXAMPLE.root(instance.target, instance.draft).child(1).child(1)
    assert str(caught.value) == "child(1) was asked at (1,), where only (0, 0, 0, 2) is drafted"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weight_of_a_tree_is_the_product_of_its_draft_probabilities(shape: tuple[int, int, int]) -> None:
    K, L1, L2 = shape
    draft = FAMILIES["zeros"].instance(2, L1 + L2, np.random.default_rng(3), 20).draft
    by_hand: dict[Any, Fraction] = {}
    for trunk in product(range(2), repeat=L1):
        for branches in product(product(range(2), repeat=L2), repeat=K):
            chosen = [(trunk[:i], token) for i, token in enumerate(trunk)]
            chosen += [((*trunk, *branch[:i]), token) for branch in branches for i, token in enumerate(branch)]
            mass = Fraction(1)
            for context, token in chosen:
                mass *= as_python(draft.row(context)[token])
            if mass:
                tree = DraftTree.from_paths(trunk, branches)
                key = tuple(sorted(tree.children.items()))
                by_hand[key] = by_hand.get(key, Fraction(0)) + mass
    drawn: dict[Any, Fraction] = {}
    for tree, weight in outcomes(partial(Delayed(*shape).draw, draft), RATIONAL):
        key = tuple(sorted(tree.children.items()))
        drawn[key] = drawn.get(key, Fraction(0)) + as_python(weight)
    assert drawn == by_hand


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 0, 2), "K = 0: a draft tree needs at least one branch; use K >= 1"),
        ((2, -1, 2), "L1 = -1, L2 = 2: lengths cannot be negative; use 0 or more"),
        ((1, 0, -3), "L1 = 0, L2 = -3: lengths cannot be negative; use 0 or more"),
        ((2, 1, 0), "L2 = 0 leaves no room for K = 2 branches; use K = 1 or L2 >= 1"),
    ],
    ids=str,
)
def test_shapes_that_are_no_tree_are_refused(shape: tuple[int, int, int], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Delayed(*shape)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("delayed", "unknown scheme 'delayed'; known: delayed, "),
        ({"name": "bushy"}, "unknown scheme {'name': 'bushy'}; known: delayed, "),
        ({"name": "delayed", "K": 2}, "must have K, L1, L2 and nothing else"),
        ({"name": "delayed", "K": 2, "L1": 0, "L2": 1, "L3": 0}, "must have K, L1, L2 and nothing else"),
        ({"name": "delayed", "K": 2, "L1": 0, "L2": 1.0}, "L2 = 1.0 must be a whole number"),
        ({"name": "delayed", "K": True, "L1": 0, "L2": 1}, "K = True must be a whole number"),
        (
            {"name": "topology", "tree": 3},
            "tree = 3 must be a list of whole numbers",
        ),
        ({"name": "topology", "tree": [1]}, "tree (1,) has 1 nodes and 1 children"),
        ({"name": "adaptive", "K": 1, "L1": 0, "L2": 1, "confidence": "a"}, "'a' is not a number"),
        ({"name": "delayed", "K": 0, "L1": 0, "L2": 1}, "K = 0: a draft tree needs at least one branch"),
    ],
    ids=str,
)
def test_plain_data_that_is_no_scheme_is_refused(fields: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        scheme_from_dict(fields)
    assert message in str(caught.value)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_are_all_no_larger_smallest_first_and_reach_the_scheme_itself(shape: tuple[int, int, int]) -> None:
    scheme = Delayed(*shape)
    reductions = scheme.reductions()
    sizes = [(smaller.depth, smaller.nodes) for smaller in reductions]
    assert len(set(reductions)) == len(reductions)
    assert sizes == sorted(sizes)
    assert all(smaller.K <= scheme.K and smaller.depth <= scheme.depth for smaller in reductions)
    # A chain is one tree however it is split, so it may stand there as L1 = 0.
    itself = scheme if scheme.K > 1 else Delayed(1, 0, scheme.depth)
    assert reductions[-1] == itself
