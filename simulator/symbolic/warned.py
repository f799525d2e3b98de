"""Warnings during a call: noted with the line of the audited code that is their cause, not printed in the middle."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.simulator.symbolic.where import is_own, place


@contextmanager
def noted(note: Callable[[str], None]) -> Iterator[None]:
    """Within it every warning is told to `note`, each once; one that would name a file of ours names theirs."""
    original = warnings.showwarning

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        found = place() if is_own(filename) else None
        if found is not None:
            filename, lineno = found
        note(f"{category.__name__}: {message} ({os.path.basename(filename)}:{lineno})")

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = original
