"""How the cost of structured engines grows along one axis, everything else fixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import exp, log
from typing import Any

import numpy as np

from draftproof.experiments.studies.speed.measuring import Sizes, in_turn, random_rows, summed
from draftproof.simulator.drafts import Delayed
from draftproof.verifiers import make


@dataclass(frozen=True)
class Growth:
    """Seconds along one axis (`L`, `K` or `V`), everything else fixed."""

    verifier: str
    fixed: str
    axis: str
    seconds: dict[int, float]

    @property
    def steps(self) -> list[float]:
        """The factor from each value of the axis to the next."""
        return [after / before for before, after in pairwise(self.seconds.values())]

    @property
    def fitted(self) -> float:
        """Least squares over the last three: the factor for each level where the axis is L, else the power of K or V.

        Below them the cost of the calls outweighs that of the work.
        """
        last = list(self.seconds.items())[-3:]
        places = [float(value) if self.axis == "L" else log(value) for value, _ in last]
        slope = float(np.polyfit(places, [log(seconds) for _, seconds in last], 1)[0])
        return exp(slope) if self.axis == "L" else slope

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "steps": self.steps, "fitted": self.fitted}


#: (verifier, axis, values, what is fixed).
GROWTH: tuple[tuple[str, str, tuple[int, ...], dict[str, int]], ...] = (
    ("specinfer", "L", (5, 6, 7, 8, 9), {"V": 4, "K": 4}),
    ("gbv", "L", (5, 6, 7, 8, 9), {"V": 4, "K": 4}),
    ("traversal", "L", (2, 3, 4, 5, 6), {"V": 4, "K": 2}),
    ("specinfer", "K", (1, 2, 3, 4, 5, 6), {"V": 4, "L": 7}),
    ("gbv", "K", (1, 2, 3, 4, 5, 6), {"V": 4, "L": 7}),
    ("traversal", "K", (1, 2, 3, 4), {"V": 4, "L": 3}),
    ("specinfer", "V", (8, 16, 32, 64), {"K": 4, "L": 3}),
    ("gbv", "V", (8, 16, 32, 64), {"K": 4, "L": 3}),
    ("traversal", "V", (4, 8, 12, 16), {"K": 2, "L": 3}),
)


def growth(sizes: Sizes) -> Iterator[Growth]:
    """How the cost grows along each axis."""
    for name, axis, values, fixed in GROWTH:
        chosen = values[:2] if sizes.quick else values
        tasks = {}
        for value in chosen:
            at = {**fixed, axis: value}
            tasks[str(value)] = summed(make(name), random_rows(at["V"], at["L"])[0], Delayed(at["K"], 0, at["L"]))
        least = in_turn(tasks, sizes.budget)
        words = ", ".join(f"{key}={value}" for key, value in fixed.items())
        yield Growth(name, words, axis, {int(value): seconds for value, seconds in least.items()})
