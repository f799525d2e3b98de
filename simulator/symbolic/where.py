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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.simulator.errors import InvalidVerifier

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
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


def asked_by_them() -> bool:
    """Whether the innermost frame that is neither ours nor of the standard library is of the audited code."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_own(name) and not (name.startswith((_STANDARD, "<frozen")) and "-packages" not in name):
            return is_theirs(name)
        frame = frame.f_back
    return False


#: Folders of the installed packages whose functions are audited.
_homes: list[str] = []


@contextmanager
def at_home(modules: Iterable[str]) -> Iterator[None]:
    """Within it the packages of these modules count as the outsider's, even if they are installed."""
    before = list(_homes)
    _homes.extend(_folder(name) for name in modules if name in sys.modules and name not in ("builtins", "__main__"))
    try:
        yield
    finally:
        _homes[:] = before


def is_theirs(filename: str) -> bool:
    """Whether a file is the outsider's, or of the package that is audited."""
    return is_outsider(filename) or (_audited(filename) and filename.startswith(tuple(_homes)))


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


def shown(text: str, what: str) -> str:
    """The text that stands for a number where it is only shown; elsewhere it is refused: a decision may follow from it.

    It is shown by us, in what `print`, `logging` and `warnings` are given, and in the message of an error.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(_HERE) or not _known(frame.f_code.co_filename)):
        frame = frame.f_back
    if frame is None or is_own(frame.f_code.co_filename) or is_shown():
        return text
    raise refusal(f"{what}, from which it may be decided what is done,", "print or log it in one statement")


def _known(filename: str) -> bool:
    return is_own(filename) or _audited(filename)


def is_shown(calls: bool = True) -> bool:
    """Whether what is at work only shows something. calls: whether functions may be called on the way."""
    frame: Any = sys._getframe(1)
    while frame is not None and not _audited(frame.f_code.co_filename):
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
    if not calls and any(isinstance(each, ast.Call) for given in call.args for each in ast.walk(given)):
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
    calls = (each for each in ast.walk(argument) if isinstance(each, ast.Call))
    return not any(
        any(isinstance(part, (ast.JoinedStr, ast.Mod, ast.Call)) for part in ast.walk(given))
        for call in calls
        if not (isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant))
        for given in call.args
    ) and not any(isinstance(each, (ast.IfExp, ast.BoolOp, ast.Compare, ast.Subscript)) for each in ast.walk(argument))


def _within(place: Any, node: ast.expr) -> bool:
    last = node.end_lineno or node.lineno, node.end_col_offset or 0
    return (node.lineno, node.col_offset) <= (place[0], place[2]) < last


def _statement(filename: str, begin: tuple[int, int]) -> ast.stmt | None:
    """The innermost statement to which a place belongs."""
    found = None
    for each in _statements(filename, os.stat(filename).st_mtime_ns if os.path.exists(filename) else 0):
        last = each.end_lineno or each.lineno, each.end_col_offset or 0
        if (each.lineno, each.col_offset) <= begin <= last:
            found = each
    return found


@functools.lru_cache(maxsize=64)
def _statements(filename: str, written: int) -> list[ast.stmt]:
    """All statements of a file as it was written then, outer ones before those inside of them."""
    linecache.checkcache(filename)
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return []
    return [each for each in ast.walk(tree) if isinstance(each, ast.stmt)]


def refused_operation(operation: str) -> InvalidVerifier:
    """The error for an operation on a random number that has no exact rule here."""
    return refusal(f"{operation} of a random number cannot be followed exactly")


def listen(listener: Callable[[InvalidVerifier], None]) -> None:
    """Have refusals told to `listener`, until `unlisten`."""
    _listeners.append(listener)


def unlisten(listener: Callable[[InvalidVerifier], None]) -> None:
    """Take back `listen`."""
    _listeners.remove(listener)
