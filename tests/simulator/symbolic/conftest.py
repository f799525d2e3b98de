"""The exact law of any function under symbolic randomness, for the tests of this folder.

Expressions are Python text, so one line is followed exactly in plain Python, numpy and torch.
"""

# ruff: noqa: PLW0108 - the functions of the libraries are looked up when they are called

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from simulator.arithmetic import RATIONAL
from simulator.coins import outcomes
from simulator.symbolic import concrete, intercepted

try:
    import torch
except ImportError:  # the same expressions in three libraries need all three
    torch = None  # type: ignore[assignment]
    collect_ignore = ["test_algebra.py", "test_axes.py", "test_random_expressions.py", "test_refused.py"]

os.environ.setdefault("TRITON_INTERPRET", "1")  # before anything imports triton


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, (list, tuple)) else value


def follow(function: Callable[..., Any], make: Any = None, arithmetic: Any = RATIONAL, **options: Any) -> Any:
    """law: result (lists as tuples) -> probability; and what the sessions noticed in all runs.

    make: from the session to the arguments of the function.
    """
    found = SimpleNamespace(law={}, reuse=set(), events=set(), notes=set(), runs=0)

    def run(coin: Any) -> Any:
        with intercepted(coin, watch=(function,), **options) as session:
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
    """The law of the answers to tests, given as text, of numbers of these kinds."""
    return lambda tests, kinds, library="python": follow(followed(library, tests, kinds)).law


@pytest.fixture(scope="session")
def chance(answers: Any) -> Callable[..., Any]:
    """The probability that one test is true."""
    return lambda test, kinds, library="python": answers([test], kinds, library).get((True,), 0)
