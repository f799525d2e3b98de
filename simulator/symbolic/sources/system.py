"""What nobody would notice during a call, refused: the operating system's randomness, and threads beside torch."""

from __future__ import annotations

import os
import random as _random
import threading
from typing import Any

from draftproof.simulator.symbolic.knowledge.session import current
from draftproof.simulator.symbolic.where import refusal


def _recorded(original: Any) -> Any:
    def function(size: int) -> bytes:
        if current() is not None:
            raise refusal(
                "randomness of the operating system (os.urandom, secrets, an unseeded generator) cannot be enumerated",
                "draw from random, numpy.random or torch, or give a seed",
            )
        return bytes(original(size))

    return function


def _started(original: Any) -> Any:
    def start(self: Any) -> None:
        session = current()
        shows_progress = type(self).__module__.partition(".")[0] == "tqdm"  # it computes nothing
        if (
            session is not None and session.tensors is not None and not shows_progress
        ):  # torch's modes belong to one thread
            raise refusal("a thread is started, in which torch cannot be followed", "call the function without threads")
        original(self)

    return start


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for threads, `os.urandom` and the name by which `random` knows it."""
    return [
        (os, "urandom", _recorded(os.urandom)),
        (_random, "_urandom", _recorded(os.urandom)),
        (threading.Thread, "start", _started(threading.Thread.start)),
    ]
