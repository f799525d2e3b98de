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
from typing import Any

from draftproof.simulator.symbolic import reach
from draftproof.simulator.symbolic.guard_uses import lines_of, uses_in

#: The largest constant that counts as a guard, and what takes its place: a normal number in float32, too.
LARGEST, SHRUNK = 1e-5, 2.0**-120


def _is_guard(value: Any) -> bool:
    return type(value) is float and SHRUNK < value <= LARGEST


def guards(functions: tuple[Any, ...]) -> list[str]:
    """The guards of functions and of the user code that they name: each with its place."""
    slots = _slots(functions)
    found = [text for read, _, name in slots for text in _texts(read(), name, slots)]
    return list(dict.fromkeys(found))


@contextmanager
def shrunk(functions: tuple[Any, ...]) -> Iterator[None]:
    """Within it the guards of these functions are `SHRUNK`."""
    undo = []
    slots = _slots(functions)
    try:
        for (read, write, _), replacement in [(slot, _replacement(slot, slots)) for slot in slots]:
            value = read()
            if replacement is not value:
                undo.append((write, value))
                write(replacement)
        yield
    finally:
        for write, value in reversed(undo):
            write(value)


def _slots(functions: tuple[Any, ...]) -> list[reach.Slot]:
    return list(reach.slots(functions, code=True))


def _replacement(slot: reach.Slot, slots: list[reach.Slot]) -> Any:
    value = slot[0]()
    if _is_guard(value):
        return SHRUNK if _is_used_as_guard(slot[2], slots) else value
    return _without(value) if _is_code(value) else value


def _is_code(value: Any) -> bool:
    return isinstance(value, types.CodeType)


def _is_used_as_guard(place: str, slots: list[reach.Slot]) -> bool:
    """Whether all code that may read a value uses it as a guard; place: as in `reach`, it ends with the name."""
    words = place.split()
    files = {id(uses): uses for uses in (uses_in(code) for code in (read() for read, _, _ in slots) if _is_code(code))}
    if words[0] == "default":
        return all(uses.default(words[-1], int(words[1])) for uses in files.values())
    return all(uses.name(words[-1]) for uses in files.values())


def _texts(value: Any, name: str, slots: list[reach.Slot]) -> Iterator[str]:
    if _is_guard(value) and _is_used_as_guard(name, slots):
        yield f"{value:g}, {name}"
    if _is_code(value):
        line = value.co_firstlineno
        for step in dis.get_instructions(value):
            line = step.positions.lineno or line if step.positions is not None else line
            if step.opname == "LOAD_CONST" and _is_guard_in(value, step.argval):
                yield f"{step.argval:g} at {os.path.basename(value.co_filename)}:{line}"
        for constant in filter(_is_code, value.co_consts):
            yield from _texts(constant, name, slots)


def _is_guard_in(code: Any, value: Any) -> bool:
    return _is_guard(value) and uses_in(code).constant(value, lines_of(code))


def _without(code: Any) -> Any:
    """The code with smaller guards, itself if it has none."""
    constants = tuple(
        SHRUNK if _is_guard_in(code, item) else _without(item) if _is_code(item) else item for item in code.co_consts
    )
    changed = any(new is not old for new, old in zip(constants, code.co_consts, strict=True))
    return code.replace(co_consts=constants) if changed else code
