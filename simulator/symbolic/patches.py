"""Recording functions in place of those of `random`, `numpy`, `math`, the system, torch and Triton, for one call."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from draftproof.simulator.symbolic.arrays import numpy_lists
from draftproof.simulator.symbolic.loading import unfollowed
from draftproof.simulator.symbolic.sources import maths, system
from draftproof.simulator.symbolic.sources import numpy as numpy_random
from draftproof.simulator.symbolic.sources import python as python_random

Patch = tuple[Any, str, Any]


#: Replacements by the `id` of what they replace, for names that the audited code bound before the call.
ORIGINALS: dict[int, Any] = {}


def _loaded() -> tuple[str, ...]:
    """The libraries that are loaded and draw random numbers; "" for those that always are."""
    torch = sys.modules.get("torch")
    ready = torch is not None and not getattr(torch.__spec__, "_initializing", False)
    kernels = "triton.runtime.interpreter" in sys.modules
    return "", *["torch"] * ready, *["triton"] * kernels, *unfollowed.loaded()


@functools.cache
def _of(library: str) -> tuple[Patch, ...]:
    """What is replaced of a library."""
    replaced = tuple(_replacements(library))
    for holder, name, replacement in replaced:
        ORIGINALS[id(getattr(holder, name))] = replacement
    return replaced


def _replacements(library: str) -> Iterator[Patch]:
    modules: tuple[Any, ...] = ()
    if not library:
        modules = python_random, numpy_random, maths, system, numpy_lists
    elif library == "torch":
        from draftproof.simulator.symbolic.torch import mode, random  # noqa: PLC0415 - only where torch is loaded

        modules = random, mode
    elif library == "triton":
        from draftproof.simulator.symbolic.triton import kernels  # noqa: PLC0415 - only where triton is loaded

        modules = (kernels,)
    else:
        yield from unfollowed.replacements(library)
    for module in modules:
        yield from module.replacements()


def table() -> tuple[Patch, ...]:
    """(module, name, replacement) of everything that is replaced during a call."""
    return tuple(patch for library in _loaded() for patch in _of(library))


#: Values for the names of modules, and those for classes and other objects one by one.
Values = tuple[list[tuple[dict[str, Any], dict[str, Any]]], list[Patch]]
#: What user code has put in place of a library's function while its files were imported, by the holder and the name.
_theirs: dict[tuple[int, str], Patch] = {}
#: What is to be put back, while the recording functions are in place; empty otherwise.
_originals: list[Values] = []


@contextmanager
def applied(keep: bool = False) -> Iterator[None]:
    """Within it the recording functions are in place; afterwards the originals are back, also after an error.

    keep: what user code puts in place of library functions inside is there whenever this is entered again. It may call
    the recording functions.
    """
    if _originals:
        yield
        return
    values = _by_module(_loaded())
    _originals.append(_exchanged(values))
    before = [(held, dict(held)) for held, _ in values[0]] if keep else []
    try:
        yield
        if keep:
            _keep_theirs(before, values[1])
    finally:
        _exchanged(_originals.pop())


@contextmanager
def replaced(patches: Iterable[Patch]) -> Iterator[None]:
    """Within it these values, of other objects than the recording functions, are in place."""
    before = _exchanged(([], list(patches)))
    try:
        yield
    finally:
        _exchanged(before)


def in_place() -> bool:
    """Whether recording functions are in place."""
    return bool(_originals)


@contextmanager
def lifted() -> Iterator[None]:
    """Within it the originals are in place: compiled packages copy what they find when they are imported."""
    if not _originals:
        yield
        return
    in_place = _exchanged(_originals.pop())
    try:
        yield
    finally:
        _originals.append(_exchanged(_by_module(_loaded())))
        _exchanged(in_place)


def _keep_theirs(before: list[tuple[dict[str, Any], dict[str, Any]]], others: list[Patch]) -> None:
    """Note what differs from the names of modules before, and from what was put into other objects."""
    homes = {id(vars(holder)): holder for holder, _, _ in table() if isinstance(holder, ModuleType)}
    for held, values in before:
        for name, value in values.items():
            if held.get(name, value) is not value:
                _theirs[id(held), name] = homes[id(held)], name, held[name]
                held[name] = value
    for holder, name, put in others:
        if getattr(holder, name) != put:
            _theirs[id(holder), name] = holder, name, getattr(holder, name)
    _by_module.cache_clear()


def _exchanged(values: Values) -> Values:
    """Put values into their places; what was there."""
    names, others = values
    before = [(held, {name: held[name] for name in replacements}) for held, replacements in names]
    for held, replacements in names:  # the names of a module at once: a call is repeated for every branch
        held.update(replacements)
    before_others = [(holder, name, getattr(holder, name)) for holder, name, _ in others]
    for holder, name, replacement in others:
        setattr(holder, name, replacement)
    return before, before_others


@functools.cache
def _by_module(libraries: tuple[str, ...]) -> Values:
    modules: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    others = {}
    for holder, name, replacement in (*table(), *_theirs.values()):
        if isinstance(holder, ModuleType) and name in vars(holder):
            modules.setdefault(id(holder), (vars(holder), {}))[1][name] = replacement
        else:
            others[id(holder), name] = holder, name, replacement
    return list(modules.values()), list(others.values())
