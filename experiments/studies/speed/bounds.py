"""Certified bounds on the largest shapes: how near both sides come within their seconds."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

from draftproof.experiments.studies.speed.measuring import Row, Sizes
from draftproof.lp_analysis import optimum
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES

#: (V, K, L2), the gap that is promised, and the seconds for it.
LARGE = ((4, 3, 5, 1e-3, 60), (4, 4, 6, 2e-3, 300))


def bound_rows(sizes: Sizes) -> Iterator[Row]:
    """The gap against the promised one; the note has the seconds at which it first fell below powers of ten."""
    for V, K, L, goal, seconds in ((2, 2, 1, 1e-3, 60),) if sizes.quick else LARGE:
        instance = FAMILIES["perturbed"].instance(V, L, np.random.default_rng(0))
        found = optimum(instance.target, instance.draft, Delayed(K, 0, L), seconds=float(seconds), clock=perf_counter)
        reached = {
            power: [second for second, lower, upper in found.history if upper - lower <= 10.0**power]
            for power in (-1, -2, -3, -4)
        }
        note = ", ".join(f"1e{power} at {min(when):.1f} s" for power, when in reached.items() if when)
        gap = max(float(found.gap), 1e-16)
        yield Row("bounds", f"optimum V={V} K={K} L2={L}", gap, f"in {seconds} s", goal, 1.0, unit="", note=note)
