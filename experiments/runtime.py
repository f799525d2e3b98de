"""The operating system for the command line: signals, streams, limits of time, files in one step, processes.

User-defined code runs in a process of its own, so that whatever it does to that process is never read as a verdict.
`check` and `audit` ask a worker process for its runs, and judge here. Any other command that is given such code runs as
a whole in another process, which sends its exit code through a pipe once everything it wrote has arrived; the code that
the process ends with stands for no verdict.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TextIO

from draftproof.experiments.shared.code import PYTHON_FILE
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.errors import InvalidInput, TooLarge

#: Exit codes that say something about a verifier: lossless, refuted, a proof with gaps.
VERDICTS = (0, 1, 3)
#: Seconds that a command has to end by itself after Ctrl-C or SIGTERM.
PATIENCE = 5.0
#: Seconds between two looks at whether the parent is still there.
PERIOD = 0.5
#: Seconds that a process has to end by itself, and again after SIGTERM.
GRACE = 1.0
#: Options that let a command run code which the command line itself does not name.
_OPTIONS = ("--allow-code", "--checkout")
_PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.cli import supervised; supervised()"


@contextmanager
def interrupted_by_signals() -> Iterator[list[int]]:
    """Both SIGTERM and Ctrl-C raise `KeyboardInterrupt` inside; the list has the signals that came.

    It has them also where something swallowed the exception: no verdict comes after a signal.
    """
    signals: list[int] = []

    def end(number: int, frame: Any) -> None:
        signals.append(number)
        if getattr(getattr(sys.modules.get("torch"), "__spec__", None), "_initializing", False):
            os._exit(128 + number)  # C++ code in that import lets no exception pass
        raise KeyboardInterrupt

    def unraisable(what: Any) -> None:
        if not signals:  # objects that a signal left incomplete may fail when they are removed
            hook(what)

    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before, hook = {signal.SIGTERM: signal.signal(signal.SIGTERM, end)}, sys.unraisablehook
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a background job ignores Ctrl-C
        before[signal.SIGINT] = signal.signal(signal.SIGINT, end)
    sys.unraisablehook = unraisable
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def open_streams() -> TextIO:
    """Standard output, able to take any text; raises `InvalidInput` where it is closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open until the program ends
    if sys.stdout is None:
        raise InvalidInput("standard output is closed; send it to a file, or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return sys.stdout


def delivered(stream: TextIO, code: int) -> int:
    """The exit code of a verdict, once all that was written has arrived; raises `InvalidInput` or `BrokenPipeError`."""
    try:
        stream.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"standard output could not be written: {reason}; there is no verdict") from None
    if sys.stdout is not stream:
        raise InvalidInput("something has replaced standard output, so the verdict did not arrive; take that out")
    return code


def flush_or_discard() -> None:
    """Flush standard output; where that fails, discard what is left, as the interpreter would fail on it once more."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Late(BaseException):
    """Raised by the alarm; no `Exception`, so that no handler inside takes it for an error of its own."""


@contextmanager
def limited(seconds: float | None, message: str) -> Iterator[None]:
    """Raise `TooLarge` with this message where the work inside takes longer; None: it may take any time.

    For work that looks at no clock, such as exact arithmetic on very long numbers. One operation on numbers is never
    cut short. Only the main thread of a process can be limited, and one limit at a time.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def late(number: int, frame: Any) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Late:  # also where it rang between the end of the work and the line before
        raise TooLarge(message) from None
    finally:
        signal.signal(signal.SIGALRM, before)


@contextmanager
def temporary(place: Path, name: str, folder: bool = False) -> Iterator[Path]:
    """A new empty file or folder in `place`, named after `name`; removed at the end if it is still there then.

    Raises `OSError`.
    """
    prefix = f".{name[:50]}."  # file systems have a longest name
    if folder:
        path = Path(tempfile.mkdtemp(".part", prefix, place))
    else:
        handle, made = tempfile.mkstemp(".part", prefix, place)
        os.close(handle)
        path = Path(made)
    try:
        yield path
    finally:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def end_with(parent: int) -> None:
    """End this process soon after `parent`, the process that started it, has ended; also if it already has.

    A parent killed outright tells nobody, but its children get another parent.
    """
    parent_now, wait = os.getppid, time.sleep  # as they are now: an audit replaces them while it follows a function

    def watch() -> None:
        while parent_now() == parent:
            wait(PERIOD)
        os._exit(143)

    threading.Thread(target=watch, daemon=True).start()


def ended(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a process that leads a session; what is left of the session is told to end, then killed."""
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(GRACE)
    return process.wait()


def names_code(arguments: Sequence[str]) -> bool:
    """Whether user-defined code may be run: a Python file, a module (`audit`), a checkout, or files of a TOML."""
    return "audit" in arguments or any(
        PYTHON_FILE.search(argument) or argument.partition("=")[0] in _OPTIONS for argument in arguments
    )


def runs_in_worker(arguments: Sequence[str]) -> bool:
    """Whether the user-defined code is one verifier or function only, whose runs a worker process can make."""
    command = next((each for each in arguments if not (each.startswith("-") or each.isdecimal())), "")
    schemes = [value for flag, value in pairwise((*arguments, "")) if flag == "--scheme"]
    schemes += [each for each in arguments if each.startswith("--scheme=")]
    engine = any("structured" in each for each in arguments)  # a structure cannot be used through a worker
    return command in ("check", "audit") and not engine and not any(map(PYTHON_FILE.search, schemes))


def supervise(arguments: Sequence[str]) -> int:
    """Run the command in a child process; the exit code that it sends through the pipe, 2 where it sends none."""
    reading, writing = os.pipe()
    command = [sys.executable, "-P", "-c", _PROGRAM, str(writing), str(os.getpid()), *arguments]
    child = subprocess.Popen(command, pass_fds=(writing,), start_new_session=True)
    os.close(writing)
    signals: list[tuple[float, int]] = []

    def forward(number: int, frame: Any) -> None:
        signals.append((time.monotonic(), number))
        with suppress(ProcessLookupError):
            child.send_signal(number)

    forwarded: dict[int, Callable[..., Any] | int | None] = {
        number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        code_sent = _received_code(reading, child, signals)
        code = ended(child)
    finally:
        for number, handler in forwarded.items():
            signal.signal(number, handler)
        os.close(reading)
    if code_sent is not None:
        return code_sent
    if signals:
        return 128 + signals[0][1]
    how = f"with exit code {code}" if code >= 0 else f"by signal {-code} ({signal.Signals(-code).name})"
    remark(f"draftproof: no verdict: the process that ran your code was ended {how} before it gave one")
    return 2


def _received_code(reading: int, child: subprocess.Popen[bytes], signals: Sequence[tuple[float, int]]) -> int | None:
    """The exit code from the pipe; None where the process ended, or was too slow to end, without sending one."""
    text = b""
    while not (signals and time.monotonic() - signals[0][0] > PATIENCE):
        alive = child.poll() is None
        if select.select([reading], [], [], 0.1 if alive else 0)[0]:
            part = os.read(reading, 4096)
            text += part
            if text.endswith(b"\n"):
                with suppress(ValueError, TypeError, KeyError):
                    return int(json.loads(text)["exit"])
                return None
            alive = alive and bool(part)
        if not alive:
            return None
    return None


def send_exit_code(channel: int, code: int) -> NoReturn:
    """Send the exit code to the waiting process, and exit with it."""
    with suppress(OSError):
        os.write(channel, json.dumps({"exit": code}).encode() + b"\n")
    sys.exit(code)


def supervised(channel: str, parent: str) -> int:
    """Prepare a supervised process: it ends when its parent ends, and its children do not inherit the pipe."""
    os.set_inheritable(int(channel), False)
    end_with(int(parent))
    return int(channel)
