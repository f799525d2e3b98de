"""Values that differ from run to run and come from no generator: refused, or `Nondeterministic`."""

from __future__ import annotations

import builtins
import datetime
import functools
import gc
import numbers
import os
import random as _random
import ssl
import sys
import threading
import time
import timeit
import uuid
import weakref
from typing import Any

from draftproof.simulator.changes import written
from draftproof.simulator.origins import is_under_audit
from draftproof.simulator.symbolic.decide.session import Session, current, followed, in_calls, refused_in_calls
from draftproof.simulator.symbolic.numbers.nondeterministic import Nondeterministic
from draftproof.simulator.symbolic.where import called_from_audited_code, refusal

#: Why randomness of the operating system is refused, and what to do.
_OF_SYSTEM = (
    "randomness of the operating system (os.urandom, secrets, an unseeded generator) cannot be enumerated",
    "draw from random, numpy.random or torch, or give a seed",
)


def _read(original: Any, what: str, like: Any) -> Any:
    """The function, which gives audited code a `Nondeterministic` value."""

    def function(*arguments: Any, **options: Any) -> Any:
        return Nondeterministic(what, like) if _asked() else original(*arguments, **options)

    return functools.update_wrapper(function, original)


def _asked() -> bool:
    """Whether audited code called the recording function that asks."""
    name = sys._getframe(2).f_code.co_filename
    return followed() and is_under_audit(name)


def _moments(kind: Any) -> Any:
    """A class of `datetime` whose `now` and `today` are `Nondeterministic`."""

    def now(name: str) -> Any:
        def method(cls: Any, *arguments: Any) -> Any:
            return Nondeterministic("the clock", kind) if _asked() else getattr(kind, name)(*arguments)

        return classmethod(method)

    names = [name for name in ("now", "utcnow", "today") if hasattr(kind, name)]
    meta = type(kind.__name__, (type,), {"__instancecheck__": lambda cls, value: isinstance(value, kind)})
    return meta(kind.__name__, (kind,), {name: now(name) for name in names} | {"__doc__": kind.__doc__})


def _addressed(original: Any) -> Any:
    def function(value: Any) -> Any:
        return Nondeterministic("an address (id)", int, original(value)) if _asked() else original(value)

    return functools.update_wrapper(function, original)


def _hashed(original: Any) -> Any:
    def function(value: Any) -> Any:
        number = original(value)
        if sys._getframe(1).f_code.co_name == "__hash__":  # which must give an int; who asks for that hash comes here
            return number
        return Nondeterministic("a hash", int) if _asked() and not _is_steady(value) else number

    return functools.update_wrapper(function, original)


def _is_steady(value: Any) -> bool:
    """Whether the hash of a value is the same in every process: of numbers and tuples of them."""
    return all(map(_is_steady, value)) if isinstance(value, tuple) else isinstance(value, numbers.Number)


def _refused(name: str, original: Any) -> Any:
    def rule(session: Session, *arguments: Any, **options: Any) -> Any:
        if called_from_audited_code():
            raise refusal(f"{name} cannot be enumerated")
        return original(*arguments, **options)

    return in_calls(original, rule)


#: Audit events of Python (`sys.audit`) through which outside state enters, in words.
_OUTSIDE = {
    "subprocess.Popen": "another process", "os.system": "another process", "os.fork": "another process",
    "os.posix_spawn": "another process", "os.exec": "another process", "os.forkpty": "another process",
    "pty.spawn": "another process", "socket.connect": "the network", "socket.bind": "the network",
    "socket.sendto": "the network", "socket.getaddrinfo": "the network", "ctypes.dlopen": "a library of C (ctypes)",
    "ctypes.dlsym": "a function of C (ctypes)", "ctypes.call_function": "a function of C (ctypes)",
    "os.putenv": "a change of the environment", "os.unsetenv": "a change of the environment",
    "_thread.start_new_thread": "a thread", "_thread.start_joinable_thread": "a thread",
}  # fmt: skip


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if current() is None:
        return
    what = _OUTSIDE.get(event) or written(event, arguments)
    if event == "open" and not _is_a_file(arguments[0]):
        what = f"{arguments[0]}, which is no file that keeps its content,"
    if what is not None and called_from_audited_code():
        raise refusal(f"{what} cannot be followed", "do it before or after the call")


def _is_a_file(path: Any) -> bool:
    """Whether a path is a file with fixed content: no device, nothing below /proc or /sys."""
    if isinstance(path, int):
        return True
    name = os.path.realpath(os.fsdecode(path))
    if name == os.devnull:
        return True
    return not name.startswith(("/proc/", "/sys/")) and (os.path.isfile(name) or not os.path.exists(name))


sys.addaudithook(_watch)


class _Outside:
    """A stub for what was opened before the call, and is not in memory of Python: what it is, in words."""

    def __init__(self, what: str) -> None:
        self._draftproof_what = what

    def __getattr__(self, name: str) -> Any:
        raise refusal(f"{self._draftproof_what} cannot be followed")

    def __call__(self, *arguments: Any) -> Any:
        raise refusal(f"{self._draftproof_what} cannot be followed")


def stub_of(value: Any) -> Any:
    """A stub that refuses, for a library or function of ctypes and for a database; None for anything else."""
    ctypes, sqlite = sys.modules.get("ctypes"), sys.modules.get("sqlite3")
    if ctypes is not None and isinstance(value, (ctypes.CDLL, ctypes._CFuncPtr)):
        return _Outside("a library or function of C (ctypes)")
    if sqlite is not None and isinstance(value, (sqlite.Connection, sqlite.Cursor)):
        return _Outside("a database (sqlite3)")
    return None


def _started(original: Any) -> Any:
    def rule(session: Session, thread: Any) -> None:
        if type(thread).__module__.partition(".")[0] != "tqdm":  # which computes nothing
            raise refusal("a thread is started, which cannot be followed", "call the function without threads")
        original(thread)

    return in_calls(original, rule)


def _cache(original: Any) -> Any:
    """What makes a cache of `lru_cache`; how often that is asked is state, what it holds is none."""

    def make(*arguments: Any) -> Any:
        made = original(*arguments)
        made.cache_info = _refused("how often a cache was asked (cache_info)", made.cache_info)
        return made

    return make


def _of_holders(holder: Any, name: str) -> Any:
    original = getattr(holder, name)

    def function(*arguments: Any) -> Any:
        if _asked():  # asyncio looks at its tasks like this, which decides nothing
            raise refusal(f"who else holds an object ({holder.__name__}.{name}) cannot be enumerated")
        return original(*arguments)

    return functools.update_wrapper(function, original)


_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime")
#: What differs from run to run: holder, name, what it is, and the type of the real value.
_READ: tuple[tuple[Any, str, str, Any], ...] = (
    *((time, name, "the clock", float) for name in _CLOCKS if hasattr(time, name)),
    *((time, f"{name}_ns", "the clock", int) for name in _CLOCKS if hasattr(time, name)),
    *((time, name, "the clock", str) for name in ("ctime", "asctime", "strftime")),
    *((time, name, "the clock", time.struct_time) for name in ("localtime", "gmtime")),
    (timeit, "default_timer", "the clock", float),
    *((os, name, "a number of the process", int) for name in ("getpid", "getppid", "times", "getloadavg")),
)
#: What shows who else holds an object: an audit holds others than a caller does.
_WEAK = (weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary)
_HOLDERS: tuple[tuple[Any, str], ...] = (
    *((sys, name) for name in ("getrefcount", "getallocatedblocks")),
    *((gc, name) for name in ("get_count", "get_objects", "get_referrers", "get_stats")),
    *((weakref, name) for name in ("getweakrefcount", "getweakrefs")),
    *((kind, "__len__") for kind in _WEAK),
    (weakref.WeakSet, "__iter__"),
)


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for what differs from run to run, and for threads."""
    replaced = [
        *((holder, name, _read(getattr(holder, name), what, like)) for holder, name, what, like in _READ),
        *((datetime, name, _moments(getattr(datetime, name))) for name in ("datetime", "date")),
        *((uuid, name, _refused(f"uuid.{name}", getattr(uuid, name))) for name in ("uuid1", "uuid4", "getnode")),
        *((holder, name, _of_holders(holder, name)) for holder, name in _HOLDERS if hasattr(holder, name)),
        (ssl, "RAND_bytes", _refused("ssl.RAND_bytes", ssl.RAND_bytes)),
        (builtins, "id", _addressed(builtins.id)),
        (builtins, "hash", _hashed(builtins.hash)),
        (os, "urandom", refused_in_calls(os.urandom, *_OF_SYSTEM)),
        (_random, "_urandom", refused_in_calls(os.urandom, *_OF_SYSTEM)),
        (functools, "_lru_cache_wrapper", _cache(vars(functools)["_lru_cache_wrapper"])),
        (threading.Thread, "start", _started(threading.Thread.start)),
    ]
    if hasattr(os, "getrandom"):
        replaced.append((os, "getrandom", refused_in_calls(os.getrandom, *_OF_SYSTEM)))
    return [item for item in replaced if hasattr(item[0], item[1])]
