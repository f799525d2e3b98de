"""Recording functions in place of those of `random`, `numpy`, `math`, the system, torch and Triton, for one call."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from draftproof.simulator.symbolic import unfollowed
from draftproof.simulator.symbolic.arrays import numpy_lists
from draftproof.simulator.symbolic.random import maths, numpy_random, python_random, system

Patch = tuple[Any, str, Any]


@functools.cache
def _always() -> tuple[Patch, ...]:
    replaced = (
        *python_random.replacements(),
        *numpy_random.replacements(),
        *maths.replacements(),
        *system.replacements(),
        *numpy_lists.replacements(),
    )
    _remember(replaced)
    return replaced


@functools.cache
def _with_torch() -> tuple[Patch, ...]:
    from draftproof.simulator.symbolic.frameworks import torch_mode  # noqa: PLC0415 - only where torch is loaded
    from draftproof.simulator.symbolic.random import torch_random  # noqa: PLC0415 - only where torch is loaded

    replaced = (*torch_random.replacements(), *torch_mode.replacements())
    _remember(replaced)
    return replaced


def _remember(replaced: tuple[Patch, ...]) -> None:
    for holder, name, replacement in replaced:
        ORIGINALS[id(getattr(holder, name))] = replacement


#: Replacements by the `id` of what they replace, for names that the audited code bound before the call.
ORIGINALS: dict[int, Any] = {}


@functools.cache
def _with_triton() -> tuple[Patch, ...]:
    from draftproof.simulator.symbolic.frameworks import triton_kernels  # noqa: PLC0415 - only where triton is loaded

    replaced = tuple(triton_kernels.replacements())
    _remember(replaced)
    return replaced


@functools.cache
def _unfollowed(modules: tuple[str, ...]) -> tuple[Patch, ...]:
    replaced = tuple(unfollowed.replacements(modules))
    _remember(replaced)
    return replaced


def table() -> tuple[Patch, ...]:
    """(module, name, replacement) of everything that is replaced during a call."""
    return _table(*_loaded())


def _loaded() -> tuple[bool, bool, tuple[str, ...]]:
    return "torch" in sys.modules, "triton.runtime.interpreter" in sys.modules, unfollowed.loaded()


@functools.cache
def _table(torch: bool, triton: bool, unseen: tuple[str, ...]) -> tuple[Patch, ...]:
    frameworks = (_with_torch() if torch else ()) + (_with_triton() if triton else ())
    return _always() + frameworks + _unfollowed(unseen)


@contextmanager
def applied() -> Iterator[None]:
    """Within it the recording functions are in place; afterwards the originals are back, also after an error."""
    names, others = _by_module(*_loaded())
    undo: list[tuple[dict[str, Any], dict[str, Any]]] = []
    undo_others = []
    try:
        for held, replacements in names:  # the names of a module at once: a call is repeated for every branch
            undo.append((held, {name: held[name] for name in replacements}))
            held.update(replacements)
        for holder, name, replacement in others:
            undo_others.append((holder, name, getattr(holder, name)))
            setattr(holder, name, replacement)
        yield
    finally:
        for holder, name, original in reversed(undo_others):
            setattr(holder, name, original)
        for held, originals in reversed(undo):
            held.update(originals)


@functools.cache
def _by_module(
    torch: bool, triton: bool, unseen: tuple[str, ...]
) -> tuple[list[tuple[dict[str, Any], dict[str, Any]]], list[Patch]]:
    """The replacements as one dictionary for each module, and those in classes and other objects one by one."""
    modules: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
    others = []
    for holder, name, replacement in _table(torch, triton, unseen):
        if isinstance(holder, ModuleType) and name in vars(holder):
            modules.setdefault(id(holder), (vars(holder), {}))[1][name] = replacement
        else:
            others.append((holder, name, replacement))
    return list(modules.values()), others
