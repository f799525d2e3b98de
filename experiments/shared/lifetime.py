"""Processes that end when the one that needs them is gone, however that ended."""

from __future__ import annotations

import os
import threading
import time

#: Seconds between two looks at whether the parent is still there.
PERIOD = 0.5


def end_with(parent: int) -> None:
    """End this process soon after `parent`, the process that started it, has ended; also if it already has.

    A parent killed outright tells nobody, but its children get another parent.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PERIOD)
        os._exit(143)

    threading.Thread(target=watch, daemon=True).start()
