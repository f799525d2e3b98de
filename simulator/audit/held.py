"""What modules of user code hold, in words: to be compared in the process that judges with the one that asks."""

from __future__ import annotations

import functools
import math
import numbers
import sys
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic.loading import files as loading
from draftproof.simulator.symbolic.loading import reach
from draftproof.simulator.symbolic.loading.compiled import source_of

#: Containers longer than this, and attributes of attributes deeper than this, are not compared.
_LONGEST, _DEEPEST = 100, 2
#: Values that a text says all of.
_PLAIN = (str, bytes, numbers.Number, np.generic, Enum, fmpq)


def held(module: types.ModuleType) -> dict[str, str]:
    """The plain values, functions and classes of a module, of its classes and of its objects, in words."""
    told = (_inside(name, value, _DEEPEST, module.__name__) for name, value in list(vars(module).items()))
    return {name: text for name, text in chain.from_iterable(told) if text is not None and "__" not in name}


def _inside(name: str, value: Any, deep: int, module: str) -> Iterator[tuple[str, str | None]]:
    yield name, _told(value)
    kind = type(value)
    if deep and (value.__module__ == module if issubclass(kind, type) else not issubclass(kind, types.ModuleType)):
        try:
            attributes = list(vars(value).items())
        except Exception:  # there are none, or they are made up when they are asked for
            return
        for key, item in attributes:
            yield from _inside(f"{name}.{key}", item, deep - 1, module)


def _told(value: Any, deep: int = 2 * _DEEPEST) -> str | None:
    """A plain value, the name of a function or a class of user code, or the class of an object of such a class.

    Objects are not asked what they are, as some are made when they are first asked something.
    """
    value = value.__func__ if issubclass(type(value), (staticmethod, classmethod)) else value
    kind = type(value)
    if value is None or issubclass(kind, _PLAIN) or kind.__name__ in ("dtype", "device"):
        return repr(value)
    if kind.__name__ in ("ndarray", "Tensor") and math.prod(value.shape) <= _LONGEST:
        return f"{kind.__name__} {value.tolist()}"
    if kind is functools.partial and deep:
        return f"partial {_told((value.func, value.args, value.keywords), deep - 1)}"
    if kind in (list, tuple, set, frozenset, dict) and deep and len(value) <= _LONGEST:
        return _told_container(value, kind, deep - 1)
    value = source_of(value) or value
    named = value if issubclass(type(value), (types.FunctionType, type)) else kind
    if not loading.is_theirs(getattr(sys.modules.get(named.__module__ or ""), "__file__", None)):
        return None
    return f"{named.__module__}.{named.__qualname__}{'' if named is value else ' object'}"


def _told_container(value: Any, kind: type, deep: int) -> str | None:
    items = [_told(item, deep) for item in (value.items() if kind is dict else value)]
    texts = [item for item in items if item is not None]
    ordered = sorted(texts) if kind in (set, frozenset) else texts
    return f"{kind.__name__} ({', '.join(ordered)})" if len(texts) == len(items) else None


def assert_as_sent(function: Any, told: Mapping[str, Mapping[str, str]]) -> None:
    """Raise `InvalidVerifier` where a global that the function reads was something else where it was sent."""
    names = reach.names((function,))
    for home in told.keys() & sys.modules.keys():
        here, there = held(sys.modules[home]), told[home]
        for name in here.keys() | there.keys():
            if here.get(name) != there.get(name) and name.rpartition(".")[2] in names:
                raise InvalidVerifier(
                    f"{name} of {home} is {there.get(name, 'something else')} in this process and "
                    f"{here.get(name, 'something else')} in its file, which is what an audit judges; set it in the "
                    "file, or hand it over as an argument of the function"
                )
