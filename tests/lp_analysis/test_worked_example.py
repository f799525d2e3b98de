"""The worked example of the theory page: its table, recomputed exactly."""

import re
from fractions import Fraction
from pathlib import Path

from draftproof.lp_analysis import optimum
from draftproof.lp_analysis.hitting import IidBranches
from draftproof.lp_analysis.nodes import efficiency, reach
from draftproof.lp_analysis.prices import price_bound
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.plan import PathPlan

HALF = Fraction(1, 2)
TARGET = [RATIONAL.vector([[0, 1]]), RATIONAL.vector([[HALF, HALF]] * 2)]
DRAFT = [RATIONAL.vector([[HALF, HALF]]), RATIONAL.vector([[HALF, HALF]] * 2)]
FIRST, SECOND = (2, 3, 0, 1), (3, 2, 0, 1)


def stated() -> dict[str, Fraction]:
    page = (Path(__file__).parents[2] / "docs" / "theory" / "bounds.md").read_text(encoding="utf-8")
    section = page.partition("## Worked example")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| ([\d/]+) \|$", section, re.MULTILINE)
    return {row[0].split()[0]: Fraction(row[1]) for row in rows}


def plan_value(weights, orders) -> Fraction:
    plan = PathPlan(2, 2, 0, 2, tuple(map(Fraction, weights)), tuple((order,) for order in orders))
    return as_python(efficiency(reach(plan.selection(DRAFT), TARGET)))


def test_the_table_of_the_theory_page():
    prices = [RATIONAL.vector(values) for values in ([0], [0, 2], [0, 0, 0, 0])]
    found = {
        "block": optimum(TARGET, DRAFT, Delayed(1, 0, 2)).lower,
        "one": plan_value([1], [FIRST]),
        "half": plan_value([HALF, HALF], [FIRST, SECOND]),
        "bound": as_python(price_bound(prices, BoundProblem(TARGET, IidBranches(DRAFT, Delayed(2, 0, 2))))),
    }
    assert found == stated() == {"block": 2, "one": Fraction(39, 16), "half": Fraction(5, 2), "bound": Fraction(5, 2)}


def test_the_solver_finds_the_example():
    found = optimum(TARGET, DRAFT, Delayed(2, 0, 2))
    assert found.lower <= Fraction(5, 2) <= found.upper
    assert found.gap <= Fraction(1, 10**6)
