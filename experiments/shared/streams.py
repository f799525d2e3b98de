"""What the program writes to, and how it ends: nothing counts as said before it has arrived."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from draftproof.simulator.errors import InvalidInput

#: Characters of a message.
MOST_MESSAGE = 280
#: Seconds after which a signal comes again whose exception was swallowed, or would have come at the wrong time.
AGAIN = 0.1


@dataclass(frozen=True)
class Out:
    """Standard output as it was when the program began: the stream, and the file behind it."""

    stream: TextIO
    behind: tuple[int, int] | None


def open_streams() -> Out:
    """Standard output, able to take any text; raises `InvalidInput` where it is closed."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open until the program ends
    if sys.stdout is None:
        raise InvalidInput("standard output is closed; send it to a file, or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return Out(sys.stdout, _behind(sys.stdout))


def _behind(stream: Any) -> tuple[int, int] | None:
    try:
        found = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def delivered(out: Out, code: int) -> int:
    """The exit code of a verdict, once all that was written has arrived; raises `InvalidInput` or `BrokenPipeError`."""
    try:
        out.stream.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"standard output could not be written: {reason}; there is no verdict") from None
    if sys.stdout is not out.stream or _behind(out.stream) != out.behind:
        raise InvalidInput("something has replaced standard output, so the verdict did not arrive; take that out")
    return code


def quietly_closed() -> None:
    """Leave nothing to be flushed by an interpreter that ends: it would fail again where writing failed."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _importing_torch() -> bool:
    """Then an exception would abort the whole process: C++ code there does not let it pass."""
    return bool(getattr(getattr(sys.modules.get("torch"), "__spec__", None), "_initializing", False))


@contextmanager
def told_to_end() -> Iterator[list[int]]:
    """SIGTERM ends the work as Ctrl-C does; the list has those of both that have come.

    What a handler raises inside a callback of the interpreter, such as `__del__`, is swallowed there: both come again,
    at the latest when the work is over. So they do where they meet the import of torch.
    """
    came: list[int] = []
    late: list[threading.Timer] = []

    def end(number: int, frame: Any) -> None:
        came.append(number)
        if _importing_torch():
            again(number)
        else:
            settled()
            raise KeyboardInterrupt

    def again(number: int) -> None:
        late.append(threading.Timer(AGAIN, _thread.interrupt_main, (number,)))
        late[-1].daemon = True
        with suppress(RuntimeError):  # no thread to be had: it comes when the work is over
            late[-1].start()

    def settled() -> bool:
        """Whether a signal was still to come; it will not come any more."""
        for timer in late:
            timer.cancel()
        found = bool(late)
        late.clear()
        return found

    def swallowed(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            if not came:  # what a signal leaves half made may complain while it is removed
                hook(unraisable)
            return
        again(came[-1] if came else signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before, hook = {signal.SIGTERM: signal.signal(signal.SIGTERM, end)}, sys.unraisablehook
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background does not hear Ctrl-C
        before[signal.SIGINT] = signal.signal(signal.SIGINT, end)
    sys.unraisablehook = swallowed
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
        to_come = settled()
    if to_come:
        raise KeyboardInterrupt
