"""Whether float64 says where rounding decides: held against the rational law, for rankings that floats get wrong."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from draftproof.simulator import Card, Delayed, Instance, TableProcess, Verdict, check
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.verifiers import REGISTRY
from draftproof.verifiers.block import block_verify

ONE_STEP = Delayed(2, 0, 1)


class RanksQuotients:
    """`gbv` of one step whose ranks are the quotients as they come."""

    card = Card(name="ranks_quotients", title="", source=None)

    def verify(self, root: Any, coin: Any) -> Verdict:
        p, q = root.target, root.draft
        order = sorted(range(len(q)), key=lambda token: (q[token] > 0 and p[token] / q[token], token))
        below = np.array([sum((q[other] for other in order[: order.index(y)]), q[0] * 0) for y in range(len(q))])
        best = max(root.children, key=order.index)
        law = (below + q) ** 2 - below**2 if len(root.children) == 2 else q
        return block_verify([root, root.child(best)], [law[best]], [law].__getitem__, coin)


def instance(p: list[str], q: list[str]) -> Instance:
    """One step; the target after it does not matter."""
    rows, size = [RATIONAL.vector([row]) for row in (p, q)], len(p)
    leaves = RATIONAL.vector([[Fraction(1, size)] * size] * size)
    return Instance(TableProcess([rows[0], leaves], "target"), TableProcess([rows[1]], "draft"))


#: In floats (1/5)/(1/8) is larger than (3/5)/(3/8), and so on.
TIED = [
    instance(["1/5", "3/5", "1/5"], ["1/8", "3/8", "4/8"]),
    instance(["3/6", "1/6", "2/6"], ["3/10", "1/10", "6/10"]),
    instance(["3/7", "2/7", "2/7"], ["3/10", "2/10", "5/10"]),
]


def off(verifier: Any, given: Instance) -> float:
    """How far float64 is from the truth."""
    exact = check(verifier, given.target, given.draft, ONE_STEP).block_efficiency
    return abs(check(verifier, given.target, given.draft, ONE_STEP, "float64").block_efficiency - float(exact))


def decides(verifier: Any, given: Instance) -> bool:
    return check(verifier, given.target, given.draft, ONE_STEP, "float64").rounding_decides


def test_a_verifier_that_ranks_quotients_as_they_come_is_said_to_hang_on_rounding_where_they_tie() -> None:
    assert max(off(RanksQuotients(), given) for given in TIED) > 1e-3, "no instance shows what this is about"
    for given in TIED:
        assert decides(RanksQuotients(), given)
        assert not any(decides(REGISTRY[name], given) for name in ("gbv", "block", "khisti"))


def test_quotients_that_float64_cannot_tell_apart_are_said_to_decide() -> None:
    """They differ by some 2^-40: `gbv` ranks them as rationals, and takes them for a tie in float64."""
    tiny = Fraction(1, 2**42)
    p, q = [Fraction(1, 10) + tiny, Fraction(3, 10) - tiny, Fraction(6, 10)], ["1/7", "3/7", "3/7"]
    near = instance([str(x) for x in p], q)
    assert off(REGISTRY["gbv"], near) > 1e-3
    assert decides(REGISTRY["gbv"], near)
    assert not decides(REGISTRY["block"], near)


@pytest.mark.parametrize("rows", [(["1/4"] * 4, ["1/4"] * 4), (["1/3", "1/3", "1/3"], ["2/5", "2/5", "1/5"])])
def test_ties_that_are_ties_in_floats_are_not_looked_at(rows: tuple[list[str], list[str]]) -> None:
    given = instance(*rows)
    assert off(RanksQuotients(), given) <= FLOAT64.tolerance
    assert not decides(RanksQuotients(), given)


def test_floats_without_exact_rows_are_looked_at_too() -> None:
    given = TIED[0].converted(FLOAT64, 1)
    bare = Instance(TableProcess(given.target.tables, "target"), TableProcess(given.draft.tables, "draft"))
    assert bare.target.exact is None
    assert decides(RanksQuotients(), bare)
    assert not decides(REGISTRY["gbv"], bare)
