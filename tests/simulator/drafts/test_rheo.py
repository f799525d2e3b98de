"""RheoSampling: which verifiers are lossless on its trees, and that its proxy is what makes them so."""

from fractions import Fraction

import pytest

from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.simulator import TableProcess, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Rheo, RheoOwn
from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.verdicts.cases import case_instances
from draftproof.verifiers import STANDALONE, make


def test_a_tree_by_hand() -> None:
    """The root drafts 0 and a slot, both of value .5; then (0, 0) of value .3 comes, and one more of .3.

    This is (1, 0) where the slot draws 1, and 1, which enters before (2, 0), where it draws 2.
    """
    draft = TableProcess([[["1/2", "3/10", "1/5"]], [["3/5", "2/5", "0"]] * 3])
    drawn = outcomes(lambda coin: Rheo(4, 3, 2).draw(draft, coin), RATIONAL)
    assert [(dict(tree.children), as_python(mass)) for tree, mass in drawn] == [
        ({(): (0, 1), (0,): (0,), (1,): (0,)}, Fraction(3, 5)),
        ({(): (0, 1, 2), (0,): (0,)}, Fraction(2, 5)),
    ]


@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_the_place_of_the_sampled_child_must_not_tell_which_it_is(nodes: int) -> None:
    refuted = 0
    for instance in case_instances((3, Rheo(nodes, 3, 2)), 15):
        assert check(make("rheo"), instance.target, instance.draft, Rheo(nodes, 3, 2)).lossless
        refuted += not check(make("rheo"), instance.target, instance.draft, RheoOwn(nodes, 3, 2)).lossless
    assert refuted > 3


def test_no_other_verifier_but_naive_sampling_is_lossless() -> None:
    """Not even the greedy rule: the children between the first and the last follow from the last."""
    scheme, lossless = Rheo(4, 3, 2), set(STANDALONE)
    for instance in case_instances((4, scheme), 3):
        for name in sorted(lossless):
            try:
                found = check(find_verifier(name).verifier, instance.target, instance.draft, scheme).lossless
            except UnsupportedTree:
                found = False
            lossless -= set() if found else {name}
    assert lossless == {"nss", "rheo"}
