"""What the command line needs of the operating system: signals, streams, time limits, temporary files, processes.

A command with user-defined code runs as a whole in a child process, which sends its exit code through a pipe once
everything it wrote has arrived; how that process ends is no verdict.
"""

import gc
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
from pathlib import Path
from typing import Any, NoReturn, TextIO

from draftproof.experiments.shared.code import PYTHON_FILE
from draftproof.experiments.shared.progress import remark
from draftproof.simulator.errors import InvalidInput, TooLarge

#: Exit codes that are verdicts: lossless, refuted, not refuted but not proved.
VERDICTS = (0, 1, 3)
#: Seconds that a command may take to end after Ctrl-C or SIGTERM.
END_SECONDS = 5.0
#: Seconds between two checks whether the parent is alive, and between two alarms.
PERIOD = 0.5
#: Seconds that a process may take to end by itself, and again after SIGTERM.
GRACE = 1.0
#: Options with which a command runs code that the command line does not name.
_OPTIONS = ("--allow-code",)
#: The folder that paths are relative to in a child process; "" where it is the present one.
_start = ""
_PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.cli import child; child()"


@contextmanager
def interrupted_by_signals() -> Iterator[list[int]]:
    """Both SIGTERM and Ctrl-C raise `KeyboardInterrupt` inside; yields the list of the signals that came.

    The list has them also where some code caught the exception, so that no verdict is given after a signal.
    """
    signals: list[int] = []

    def end(number: int, frame: Any) -> None:
        signals.append(number)
        if getattr(getattr(sys.modules.get("torch"), "__spec__", None), "_initializing", False):
            os._exit(128 + number)  # C++ code in the import of torch aborts on a Python exception
        raise KeyboardInterrupt

    def unraisable(what: Any) -> None:
        if not signals:  # objects that a signal left incomplete may fail in their destructor
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
    """Standard output, set to escape characters that it cannot encode; raises `InvalidInput` where it is closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open until the program ends
    if sys.stdout is None:
        raise InvalidInput("standard output is closed; send it to a file, or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return sys.stdout


def delivered(stream: TextIO, code: int) -> int:
    """Flush standard output and return the exit code; raises `InvalidInput` or `BrokenPipeError` where that fails."""
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
    """Flush standard output; where that fails, send the rest to /dev/null, so that the interpreter's flush succeeds."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _TimeUp(BaseException):
    """Raised by the alarm; no `Exception`, so that `except Exception` inside does not catch it."""


@contextmanager
def limited(seconds: float | None, message: str) -> Iterator[None]:
    """Raise `TooLarge` with this message where the work inside takes longer than so many seconds; None: no limit.

    For work that does not check a clock, such as exact arithmetic on very long numbers. A single operation on numbers
    is not interrupted. It works in the main thread of a process only, and limits cannot be nested.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    collecting = False

    def beside(phase: str, info: Any) -> None:
        nonlocal collecting
        collecting = phase == "start"

    def late(number: int, frame: Any) -> None:
        if not (collecting or _swallows(frame)):
            raise _TimeUp

    gc.callbacks.append(beside)
    before = signal.signal(signal.SIGALRM, late)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, PERIOD)  # again, where nobody saw the first one
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeUp:  # outer `try`, as the alarm may also come before the timer is cleared
        raise TooLarge(message) from None
    finally:
        signal.signal(signal.SIGALRM, before)
        gc.callbacks.remove(beside)


def _swallows(frame: Any) -> bool:
    """Whether Python would drop an exception that is raised here: in a finalizer, or beside collections of garbage."""
    beside = [getattr(callback, "__code__", None) for callback in gc.callbacks]
    while frame is not None:
        if frame.f_code in beside or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


@contextmanager
def temporary(place: Path, name: str, folder: bool = False) -> Iterator[Path]:
    """A new empty file or folder in `place`, named after `name`; removed at the end if it is still there then.

    Raises `OSError`.
    """
    prefix = f".{name[:50]}."  # file systems limit the length of names
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
    """Start a thread that ends this process soon after its parent has ended, even if that has been killed."""

    parent_now, wait = os.getppid, time.sleep  # kept here, as audits replace them in their modules

    def watch() -> None:
        while parent_now() == parent:
            wait(PERIOD)
        os._exit(143)

    threading.Thread(target=watch, daemon=True).start()


def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process that leads a session, end its session with SIGTERM and SIGKILL if needed; its exit code."""
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(GRACE)
    return process.wait()


def names_code(arguments: Sequence[str]) -> bool:
    """Whether the command may run user-defined code: a Python file, what `audit` is given, files of a TOML."""
    return "audit" in arguments or any(
        PYTHON_FILE.search(argument) or argument.partition("=")[0] in _OPTIONS for argument in arguments
    )


def run_in_child(arguments: Sequence[str]) -> int:
    """Run the command in a child process and return the exit code that it sends through a pipe; 2 if it sends none."""
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
        number: signal.signal(number, forward)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as `nohup` and background jobs ask for
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
    """The exit code from the pipe; None where the process ended without one, or did not end in time after a signal."""
    text = b""
    while not (signals and time.monotonic() - signals[0][0] > END_SECONDS):
        alive = child.poll() is None
        if select.select([reading], [], [], 0.1 if alive else 0)[0]:
            part = os.read(reading, 4096)
            text += part
            if text.endswith(b"\n"):
                with suppress(ValueError):
                    return int(text)
                return None
            alive = alive and bool(part)
        if not alive:
            return None
    return None


def placed(path: str | Path) -> Path:
    """A path of the command line, also after user-defined code has changed the working directory."""
    return Path(_start, path)


def send_exit_code(channel: int, code: int) -> NoReturn:
    """Send the exit code to the waiting process, and exit with it."""
    with suppress(OSError):
        os.write(channel, b"%d\n" % code)
    sys.exit(code)


def begin_child(channel: str, parent: str) -> int:
    """Prepare the child process: it ends with its parent, and its own children do not inherit the pipe.

    Standard output is for results alone: what user-defined code writes past Python's streams goes to stderr.
    """
    global _start  # noqa: PLW0603 - there is one folder in which a process starts
    _start = os.getcwd()
    os.set_inheritable(int(channel), False)
    end_with(int(parent))
    out = sys.stdout
    if out is not None and sys.stderr is not None:
        sys.stdout = open(  # noqa: SIM115 - open until the program ends
            os.dup(1), "w", encoding=out.encoding, errors=out.errors, buffering=1 if out.line_buffering else -1
        )
        os.dup2(2, 1)
    return int(channel)
