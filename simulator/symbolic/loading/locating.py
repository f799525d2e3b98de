"""Functions to audit, by file or module and name; methods are called with a bare `self`."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.symbolic import patches
from draftproof.simulator.symbolic.loading.compiled import decorators_left_out, noted, source_of
from draftproof.simulator.symbolic.loading.files import imports_followed, load_module, parsed
from draftproof.simulator.symbolic.loading.partial_module import PartialModule
from draftproof.simulator.symbolic.where import refusal

#: Gives an attribute of a class by its name: None where it has none.
Lookup = Callable[[str], Any]


@dataclass(frozen=True)
class LocatedFunction:
    """A function. notes: how it was loaded, for the report."""

    function: Callable[..., Any]
    notes: tuple[str, ...] = ()


def locate_function(path: str | Path, name: str, given: Mapping[str, Any] | None = None) -> LocatedFunction:
    """The function `name`, or `CLASS.METHOD`, of a Python file, loaded under recording functions.

    Outside of `intercepted`, recording functions and generators behave as the originals.

    given: values; "self.NAME" for attributes of the `self` of a method, "global.NAME" for names of the file. Of a file
    that imports a missing package only the statements that the function needs are run. Raises `InvalidInput`.
    """
    file, notes = Path(path), list[str]()
    own = {key.partition(".")[2]: value for key, value in (given or {}).items() if key.startswith("self.")}
    names = {key.partition(".")[2]: value for key, value in (given or {}).items() if key.startswith("global.")}
    owner, dot, method = name.partition(".")
    parsed(file)  # before its decorators are looked for
    with decorators_left_out(notes), imports_followed(), patches.applied(keep=True):
        try:
            if names:
                raise ImportError("names of the file are given")
            module = load_module(file)
        except ImportError as error:
            notes.append(f"{name} was taken out of {file.name} by its source: {_first_line(error)}")
            partial = PartialModule(file, names, notes, {})
            lookup: Lookup = functools.partial(partial.method, owner)
            function = lookup(method) if dot else partial.get(name)
        else:
            holder = getattr(module, owner, None)
            lookup = functools.partial(_static, holder)
            function = lookup(method) if dot else holder
    if function is None or not (callable(function) or isinstance(function, (staticmethod, classmethod))):
        raise InvalidInput(f"{file} has no function {name!r}")
    return _finished(name, function, lookup, own, notes, bool(dot))


def function_in_module(name: str, holder: Any, given: Mapping[str, Any]) -> LocatedFunction:
    """A function of an installed module, likewise. holder: the function or its class; name: as above."""
    own = {key.partition(".")[2]: value for key, value in given.items() if key.startswith("self.")}
    _, dot, method = name.partition(".")
    function = _static(holder, method) if dot else holder
    if function is None:
        raise InvalidInput(f"{getattr(holder, '__name__', holder)} has no {method}")
    return _finished(name, function, functools.partial(_static, holder), own, [], bool(dot))


def _finished(
    name: str, function: Any, lookup: Lookup, own: Mapping[str, Any], notes: list[str], of_class: bool
) -> LocatedFunction:
    plain = source_of(function)
    if plain is not None:
        notes.append(noted(name))
        function = plain
    if isinstance(function, staticmethod):
        function, of_class = function.__func__, False
    if of_class:
        function = _with_bare_self(name, function, lookup, own)
        notes.append(f"self is bare: {', '.join(own) or 'nothing'} is given, methods are those of the class")
    elif own:
        raise InvalidInput(f"{name} is no method; leave out self.{next(iter(own))}")
    return LocatedFunction(function, tuple(dict.fromkeys(notes)))


def _with_bare_self(name: str, method: Any, lookup: Lookup, own: Mapping[str, Any]) -> Callable[..., Any]:
    """The method as a function that makes a new bare `self` for every call, so that calls share no state."""
    if isinstance(method, classmethod):
        method = method.__func__

    def call(*arguments: Any, **options: Any) -> Any:
        return method(BareSelf(name.partition(".")[0], lookup, own), *arguments, **options)

    functools.update_wrapper(call, method)
    signature = inspect.signature(method)
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(signature.parameters.values())[1:]
    )
    return call


class BareSelf:
    """A `self` without `__init__`: it has the given attributes and the methods of its class."""

    def __init__(self, owner: str, lookup: Lookup, own: Mapping[str, Any]) -> None:
        vars(self).update({name: _copied(value) for name, value in own.items()})
        self._draftproof_class = owner, lookup

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        owner, lookup = self._draftproof_class
        attribute = lookup(name)
        if attribute is None:
            raise refusal(f"{owner} was never made, and self.{name} is not known", f"give self.{name}=VALUE")
        if isinstance(attribute, staticmethod):
            return attribute.__func__
        if isinstance(attribute, classmethod):
            return types.MethodType(attribute.__func__, self)
        if isinstance(attribute, property) and attribute.fget:
            return attribute.fget(self)
        return types.MethodType(attribute, self) if isinstance(attribute, types.FunctionType) else attribute


def _copied(value: Any) -> Any:
    """The value for one call; a generator has no state there, and is not to be copied."""
    return value if type(value).__name__ in ("Random", "Generator", "RandomState") else copy.deepcopy(value)


def _static(holder: Any, name: str) -> Any:
    try:
        return inspect.getattr_static(holder, name)
    except AttributeError:
        return None


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
