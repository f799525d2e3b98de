"""Watches user code during a proof: everything beside arithmetic and comparisons is refused with its line.

A theorem is about a function of the tree and the coin. User code must therefore not be able to distinguish symbolic
numbers from rationals, two points of one cell, or one call from the next. Every function is inspected before its first
run, calls that depend on chance, time or outside state are refused, and no state may change across a call.
"""

from __future__ import annotations

import builtins
import dis
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import dropwhile
from types import CodeType, FrameType, ModuleType
from typing import Any

from draftproof.simulator.changes import Snapshot, profiled
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.origins import is_foreign, is_library
from draftproof.simulator.protocol import Coin, DraftNode, Verdict, Verifier


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Modules that give access to chance, time, outside state or the interpreter.
OUTSIDE = _words(
    """random secrets uuid time datetime calendar os posix nt sys io _io pathlib tempfile shutil glob inspect gc ctypes
    _ctypes threading _thread multiprocessing concurrent subprocess socket select signal asyncio builtins importlib
    traceback dis weakref pickle marshal platform resource tracemalloc logging numpy.random torch.random warnings
    draftproof.simulator.theorems draftproof.experiments"""
)
#: Functions of Python that distinguish symbolic numbers, or objects that hold them, from others.
FUNCTIONS = _words(
    """id type hash vars dir globals locals eval exec compile open input breakpoint __import__ memoryview bytes
    bytearray RecursionError MemoryError"""
)
#: Attributes that do.
ATTRIBUTES = _words(
    """tobytes tostring tofile dump dumps ctypes __array_interface__ __array_struct__ __dict__ __globals__ __code__
    __closure__ __subclasses__ __builtins__ __self__ __defaults__ __kwdefaults__ __getattribute__ __reduce__
    __reduce_ex__ __getstate__ gi_frame cr_frame f_back tb_frame at_sample as_ratio of_run __module__ __doc__
    __slots__ __wrapped__"""
)
#: Functions of numpy that read files.
READERS = _words("load loadtxt genfromtxt fromfile memmap DataSource frombuffer")
#: Modules whose functions no code may call, that of draftproof and of libraries included.
_CHANCE = _words("random _random secrets uuid time datetime posix nt socket select")
_FORBIDDEN = tuple(getattr(builtins, name) for name in sorted(FUNCTIONS))


class NotFollowed(InvalidVerifier):
    """User code did something that a proof cannot follow."""


class HasState(NotFollowed):
    """User code keeps state between calls: it is not a function of the tree and the coin."""


class Watch:
    """Inspects all user code while `subject` (a verifier, a scheme) runs."""

    def __init__(self, subject: Any) -> None:
        self._seen: set[CodeType] = set()
        self._subject = subject
        self._refusal: NotFollowed | None = None
        self._needed = not is_library(subject)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raises `NotFollowed` for what was refused within, even if the refusal was caught there."""
        if not self._needed:
            yield
            return
        before = Snapshot(self._subject)
        try:
            with profiled(self._event):
                yield
        finally:
            changed = None if self._refusal else before.change(Snapshot(self._subject))
            if changed is not None:
                self._refusal = HasState(
                    f"{changed.name} changed during a call: a theorem is about a function of the tree and the coin, "
                    "without a memory between calls; compute it anew in each call"
                )
            if self._refusal is not None:
                raise self._refusal

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            if frame.f_code not in self._seen:
                self._seen.add(frame.f_code)
                if is_foreign(frame.f_code):
                    self._look(frame)
        elif event == "c_call" and _is_chance(argument):
            self._refuse(f"{argument.__name__}() was called", frame, frame.f_lineno)

    def _look(self, frame: FrameType) -> None:
        """Refuse a function that refers to something forbidden."""
        code = frame.f_code
        module: ModuleType | None = None
        line = code.co_firstlineno
        steps = [step for step in dis.get_instructions(code) if step.opname not in ("PUSH_NULL", "CACHE")]
        asks = "isinstance" in code.co_names
        for number, instruction in enumerate(steps):
            line = (
                getattr(instruction, "line_number", instruction.starts_line) or line
            )  # from 3.13 on the latter is a flag
            wrong, thing = _judged(instruction, frame, module)
            if instruction.opname == "IS_OP" and not _is_singleton(steps[number - 1]):
                wrong = "`is` compares objects, not numbers, and is used"
            if wrong or (_is_flint(thing) and not _is_constant(steps[number + 1 :], asks)):
                self._refuse(wrong or f"{instruction.argval!r} of flint is used", frame, line)
            module = thing if isinstance(thing, ModuleType) else None

    def _refuse(self, what: str, frame: FrameType, line: int) -> None:
        self._refusal = self._refusal or NotFollowed(
            f"{what} at {frame.f_code.co_filename.rpartition('/')[2]} line {line}, in {frame.f_code.co_name}; a "
            "theorem follows + - * / and comparisons of numbers only: leave it out, or check this verifier on "
            "instances (draftproof check)"
        )
        raise self._refusal


def _judged(step: dis.Instruction, frame: FrameType, module: ModuleType | None) -> tuple[str | None, Any]:
    """Why an instruction is refused (None if it is not) and the object that it refers to.

    module: the module that the instruction before it referred to.
    """
    name = step.argval
    if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (step.opname == "STORE_ATTR" and module is not None):
        return f"the global {name!r} is changed", None
    if step.opname == "IMPORT_NAME":
        return (f"the module {name!r} is imported" if _is_outside(name) else None), None
    if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
        thing = None if module is None else getattr(module, name, None)
        reads = module is not None and module.__name__ == "numpy" and name in READERS
        return (f"the attribute {name!r} is used" if name in ATTRIBUTES or reads else _wrong(name, thing)), thing
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        thing = frame.f_globals.get(name, frame.f_builtins.get(name))
    elif step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
        thing = frame.f_locals.get(name)
        if not callable(thing) and type(thing).__module__.startswith("draftproof.simulator.theorems."):
            return None, None  # the coin or a number that the function around it was given
    else:
        return None, None
    return _wrong(name, thing), thing


def _wrong(name: str, thing: Any) -> str | None:
    """Why the use of `thing` is refused, None if it is not."""
    if isinstance(thing, ModuleType):
        return f"the module {thing.__name__!r} is used" if _is_outside(thing.__name__) else None
    if thing is not None and any(thing is known for known in _FORBIDDEN):
        return f"{name}() is used"
    origin = getattr(thing, "__module__", None) if callable(thing) else type(thing).__module__
    if isinstance(origin, str) and origin != "builtins" and _is_outside(origin):
        return f"{name!r} of the module {origin!r} is used"
    return None


def _is_singleton(step: dis.Instruction) -> bool:
    """Whether an instruction puts None, True, False or `...` there."""
    return step.opname == "LOAD_CONST" and any(step.argval is singleton for singleton in (None, True, False, ...))


def _is_flint(thing: Any) -> bool:
    """Whether it is a type of flint, which rejects symbolic numbers."""
    return isinstance(thing, type) and thing.__module__.partition(".")[0] == "flint"


def _is_constant(steps: list[dis.Instruction], asks: bool) -> bool:
    """Whether what was named before these instructions is called with whole numbers, or is the last that is given.

    asks: whether the last that is given may be what `isinstance` is asked.
    """
    rest = list(dropwhile(lambda step: step.opname == "LOAD_CONST" and isinstance(step.argval, int), steps))
    return rest[0].opname in ("PRECALL", "CALL") and (asks or len(rest) < len(steps))


def _is_outside(module: str) -> bool:
    return any(module == known or module.startswith(f"{known}.") for known in OUTSIDE)


def _is_chance(function: Any) -> bool:
    """Whether a function written in C depends on chance, time or outside state."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, ModuleType):
        return owner.__name__ in _CHANCE
    kind = owner if isinstance(owner, type) else type(owner)
    return kind.__module__ in _CHANCE or isinstance(owner, random.Random)


class Watched:
    """A verifier under watch; see `Verifier`."""

    def __init__(self, verifier: Verifier) -> None:
        self.card = verifier.card
        self._verifier, self._watch = verifier, Watch(verifier)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """`verify` of the verifier, with its code inspected."""
        with self._watch.watching():
            return self._verifier.verify(root, coin)
