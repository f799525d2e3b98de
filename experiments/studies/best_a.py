"""The best weight of the greedy order in `mixed_order`, for one instance and one shape.

The selection law of `mixed_order` is linear in `a`, and the reach `D(c, y) = min(r(c, y), D(c) p(y|c))` of block
verification is concave in it. So its block efficiency is a concave function of `a`, and golden-section search finds
its maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, sqrt

from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers.mixed_order import MixedOrder

#: The best `a` is one of the multiples of one over this.
DENOMINATOR = 256
#: The search in float64 evaluates multiples of one over this.
_FINE = 2**30
#: The search ends on an interval of this length, where block efficiency is flat up to rounding.
_SHORT = 1e-6


def best_mixture(target: TokenProcess, draft: TokenProcess, scheme: DraftScheme) -> tuple[Fraction, Fraction]:
    """The multiple `a` of 1/256 with the largest block efficiency of `mixed_order`, and that efficiency, exact.

    target, draft: exact processes; scheme: one that `mixed_order` runs on. Of several best the search keeps one.
    Raises what `check` raises.
    """

    def rounded(a: float) -> float:
        verifier = MixedOrder(Fraction(round(a * _FINE), _FINE))
        return float(Evaluator(verifier, "float64").check(target, draft, scheme).block_efficiency)

    def exact(a: Fraction) -> Fraction:
        return Fraction(Evaluator(MixedOrder(a), "rational").check(target, draft, scheme).block_efficiency)

    low, high = golden_section(rounded)
    # a concave function on a grid is largest next to its maximum, or at an end where rounding hides it
    units = {0, floor(low * DENOMINATOR), ceil(high * DENOMINATOR), DENOMINATOR}
    units.add(round((low + high) / 2 * DENOMINATOR))
    efficiencies = {Fraction(unit, DENOMINATOR): exact(Fraction(unit, DENOMINATOR)) for unit in sorted(units)}
    best = max(efficiencies, key=efficiencies.__getitem__)
    return best, efficiencies[best]


def golden_section(function: Callable[[float], float]) -> tuple[float, float]:
    """An interval of length 1e-6 in [0, 1] with the maximum of a concave function."""
    low, high = 0.0, 1.0
    step = (sqrt(5) - 1) / 2
    left, right = high - step, low + step
    at_left, at_right = function(left), function(right)
    while high - low > _SHORT:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + step * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - step * (high - low)
            at_left = function(left)
    return low, high
