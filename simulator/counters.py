"""What runs of user code only add to, such as counters and logs: in a run something else stands in its place.

It takes whatever is added to it, and computes nothing: a run that asks for it in another way, by whatever name or
function, reads state. So a counter may be kept for others to look at, and decides nothing.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from draftproof.simulator.errors import NoFunction
from draftproof.simulator.origins import is_audited

_LOGGING = os.path.dirname(logging.__file__)


class Place(NamedTuple):
    """Where a value is held: its name, and the object or dictionary that holds it under a key; holder None: unknown."""

    name: str
    holder: Any = None
    key: Any = None

    def get(self) -> Any:
        """The value there now."""
        if isinstance(self.holder, dict):
            return dict.__getitem__(self.holder, self.key)
        return getattr(self.holder, self.key)

    def put(self, value: Any) -> None:
        """Put a value there, without a method of user code."""
        if isinstance(self.holder, dict):
            dict.__setitem__(self.holder, self.key, value)
        elif isinstance(self.holder, type):
            type.__setattr__(self.holder, self.key, value)
        elif self.key in getattr(self.holder, "__dict__", ()):
            self.holder.__dict__[self.key] = value
        else:
            object.__setattr__(self.holder, self.key, value)


class Counters:
    """Places that runs only add to. read: the first reading of one by a run, in words."""

    def __init__(self) -> None:
        self._held: list[tuple[Place, Any, Any]] = []
        self.read: str | None = None

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, place: Place) -> bool:
        """From now on this place may only be added to; False where nothing can stand there."""
        known = any(held.holder is place.holder and held.key == place.key for held, _, _ in self._held)
        if known or place.holder is None:
            return False
        try:
            value = place.get()
            place.put(value)
        except Exception:
            return False
        self._held.append((place, value, _Added(place.name, value, self._note)))
        return True

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Within it a run finds something else in these places; afterwards the values are back.

        Raises `NoFunction` where a run has read one.
        """
        for place, _, added in self._held:
            place.put(added)
        try:
            yield
        finally:
            for place, value, _ in self._held:
                place.put(value)
            if self.read is not None:
                raise NoFunction(self.read)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Within it runs find the values themselves, as after one that fails with what stands in their place."""
        held, self._held = self._held, []
        try:
            yield
        finally:
            self._held = held

    @property
    def names(self) -> str:
        """The names of the places."""
        return ", ".join(place.name for place, _, _ in self._held)

    def _note(self, name: str, line: str) -> None:
        self.read = self.read or f"{name} changes with every call, and is read at {line}"
        raise NoFunction(self.read)


#: Operations whose result is again unknown.
_ADDING = (
    *(f"__{side}{name}__" for side in ("", "r", "i") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "matmul",
    )),
    *("__neg__", "__pos__", "__abs__", "__round__", "__getitem__", "__setitem__", "__call__"),
    *("__copy__", "__deepcopy__"),
)  # fmt: skip
#: Operations that tell something.
_READING = tuple(f"__{name}__" for name in (
    "bool", "len", "length_hint", "iter", "reversed", "contains", "next", "hash", "eq", "ne", "lt", "le", "gt", "ge",
    "int", "float", "complex", "index", "trunc", "floor", "ceil", "str", "repr", "format", "bytes", "divmod",
    "rdivmod", "reduce_ex", "array", "fspath", "dir",
))  # fmt: skip


def _reading(name: str) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any) -> Any:
        frame: Any = sys._getframe(1)
        while frame is not None and not _is_theirs(frame.f_code.co_filename):
            if frame.f_code.co_filename.startswith(_LOGGING):  # what is logged decides nothing
                return getattr(self._draftproof_value, name)(*arguments)
            frame = frame.f_back
        line = "its end" if frame is None else f"{os.path.basename(frame.f_code.co_filename)} line {frame.f_lineno}"
        return self._draftproof_note(self._draftproof_name, line)

    return method


def _is_theirs(file: str) -> bool:
    return is_audited(file) and file != "<string>"  # the methods that Python writes for data classes


def _make(self: Any, name: str, value: Any, note: Callable[[str, str], None]) -> None:
    vars(self).update(_draftproof_name=name, _draftproof_value=value, _draftproof_note=note)


def _method(self: Any, name: str) -> Any:
    """Methods such as `append` take anything, and give something unknown."""
    if name.startswith("_"):
        raise AttributeError(name)
    return self


_Added: Any = type(
    "Added",
    (),
    {
        **dict.fromkeys(_ADDING, lambda self, *_: self),
        **{name: _reading(name) for name in _READING},
        "__init__": _make,
        "__getattr__": _method,
        "__array_ufunc__": None,
        "__class__": property(lambda self: type(self._draftproof_value)),
    },
)
