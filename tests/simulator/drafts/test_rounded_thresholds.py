"""A threshold that is met exactly in fractions is met in floats: both arithmetics draw the same trees."""

from fractions import Fraction
from typing import Any

import pytest

from draftproof.simulator import TableProcess
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Adaptive, DynamicDepth, DySpecThreshold, OptTree
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme

#: A scheme and the row that its draft has everywhere; in floats the sums and products miss the threshold.
TIES: list[tuple[DraftScheme, list[str]]] = [
    (DySpecThreshold(Fraction(1, 6), 1), ["5/6", "1/6"]),
    (DySpecThreshold(Fraction(2, 5), 1), ["2/5", "3/10", "3/10"]),
    (DynamicDepth(3, 2, Fraction(1)), ["2/3", "1/6", "1/6"]),
    (OptTree(2, Fraction(11, 13)), ["8/13", "3/13", "2/13"]),
    (Adaptive(1, 0, 2, Fraction(15, 22)), ["15/22", "7/22"]),
]


def law(scheme: DraftScheme, draft: TableProcess, arithmetic: Any) -> dict[tuple[Any, ...], float]:
    masses: dict[tuple[Any, ...], float] = {}
    for tree, mass in outcomes(lambda coin: scheme.draw(draft, coin), arithmetic):
        key = tuple(sorted(tree.children.items()))  # type: ignore[attr-defined]
        masses[key] = masses.get(key, 0.0) + float(mass)
    return masses


@pytest.mark.parametrize(("scheme", "row"), TIES, ids=str)
def test_a_threshold_that_is_met_is_met_in_floats_too(scheme: DraftScheme, row: list[str]) -> None:
    tables = [[row] * len(row) ** depth for depth in range(scheme.depth + 1)]
    exact = TableProcess(tables)
    rounded = Instance(exact, exact).converted(FLOAT64, scheme.depth).draft
    assert law(scheme, rounded, FLOAT64) == pytest.approx(law(scheme, exact, RATIONAL))
