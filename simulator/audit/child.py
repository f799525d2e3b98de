"""The process that judges functions of this one: it imports them afresh, with random sources replaced.

It is started at the first audit, and ended with this process. It runs no user code itself, but keeps the libraries
imported, and forks for every audit; so no audit sees what another one has left behind.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NamedTuple, NoReturn

from draftproof.simulator.errors import DraftproofError, InvalidVerifier
from draftproof.simulator.symbolic import patches

#: Packages that take long to be imported: what this process has of them is imported before the first fork.
KEPT = ("torch", "transformers", "triton", "pandas", "sklearn")
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; from draftproof.simulator.audit.child import serve; serve(sys.argv[1])"
)


class Work(NamedTuple):
    """What a forked process does. call: "MODULE:NAME" of a function; it gets `argument`.

    modules: to be imported before. environment, path, arguments, folder: those of the process that asks.
    """

    call: str
    argument: bytes
    modules: list[str]
    environment: dict[str, str]
    path: list[str]
    arguments: list[str]
    folder: str


class _Server:
    """The process and the pipe to it."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        self.sent: set[str] = set()
        self.pipe, theirs = Pipe()
        command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), *sys.path]
        self.process = subprocess.Popen(
            command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()

    def ask(self, work: Work) -> Any:
        loaded = [name for name in list(sys.modules) if name.partition(".")[0] in KEPT and name not in self.sent]
        self.pipe.send(work._replace(modules=[*work.modules, *loaded]))
        self.sent.update(loaded)
        return self.pipe.recv()

    def end(self) -> int:
        """End it with all that it has forked, and return its exit code."""
        if os.getpid() == self.parent:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.pipe.close()
        return self.process.returncode or 0


_lock = threading.Lock()
_servers: list[_Server] = []
#: True in a process that judges: what user code asks for while it is imported there has been asked for before.
judging = False


def result_of(call: str, argument: bytes, modules: list[str]) -> Any:
    """What a function returns in a process of its own; see `Work`. Its errors are raised here.

    Raises `InvalidVerifier` where that process ends without an answer.
    """
    work = Work(call, argument, modules, dict(os.environ), sys.path, sys.argv, os.getcwd())
    with _lock:
        server = _current()
        try:
            kind, text, error = server.ask(work)
        except (EOFError, OSError):
            _servers.remove(server)
            kind, text, error = "ended", _ending(-server.end()), ""
        except BaseException:  # Ctrl-C
            _servers.remove(server)
            server.end()
            raise
    if kind == "ended":
        raise InvalidVerifier(f"the process that ran your code was ended {text} before it gave a verdict")
    if kind == "error":
        module, _, name = error.partition(":")
        raised = getattr(importlib.import_module(module), name)
        raise raised.__new__(raised, text)
    if kind == "failed":
        raise RuntimeError(f"the process of an audit failed:\n{text}")
    return text


def _current() -> _Server:
    if _servers and _servers[0].parent != os.getpid():  # this process was forked
        _servers.clear()
    if not _servers:
        _servers.append(_Server())
    return _servers[0]


@atexit.register
def end() -> None:
    """End the process, if there is one; the next audit starts another."""
    while _servers:
        _servers.pop().end()


def serve(descriptor: str) -> NoReturn:
    """Fork for every `Work` that comes through the pipe, until the process at its other end closes it or ends."""
    os.set_inheritable(int(descriptor), False)
    os.dup2(2, 1)  # what user code writes is no result
    pipe = Connection(int(descriptor))
    with suppress(EOFError, OSError):
        while True:
            work = pipe.recv()
            _prepare(work)
            reading, worker = _forked(work, pipe)
            if pipe in wait([pipe, reading]):
                break
            try:
                answer = reading.recv()
            except EOFError:
                answer = None
            reading.close()
            os.kill(worker, signal.SIGKILL)
            _, status = os.waitpid(worker, 0)
            pipe.send(answer or ("ended", _ending(-os.waitstatus_to_exitcode(status)), ""))
    os.killpg(0, signal.SIGKILL)
    raise SystemExit


def _ending(number: int) -> str:
    return f"by signal {number} ({signal.Signals(number).name})" if number > 0 else f"with exit code {-number}"


def _prepare(work: Work) -> None:
    os.environ.clear()
    os.environ.update(work.environment)
    sys.path[:] = work.path
    if "triton" in work.modules or "triton" in sys.modules:
        os.environ["TRITON_INTERPRET"] = "1"  # as for every file with kernels
    for name in work.modules:
        with suppress(Exception):
            importlib.import_module(name)
    importlib.import_module(work.call.partition(":")[0])
    patches.table()
    gc.freeze()


def _forked(work: Work, pipe: Connection) -> tuple[Connection, int]:
    reading, writing = Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forks beside threads, which libraries have started
        worker = os.fork()
    if worker == 0:
        pipe.close()
        reading.close()
        try:
            writing.send(_answer(work))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(0)
    writing.close()
    return reading, worker


def _answer(work: Work) -> tuple[str, Any, str]:
    """What came of it: "returned", "error" (of draftproof, with its class) or "failed", and the result or the text."""
    global judging  # noqa: PLW0603 - there is one process
    judging = True
    sys.argv[:] = work.arguments
    os.chdir(work.folder)
    module, _, name = work.call.partition(":")
    function: Callable[[bytes], Any] = getattr(importlib.import_module(module), name)
    try:
        return "returned", function(work.argument), ""
    except DraftproofError as error:
        return "error", str(error), f"{type(error).__module__}:{type(error).__name__}"
    except BaseException:
        return "failed", traceback.format_exc(), ""
