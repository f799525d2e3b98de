"""Which line of the audited code is at work, and how what cannot be followed is refused."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import itertools
import linecache
import logging
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.origins import folder_of, in_simulator, is_audited, is_standard, is_under_audit

_SYMBOLIC = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: Say which line is at work where that is on no stack: of a function that was read once and is now run step by step.
_inner: list[Callable[[], tuple[str, int] | None]] = []

#: Told the error before it is raised, so that code which swallows exceptions cannot hide it.
_listeners: list[Callable[[InvalidVerifier], None]] = []


def called_from_audited_code() -> bool:
    """Whether the innermost frame that is neither ours nor of the standard library is of the audited code."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not in_simulator(name) and not is_standard(name):
            return is_under_audit(name)
        frame = frame.f_back
    return False


def called_from_simulator() -> bool:
    """Whether the innermost frame outside of numpy is ours."""
    inside = folder_of("numpy")
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return frame is not None and in_simulator(frame.f_code.co_filename)


@functools.cache
def _method_called(code: types.CodeType, at: int) -> str:
    """The name of the method that the instruction calls, which is loaded where its expression begins; "" for none."""
    steps = list(dis.get_instructions(code))
    call = next((step for step in steps if step.offset == at), None)
    if call is None or call.positions is None or call.positions.lineno is None:
        return ""
    start = call.positions.lineno, call.positions.col_offset
    before = (step for step in reversed(steps) if step.offset < at and step.opname in ("LOAD_METHOD", "LOAD_ATTR"))
    places = ((item.argval, item.positions) for item in before)
    return next((str(name) for name, p in places if p is not None and (p.lineno, p.col_offset) == start), "")


def method_called(up: int) -> str:
    """The method that the code so many frames above calls, if it is not ours: one of C, if that code called us."""
    frame = sys._getframe(up)
    return "" if in_simulator(frame.f_code.co_filename) else _method_called(frame.f_code, frame.f_lasti)


def caller() -> str:
    """`FILE:line` of the innermost frame that belongs neither to us nor to numpy, torch or the standard library."""
    place = location()
    return "unknown line" if place is None else f"{os.path.basename(place[0])}:{place[1]}"


def location() -> tuple[str, int] | None:
    """File and line of that frame; None where there is none."""
    for read in reversed(_inner):
        place = read()
        if place is not None:
            return place
    frame: Any = sys._getframe(1)
    while frame is not None:
        if is_audited(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


@contextmanager
def with_lines_from(line: Callable[[], tuple[str, int] | None]) -> Iterator[None]:
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


def text_if_shown(text: str, what: str) -> str:
    """The text that stands for a number where it is only shown; elsewhere it is refused: a decision may follow from it.

    It is shown by us, in what `print`, `logging` and `warnings` are given, and in the message of an error.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and (
        frame.f_code.co_filename.startswith(_SYMBOLIC) or not _known(frame.f_code.co_filename)
    ):
        frame = frame.f_back
    if frame is None or in_simulator(frame.f_code.co_filename) or is_shown():
        return text
    raise refusal(f"{what}, from which it may be decided what is done,", "print or log it in one statement")


def _known(filename: str) -> bool:
    return in_simulator(filename) or is_audited(filename)


def is_shown(calls: bool = True) -> bool:
    """Whether what is at work only shows something. calls: whether functions may be called on the way."""
    frame: Any = sys._getframe(1)
    while frame is not None and not is_audited(frame.f_code.co_filename):
        if frame.f_globals.get("__name__", "").partition(".")[0] in _SHOWING:
            return True
        frame = frame.f_back
    return frame is not None and _showing(frame, calls)


#: Modules that only show what they are given, and methods of their objects.
_SHOWING = ("logging", "warnings", "traceback")
_LEVELS = ("debug", "info", "warning", "warn", "error", "exception", "critical", "log")


def _showing(frame: Any, calls: bool) -> bool:  # noqa: PLR0911 - one return for each kind of statement
    """Whether the instruction that is at work belongs to a statement that shows something, or raises an error."""
    place = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if place is None or place[0] is None or place[2] is None:
        return False
    statement = _statement(frame.f_code.co_filename, (place[0], place[2]))
    if isinstance(statement, ast.Raise) and isinstance(statement.exc, ast.Call):
        return all(map(_is_text, statement.exc.args))
    if isinstance(statement, ast.Assert):
        return statement.msg is not None and _is_text(statement.msg) and not _within(place, statement.test)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not all(map(_is_text, call.args)):
        return False
    if not calls and any(isinstance(node, ast.Call) for given in call.args for node in ast.walk(given)):
        return False
    names = {**builtins.__dict__, **frame.f_globals, **frame.f_locals}
    if isinstance(call.func, ast.Name):
        return names.get(call.func.id) in (builtins.print, warnings.warn)
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in _LEVELS):
        return False
    holder = names.get(call.func.value.id) if isinstance(call.func.value, ast.Name) else None
    return holder in (logging, warnings) or isinstance(holder, (logging.Logger, logging.LoggerAdapter))


def _is_text(argument: ast.expr) -> bool:
    """Whether no function but those that write a number out is called with a text, to decide something by it."""
    calls = (node for node in ast.walk(argument) if isinstance(node, ast.Call))
    return not any(
        any(isinstance(part, (ast.JoinedStr, ast.Mod, ast.Call)) for part in ast.walk(given))
        for call in calls
        if not (isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant))
        for given in call.args
    ) and not any(isinstance(node, (ast.IfExp, ast.BoolOp, ast.Compare, ast.Subscript)) for node in ast.walk(argument))


def _within(place: Any, node: ast.expr) -> bool:
    last = node.end_lineno or node.lineno, node.end_col_offset or 0
    return (node.lineno, node.col_offset) <= (place[0], place[2]) < last


def _statement(filename: str, begin: tuple[int, int]) -> ast.stmt | None:
    """The innermost statement to which a place belongs."""
    innermost = None
    for statement in _statements(filename, os.stat(filename).st_mtime_ns if os.path.exists(filename) else 0):
        last = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
        if (statement.lineno, statement.col_offset) <= begin <= last:
            innermost = statement
    return innermost


@functools.lru_cache(maxsize=64)
def _statements(filename: str, written: int) -> list[ast.stmt]:
    """All statements of a file as it was written then, outer ones before those inside of them."""
    linecache.checkcache(filename)
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def refused_operation(operation: str) -> InvalidVerifier:
    """The error for an operation on a random number that has no exact rule here."""
    return refusal(f"{operation} of a random number cannot be followed exactly")


def listen(listener: Callable[[InvalidVerifier], None]) -> None:
    """Have refusals told to `listener`, until `unlisten`."""
    _listeners.append(listener)


def unlisten(listener: Callable[[InvalidVerifier], None]) -> None:
    """Take back `listen`."""
    _listeners.remove(listener)
