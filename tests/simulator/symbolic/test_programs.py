"""Random programs with loops, branches, state and numbers that are used again: the exact law against sampling.

Numbers come from Python, numpy or torch (in float32), one library a program, or from memory and `tl.rand` in a Triton
kernel. Sampling runs the very same function with the true generators.
"""

import math
import random
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.symbolic import NotFollowed
from tests.modules import load, module_of

torch = pytest.importorskip("torch")

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


def kernel(folder):
    """From a seed to a function that launches a kernel, out of a file in the folder."""

    def make(seed):
        file = folder / f"kernel_{seed}.py"
        file.write_text(module_of(Path(__file__).with_name("kernel_programs.py")).source(seed))
        return load(file, "run")

    return make


def agreeing(seeds, law, agrees, make=program):
    """How many programs agree with sampling; the others are refused, and any that differs fails the test."""
    count = 0
    for seed in seeds:
        function = make(seed)
        try:
            exact = law(function)
        except NotFollowed:
            continue
        agrees(function, exact)
        count += 1
    return count


needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="kernels need triton: pip install 'draftproof[kernels]'"
)


#: The first seed, the number of programs, or of kernels, and how many of them are followed at least.
PROGRAMS = [(0, 12, 6), *(pytest.param(1000 + 500 * i, 500, 360, marks=pytest.mark.heavy) for i in range(3))]
KERNELS = [(0, 4, 4), *(pytest.param(1000 + 125 * i, 125, 110, marks=pytest.mark.heavy) for i in range(4))]


@pytest.mark.parametrize(("first", "count", "least"), PROGRAMS)
def test_random_programs_agree_with_sampling(law, agrees, first, count, least):
    """With loops, branches and state."""
    assert agreeing(range(first, first + count), law, agrees) >= least


@needs_triton
@pytest.mark.parametrize(("first", "count", "least"), KERNELS)
def test_random_kernels_agree_with_sampling(law, agrees, tmp_path, first, count, least):
    assert agreeing(range(first, first + count), law, agrees, kernel(tmp_path)) >= least


@pytest.mark.parametrize("wrong", [{(0, ()): 1}, {(1, (9,)): 1}])
def test_the_comparison_sees_a_wrong_law(agrees, wrong):
    with pytest.raises(AssertionError):
        agreeing(range(5), lambda function: {key: fmpq(mass) for key, mass in wrong.items()}, agrees)
