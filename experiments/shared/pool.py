"""Work spread over processes, results as they come; Ctrl-C ends the processes at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from experiments.shared.lifetime import end_with
from simulator.errors import InvalidVerifier

T = TypeVar("T")


def spread(
    jobs: int,
    work: Callable[..., T],
    calls: Sequence[Sequence[Any]],
    start: Callable[..., None] | None = None,
    *given: Any,
) -> Iterator[T]:
    """`work(*call)` for every call, in no order; each process first runs `start(*given)` if there is any."""
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _started, (start, given))
    try:
        for future in as_completed([pool.submit(work, *call) for call in calls]):
            yield future.result()
    except BrokenProcessPool:
        raise InvalidVerifier(
            "a process that computed rows was ended from within, or for want of memory; rows so far are kept, --jobs 1 "
            "tells more"
        ) from None
    finally:
        for process in list(pool._processes.values()):  # the pool has no public way to stop now
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)


def _started(start: Callable[..., None] | None, given: Sequence[Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    end_with(os.getppid())
    sys.set_int_max_str_digits(0)
    if start is not None:
        start(*given)
