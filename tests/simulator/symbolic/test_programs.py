"""Random programs with loops, branches, state and numbers that are used again: the exact law against sampling.

Numbers come from Python, numpy or torch (in float32), one library a program. Sampling runs the very same function with
the true generators.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from simulator.symbolic import NotFollowed

torch = pytest.importorskip("torch")

SAMPLES = 400
#: Standard deviations that a frequency may be off: of some ten thousand, none is by chance.
SIGMAS = 5.5
LIBRARIES = ("python", "numpy", "torch")
#: Of two numbers `u` (new) and `v` (an older one), as Python text.
EXPRESSIONS = (
    "u", "u", "u", "0.5 * u + 0.2", "1 - u", "u * v", "u + v", "u - v", "min(u, v)", "max(u, v)", "-log(u)", "u / v",
    "u ** 2",
)  # fmt: skip


def draw(library, kind):
    if library == "python":
        return random.random() if kind == "uniform" else random.expovariate(1.0)
    if library == "numpy":
        return np.random.random() if kind == "uniform" else np.random.exponential()
    made = torch.empty((), dtype=torch.float32)
    return (made.uniform_() if kind == "uniform" else made.exponential_()).item()


def program(seed):
    """A function that draws numbers in a loop and returns what it noted on the way."""
    make = random.Random(seed)
    library, length = make.choice(LIBRARIES), make.randint(1, 3)
    lines = [
        (make.choice(("uniform", "exponential")), make.choice(EXPRESSIONS), [make.uniform(0.1, 1.2) for _ in range(3)])
        for _ in range(length)
    ]
    stop, again = make.random() < 0.5, make.random() < 0.3

    def run():
        state, noted, v = 0, [], 1.0
        for place in range(length):
            kind, expression, edges = lines[place % len(lines)]
            u = draw(library, kind)
            names = {"u": u, "v": v, "min": min, "max": max, "log": math.log}
            if eval(expression, names) < edges[state]:
                state = (state + 1 + place) % 3
                if again:
                    v = u
            else:
                noted.append(place)
                if stop and len(noted) > 1:
                    break
                v = u
        return state, noted

    return run


def compared(seeds, follow):
    """How many programs agree, and how many are refused; any other one fails the test."""
    agreed = refused = 0
    for seed in seeds:
        function = program(seed)
        try:
            law = {key: float(mass) for key, mass in follow(function).law.items()}
        except NotFollowed:
            refused += 1
            continue
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        counts = Counter((state, tuple(noted)) for state, noted in (function() for _ in range(SAMPLES)))
        assert abs(sum(law.values()) - 1) < 1e-9, seed
        for key in law.keys() | counts.keys():
            mass = law.get(key, 0.0)
            slack = SIGMAS * math.sqrt(SAMPLES * mass * (1 - mass)) + 5 * (mass > 0)
            assert abs(counts[key] - SAMPLES * mass) <= slack, (seed, key, mass, counts[key])
        agreed += 1
    return agreed, refused


def test_random_programs_agree_with_sampling(follow):
    agreed, refused = compared(range(60), follow)
    assert agreed + refused == 60
    assert agreed >= 45


@pytest.mark.heavy
def test_two_thousand_random_programs_agree_with_sampling(follow, capsys):
    agreed, refused = compared(range(1000, 3000), follow)
    with capsys.disabled():
        print(f"\n{agreed} programs agree, {refused} are refused, 0 differ")
    assert agreed >= 1500


def test_the_comparison_sees_a_wrong_law(follow):
    class Wrong:
        law = {}  # noqa: RUF012 - of this test only

    def wrong(function):
        found, made = follow(function), Wrong()
        made.law = {(0, ()): 1.0} if len(found.law) > 1 else {(1, (9,)): 1.0}
        return made

    with pytest.raises(AssertionError):
        compared(range(5), wrong)
