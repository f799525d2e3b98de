"""Warnings of a library that was called through us: shown with the line of the audited code that is their cause."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simulator.symbolic.where import is_own, place


@contextmanager
def relocated() -> Iterator[None]:
    """Within it warnings that would name a file of ours name the line of the audited code."""
    original = warnings.showwarning

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        found = place() if is_own(filename) else None
        if found is not None:
            (filename, lineno), line = found, None
        original(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = original
