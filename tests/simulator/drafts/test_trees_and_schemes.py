"""Draft trees keep what was drafted, and delayed schemes draw them with the right weights and count."""

import numpy as np
import pytest

from draftproof.simulator import FAMILIES, DraftTree, InvalidInput, InvalidVerifier
from draftproof.simulator.drafts._parts import Part
from draftproof.simulator.tables import TableProcess

#: Branches 01, 02, 01 and 21 after the trunk 1: duplicates at the root of the branches and below token 0.
EXAMPLE = DraftTree.from_paths((1,), [(0, 1), (0, 2), (0, 1), (2, 1)])


def test_nodes_carry_rows_and_leaves_carry_no_draft_row() -> None:
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(0), 20)
    root = EXAMPLE.root(instance.target, instance.draft)
    leaf = root.child(1).child(0).child(2)
    assert (root.context, root.children) == ((), (1,))
    assert root.target.tolist() == instance.target.row(()).tolist()
    assert root.child(1).child(0).draft.tolist() == instance.draft.row((1, 0)).tolist()
    assert (leaf.context, leaf.children, leaf.draft) == ((1, 0, 2), (), None)
    assert leaf.target.tolist() == instance.target.row((1, 0, 2)).tolist()


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


def test_a_token_that_was_not_drafted_has_no_node() -> None:
    instance = FAMILIES["dirichlet"].instance(3, 3, np.random.default_rng(0), 20)
    with pytest.raises(InvalidVerifier) as caught:
        EXAMPLE.root(instance.target, instance.draft).child(1).child(1)
    assert str(caught.value) == "child(1) was asked at (1,), where only (0, 0, 0, 2) is drafted"
