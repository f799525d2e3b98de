"""Watches user code during a proof: everything beside arithmetic and comparisons is refused with its line.

A theorem is about a function of the tree and the coin. User code must therefore not be able to distinguish symbolic
numbers from rationals, two points of one cell, or one call from the next. Every function is inspected before its first
run, calls that depend on chance, time or outside state are refused, and no state may change across a call.
"""

from __future__ import annotations

import builtins
import dis
import gc
import random
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import dropwhile
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.origins import is_foreign, is_library, is_ours
from draftproof.simulator.protocol import Coin, DraftNode, Verdict, Verifier

#: Objects in one snapshot at most; further ones are left out.
MOST = 20_000

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice)
_OPAQUE = (ModuleType, BuiltinFunctionType, CodeType)


def snapshot(thing: Any) -> Any:
    """The state of all objects that `thing` refers to, as nested tuples: equal as long as none of them changes."""
    return _Snapshot().of(thing)


class _Snapshot:
    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no address is used twice

    def of(self, thing: Any) -> Any:
        """The state of one object; for an object that came up before, its number."""
        kind = type(thing)
        if issubclass(kind, _PLAIN):
            return (kind.__name__, repr(thing))
        if thing.__class__ is not kind:  # a symbolic number: its inside is not inspected
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


T = TypeVar("T")


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
_IMPORTS = "<frozen importlib._bootstrap>"
_FORBIDDEN = tuple(getattr(builtins, name) for name in sorted(FUNCTIONS))


class NotFollowed(InvalidVerifier):
    """User code did something that a proof cannot follow."""


class HasState(NotFollowed):
    """User code keeps state between calls: it is not a function of the tree and the coin."""


class Watch:
    """Inspects all user code while `subject` (a verifier, a scheme) runs."""

    def __init__(self, subject: Any) -> None:
        self._seen: set[CodeType] = set()
        self._held: dict[str, tuple[Callable[[], Any], Any]] = {}
        self._refusal: NotFollowed | None = None
        self._aside = 0  # how deep in what runs beside the subject: imports, collections of garbage
        self._needed = not is_library(subject)
        if self._needed:
            self._hold(f"what {type(subject).__name__} holds", lambda: (subject, type(subject).__mro__))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Raises `NotFollowed` for what was refused within, even if the refusal was caught there."""
        if not self._needed:
            yield
            return
        before = sys.getprofile()
        gc.callbacks.insert(0, self._collects)
        gc.callbacks.append(self._has_collected)
        sys.setprofile(self._event)
        try:
            yield
        finally:
            sys.setprofile(before)
            gc.callbacks.remove(self._collects)
            gc.callbacks.remove(self._has_collected)
            if self._refusal is None:
                self._compare()
            if self._refusal is not None:
                raise self._refusal

    def _collects(self, phase: str, _: Any) -> None:
        """A collection begins: it calls finalizers, also of what was left by others, and the callbacks after this."""
        self._aside += phase == "start"

    def _has_collected(self, phase: str, _: Any) -> None:
        """The collection is over, and so are the callbacks before this."""
        self._aside -= phase == "stop"

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename == _IMPORTS:
            self._aside += (event == "call") - (event == "return")
        elif self._aside:
            return
        elif event == "call":
            if frame.f_code not in self._seen:
                self._seen.add(frame.f_code)
                if is_foreign(frame.f_code):
                    self._look(frame)
        elif event == "c_call" and _is_chance(argument):
            self._refuse(f"{argument.__name__}() was called", frame, frame.f_lineno)

    def _look(self, frame: FrameType) -> None:
        """Refuse a function that refers to something forbidden; remember the state of all else that it refers to."""
        code = frame.f_code
        module: ModuleType | None = None
        line = code.co_firstlineno
        steps = [step for step in dis.get_instructions(code) if step.opname not in ("PUSH_NULL", "CACHE")]
        asks = "isinstance" in code.co_names
        for number, instruction in enumerate(steps):
            line = (
                getattr(instruction, "line_number", instruction.starts_line) or line
            )  # from 3.13 on the latter is a flag
            before, (wrong, thing) = module, _judged(instruction, frame, module)
            if instruction.opname == "IS_OP" and not _is_singleton(steps[number - 1]):
                wrong = "`is` compares objects, not numbers, and is used"
            if wrong or (_is_flint(thing) and not _is_constant(steps[number + 1 :], asks)):
                self._refuse(wrong or f"{instruction.argval!r} of flint is used", frame, line)
            module = thing if isinstance(thing, ModuleType) else None
            if thing is not None and module is None and not (isinstance(thing, type) and is_ours(thing)):
                name, scope = instruction.argval, frame.f_globals if before is None else vars(before)
                if name in scope and scope[name] is thing:
                    self._hold(f"{name!r}", partial(scope.get, name))

    def _hold(self, name: str, get: Callable[[], Any]) -> None:
        if name not in self._held:
            self._held[name] = (get, snapshot(get()))

    def _compare(self) -> None:
        for name, (get, before) in self._held.items():
            if snapshot(get()) != before:
                self._refusal = HasState(
                    f"{name} changed during a call: a theorem is about a function of the tree and the coin, without "
                    "a memory between calls; compute it anew in each call"
                )
                return

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
    return step.opname == "LOAD_CONST" and any(step.argval is each for each in (None, True, False, ...))


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
