"""Which of many tests alike `make test` runs; `make check` runs them all."""

from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest


def quick(values: Iterable[Any], chosen: Container[Any] | Callable[[Any], bool]) -> list[Any]:
    """The values of one parameter of a test; those that are not chosen are heavy."""
    keep = chosen if callable(chosen) else chosen.__contains__
    return [value if keep(value) else pytest.param(value, marks=pytest.mark.heavy) for value in values]
