"""Processes that end when the one that needs them is gone, however that ended, and when they are told to."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress

#: Seconds between two looks at whether the parent is still there.
PERIOD = 0.5
#: Seconds that a process has to end by itself, and again after SIGTERM.
GRACE = 1.0


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
