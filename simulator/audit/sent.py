"""How a function and its arguments travel to the process that judges them, and what becomes of them there.

What a module of user code defines travels by its name, and that module is imported afresh. Everything else travels by
value: functions of `__main__` and of notebook cells, functions inside of others, objects, generators. Their code is
compiled from its source again, with the hooks of `loading`; generators arrive as recording ones.
"""

from __future__ import annotations

import ast
import builtins
import functools
import gc
import importlib
import io
import linecache
import pickle
import random
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from draftproof.simulator.audit.held import Unsent, assert_as_sent, held, unsent
from draftproof.simulator.errors import DraftproofError, InvalidVerifier
from draftproof.simulator.generators import SHARED
from draftproof.simulator.symbolic import patches
from draftproof.simulator.symbolic.loading import files as loading
from draftproof.simulator.symbolic.loading import reach
from draftproof.simulator.symbolic.loading.compiled import source_of
from draftproof.simulator.symbolic.sources import numpy as numpy_random
from draftproof.simulator.symbolic.sources import python as python_random


def packed(function: Any, *arguments: Any, **options: Any) -> tuple[bytes, list[str]]:
    """The function with arguments and options as bytes, and the modules of libraries that they name.

    Raises `InvalidVerifier` for what cannot travel.
    """
    files, told = {}, {}
    names, reached = reach.read((function,))
    try:
        for name, module in list(sys.modules.items()):
            file, places = _home(module)
            home = file or (f"{places[0]}/__init__.py" if places else None)
            if module is not sys.modules["__main__"] and loading.is_theirs(home):
                files[name] = file, places
                if file in reached:
                    told[name], _ = _dumped(dict(held(module, names)), lenient=True)
        sent, libraries = _dumped(((function, *arguments), options, _replaced()))
    except Exception as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise InvalidVerifier(
            f"{name} cannot be sent to the process that judges it: {type(error).__name__}: {error}; put it into a file "
            "of its own, with what it uses"
        ) from error
    return pickle.dumps((files, names, told, sent)), sorted(libraries - files.keys() - {"__main__"})


def _dumped(value: Any, lenient: bool = False) -> tuple[bytes, set[str]]:
    out = io.BytesIO()
    pickler = _Pickler(out, lenient)
    pickler.dump(value)
    return out.getvalue(), pickler.libraries


def _home(module: types.ModuleType) -> tuple[str | None, list[str] | None]:
    """The file of a module, and the places of those inside it; torch has modules that make up every attribute."""
    file, places = vars(module).get("__file__"), vars(module).get("__path__")
    return file if isinstance(file, str) else None, list(places) if isinstance(places, Iterable) else None


def unpacked(data: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The function with its arguments, and the options; what they name of user code is imported afresh.

    Raises `InvalidVerifier` where that fails, or where a global that the function reads has another value there.
    """
    files, names, told, sent = pickle.loads(data)
    loading.FILES.update(files)
    for name, (file, _) in files.items():
        if name in sys.modules and _home(sys.modules[name])[0] != file:
            del sys.modules[name]  # a library's of the same name
    vars(builtins).update(loading.HOOKED)
    try:
        with loading.imports_followed(), patches.applied(keep=True):
            arguments, options, replaced = _Unpickler(io.BytesIO(sent)).load()
            for module, name, value in replaced:
                setattr(importlib.import_module(module), name, value)
            for home in told:
                with suppress(Exception):
                    importlib.import_module(home)  # as the function does
            for home in told.keys() & sys.modules.keys():
                assert_as_sent(home, names, _Unpickler(io.BytesIO(told[home])).load())
    except DraftproofError as error:
        raise InvalidVerifier(str(error)) from error
    except (Exception, SystemExit) as error:
        raise InvalidVerifier(
            f"the function cannot be imported in a process of its own: {type(error).__name__}: {error}; put it into a "
            "file that can be imported by itself"
        ) from error
    return arguments, options


_CACHE = type(functools.lru_cache(len))


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc, unused-ignore]
    """libraries: the modules of libraries whose functions or classes were named. lenient: see `Unsent`."""

    def __init__(self, file: Any, lenient: bool = False) -> None:
        super().__init__(file)
        self.libraries: set[str] = set()
        self._lenient = lenient

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.CodeType):
            return self.dispatch_table[types.CodeType](_hooked(obj))
        if isinstance(obj, types.MappingProxyType):  # of the same dictionary, not of a copy
            return types.MappingProxyType, tuple(gc.get_referents(obj))
        reduced = _of_library(obj) or _generator(obj)
        if reduced is not None:
            return reduced
        if isinstance(obj, (types.FunctionType, type)):
            self.libraries.add(str(obj.__module__))
        elif self._lenient and (stand_in := unsent(obj)) is not None:
            return Unsent, (stand_in.kind,)
        reduced = super().reducer_override(obj)
        if reduced is NotImplemented and _passes_on(obj):
            return *(*obj.__reduce_ex__(pickle.DEFAULT_PROTOCOL), None, None)[:5], _with_attributes
        return _with_names_of_module(obj, reduced) if type(reduced) is tuple else reduced


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _named(module, name)


def _named(module: str, name: str) -> Any:
    """What a module has under a name; a recording one for what is replaced in calls, whatever is there now."""
    holder = importlib.import_module(module)
    known = _recording().get((module, name))
    if known is not None:
        return known
    value = functools.reduce(getattr, name.split("."), holder)
    return patches.ORIGINALS.get(id(value), value)


def _recording() -> dict[tuple[str, str], Any]:
    table = ((holder, name, value) for holder, name, value in patches.table() if isinstance(holder, types.ModuleType))
    return {(holder.__name__, name): value for holder, name, value in table}


class _Names(NamedTuple):
    """The globals of a module, where it is imported afresh."""

    module: str

    def __reduce__(self) -> Any:
        return _names_of, (self.module,)


def _names_of(module: str) -> dict[str, Any]:
    return vars(importlib.import_module(module))


def _with_names_of_module(value: Any, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """A function that travels by value; where it arrives, it reads the globals of its module, if that is imported."""
    module = sys.modules.get(value.__module__ or "")
    if not isinstance(value, types.FunctionType) or module in (None, sys.modules["__main__"]):
        return reduced
    if vars(module) is not value.__globals__:
        return reduced
    make, (code, _, *rest), (state, slots), *others = reduced
    return make, (code, _Names(module.__name__), *rest), (state, slots | {"__globals__": {}}), *others


def _of_library(value: Any) -> Any:
    """How a global generator, a method of one or of a class in C, a compiled function or a cache travels, else None."""
    owner = getattr(value, "__self__", None)
    home = next((name for name, one in SHARED.items() if owner is one), None)
    if home is not None:
        return _named, (home, value.__name__)
    if value is SHARED["numpy.random"]:
        return _named, ("numpy.random.mtrand", "_rand")
    if isinstance(value, types.MethodType) and not isinstance(value.__func__, types.FunctionType):
        return getattr, (owner, value.__func__.__name__)
    if isinstance(value, _CACHE) and unsent(value) is not None:  # of a method, or of a function inside another
        return _cached, (value.__wrapped__, value.cache_parameters())
    source = source_of(value)
    return None if source is None else (_itself, (source,))


def _cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _itself(value: Any) -> Any:
    return value


def _generator(value: Any) -> Any:
    """How a generator travels, with its class and the attributes of its own; None for anything else."""
    torch: Any = sys.modules.get("torch")
    made: tuple[Any, tuple[Any, ...]]
    if isinstance(value, random.Random):
        state = None if isinstance(value, random.SystemRandom) else random.Random.getstate(value)
        made = _bare_random, (_class_of(value, python_random.RecordingRandom, random.Random), state)
    elif isinstance(value, np.random.Generator):
        kind = _class_of(value, numpy_random.RecordingGenerator, np.random.Generator)
        made = _bare_numpy, (kind, np.random.Generator, value.bit_generator)
    elif isinstance(value, np.random.RandomState):
        kind = _class_of(value, numpy_random.RecordingState, np.random.RandomState)
        made = _bare_numpy, (kind, np.random.RandomState, value._bit_generator)
    elif torch is not None and value is torch.default_generator:
        return _named, ("torch", "default_generator")
    elif torch is not None and isinstance(value, torch.Generator):
        kind, state = _class_of(value, None, torch.Generator), torch.Generator.get_state(value)
        made = _bare_torch, (kind, str(value.device), state)
    else:
        return None
    own = {name: item for name, item in getattr(value, "__dict__", {}).items() if not name.startswith("_draftproof")}
    return *made, own, None, None, _with_attributes


def _class_of(value: Any, recording: Any, original: Any) -> Any:
    return original if type(value) is recording else type(value)


def _bare_random(kind: Any, state: Any) -> Any:
    made = kind.__new__(kind)
    if state is not None:
        python_random.RecordingRandom.setstate(made, state)
    return made


def _bare_numpy(kind: Any, base: Any, source: Any) -> Any:
    made = kind.__new__(kind)
    base.__init__(made, source)
    return made


def _bare_torch(kind: Any, device: str, state: Any) -> Any:
    made = kind.__new__(kind, device)
    sys.modules["torch"].Generator.__init__(made, device)
    sys.modules["torch"].Generator.set_state(made, state)
    return made


def _passes_on(value: Any) -> bool:
    """Whether a class asks something else for attributes, which it cannot do before it has its own."""
    kind: Any = type(value)
    own = isinstance(getattr(kind, "__getattr__", None), types.FunctionType) and not hasattr(kind, "__setstate__")
    return own and kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__


def _with_attributes(value: Any, own: Any) -> None:
    held, slots = own if isinstance(own, tuple) else (own, {})
    for name, part in {**(held or {}), **slots}.items():
        object.__setattr__(value, name, part)


def _hooked(code: types.CodeType) -> types.CodeType:
    """The same code, compiled from its source with hooks; itself where there is no source of it."""
    if not loading.is_theirs(code.co_filename):
        return code
    linecache.checkcache(code.co_filename)
    compiled = _compiled(code.co_filename, "".join(linecache.getlines(code.co_filename)))
    rewritten = "@pytest_ar" in code.co_names  # for its assertions
    return next((hooked for plain, hooked in compiled if plain == code or (rewritten and _alike(plain, code))), code)


def _alike(code: types.CodeType, other: types.CodeType) -> bool:
    return all(getattr(code, name) == getattr(other, name) for name in ("co_qualname", "co_firstlineno", "co_freevars"))


@functools.lru_cache(maxsize=16)
def _compiled(file: str, source: str) -> list[tuple[types.CodeType, types.CodeType]]:
    """All code of a file, as Python compiles it and with hooks."""
    try:
        plain = compile(source, file, "exec", dont_inherit=True)
        hooked = compile(loading.recorded(ast.parse(source)), file, "exec", dont_inherit=True)
    except SyntaxError:
        return []
    return list(zip(_codes(plain), _codes(hooked), strict=True))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


#: Libraries whose functions tests put stubs in place of.
_LIBRARIES = ("random", "math", "numpy", "scipy", "torch", "transformers")


def _replaced() -> list[tuple[str, str, Any]]:
    """What user code has put in place of functions of libraries in this process: module, name, stub."""
    loaded = [(name, module) for name, module in list(sys.modules.items()) if name.partition(".")[0] in _LIBRARIES]
    return [
        (home, name, value)
        for home, module in loaded
        for name, value in (list(vars(module).items()) if module is not None else ())
        if _is_stub(value)
    ]


def _is_stub(value: Any) -> bool:
    if type(value) is types.FunctionType:  # some objects warn when they are asked for their class
        return loading.is_theirs(
            getattr(sys.modules.get(value.__module__), "__file__", None) or value.__code__.co_filename
        )
    return type(value).__module__ == "unittest.mock"
