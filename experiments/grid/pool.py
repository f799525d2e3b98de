"""A process pool that yields results as they are computed; Ctrl-C ends the processes at once."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar

from draftproof.experiments.runtime import GRACE, end_with
from draftproof.experiments.shared.code import add_used, with_used_files
from draftproof.simulator.errors import InvalidVerifier

T = TypeVar("T")


def pooled_results(
    jobs: int,
    work: Callable[..., T],
    calls: Iterable[Sequence[Any]],
    start: Callable[..., None] | None = None,
    *start_arguments: Any,
) -> Iterator[T]:
    """`work(*call)` for every call, in any order; each process first runs `start(*start_arguments)`, if there is one.

    calls: taken one by one as processes become free. Raises `InvalidVerifier` where a process ends unexpectedly.
    """
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _initialise, (os.getpid(), start, start_arguments))
    complete = False
    try:
        running: set[Future[tuple[T, dict[str, str]]]] = set()
        for call in calls:
            running.add(pool.submit(with_used_files, work, *call))
            while len(running) > jobs:  # one call waits, so that no process is idle
                done, running = wait(running, None, FIRST_COMPLETED)
                yield from map(_result, done)
        while running:
            done, running = wait(running, None, FIRST_COMPLETED)
            yield from map(_result, done)
        complete = True
    except BrokenProcessPool:
        raise InvalidVerifier(
            "a process that computed rows ended unexpectedly, perhaps for want of memory; rows so far are kept, and "
            "--jobs 1 shows more of the reason"
        ) from None
    finally:
        processes = list((pool._processes or {}).values())  # the pool has no public way to stop now
        if complete:
            pool.shutdown(wait=False)  # they end in order: if they are ended, the pool may leave a traceback
            for process in processes:
                process.join(GRACE)
        for process in processes:
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)


def _result(future: Future[tuple[T, dict[str, str]]]) -> T:
    result, files = future.result()
    add_used(files)
    return result


def _initialise(parent: int, start: Callable[..., None] | None, arguments: Sequence[Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    end_with(parent)
    sys.set_int_max_str_digits(0)
    if start is not None:
        start(*arguments)
