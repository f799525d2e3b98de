"""Generators that a function can reach in globals, defaults, closures and attributes: replaced for one call."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.simulator.changes import names_in
from draftproof.simulator.counters import Place
from draftproof.simulator.origins import auditing_packages, in_simulator, is_user_code
from draftproof.simulator.symbolic import patches
from draftproof.simulator.symbolic.loading import compiled, unfollowed
from draftproof.simulator.symbolic.sources import numpy as numpy_random
from draftproof.simulator.symbolic.sources import python as python_random
from draftproof.simulator.symbolic.sources import system
from draftproof.simulator.symbolic.where import refusal


@contextmanager
def only_recording(functions: tuple[Any, ...], note: Callable[[str], None]) -> Iterator[None]:
    """Within it the functions reach only recording generators and recording functions; undone afterwards.

    The search goes through functions, classes, objects and modules of user code. Compiled functions are replaced by
    their Python source, with a note. A generator inside a list, tuple, set or dictionary is refused by name, and so is
    what `unfollowed` names.
    """
    undo: list[tuple[Place, Any]] = []
    with auditing_packages(_homes(functions)):
        try:
            for function in functions:
                unfollowed.assert_followed(function, str(getattr(function, "__name__", "it")))
            for place in slots(functions, code=True):
                value, name = place.get(), place.name
                if type(value) is types.CodeType:
                    unfollowed.assert_imports_none(value)
                    continue
                unfollowed.assert_followed(value, name)
                source = compiled.source_of(value)
                if source is not None:
                    note(compiled.noted(name))
                replacement = source or patches.ORIGINALS.get(id(value)) or _recording_of(value)
                if replacement is not None:
                    undo.append((place, value))
                    place.put(replacement)
                elif isinstance(value, (list, tuple, set, frozenset, dict)) and len(value) < 1000:
                    _refuse_inside(value, name)
            yield
        finally:
            for place, value in reversed(undo):
                place.put(value)


def _homes(functions: tuple[Any, ...]) -> set[str]:
    """The top-level packages of the functions."""
    return {str(getattr(function, "__module__", "")).split(".")[0] for function in functions}


def _recording_of(value: Any) -> Any:
    recording = python_random.recording_of(value) or numpy_random.recording_of(value) or system.stub_of(value)
    if recording is None and "torch" in sys.modules:
        from draftproof.simulator.symbolic.torch import random as torch_random  # noqa: PLC0415 - only where torch is loaded

        return torch_random.recording_of(value)
    return recording


def _refuse_inside(value: Any, name: str) -> None:
    for item in value.values() if isinstance(value, dict) else value:
        unfollowed.assert_followed(item, name)
        if not isinstance(item, (int, float, str)) and _recording_of(item) is not None:
            raise refusal(
                f"{name} holds a {type(item).__name__} that was made before the call",
                "keep it under a name of its own, or make it in the function",
            )


def slots(functions: tuple[Any, ...], code: bool = False) -> Iterator[Place]:
    """Every place from which the functions, and the user code that they name, read values.

    code: whether the code of the functions is one, too.
    """
    waiting: list[Any] = list(functions)
    homes = _homes(functions)
    seen: set[int] = set()
    while waiting:
        owner = waiting.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        waiting += _parts(owner)
        places: Iterator[Place] = iter(())
        if isinstance(owner, types.FunctionType):
            places = _of_function(owner)
            if code:
                yield Place(f"the code of {owner.__name__}", owner, "__code__")
        elif not isinstance(owner, (type, types.MethodType, functools.partial)):
            places = _attributes(owner)
        for place in places:
            value = place.get()
            value = compiled.source_of(value) or value
            if _is_audited_value(value, homes):
                waiting.append(value)
            yield place


#: What a function calls that sorts, or that keeps the largest entries of a row.
SORTING = frozenset([
    "sort", "sorted", "argsort", "sort_values", "topk", "top_k", "argpartition", "partition", "kthvalue", "nlargest",
    "nsmallest", "lexsort", "msort", "top_p", "TopKLogitsWarper", "TopPLogitsWarper", "MinPLogitsWarper",
])  # fmt: skip


def sorts(functions: tuple[Any, ...]) -> bool:
    """Whether the functions, or the user code that they name, read a name of `SORTING`."""
    return not SORTING.isdisjoint(read(functions)[0])


def read(functions: tuple[Any, ...]) -> tuple[set[str], set[str]]:
    """The names that the functions, and the user code that they name, have and read, and the files of these."""
    values = [place.get() for place in slots(functions, code=True)]
    codes = [value for value in values if type(value) is types.CodeType]
    modules = [vars(value).get("__file__") for value in values if issubclass(type(value), types.ModuleType)]
    files = {file for file in (*modules, *(code.co_filename for code in codes)) if isinstance(file, str)}
    return {name for code in codes for name in (code.co_name, *names_in(code))}, files


def _parts(owner: Any) -> list[Any]:
    """The functions and objects that a callable or an object consists of."""
    if isinstance(owner, types.MethodType):
        code = getattr(owner.__func__, "__code__", None)
        recorded = code is not None and in_simulator(code.co_filename)
        return [owner.__self__] if recorded else [owner.__func__, owner.__self__]
    if isinstance(owner, functools.partial):
        return [owner.func, *owner.args, *owner.keywords.values()]
    if isinstance(owner, types.FunctionType):
        return [owner.__wrapped__] if hasattr(owner, "__wrapped__") else []
    kinds = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
    theirs = [kind for kind in kinds if is_user_code(getattr(sys.modules.get(kind.__module__), "__file__", None))]
    return [function for kind in theirs for member in vars(kind).values() for function in _functions_of(member)]


def _functions_of(member: Any) -> list[types.FunctionType]:
    """The functions behind a member of a class: a method, also a static one or one of the class, or a property."""
    behind = [member, *(getattr(member, name, None) for name in ("__func__", "fget", "func"))]
    return [function for function in behind if isinstance(function, types.FunctionType)]


def _is_audited_value(value: Any, homes: set[str]) -> bool:
    """Whether the search goes into a value: user code, its objects, and functions of the audited package."""
    if isinstance(value, types.FunctionType):
        file = value.__code__.co_filename
        return is_user_code(file) or (value.__module__.split(".")[0] in homes and not in_simulator(file))
    if isinstance(value, types.ModuleType):
        return is_user_code(getattr(value, "__file__", None))
    if isinstance(value, (types.MethodType, functools.partial)):
        return True
    kind = value if isinstance(value, type) else type(value)
    return is_user_code(getattr(sys.modules.get(kind.__module__), "__file__", None))


def _of_function(function: types.FunctionType) -> Iterator[Place]:
    for name in set(names_in(function.__code__, texts=False)) & function.__globals__.keys():
        yield Place(f"the global {name}", function.__globals__, name)
    for name in set(names_in(function.__code__)) & sys.modules.keys() - function.__globals__.keys():
        if is_user_code(vars(sys.modules[name]).get("__file__")):
            yield Place(f"the module {name}", sys.modules, name)  # imported within it
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        if _filled(cell):
            yield Place(f"the closure variable {name}", cell, "cell_contents")
    for name in function.__kwdefaults__ or ():
        yield Place(f"the default of {name}", function.__kwdefaults__, name)
    for i in range(len(function.__defaults__ or ())):
        yield _Default(f"default {i} of {function.__name__}", function, i)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _attributes(owner: Any) -> Iterator[Place]:
    held = getattr(owner, "__dict__", None)
    for name in list(held) if isinstance(held, dict) else ():
        yield Place(f"the attribute {name}", held, name)


class _Default(Place):
    """The default of an argument, by its number."""

    def get(self) -> Any:
        return self.holder.__defaults__[self.key]

    def put(self, value: Any) -> None:
        before = self.holder.__defaults__
        self.holder.__defaults__ = (*before[: self.key], value, *before[self.key + 1 :])
