"""Random programs with loops, branches, state and numbers that are used again: the exact law against sampling.

Numbers come from Python, numpy or torch (in float32), one library a program, or from memory and `tl.rand` in a Triton
kernel. Sampling runs the very same function with the true generators.
"""

import math
import random
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from draftproof.simulator.symbolic import NotFollowed, load
from tests.modules import module_of
from tests.simulator.symbolic.values import frozen

torch = pytest.importorskip("torch")

#: Of a program, and of a kernel, which its interpreter runs more slowly.
SAMPLES, KERNEL_SAMPLES = 400, 200
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

    run.kind = f"{library}, float32" if library == "torch" else library
    return run


def kernel(folder):
    """From a seed to a function that launches a kernel, out of a file in the folder."""

    def make(seed):
        file = folder / f"kernel_{seed}.py"
        text = module_of(Path(__file__).with_name("kernel_programs.py")).source(seed)
        file.write_text(text)
        function = load(file, "run")
        function.kind = f"kernel, {'float32' if 'float32).' in text else 'float64'}"
        return function

    return make


def compared(seeds, follow, make=program, samples=SAMPLES):
    """How many programs of each kind agree ("agree", kind), or are refused; any other one fails the test."""
    found = Counter()
    for seed in seeds:
        function = make(seed)
        try:
            law = {key: float(mass) for key, mass in follow(function).law.items()}
        except NotFollowed:
            found["refused", function.kind] += 1
            continue
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        with np.errstate(all="ignore"):
            counts = Counter(frozen(function()) for _ in range(samples))
        assert abs(sum(law.values()) - 1) < 1e-9, seed
        for key in law.keys() | counts.keys():
            mass = law.get(key, 0.0)
            slack = SIGMAS * math.sqrt(samples * mass * (1 - mass)) + 5 * (mass > 0)
            assert abs(counts[key] - samples * mass) <= slack, (seed, key, mass, counts[key])
        found["agree", function.kind] += 1
    return found


def agreed(found):
    return sum(count for (verdict, _), count in found.items() if verdict == "agree")


needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="kernels need triton: pip install 'draftproof[kernels]'"
)


@pytest.mark.heavy
def test_random_programs_agree_with_sampling(follow):
    found = compared(range(60), follow)
    assert found.total() == 60
    assert agreed(found) >= 45


@needs_triton
def test_random_kernels_agree_with_sampling(follow, tmp_path):
    assert agreed(compared(range(4), follow, kernel(tmp_path), KERNEL_SAMPLES)) == 4


def _printed(capsys, found):
    with capsys.disabled():
        print(f"\n{agreed(found)} programs agree, {found.total() - agreed(found)} are refused, 0 differ")
        for (verdict, kind), count in sorted(found.items()):
            print(f"  {verdict}: {count} of {kind}")


@pytest.mark.heavy
@pytest.mark.parametrize("first", [1000, 1500, 2000])
def test_fifteen_hundred_random_programs_agree_with_sampling(follow, capsys, first):
    """With loops, branches and state: the larger part of two thousand."""
    found = compared(range(first, first + 500), follow)
    _printed(capsys, found)
    assert found.total() == 500
    assert agreed(found) >= 360


@needs_triton
@pytest.mark.heavy
@pytest.mark.parametrize("first", [1000, 1125, 1250, 1375])
def test_five_hundred_random_kernels_agree_with_sampling(follow, capsys, tmp_path, first):
    found = compared(range(first, first + 125), follow, kernel(tmp_path), KERNEL_SAMPLES)
    _printed(capsys, found)
    assert found.total() == 125
    assert agreed(found) >= 110


def test_the_comparison_sees_a_wrong_law(follow):
    class Wrong:
        law = {}  # noqa: RUF012 - of this test only

    def wrong(function):
        found, made = follow(function), Wrong()
        made.law = {(0, ()): 1.0} if len(found.law) > 1 else {(1, (9,)): 1.0}
        return made

    with pytest.raises(AssertionError):
        compared(range(5), wrong)
