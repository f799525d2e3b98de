"""I.i.d. children at every level: the law of its trees by hand, and where it is the delayed tree."""

import numpy as np
import pytest
from flint import fmpq

from draftproof import verifiers
from draftproof.simulator import Delayed, InvalidInput, TableProcess, TooLarge, check
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import SpecInferConfig
from draftproof.simulator.instances.families import FAMILIES

Q = TableProcess([[["1/3", "2/3"]], [["1/4", "3/4"], ["1/2", "1/2"]]])


def test_children_are_independent_and_a_duplicate_is_drafted_from_once() -> None:
    masses: dict[tuple[object, ...], fmpq] = {}
    for tree, mass in outcomes(lambda coin: SpecInferConfig((2, 1)).draw(Q, coin), RATIONAL):
        key = tuple(sorted(tree.children.items()))
        masses[key] = masses.get(key, 0) + mass
    assert masses[(((), (0, 0)), ((0,), (1,)))] == fmpq(1, 9) * fmpq(3, 4)
    assert masses[(((), (0, 1)), ((0,), (1,)), ((1,), (0,)))] == fmpq(2, 9) * fmpq(3, 4) * fmpq(1, 2)
    assert sum(masses.values()) == 1
    assert SpecInferConfig((2, 1)).count(Q) == len(masses) == 2 + 2 + 2 * 4


def test_one_level_is_the_delayed_tree_of_depth_one() -> None:
    made = FAMILIES["dirichlet"].instance(3, 1, np.random.default_rng(3), 20)
    for name in ("specinfer", "khisti", "traversal"):
        one = check(verifiers.make(name), made.target, made.draft, SpecInferConfig((3,)))
        other = check(verifiers.make(name), made.target, made.draft, Delayed(3, 0, 1), engine="enumerate")
        assert one.lossless
        assert one.metrics == other.metrics


@pytest.mark.parametrize("widths", [(0,), (2, -1), (1.0,), (2000,)])
def test_widths_that_make_no_tree_are_refused(widths: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="give for each level a whole number of 1 to 1000"):
        SpecInferConfig(widths)


def test_counting_refuses_what_it_would_have_to_list() -> None:
    with pytest.raises(TooLarge, match="more than 1,000,000 drafts at one node"):
        SpecInferConfig((30, 1)).count(Q)
