"""Schemes beyond i.i.d. branches: trees by hand, thresholds met in both arithmetics, counts without a list."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import TableProcess
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import (
    Adaptive,
    AdaptiveDropping,
    DynamicDepth,
    DySpecThreshold,
    Greedy,
    OptTree,
    TopK,
    Topology,
    WithoutReplacement,
)
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme
from tests.simulator.drafts.drawn import law_of_trees

ROW = ["1/2", "1/3", "1/6"]


def process(depth: int) -> TableProcess:
    return TableProcess([[ROW] * 3**d for d in range(depth + 1)])


def test_top_k_is_certain_and_breaks_ties_to_the_smaller_number():
    draft = TableProcess([[["1/3", "1/3", "1/3"]]])
    assert law_of_trees(TopK(2, 0, 1), draft) == {(((), (0, 1)),): 1}
    assert law_of_trees(TopK(2, 0, 1), TableProcess([[["1/6", "1/2", "1/3"]]])) == {(((), (1, 2)),): 1}


def test_topology_gives_the_first_child_the_first_subtree():
    law = law_of_trees(Topology((2, 1, 0, 0)), process(1))
    for children in law:
        tree = dict(children)
        first, second = tree[()]
        assert len(tree[(first,)]) == 1
        assert (second,) not in tree
    assert Topology((2, 1, 0, 0)).depth == 2
    assert Topology((2, 1, 0, 0)).nodes == 3


def test_adaptive_keeps_the_unsure_token_and_stops_the_control_drops_it():
    assert law_of_trees(Adaptive(1, 0, 2, Fraction(2, 5)), process(1)) == {
        (((), (0,)), ((0,), (0,))): fmpq(1, 4),
        (((), (0,)), ((0,), (1,))): fmpq(1, 6),
        (((), (0,)), ((0,), (2,))): fmpq(1, 12),
        (((), (1,)),): fmpq(1, 3),
        (((), (2,)),): fmpq(1, 6),
    }
    assert law_of_trees(AdaptiveDropping(1, 0, 2, Fraction(2, 5)), process(1)) == {
        (((), (0,)), ((0,), (0,))): fmpq(1, 4),
        (((), (0,)),): fmpq(1, 4),
        (): fmpq(1, 2),
    }


def test_adaptive_has_no_say_before_l1():
    for tree, _ in outcomes(lambda coin: Adaptive(1, 2, 0, Fraction(1)).draw(process(1), coin), RATIONAL):
        assert len(tree.children) == 2


def test_a_count_of_many_trees_does_not_list_them():
    row = np.full(6, fmpq(1, 6))
    everywhere = SimpleNamespace(row=lambda context: row)
    assert WithoutReplacement(3, 2, 3).count(everywhere) == 6**2 * (6 * 5 * 4) ** (1 + 3 + 9)
    assert Greedy(3, 1, 4).count(everywhere) == 6 * 4 ** (1 + 3 + 9 + 27)


#: A scheme and the row that its draft has everywhere; in floats the sums and products miss the threshold.
TIES: list[tuple[DraftScheme, list[str]]] = [
    (DySpecThreshold(Fraction(1, 6), 1), ["5/6", "1/6"]),
    (DySpecThreshold(Fraction(2, 5), 1), ["2/5", "3/10", "3/10"]),
    (DynamicDepth(3, 2, Fraction(1)), ["2/3", "1/6", "1/6"]),
    (OptTree(2, Fraction(11, 13)), ["8/13", "3/13", "2/13"]),
    (Adaptive(1, 0, 2, Fraction(15, 22)), ["15/22", "7/22"]),
]


@pytest.mark.parametrize(("scheme", "row"), TIES, ids=str)
def test_a_threshold_that_is_met_is_met_in_floats_too(scheme: DraftScheme, row: list[str]) -> None:
    tables = [[row] * len(row) ** depth for depth in range(scheme.depth + 1)]
    exact = TableProcess(tables)
    rounded = Instance(exact, exact).converted(FLOAT64, scheme.depth).draft
    assert law_of_trees(scheme, rounded, FLOAT64) == pytest.approx(
        {tree: float(mass.p) / float(mass.q) for tree, mass in law_of_trees(scheme, exact).items()}
    )
