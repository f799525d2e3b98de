"""What a function reads in modules of user code: compared in the process that judges with the one that asks."""

from __future__ import annotations

import functools
import pickle
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from draftproof.simulator.changes import Snapshot
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.generators import is_generator
from draftproof.simulator.residual import is_tensor


class Unsent(NamedTuple):
    """In place of what cannot be sent, such as a lock: only the name of its class is compared."""

    kind: str


_NOTHING = Unsent("nothing")
_BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)


def unsent(value: Any) -> Unsent | None:
    """What is sent in place of a value that cannot be pickled by itself, or of a method of one; None for others."""
    # what is picklable with a warning until Python 3.14, then not at all; and what would arrive as bytes
    if type(value).__module__ == "itertools" or type(value) is memoryview:
        return Unsent(type(value).__name__)
    if type(value) in cloudpickle.Pickler.dispatch_table:
        return None
    if isinstance(value, _BOUND) and not isinstance(value.__self__, (type, types.ModuleType, type(None))):
        return unsent(value.__self__)
    try:
        reduced = value.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
        if isinstance(reduced, str):  # a name
            assert functools.reduce(getattr, reduced.split("."), sys.modules[value.__module__]) is value
    except Exception:
        return Unsent(type(value).__name__)
    return None


def held(module: types.ModuleType, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The values of a module, and of its functions and classes, that have one of these names.

    Of functions also their defaults and closures.
    """
    for name, value in list(vars(module).items()):
        kind, values = type(value), []
        if "__" not in name and name in names and not issubclass(kind, types.ModuleType):
            values = [(name, value)]
        if issubclass(kind, (type, types.FunctionType)) and value.__module__ == module.__name__:
            inside = [(key, part) for key, part in list(vars(value).items()) if "__" not in key and key in names]
            values += [(f"{name}.{key}", part) for key, part in inside]
        for full, part in values:
            yield full, part
            function = getattr(part, "__func__", part)
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                yield f"{full}.__defaults__", (function.__defaults__, function.__kwdefaults__)
                yield f"{full}.__closure__", [cell.cell_contents for cell in function.__closure__ or ()]


class _Told(Snapshot):
    """The structure of a value, without the globals of functions and the numbers of arrays and generators."""

    def _globals(self, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        return iter(())

    def _parts(self, thing: Any) -> Iterator[tuple[str, Any]]:
        if type(thing) is Unsent:
            yield "", thing.kind
        elif is_generator(thing):
            yield "", type(thing).__name__
        elif _is_array(thing):
            yield "", f"{thing.dtype} {tuple(thing.shape)}"
        elif not isinstance(thing, (type, types.FunctionType)) and (stand_in := unsent(thing)) is not None:
            yield "", stand_in.kind
        else:
            yield from super()._parts(thing)

    def copy_numbers(self, there: _Told) -> None:
        """Give the arrays of a value the numbers of another one of the same structure."""
        for (mine, _, _), (theirs, _, _) in zip(self._found, there._found, strict=True):
            if _is_array(mine) and mine is not theirs:
                with sys.modules["torch"].no_grad() if is_tensor(mine) else nullcontext():
                    mine[...] = theirs


def _is_array(thing: Any) -> bool:
    return (isinstance(thing, np.ndarray) and thing.dtype != object) or (
        type(thing).__module__.startswith("torch") and is_tensor(thing)
    )


def assert_as_sent(home: str, names: Iterable[str], there: Mapping[str, Any]) -> None:
    """Raise `InvalidVerifier` where a module holds something else than where it was sent; fill its arrays as there."""
    here = dict(held(sys.modules[home], names))
    for name in dict.fromkeys((*here, *there)):
        mine, theirs = (_Told(SimpleNamespace(**{name: values.get(name, _NOTHING)})) for values in (here, there))
        place = theirs.change(mine)
        if place is not None:
            inside = place.name.removeprefix("SimpleNamespace.")
            raise InvalidVerifier(
                f"{inside if inside.startswith(name) else name} of {home} is not in this process as in its file, which "
                "is what an audit judges; set it in the file, or hand it over as an argument of the function"
            )
        mine.copy_numbers(theirs)
