"""A limit on the time of work that looks at no clock, such as exact arithmetic on very long numbers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from draftproof.simulator.errors import TooLarge

#: Seconds after which the alarm rings again: what it raises inside a callback of the interpreter is swallowed there.
AGAIN = 0.05


class _Late(BaseException):
    """The alarm: no error, so that what handles errors of its own inside does not take it for one of them."""


@contextmanager
def limited(seconds: float | None, message: str) -> Iterator[None]:
    """Raise `TooLarge` with this message where the work inside takes longer; None: it may take any time.

    One operation on numbers is never cut short. Only the main thread of a process can be limited.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    armed = True

    def late(number: int, frame: Any) -> None:
        if armed:
            raise _Late

    remaining, again = signal.getitimer(signal.ITIMER_REAL)
    before = signal.signal(signal.SIGALRM, late)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)  # it may ring at once
            yield
        finally:
            armed = False
    except _Late:
        raise TooLarge(message) from None
    finally:  # also where it rang between the end of the work and the line before
        armed = False
        signal.setitimer(signal.ITIMER_REAL, remaining, again)
        signal.signal(signal.SIGALRM, before)
