"""Which line of the audited code is at work, and how what cannot be followed is refused."""

from __future__ import annotations

import dis
import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.simulator.errors import InvalidVerifier

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: Packages whose own lines are never named, wherever they are installed.
_LIBRARIES = ("numpy", "torch", "triton", "jax", "jaxlib")
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_verdicts: dict[str, bool] = {}

#: Say which line is at work where that is on no stack: of a function that was read once and is now run step by step.
_inner: list[Callable[[], tuple[str, int] | None]] = []

#: Told the error before it is raised, so that code which swallows exceptions cannot hide it.
_listeners: list[Callable[[InvalidVerifier], None]] = []


def _audited(filename: str) -> bool:
    verdict = _verdicts.get(filename)
    if verdict is None:
        installed = "site-packages" in filename or "dist-packages" in filename
        standard = filename.startswith(_STANDARD) and not installed
        library = any(filename.startswith(_folder(name)) for name in _LIBRARIES if name in sys.modules)
        verdict = not (filename.startswith((_OWN, "<frozen")) or standard or library)
        _verdicts[filename] = verdict
    return verdict


def _folder(package: str) -> str:
    """Where a package that is loaded was loaded from: any folder may be on the path, whatever its name."""
    file = getattr(sys.modules[package], "__file__", None)
    return os.path.dirname(os.path.abspath(file)) + os.sep if file else "<no file>"


def is_audited(filename: str) -> bool:
    """Whether a file is neither ours nor of numpy, torch or the standard library."""
    return _audited(filename)


def is_own(filename: str) -> bool:
    """Whether a file belongs to this room."""
    return filename.startswith(_OWN)


def is_outsider(filename: str | None) -> bool:
    """Whether a file is the outsider's own: neither installed, nor ours, nor of the standard library."""
    return (
        filename is not None
        and "site-packages" not in filename
        and "dist-packages" not in filename
        and _audited(filename)
    )


def asked_by_us() -> bool:
    """Whether the innermost frame outside of numpy is ours."""
    inside = _folder("numpy")
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return frame is not None and is_own(frame.f_code.co_filename)


@functools.cache
def _method_called(code: types.CodeType, at: int) -> str:
    """The name of the method that the instruction calls, which is loaded where its expression begins; "" for none."""
    steps = list(dis.get_instructions(code))
    call = next((each for each in steps if each.offset == at), None)
    if call is None or call.positions is None or call.positions.lineno is None:
        return ""
    start = call.positions.lineno, call.positions.col_offset
    before = (each for each in reversed(steps) if each.offset < at and each.opname in ("LOAD_METHOD", "LOAD_ATTR"))
    places = ((each.argval, each.positions) for each in before)
    return next((str(name) for name, p in places if p is not None and (p.lineno, p.col_offset) == start), "")


def method_called(up: int) -> str:
    """The method that the code so many frames above calls, if it is not ours: one of C, if that code called us."""
    frame = sys._getframe(up)
    return "" if is_own(frame.f_code.co_filename) else _method_called(frame.f_code, frame.f_lasti)


def caller() -> str:
    """`FILE:line` of the innermost frame that belongs neither to us nor to numpy, torch or the standard library."""
    found = place()
    return "unknown line" if found is None else f"{os.path.basename(found[0])}:{found[1]}"


def place() -> tuple[str, int] | None:
    """File and line of that frame; None where there is none."""
    for read in reversed(_inner):
        found = read()
        if found is not None:
            return found
    frame: Any = sys._getframe(1)
    while frame is not None:
        if _audited(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


@contextmanager
def reading(line: Callable[[], tuple[str, int] | None]) -> Iterator[None]:
    """Within it `line` is asked first which line is at work."""
    _inner.append(line)
    try:
        yield
    finally:
        _inner.pop()


class NotFollowed(InvalidVerifier):
    """Something that cannot be followed exactly: nothing is known about the function, good or bad."""


def refusal(what: str, way_out: str = "") -> InvalidVerifier:
    """The error for something that cannot be followed exactly; names the operation and the line."""
    error = NotFollowed(f"{what} ({caller()}){'; ' + way_out if way_out else ''}")
    for listener in _listeners:
        listener(error)
    return error


def refused_operation(operation: str) -> InvalidVerifier:
    """The error for an operation on a random number that has no exact rule here."""
    return refusal(f"{operation} of a random number cannot be followed exactly")


def listen(listener: Callable[[InvalidVerifier], None]) -> None:
    """Have refusals told to `listener`, until `unlisten`."""
    _listeners.append(listener)


def unlisten(listener: Callable[[InvalidVerifier], None]) -> None:
    """Take back `listen`."""
    _listeners.remove(listener)
