"""Guards: tiny constants that keep a division or a logarithm finite, such as `1e-9` in `p / (q + 1e-9)`.

A guard makes a verifier lossy by about its size. To tell that from other bugs the function is run with every guard made
so small that float64 does not see it beside a probability, and 0 still does.
"""

from __future__ import annotations

import dis
import os
import types
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from draftproof.simulator.symbolic import reach

#: The largest constant that counts as a guard, and what takes its place: a normal number in float32, too.
LARGEST, SHRUNK = 1e-5, 2.0**-120


def _is_guard(value: Any) -> bool:
    return type(value) is float and SHRUNK < value <= LARGEST


def guards(functions: tuple[Any, ...]) -> list[str]:
    """The guards of functions and of the user code that they name: each with its place."""
    found = [text for read, _, name in _slots(functions) for text in _texts(read(), name)]
    return list(dict.fromkeys(found))


@contextmanager
def shrunk(functions: tuple[Any, ...]) -> Iterator[None]:
    """Within it the guards of these functions are `SHRUNK`."""
    undo = []
    try:
        for read, write, _ in _slots(functions):
            value = read()
            replacement = SHRUNK if _is_guard(value) else _without(value) if _is_code(value) else value
            if replacement is not value:
                undo.append((write, value))
                write(replacement)
        yield
    finally:
        for write, value in reversed(undo):
            write(value)


def _slots(functions: tuple[Any, ...]) -> list[reach.Slot]:
    return list(reach.slots(functions, code=True))


def _is_code(value: Any) -> bool:
    return isinstance(value, types.CodeType)


def _compared(code: Any) -> set[float]:
    """The small constants that numbers are compared with: a rare event is no guard."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG")]
    values = set()
    for step, after in pairwise(steps):
        if step.opname == "LOAD_CONST" and _is_guard(step.argval) and after.opname == "COMPARE_OP":
            values.add(step.argval)
    return values


def _texts(value: Any, name: str) -> Iterator[str]:
    if _is_guard(value):
        yield f"{value:g}, {name}"
    if _is_code(value):
        line, compared = value.co_firstlineno, _compared(value)
        for step in dis.get_instructions(value):
            line = step.positions.lineno or line if step.positions is not None else line
            if step.opname == "LOAD_CONST" and _is_guard(step.argval) and step.argval not in compared:
                yield f"{step.argval:g} at {os.path.basename(value.co_filename)}:{line}"
        for constant in filter(_is_code, value.co_consts):
            yield from _texts(constant, name)


def _without(code: Any) -> Any:
    """The code with smaller guards, itself if it has none."""
    compared = _compared(code)
    constants = tuple(
        SHRUNK if _is_guard(item) and item not in compared else _without(item) if _is_code(item) else item
        for item in code.co_consts
    )
    changed = any(new is not old for new, old in zip(constants, code.co_consts, strict=True))
    return code.replace(co_consts=constants) if changed else code
