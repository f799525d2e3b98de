"""What somebody else's objects hold, as plain data that can be compared: a change of it is a memory between calls."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np

from draftproof.simulator.origins import is_ours

#: Objects looked at for one picture; what lies further is left out.
MOST = 20_000

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)
_OPAQUE = (ModuleType, BuiltinFunctionType, CodeType)


def picture(thing: Any) -> Any:
    """Nested tuples that are equal as long as nothing that can be reached from `thing` changes."""
    return _Painter().of(thing)


class _Painter:
    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no address is used twice

    def of(self, thing: Any) -> Any:
        """The picture of one object; one that was met before is its number."""
        kind = type(thing)
        if issubclass(kind, _PLAIN):
            return (kind.__name__, repr(thing))
        if thing.__class__ is not kind:  # a followed number: nobody looks into it
            return (kind.__name__, id(thing))
        if id(thing) in self.seen:
            return ("again", self.seen[id(thing)])
        if len(self.seen) >= MOST:
            return "more"
        self.seen[id(thing)] = len(self.seen)
        self.kept.append(thing)
        return (type(thing).__name__, *self._parts(thing))

    def _parts(self, thing: Any) -> Iterator[Any]:
        if isinstance(thing, (list, tuple, deque)):
            yield from map(self.of, list(thing))
        elif isinstance(thing, Mapping):
            yield from [(self.of(key), self.of(value)) for key, value in list(thing.items())]
        elif isinstance(thing, (set, frozenset)):
            yield from sorted(map(repr, map(self.of, list(thing))))
        elif isinstance(thing, np.ndarray):
            yield (str(thing.dtype), thing.shape)
            yield self.of(thing.tolist()) if thing.dtype == object else thing.tobytes()
        elif isinstance(thing, GeneratorType):
            frame = thing.gi_frame
            yield (id(thing), None if frame is None else (frame.f_lasti, self.of(dict(frame.f_locals))))
        elif isinstance(thing, MethodType):
            yield from (self.of(thing.__func__), self.of(thing.__self__))
        elif isinstance(thing, FunctionType):
            yield id(thing)
            yield from (self.of(part) for part in _of_function(thing))
        elif isinstance(thing, type):
            yield id(thing)
            if not is_ours(thing):
                yield from [(name, self.of(value)) for name, value in list(vars(thing).items()) if not _special(name)]
        elif isinstance(thing, _OPAQUE):
            yield id(thing)
        else:
            yield from self._object(thing)

    def _object(self, thing: Any) -> Iterator[Any]:
        yield id(type(thing))
        held = [vars(thing)] if hasattr(thing, "__dict__") else []
        slots = [name for kind in type(thing).__mro__ for name in _slots(kind)]
        held.append({name: getattr(thing, name) for name in slots if hasattr(thing, name)})
        if any(held):
            yield from map(self.of, held)
        else:  # written in C: what it would be saved as tells its state
            saved: Any = id(thing)
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # iterators of itertools can be saved until Python 3.14
                saved = thing.__reduce_ex__(2)
            yield self.of(saved)


def _of_function(function: FunctionType) -> Iterator[Any]:
    yield from (function.__defaults__, function.__kwdefaults__, vars(function))
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not filled yet
            yield cell.cell_contents


def _special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))
