"""The line of audited code that is running, and refusals that name it."""

from __future__ import annotations

import dis
import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.origins import acting, folder_of, in_simulator, is_audited, is_under_audit

_SYMBOLIC = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: What can be done about code that is not followed.
SAMPLE = "test it on real random numbers"

#: Called with every refusal before it is raised, so that code which swallows exceptions cannot hide it.
listeners: list[Callable[[InvalidVerifier], None]] = []


def called_from_audited_code() -> bool:
    """Whether code under audit calls, itself or through the standard library; see `acting`."""
    frame = acting(sys._getframe(1))
    return frame is not None and is_under_audit(frame.f_code.co_filename)


def innermost(frame: Any, wanted: Callable[[str], bool]) -> Any:
    """The first frame from this one outwards whose file is wanted; None for none."""
    while frame is not None and not wanted(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def called_from_simulator() -> bool:
    """Whether the innermost frame outside of numpy is of the simulator."""
    inside = folder_of("numpy")
    frame = innermost(sys._getframe(2), lambda file: not file.startswith(inside))
    return frame is not None and in_simulator(frame.f_code.co_filename)


@functools.cache
def _method_called(code: types.CodeType, at: int) -> str:
    """The name of the method that the instruction at this offset calls; "" for none."""
    steps = list(dis.get_instructions(code))
    call = next((step for step in steps if step.offset == at), None)
    if call is None or call.positions is None or call.positions.lineno is None:
        return ""
    start = call.positions.lineno, call.positions.col_offset
    before = (step for step in reversed(steps) if step.offset < at and step.opname in ("LOAD_METHOD", "LOAD_ATTR"))
    places = ((item.argval, item.positions) for item in before)
    return next((str(name) for name, p in places if p is not None and (p.lineno, p.col_offset) == start), "")


def method_called(frame: types.FrameType) -> str:
    """The name of the method that a frame calls; "" for none, or in the simulator."""
    return "" if in_simulator(frame.f_code.co_filename) else _method_called(frame.f_code, frame.f_lasti)


def caller() -> str:
    """`FILE:line` of the innermost frame that `is_audited`."""
    place = location()
    return "unknown line" if place is None else f"{os.path.basename(place[0])}:{place[1]}"


def location() -> tuple[str, int] | None:
    """File and line of that frame; None where there is none."""
    frame = innermost(sys._getframe(1), is_audited)
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


class NotFollowed(InvalidVerifier):
    """Something without an exact rule: the audit has no verdict about the function."""


def refusal(what: str, way_out: str = "") -> InvalidVerifier:
    """The error for something without an exact rule, with the running line. way_out: what the user can do instead."""
    error = NotFollowed(f"{what} ({caller()}){'; ' + way_out if way_out else ''}")
    for listener in listeners:
        listener(error)
    return error


def text_of(text: str, what: str) -> str:
    """The text of a symbol for messages of draftproof; one that audited code makes is refused: it may decide by it."""
    callers = innermost(sys._getframe(1), lambda file: not file.startswith(_SYMBOLIC))
    frame = innermost(callers, lambda file: in_simulator(file) or is_audited(file))
    if frame is None or in_simulator(frame.f_code.co_filename):
        return text
    raise refusal(f"{what}, from which it may be decided what is done,", "leave the text out")


def type_refused() -> InvalidVerifier:
    """The error for audited code that asks for the type of a random number."""
    return refusal("code asks for the type of a random number", f"leave the question out, or {SAMPLE}")


def refused_operation(operation: str) -> InvalidVerifier:
    """The error for an operation on a random number that has no exact rule here."""
    return refusal(f"{operation} of a random number cannot be followed exactly")
