"""The exact law of any function under symbolic randomness, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from flint import fmpq

from simulator.arithmetic import RATIONAL
from simulator.coins import outcomes
from simulator.symbolic import concrete, intercepted


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
