"""The exact law of any function under symbolic randomness, for the tests of this folder.

Expressions are Python text, so one line is followed exactly in plain Python, numpy and torch.
"""

# ruff: noqa: PLW0108 - the functions of the libraries are looked up when they are called

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.symbolic import NotFollowed, Settings, concrete, intercepted
from tests.modules import load

try:
    import torch
except ImportError:  # the same expressions in three libraries need all three
    torch = None  # type: ignore[assignment]
    collect_ignore = ["test_algebra.py", "test_axes.py", "test_random_expressions.py", "test_refused.py"]


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, (list, tuple)) else value


def follow(function: Callable[..., Any], make: Any = None, arithmetic: Any = RATIONAL, **settings: Any) -> Any:
    """law: result (lists as tuples) -> probability; and what the sessions noticed in all runs.

    make: from the session to the arguments of the function. settings: fields of `Settings`.
    """
    found = SimpleNamespace(law={}, reuse=set(), events=set(), notes=set(), runs=0)

    def run(coin: Any) -> Any:
        with intercepted(coin, watch=(function,), settings=Settings(**settings)) as session:
            result = concrete(function(*(make(session) if make else ())))
        found.reuse |= {str(each) for each in session.reuse}
        found.events |= {(each.what, each.value) for each in session.boundary_events}
        found.notes |= set(session.notes)
        return result

    for result, mass in outcomes(run, arithmetic):
        found.runs += 1
        key = _frozen(result)
        found.law[key] = found.law.get(key, 0) + mass
    return found


@pytest.fixture(name="follow", scope="session")
def follow_fixture() -> Callable[..., Any]:
    return follow


@pytest.fixture(scope="session")
def law() -> Callable[..., dict[Any, Any]]:
    return lambda function, *arguments, **options: follow(function, *arguments, **options).law


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Callable[..., Any]]:
    """A function out of a file `theirs.py` with this text."""

    def make(text: str, name: str = "run") -> Callable[..., Any]:
        path = tmp_path / "theirs.py"
        path.write_text(text)
        return load(path, name)

    return make


@pytest.fixture(scope="session")
def q() -> Callable[..., fmpq]:
    return fmpq


NAMES = ("u", "v", "w", "x")


def _torch_extreme(name: str, pick: Any) -> Any:
    def function(a: Any, b: Any) -> Any:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return getattr(torch, name)(a, b)
        return a.clamp(**{pick: b}) if isinstance(a, torch.Tensor) else b.clamp(**{pick: a})

    return function


LIBRARIES: dict[str, dict[str, Any]] = {
    "python": {
        "uniform": lambda: random.random(),
        "exponential": lambda: random.expovariate(1.0),
        "log": lambda t: math.log(t), "exp": lambda t: math.exp(t), "sqrt": lambda t: math.sqrt(t),
        "minimum": min, "maximum": max,
    },
    "numpy": {
        "uniform": lambda: np.random.random(),
        "exponential": lambda: np.random.exponential(),
        "log": np.log, "exp": np.exp, "sqrt": np.sqrt, "minimum": np.minimum, "maximum": np.maximum,
    },
    "torch": torch and {
        "uniform": lambda: torch.rand((), dtype=torch.float64),
        "exponential": lambda: torch.empty((), dtype=torch.float64).exponential_(),
        "log": torch.log, "exp": torch.exp, "sqrt": torch.sqrt,
        "minimum": _torch_extreme("minimum", "max"), "maximum": _torch_extreme("maximum", "min"),
    },
}  # fmt: skip


def followed(library: str, tests: list[str], kinds: str) -> Any:
    """The function that draws a number for every letter of kinds ("u" or "e") and makes the tests."""
    names = {"inf": math.inf} | LIBRARIES[library]

    def function() -> Any:
        given = {n: names["uniform" if kind == "u" else "exponential"]() for n, kind in zip(NAMES, kinds, strict=False)}
        return [bool(eval(test, names | given)) for test in tests]

    return function


@pytest.fixture(scope="session")
def libraries() -> dict[str, dict[str, Any]]:
    return LIBRARIES


@pytest.fixture(scope="session")
def answers() -> Callable[..., dict[tuple[bool, ...], Any]]:
    """The law of the answers to tests, given as text, of numbers of these kinds; with fields of `Settings`."""
    return lambda tests, kinds, library="python", **settings: follow(followed(library, tests, kinds), **settings).law


@pytest.fixture(scope="session")
def chance(answers: Any) -> Callable[..., Any]:
    """The probability that one test is true."""
    return lambda test, kinds, library="python": answers([test], kinds, library).get((True,), 0)


#: Samples of a function, and standard deviations that a frequency may be off, beside five counts for rare results:
#: of some ten thousand, none is by chance.
SAMPLES, SIGMAS = 400, 5.5


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    value = value.tolist() if hasattr(value, "tolist") else value
    # NaN is equal to nothing, and a key needs to be.
    return _plain(value) if isinstance(value, list) else "nan" if value != value else value  # noqa: PLR0124


def written(text: str, **names: Any) -> Callable[[], Any]:
    """The function that evaluates a text, in which u and v are Python's uniform numbers; what it raises is a value."""

    def function() -> Any:
        given = {"u": random.random(), "v": random.random(), "nan": math.nan, "inf": math.inf, "np": np}
        given |= {"random": random, "math": math} | names
        try:
            return _plain(eval(text, given))
        except (ArithmeticError, AttributeError, IndexError, RuntimeError, ValueError) as error:
            if isinstance(error, NotFollowed):
                raise
            return type(error).__name__

    return function


def sampled_as(function: Callable[[], Any], law: Mapping[Any, Any]) -> None:
    """Raises where the true generators do not give what the law says as often as it says."""
    random.seed(1)
    np.random.seed(1)
    if torch is not None:
        torch.manual_seed(1)
    with np.errstate(all="ignore"):
        counts = Counter(_plain(function()) for _ in range(SAMPLES))
    masses = {key: int(mass.p) / int(mass.q) for key, mass in law.items()}
    assert abs(sum(masses.values()) - 1) < 1e-9
    for key in masses.keys() | counts.keys():
        mass = masses.get(key, 0.0)
        slack = SIGMAS * math.sqrt(SAMPLES * mass * (1 - mass)) + 5 * (mass > 0)
        assert abs(counts[key] - SAMPLES * mass) <= slack, (key, mass, counts[key])


@pytest.fixture(scope="session")
def agrees() -> Callable[..., None]:
    """`agrees(text, **names)`: the exact law of a text, or of a function, is how the true generators fall."""

    def check(text: Any, law: Any = None, **names: Any) -> None:
        function = written(text, **names) if isinstance(text, str) else text
        sampled_as(function, follow(function).law if law is None else law)

    return check
