"""Counts calls from outside: a counter that a verifier keeps itself is not added to in every run."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def calls_of(function: Callable[..., Any]) -> Iterator[list[int]]:
    """How often a function is called within it, in this thread, as a list of one number."""
    number = [0]

    def seen(frame: Any, event: str, _: Any) -> None:
        number[0] += event == "call" and frame.f_code is function.__code__  # type: ignore[attr-defined]

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield number
    finally:
        sys.setprofile(before)
