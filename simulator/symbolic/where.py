"""The line of audited code that is running, and refusals that name it."""

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
from collections.abc import Callable
from typing import Any

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.origins import folder_of, in_simulator, is_audited, is_standard, is_under_audit

_SYMBOLIC = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: Called with every refusal before it is raised, so that code which swallows exceptions cannot hide it.
_listeners: list[Callable[[InvalidVerifier], None]] = []


def called_from_audited_code() -> bool:
    """Whether the innermost frame outside of the simulator and the standard library is under audit."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not in_simulator(name) and not is_standard(name):
            return is_under_audit(name)
        frame = frame.f_back
    return False


def called_from_simulator() -> bool:
    """Whether the innermost frame outside of numpy is of the simulator."""
    inside = folder_of("numpy")
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
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


def method_called(up: int) -> str:
    """The name of the method that the frame so many levels up calls; "" if that frame is of the simulator."""
    frame = sys._getframe(up)
    return "" if in_simulator(frame.f_code.co_filename) else _method_called(frame.f_code, frame.f_lasti)


def caller() -> str:
    """`FILE:line` of the innermost frame that `is_audited`."""
    place = location()
    return "unknown line" if place is None else f"{os.path.basename(place[0])}:{place[1]}"


def location() -> tuple[str, int] | None:
    """File and line of that frame; None where there is none."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if is_audited(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


class NotFollowed(InvalidVerifier):
    """Something without an exact rule: the audit has no verdict about the function."""


class NeverSet(NotFollowed):
    """Memory that nothing was written to decides something, or is returned."""


def refusal(what: str, way_out: str = "", kind: type[NotFollowed] = NotFollowed) -> InvalidVerifier:
    """The error for something without an exact rule, with the running line. way_out: what the user can do instead."""
    error = kind(f"{what} ({caller()}){'; ' + way_out if way_out else ''}")
    for listener in _listeners:
        listener(error)
    return error


def text_if_shown(text: str, what: str) -> str:
    """The text of a symbol where it is only shown; elsewhere it is refused, as the code may decide by it.

    It is only shown in the arguments of `print`, `logging` and `warnings`, in messages of errors, and by draftproof.
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
    """Whether the running statement only shows something. calls: whether it may call other functions."""
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
    """Whether the running instruction belongs to a statement that shows something or raises an error."""
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
    """Whether an argument can only be shown: no function gets a text made in it, and nothing in it decides."""
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
    """The innermost statement at a position, (line, column)."""
    innermost = None
    for statement in _statements(filename, os.stat(filename).st_mtime_ns if os.path.exists(filename) else 0):
        last = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
        if (statement.lineno, statement.col_offset) <= begin <= last:
            innermost = statement
    return innermost


@functools.lru_cache(maxsize=64)
def _statements(filename: str, written: int) -> list[ast.stmt]:
    """All statements of a file, outer ones before inner ones. written: its time of change, for the cache."""
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
    """Call `listener` with every refusal, until `unlisten`."""
    _listeners.append(listener)


def unlisten(listener: Callable[[InvalidVerifier], None]) -> None:
    """Take back `listen`."""
    _listeners.remove(listener)
