"""Whether user code changes what it can reach, or draws from other sources than the coin.

A verifier is a function of the tree and the coin, a scheme one of the draft and the coin. What such code can reach are
its object with all that this holds, and the globals that its functions name, with all that those hold. A run must leave
it as it was, or the same run again must: caches, work arrays and lazy imports change once, counters and generators
every time. Sources without a state, such as `secrets` and clocks, are found by their calls.
"""

from __future__ import annotations

import dis
import gc
import io
import logging
import os
import re
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np
from flint import fmpq, fmpz

from draftproof.simulator.coins import EnumeratingCoin
from draftproof.simulator.counters import Counters, Place
from draftproof.simulator.errors import NoFunction, cut
from draftproof.simulator.generators import generator_state, generators_of, is_generator, is_shared
from draftproof.simulator.origins import acting, is_foreign, is_library, is_ours, is_trusted
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.user_code import Exact

#: Objects in one snapshot at most; further ones are left out.
MOST = 20_000
#: Plain entries of a dictionary or list that are named one by one; more are compared at once.
FEW = 100
#: Bytes of an array that are compared; of a longer one so many, evenly chosen.
BYTES = 2**16
#: How often a run that changes something is repeated: other threads may change the same meanwhile.
TRIES = 40
#: Caches are filled, and what is made once is made, after so many repetitions; counters count on.
REPEATED = 4

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, np.generic)
_NUMBERS = (Exact, fmpq, fmpz, Fraction, Decimal)
_OPAQUE = (ModuleType, CodeType)
_CONTAINERS = (list, dict, set, deque, tuple, frozenset, np.ndarray)
#: What every logger has.
_LOGGER = frozenset(vars(logging.Logger("")))
#: How the names of types of functions end, those of numpy and of Cython among them.
_FUNCTIONS = ("function", "function_or_method", "ufunc", "_ArrayFunctionDispatcher", "descriptor")
_CACHE = type(lru_cache(len))
_BOUND = (MethodType, BuiltinFunctionType, type("".__str__))
#: What code that draws without a state, or reads a clock, names.
_CHANCE = frozenset(("random", "secrets", "uuid", "time", "datetime", "numpy.random", "_random", "sqlite3"))
_OUTSIDE = frozenset(("urandom", "getrandom"))
#: Functions written in C that are such sources, by module.
_CALLS: dict[str, frozenset[str]] = {
    "time": frozenset(
        f"{clock}{end}"
        for clock in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
        for end in ("", "_ns")
    ),
    "datetime": frozenset(("now", "today", "utcnow")),
    "_uuid": frozenset(("generate_time_safe", "UuidCreate")),
    "sqlite3": frozenset(("execute", "executemany", "executescript")),
    **dict.fromkeys(("posix", "nt"), _OUTSIDE),
}
#: How often a cache was asked, and who else holds an object: what caches and references hold is no state.
_ASKED = ("cache_info", "getrefcount")
_ANEW = "compute it anew in each run, or leave it out"
_SEED = Random.seed.__code__
#: Packages whose functions draw from no global generator unless they are named for it.
_QUIET = sys.stdlib_module_names | {"numpy", "flint", "draftproof", "None"}
_IMPORTS = "<frozen importlib._bootstrap>"

T = TypeVar("T")
#: A name in an object, and what tells the state there: a plain value, or the number of another object.
Part = tuple[str, Any]


class Snapshot:
    """The state of all that some objects refer to.

    generators: those among it. chance: whether its code names sources without a state. home: the packages of these
    objects, whose code is user code also where it is installed.
    """

    def __init__(self, *things: Any) -> None:
        self.generators: list[Any] = []
        self.chance = False
        self.home = {_package(type(thing)) for thing in things} - _QUIET
        self._numbers: dict[int, int] = {}
        self._found: list[tuple[Any, int, str]] = []  # the object, the number of its holder, its name there
        for thing in things:
            self._of(thing, -1, type(thing).__name__)
        self._states: list[list[Part]] = []
        while len(self._states) < len(self._found):
            thing, number = self._found[len(self._states)][0], len(self._states)
            self._states.append([(name, self._of(part, number, name)) for name, part in self._parts(thing)])

    def drawn(self) -> list[Any]:
        """The states of the generators now."""
        return [generator_state(generator) for generator in self.generators]

    def is_own(self, thing: Any) -> bool:
        """Whether a function or class is of the package of the things, which may be an installed one."""
        return _package(thing) in self.home

    def change(self, after: Snapshot) -> Place | None:
        """The place of the first thing that is another one in `after`; None where all is the same."""
        if self._states == after._states:
            return None
        for number, (one, other) in enumerate(zip(self._states, after._states, strict=False)):
            if len(one) != len(other):
                return after._place(number, "")
            for (_, here), (name, there) in zip(one, other, strict=True):
                if here != there:
                    return after._place(number, name)
        return after._place(0, "")

    def _place(self, number: int, name: str) -> Place:
        """The place of a part of an object; of a container as a whole where its content is another one.

        Without a holder where it is not known, where several hold a container, which may then be read by another name,
        and where user code says what is done with it.
        """
        thing, full, spots = self._found[number][0], self._name(number, name), [(number, name)]
        if issubclass(type(thing), _CONTAINERS) or is_tensor(thing):
            held = isinstance(thing, dict) and name in map(_entry, thing)
            spots = spots if held else list(self._spots(number))
        places = [Place(full, *_held(self._found[at][0], part)) for at, part in spots]
        single = len({(id(place.holder), place.key) for place in places}) == 1 and places[0].holder is not None
        return places[0] if single and _is_plain(places[0].get()) else Place(full)

    def _spots(self, number: int) -> Iterator[tuple[int, str]]:
        """The objects that hold an object, and its names there."""
        for holder, parts in enumerate(self._states):
            yield from [(holder, name) for name, state in parts if state == number]

    def line_of(self, place: Place) -> str:
        """The first line of user code that names a place, in brackets; "" where none does."""
        names = re.findall(r"(?:^|\.)(\w+)", place.name)
        codes = [thing.__code__ for thing, _, _ in self._found if isinstance(thing, FunctionType)]
        steps = ((code, step) for code in codes if is_foreign(code) for step in dis.get_instructions(code))
        naming = [(names.index(step.argval), code, step) for code, step in steps if step.argval in names]
        if not naming:
            return ""
        _, code, step = max(naming, key=lambda item: (item[0], item[2].opname.startswith("STORE")))
        return f" ({Path(code.co_filename).name} line {step.positions.lineno if step.positions else '?'})"

    def _name(self, number: int, name: str) -> str:
        """How a part of an object is reached, as `Mine.rng`."""
        while number >= 0 and name[:1] in ("", ".", "["):
            _, number, before = self._found[number]
            name = before + name
        return name

    def _of(self, thing: Any, holder: int, name: str) -> Any:
        kind = type(thing)
        if kind is _PlainEntries:
            return thing
        if issubclass(kind, _PLAIN):
            return kind, _shown(thing)
        if kind in _NUMBERS:
            return kind, str(thing)
        number = self._numbers.get(id(thing))
        if number is None:
            number = self._numbers[id(thing)] = len(self._found)
            if number >= MOST:
                return "more"
            self._found.append((thing, holder, name))
        return number

    def _parts(self, thing: Any) -> Iterator[tuple[str, Any]]:
        """What an object consists of, by name."""
        kind = type(thing)
        self.chance = self.chance or _is_source(thing)
        if thing.__class__ is not kind or isinstance(
            thing, _OPAQUE
        ):  # the inside of a symbolic number is not its value
            yield "", id(thing)
            yield from generators_of(thing.__name__) if isinstance(thing, ModuleType) else ()
        elif isinstance(thing, FunctionType):
            yield "", hash(thing.__code__)
            yield from [("", thing.__defaults__), ("", thing.__kwdefaults__), *_attributes(thing)]
            for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
                with suppress(ValueError):  # not filled yet
                    yield name, cell.cell_contents
            if is_foreign(thing.__code__) or self.is_own(thing):
                yield from self._globals(thing)
        elif isinstance(thing, type):
            yield "", f"{thing.__module__}.{thing.__qualname__}"
            if not is_ours(thing) or self.is_own(thing):
                yield from [("", base) for base in thing.__bases__]
                members = sorted(vars(thing).items(), key=lambda member: member[0])
                yield from [(f".{name}", part) for name, part in members if _is_state(name, part)]
        elif isinstance(thing, _BOUND):
            yield "", getattr(thing, "__name__", "")
            yield "", getattr(thing, "__func__", None)
            yield "", getattr(thing, "__self__", None)
        elif isinstance(thing, logging.Logger):
            yield from [(name, part) for name, part in _attributes(thing) if name[1:] not in _LOGGER]
            yield from [("", part) for part in (*thing.handlers, *thing.filters) if not is_ours(type(part))]
        elif isinstance(thing, (property, staticmethod, classmethod, partial)):
            names = ("fget", "fset", "__func__", "func", "args", "keywords")
            yield from [("", getattr(thing, name, None)) for name in names]
        elif isinstance(thing, GeneratorType):
            frame = thing.gi_frame
            yield "", None if frame is None else frame.f_lasti
            yield "", None if frame is None else dict(frame.f_locals)
        else:
            yield "", kind
            yield from self._content(thing)

    def _globals(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        """The globals that a function names, attributes of modules among them; what cannot change is left out."""
        names, scope, seen = names_in(function.__code__), function.__globals__, set()
        self.chance = self.chance or any(name in names for name in _ASKED)
        waiting = deque((name, scope.get(name, sys.modules.get(name))) for name in names)  # imported within it, too
        while waiting:
            name, thing = waiting.popleft()
            if isinstance(thing, ModuleType):
                if id(thing) not in seen:
                    seen.add(id(thing))
                    yield from generators_of(thing.__name__)
                    waiting += [(part, vars(thing)[part]) for part in names if part in vars(thing)]
            elif self.is_own(thing) or not _is_of_library(thing):
                yield name, thing
            elif _package(thing) not in _QUIET:  # it may draw from any of them
                yield from generators_of("random", "numpy.random", "torch")

    def _content(self, thing: Any) -> Iterator[tuple[str, Any]]:
        held = [*_attributes(thing), *_slots(thing)]
        yield from held
        if is_generator(thing):
            self.generators.append(thing)
            yield "", repr(generator_state(thing))
        elif (entries := _plain_entries(thing)) is not None:
            yield "", entries
        elif isinstance(thing, dict):
            for key, part in list(dict.items(thing)):
                yield "[]", key
                yield _entry(key), part
        elif isinstance(thing, (list, tuple, deque)) or (isinstance(thing, np.ndarray) and thing.dtype == object):
            yield from [(f"[{place}]", part) for place, part in enumerate(_entries(thing))]
        elif isinstance(thing, (set, frozenset)):
            yield from [("", part) for part in sorted(_entries(thing), key=_shown)]
        elif isinstance(thing, np.ndarray) or is_tensor(thing):
            yield "", _numbers_of(thing)
        elif isinstance(thing, io.IOBase):
            for tell in (getattr(thing, "getvalue", thing.tell), lambda: _file_state(thing.fileno())):
                with suppress(Exception):
                    yield "", tell()
        elif isinstance(thing, ContextVar):
            yield "", thing.get(None)
        elif isinstance(thing, _CACHE):
            yield from [("", part) for part in gc.get_referents(thing) if isinstance(part, dict)]
        elif not held:  # written in C: what it would be saved as, or refers to, tells its state
            saved: Any = gc.get_referents(thing)
            with suppress(Exception):
                saved = bytes(memoryview(thing))  # such as a `mmap`
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # iterators of itertools can be saved until Python 3.14
                saved = thing.__reduce_ex__(2)
            yield "", saved


def _entry(key: Any) -> str:
    """The name of an entry of a dictionary."""
    return f"[{cut(repr(key), 40) if isinstance(key, _PLAIN) else '..'}]"


def _held(thing: Any, name: str) -> tuple[Any, Any]:
    """The object or dictionary that holds a part of an object, and the key there; no holder where it is not known."""
    if name.startswith("."):
        return thing, name[1:]
    if isinstance(thing, dict):
        return next(((thing, key) for key in thing if isinstance(key, _PLAIN) and _entry(key) == name), (None, name))
    if isinstance(thing, FunctionType):
        if name in thing.__code__.co_freevars:
            return (thing.__closure__ or ())[thing.__code__.co_freevars.index(name)], "cell_contents"
        named = [thing.__globals__.get(part) for part in names_in(thing.__code__)]
        scopes = [thing.__globals__, *(vars(part) for part in named if isinstance(part, ModuleType))]
        return next((scope for scope in scopes if name in scope), None), name
    return None, name


def _is_plain(value: Any) -> bool:
    """Whether no method of user code says what is done with a value."""
    return isinstance(value, _PLAIN) or is_ours(type(value))


def _file_state(descriptor: int) -> str:
    about = os.fstat(descriptor)
    return f"{about.st_size} {about.st_mtime_ns}"


def _package(thing: Any) -> str:
    """The package of a function or class."""
    return str(getattr(thing, "__module__", None)).partition(".")[0]


def _shown(thing: Any) -> str:
    try:
        return repr(thing)
    except Exception:
        return f"a {type(thing).__name__} whose repr raises"


class _PlainEntries(tuple[Any, ...]):
    """Many plain entries of a dictionary or list, which are compared at once."""


def _plain_entries(thing: Any) -> _PlainEntries | None:
    if type(thing) is dict:
        kinds, many = {*map(type, thing), *map(type, thing.values())}, thing.items()
    elif type(thing) in (list, tuple):
        kinds, many = set(map(type, thing)), thing
    else:
        return None
    return _PlainEntries(many) if len(thing) > FEW and kinds <= {bool, int, float, str, bytes, type(None)} else None


def _entries(thing: Any) -> list[Any]:
    """The entries of a list, tuple, deque, set or array, without a method of user code."""
    if isinstance(thing, np.ndarray):
        return list(np.asarray(thing).ravel().tolist())
    kind: Any = next(kind for kind in (list, tuple, deque, set, frozenset) if isinstance(thing, kind))
    return list(kind.__iter__(thing))


def _attributes(thing: Any) -> list[tuple[str, Any]]:
    with suppress(Exception):
        return [(f".{name}", part) for name, part in list(vars(thing).items()) if not name.startswith("_draftproof_")]
    return []


def _slots(thing: Any) -> Iterator[tuple[str, Any]]:
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            with suppress(Exception):
                if name not in ("__dict__", "__weakref__"):
                    yield f".{name}", getattr(thing, name)


def _is_state(name: str, part: Any) -> bool:
    """Whether an attribute of a class belongs to its state: methods with special names do, what Python writes not."""
    return isinstance(part, FunctionType) or not (name.startswith("__") and name.endswith("__"))


def _numbers_of(array: Any) -> str:
    """The content of an array or tensor of numbers, of a long one a part."""
    about = f"{array.dtype} {tuple(array.shape)}"
    with suppress(Exception):
        flat = np.ascontiguousarray(array) if isinstance(array, np.ndarray) else _bytes_of(array)
        content = flat.reshape(-1).view(np.uint8)
        return f"{about} {content[:: -(-len(content) // BYTES) or 1].tobytes()!r}"
    return about


def _bytes_of(tensor: Any) -> Any:
    flat = tensor.detach().reshape(-1)
    flat = flat[:: -(-len(flat) // BYTES) or 1].contiguous().cpu()
    return flat.view(sys.modules["torch"].uint8).numpy()


@lru_cache(maxsize=1024)
def names_in(code: CodeType, texts: bool = True) -> tuple[str, ...]:
    """The names in a function, and in those that it defines. texts: also those that are texts, as for `globals()`."""
    inner = [names_in(part, texts) for part in code.co_consts if isinstance(part, CodeType)]
    named = [part for part in code.co_consts if isinstance(part, str) and part.replace(".", "").isidentifier()]
    return tuple(
        dict.fromkeys((*code.co_names, *(named if texts else ()), *(name for names in inner for name in names)))
    )


def _is_of_library(thing: Any) -> bool:
    """Whether it is a class or function of Python or an installed library, no source and bound to nothing."""
    if _is_source(thing):
        return False
    if isinstance(thing, type):
        return is_ours(thing)
    if not isinstance(getattr(thing, "__self__", None), (type(None), type, ModuleType)):
        return False
    home = getattr(thing, "__module__", None)
    file = getattr(sys.modules.get(home), "__file__", None) if isinstance(home, str) else None
    return type(thing).__name__.endswith(_FUNCTIONS) and (home is None or file is None or is_trusted(file))


def _is_source(thing: Any) -> bool:
    """Whether code that names it may draw from a source without a state."""
    if isinstance(thing, ModuleType):
        return thing.__name__ in _CHANCE
    if isinstance(thing, (FunctionType, type, *_BOUND)) or callable(thing):
        home, name = getattr(thing, "__module__", None), getattr(thing, "__name__", "")
    else:
        home, name = type(thing).__module__, ""
    return home in _CHANCE or name in _OUTSIDE or (isinstance(home, str) and home.startswith("numpy.random"))


def _home(function: Any) -> str:
    """The module of a function written in C."""
    owner = getattr(function, "__self__", None)
    return owner.__name__ if isinstance(owner, ModuleType) else str(getattr(owner, "__module__", None))


def _is_call(function: Any) -> bool:
    """Whether a function written in C is a source without a state."""
    return function.__name__ in _ASKED or function.__name__ in _CALLS.get(_home(function), ())


@contextmanager
def profiled(follow: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    """Within it `follow` gets the calls of this thread, as of `sys.setprofile`.

    What runs beside the code is left out: imports, and collections of garbage, which call finalizers.
    """
    aside = 0

    def event(frame: FrameType, kind: str, argument: Any) -> None:
        nonlocal aside
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename == _IMPORTS:
            aside += (kind == "call") - (kind == "return")
        elif not aside:
            follow(frame, kind, argument)

    def collects(phase: str, _: Any) -> None:  # the callbacks of others come after this
        nonlocal aside
        aside += phase == "start" and sys.getprofile() is event

    def has_collected(phase: str, _: Any) -> None:
        nonlocal aside
        aside -= phase == "stop" and sys.getprofile() is event

    before = sys.getprofile()
    gc.callbacks.insert(0, collects)
    gc.callbacks.append(has_collected)
    sys.setprofile(event)
    try:
        yield
    finally:
        sys.setprofile(before)
        gc.callbacks.remove(collects)
        gc.callbacks.remove(has_collected)


class Watch:
    """Looks whether runs of user code change something, or draw beside the coin.

    subject: a verifier or a scheme. method, given: what is called, and what it is a function of beside the coin.
    All that can be reached is compared around the runs number 1, 2, 4, 8, ..; generators, and the calls of sources
    without a state, are watched in every run.
    """

    def __init__(self, subject: Any, method: str = "verify", given: str = "the tree") -> None:
        self._subject = subject
        self._method, self._way_out = method, f"{method} must be a function of {given} and the coin"
        self._runs = 0
        self._known = Snapshot(subject)
        self._counters = Counters()
        self._drawn: str | None = None

    @classmethod
    def of(cls, verifier: Any) -> Watch | None:
        """A watch of a verifier with user code; None for one of the library, or that something else watches."""
        ours = type(verifier).__module__.startswith("draftproof.simulator.")
        return None if ours or is_library(verifier) else cls(verifier)

    def run(self, call: Callable[[Any], T], coin: Any) -> T:
        """What a call of user code with this coin gives.

        Raises `NoFunction` for one that draws from elsewhere, and under an `EnumeratingCoin`, which can replay, for one
        that changes something each time that it is repeated.
        """
        if not isinstance(coin, EnumeratingCoin):
            return self._called(call, coin)
        self._runs += 1
        if self._runs & (self._runs - 1):
            return self._called(call, coin)
        before = self._known = Snapshot(self._subject)
        outcome = self._called(call, coin)
        self._known = Snapshot(self._subject)
        if before.change(self._known) is not None:
            self._repeat(call, coin, outcome)
        return outcome

    def _repeat(self, call: Callable[[Any], Any], coin: EnumeratingCoin, outcome: Any) -> None:
        """Repeat a run until it changes nothing but what may only be added to."""
        for number in range(TRIES):
            coin.start()
            if _shown(self._called(call, coin)) != _shown(outcome):
                raise NoFunction(
                    f"two runs with the same answers from the coin gave different results: {self._way_out}"
                )
            before, self._known = self._known, Snapshot(self._subject)
            changed = before.change(self._known)
            if changed is None:
                return
            if number >= REPEATED:
                self._counters.add(changed)
        assert changed is not None
        raise NoFunction(
            f"{changed.name} changes with every call{self._known.line_of(changed)}: {self._way_out}; {_ANEW}"
        )

    def _called(self, call: Callable[[Any], T], coin: Any) -> T:
        """The outcome of a run; raises `NoFunction` if it draws from a generator or a source."""
        drawn = self._known.drawn()
        if not self._known.chance:
            outcome = self._watched(call, coin)
        else:
            with profiled(self._follow):
                outcome = self._watched(call, coin)
        if self._drawn is not None:
            raise NoFunction(self._drawn)
        if drawn != self._known.drawn():
            self._refuse(call, coin, drawn)
        return outcome

    def _watched(self, call: Callable[[Any], T], coin: Any) -> T:
        """The outcome of a run that finds nothing where it only adds to, and whose writing of files is seen."""
        outer, _running.watch = getattr(_running, "watch", None), self
        try:
            with self._counters.hidden():
                return call(coin)
        except Exception as error:
            if self._counters.read is not None:
                raise NoFunction(f"{self._counters.read}: {self._way_out}; {_ANEW}") from error
            if self._counters and isinstance(coin, EnumeratingCoin):
                coin.start()
                call(coin)  # fails likewise, unless what stands in place of counters is the reason
                names = self._counters.names
                raise NoFunction(f"{names} changes with every call, and is used: {self._way_out}; {_ANEW}") from error
            raise
        finally:
            _running.watch = outer

    def _refuse(self, call: Callable[[Any], Any], coin: Any, drawn: list[Any]) -> None:
        """Refuse a run that drew from a generator, unless other threads draw from it: then some repetition does not."""
        known = self._known
        changed = known.change(Snapshot(self._subject))
        states = zip(known.generators, drawn, known.drawn(), strict=True)
        shared = all(is_shared(generator) for generator, before, after in states if before != after)
        for _ in range(TRIES if shared and threading.active_count() > 1 and isinstance(coin, EnumeratingCoin) else 0):
            drawn = known.drawn()
            coin.start()
            call(coin)
            if drawn == known.drawn():
                return
        raise NoFunction(self._beside(f", from {changed.name if changed else 'a generator'}"))

    def _beside(self, where: str) -> str:
        return f"{self._method} uses random numbers beside its coin{where}: {self._way_out}"

    def _is_own(self, frame: FrameType) -> bool:
        home = str(frame.f_globals.get("__name__")).partition(".")[0]
        return is_foreign(frame.f_code) or home in self._known.home

    def _follow(self, frame: FrameType, event: str, argument: Any) -> None:
        seeded = event == "call" and frame.f_code is _SEED and frame.f_locals.get("a") is None
        if self._drawn is not None or not (seeded or (event == "c_call" and _is_call(argument))):
            return
        name = "random.seed" if seeded else f"{_home(argument).replace('posix', 'os')}.{argument.__name__}"
        clock = name.startswith(("time.", "datetime."))
        read = "a clock" if clock else "state" if name.endswith(_ASKED) or name.startswith("sqlite3.") else ""
        place: FrameType | None = frame
        while place is not None and not self._is_own(place):
            place = None if clock else place.f_back  # what libraries do with a clock, such as to log, decides nothing
        if place is not None:
            line = f"{Path(place.f_code.co_filename).name} line {place.f_lineno}"
            self._drawn = (
                f"{self._method} reads {read}, {name}() at {line}: {self._way_out}"
                if read
                else self._beside(f", by {name}() at {line}")
            )

    def wrote(self, what: str) -> None:
        """Refuse a run of user code that writes a file."""
        place = acting(sys._getframe(2))
        if self._drawn is None and place is not None and self._is_own(place):
            line = f"{Path(place.f_code.co_filename).name} line {place.f_lineno}"
            self._drawn = f"{what} in {self._method}, at {line}: {self._way_out}; do it before or after the run"


#: The watch whose run is going on in this thread.
_running = threading.local()
#: Audit events of Python (`sys.audit`) that change files.
_WRITES = frozenset((
    "sqlite3.connect", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.utime", "os.chmod",
))  # fmt: skip


def written(event: str, arguments: tuple[Any, ...]) -> str | None:
    """What an audit event of Python changes among the files, in words; None for other events."""
    if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR) and arguments[0] != os.devnull:
        return f"a change of the file {arguments[0]}"
    return f"a change of files ({event})" if event in _WRITES else None


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    watch: Watch | None = getattr(_running, "watch", None)
    what = None if watch is None else written(event, arguments)
    if watch is not None and what is not None:
        watch.wrote(what)


sys.addaudithook(_heard)
