"""Seconds of a generation by part."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from draftproof.simulator.errors import InvalidInput

#: The clocks: wall time, or the processor time of this process.
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}
_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.perf_counter)


@contextmanager
def measured_by(name: str, device: torch.device | str) -> Iterator[None]:
    """Stopwatches made in the body use this clock of `CLOCKS`.

    "processor" excludes other processes; raises `InvalidInput` for it unless all is computed on one thread
    of a CPU, and for a clock that does not exist.
    """
    if name not in CLOCKS:
        raise InvalidInput(f"unknown clock {name!r}; choose {' or '.join(CLOCKS)}")
    if name != "wall" and (torch.device(device).type != "cpu" or torch.get_num_threads() > 1):
        raise InvalidInput("--clock processor is for models on one thread of a CPU (OMP_NUM_THREADS=1); use wall")
    token = _clock.set(CLOCKS[name])
    try:
        yield
    finally:
        _clock.reset(token)


class Stopwatch:
    """Seconds by part. On CUDA a part ends when the device has done its work.

    seconds: by name of the part. The clock is that of `measured_by`.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._cuda = torch.device(device).type == "cuda"
        self._clock = _clock.get()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        started = self.now()
        try:
            yield
        finally:
            self.seconds[name] += self.now() - started

    def now(self) -> float:
        """The clock, once the device has nothing left to do."""
        if self._cuda:
            torch.cuda.synchronize()
        return self._clock()
