"""The smallest world in which the best action for each block is not the best policy, by search from the smallest up.

Worlds of two tokens with rows that depend on the last token, and one path of no, one or two drafted tokens; draft
passes take 1, a target pass a whole number. Rows are multiples of one over `D`: the first `D` with a gap is the
smallest, and of its worlds the one with the largest gap is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from simulator.arithmetic import FLOAT64, RATIONAL
from simulator.drafts import Delayed
from simulator.errors import InvalidInput
from simulator.instances.instance import Instance
from simulator.instances.processes import MarkovProcess
from simulator.policies.optimal import best_block, best_ratio, best_static, policy_iteration
from simulator.policies.policy import Action
from simulator.policies.value import value
from simulator.policies.world import Tables, World
from simulator.protocol import Progress, Verifier

#: Lengths of the path that may be drafted.
LENGTHS = (0, 1, 2)
#: Times of a target pass.
TARGET_TIMES = (1, 2, 4)
#: A gap in float64 that is looked at in rationals.
SEEN = 1e-9
#: What looks one block ahead, by name.
SHORT_SIGHTED = {"greedy": best_block, "ratio": best_ratio}


@dataclass(frozen=True)
class Gap:
    """A world with its rates: of the short-sighted policy, the best static action and the best policy, all exact."""

    rows: tuple[tuple[Fraction, ...], ...]
    target_time: int
    tables: Tables
    rates: dict[str, Fraction | float]
    choices: dict[str, Any]

    @property
    def instance(self) -> Instance:
        """The world as an instance of depth 2, the root being token 0."""
        target, draft = self.tables.world.processes(0)
        about = {"target time": self.target_time}
        return replace(Instance.of(target, draft, 2, RATIONAL), about=about)


def smallest_gap(
    verifier: Verifier, short: str, denominators: range, positive: bool = False, tick: Progress = lambda _: None
) -> Gap | None:
    """The world with the largest share lost by the policy `short`, at the smallest denominator that has one.

    positive: only worlds without zeros.
    """
    for denominator in denominators:
        found: list[tuple[float, tuple[Any, ...], int]] = []
        for rows, time in _worlds(denominator, positive):
            tick(1)
            lost = _lost(verifier, short, rows, time)
            if lost > SEEN:
                found.append((-lost, rows, time))
        for _, rows, time in sorted(found):
            gap = _exact(verifier, short, rows, time)
            if gap.rates[short] < gap.rates["best"]:
                return gap
    return None


def count(denominators: range, positive: bool) -> int:
    """How many worlds there are at most."""
    return sum(max(denominator + 1 - 2 * positive, 0) ** 4 * len(TARGET_TIMES) for denominator in denominators)


def _worlds(denominator: int, positive: bool) -> Iterator[tuple[tuple[tuple[Fraction, ...], ...], int]]:
    parts = range(positive, denominator + 1 - positive)
    rows = [(Fraction(i, denominator), Fraction(denominator - i, denominator)) for i in parts]
    return ((four, time) for four in product(rows, repeat=4) for time in TARGET_TIMES)


def _tables(verifier: Verifier, rows: tuple[tuple[Fraction, ...], ...], time: int, exact: bool) -> Tables:
    numbers = RATIONAL if exact else FLOAT64
    target, draft = (MarkovProcess(numbers.vector(rows[i : i + 2]), (0,)) for i in (0, 2))
    actions = [Action(Delayed(1, 0, length), verifier) for length in LENGTHS]
    return World.of(target, draft, before=False).tables(actions, lambda action: time + action.scheme.depth)


def _lost(verifier: Verifier, short: str, rows: tuple[tuple[Fraction, ...], ...], time: int) -> float:
    try:
        tables = _tables(verifier, rows, time, exact=False)
        best = policy_iteration(tables).gain
        return float(1 - value(tables, SHORT_SIGHTED[short](tables)).rate / best)
    except InvalidInput:  # it depends on the root for ever
        return 0.0


def _exact(verifier: Verifier, short: str, rows: tuple[tuple[Fraction, ...], ...], time: int) -> Gap:
    tables = _tables(verifier, rows, time, exact=True)
    chosen = {
        "static": best_static(tables),
        short: SHORT_SIGHTED[short](tables),
        "best": policy_iteration(tables).choice,
    }
    rates = {name: value(tables, choice).rate for name, choice in chosen.items()}
    return Gap(rows, time, tables, rates, chosen)
