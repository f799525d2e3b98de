"""Where the seconds of a generation go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

#: What a block is made of, in the order of its parts.
PARTS = ("prompt", "draft", "target", "verify", "cache")


class Stopwatch:
    """Seconds by part. On CUDA a part ends when the device has done its work.

    seconds: by name of the part. clock: gives seconds from some start.
    """

    def __init__(self, device: torch.device | str = "cpu", clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self._cuda = torch.device(device).type == "cuda"
        self._clock = clock

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time that the body takes to this part."""
        started = self.now()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + self.now() - started

    def now(self) -> float:
        """The clock, once the device has nothing left to do."""
        if self._cuda:
            torch.cuda.synchronize()
        return self._clock()
