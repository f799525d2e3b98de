"""Imports in the middle of a call: what a module draws while it is imported is no part of the function."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.simulator.symbolic.knowledge.session import current, suspended
from draftproof.simulator.symbolic.sources import numpy_random, python_random


@contextmanager
def _kept(get: Callable[[], Any], put: Callable[[Any], Any]) -> Iterator[None]:
    """Afterwards a global generator is in the state that it was in."""
    before = get()
    try:
        yield
    finally:
        put(before)


def _recorded(original: Any) -> Any:
    def function(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if current() is None or (level == 0 and name in sys.modules and not fromlist):
            return original(name, globals, locals, fromlist, level)
        known = sys.modules.get(name) if level == 0 else None
        if known is not None and all(hasattr(known, each) for each in fromlist):
            return original(name, globals, locals, fromlist, level)
        with suspended(), _kept(*python_random.STATE), _kept(*numpy_random.STATE):
            return original(name, globals, locals, fromlist, level)

    return function


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for `import`."""
    return [(builtins, "__import__", _recorded(builtins.__import__))]
