"""Where the rows of a grid are computed: in this process, in several, or by the workers of a Dask cluster."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

from draftproof.experiments.runtime import GRACE, end_with
from draftproof.experiments.shared.code import add_used, own_digest, with_used_files
from draftproof.experiments.shared.progress import remark, without_bars
from draftproof.simulator.errors import InvalidInput, InvalidVerifier

T = TypeVar("T")
#: Seconds of work from which on it pays to start processes.
PARALLEL_FROM_SECONDS = 3.0
#: Calls that are underway for each thread of a cluster: enough that none waits for this process.
CALLS_A_THREAD = 3
#: Seconds within which a scheduler answers, and between two looks for its workers.
CONNECT_SECONDS, POLL_SECONDS = 20, 0.5
#: A worker computes one call at a time, whatever its threads: what calls share is not made for several.
_ALONE = threading.Lock()


@dataclass(frozen=True)
class Machines:
    """So many processes here, or in their place the workers of a Dask cluster.

    dask: the address of its scheduler. Raises `InvalidInput` for a number of processes that is none, and where Dask is
    not installed.
    """

    jobs: int = 1
    dask: str | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise InvalidInput(f"jobs {self.jobs}: give at least 1")
        if self.dask is not None:
            try:
                import distributed  # noqa: F401
            except ImportError:
                raise InvalidInput(
                    "dask needs the packages dask and distributed; install draftproof with the extra dask, or leave it "
                    "out"
                ) from None

    def worth_it(self, count: int, seconds: float | None) -> Machines:
        """As many processes as pay for so many calls that are expected to take so long; a cluster computes all."""
        if self.dask is not None or (seconds is not None and seconds <= PARALLEL_FROM_SECONDS):
            return replace(self, jobs=1)
        return replace(self, jobs=max(1, min(self.jobs, count)))

    def results(self, work: Callable[..., T], calls: Iterable[Sequence[Any]], *shared: Any) -> Iterator[T]:
        """`work(*call, *shared)` for every call, in any order.

        calls: taken one by one as machines become free. shared: sent once to each process. Raises `InvalidVerifier`
        where a process ends unexpectedly, and `InvalidInput` for a cluster that cannot be used.
        """
        if self.dask is not None:
            return _on_cluster(self.dask, work, calls, shared)
        if self.jobs > 1:
            return _in_processes(self.jobs, work, calls, shared)
        return (work(*call, *shared) for call in calls)

    def after_a_while(self, work: Callable[..., T], calls: Iterable[Sequence[Any]], *shared: Any) -> Iterator[T]:
        """As `results`, but processes are started only for the calls that are left after some seconds here."""
        if self.dask is not None:
            yield from self.results(work, calls, *shared)
            return
        began, left = time.perf_counter(), iter(calls)
        for call in left:
            yield work(*call, *shared)
            if self.jobs > 1 and time.perf_counter() - began > PARALLEL_FROM_SECONDS:
                break
        following = list(islice(left, self.jobs))
        jobs = max(1, len(following))  # one that is left is computed here
        yield from replace(self, jobs=jobs).results(work, chain(following, left), *shared)


#: This process alone.
HERE = Machines()


def refuse_objects(wanted: Mapping[str, bool], given: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` where objects of Python would have to be in other processes, or in a file of rows.

    wanted: whether a parameter asks for that. given: what may be an object, one or several, by parameter.
    """
    for key, value in given.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            for name in (name for name, is_wanted in wanted.items() if is_wanted):
                if one is not None and not isinstance(one, str):
                    raise InvalidInput(f"{name} is for {key} as text, not for an object of Python; leave it out")


def _in_processes(
    jobs: int, work: Callable[..., T], calls: Iterable[Sequence[Any]], shared: Sequence[Any]
) -> Iterator[T]:
    """The results of processes, which Ctrl-C ends at once."""
    sent = pickle.dumps((work, shared))  # user-defined code is loaded once a process is made ready
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (os.getpid(), sent))
    complete = False
    try:
        running: set[Future[tuple[T, dict[str, str]]]] = set()
        for call in calls:
            running.add(pool.submit(with_used_files, _work, *call))
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
            "jobs=1 shows more of the reason"
        ) from None
    finally:
        processes = list((pool._processes or {}).values())  # the pool has no public way to stop now
        if complete:
            pool.shutdown(wait=False)  # they end in order: if they are ended, the pool may leave a traceback
            for process in processes:
                process.join(GRACE)
        for process in processes:
            process.terminate()
        pool.shutdown(cancel_futures=True)
        running.clear()
        gc.collect()  # semaphores that are left when the program ends are reported as leaked


def _begin(parent: int, sent: bytes) -> None:
    """Make a process ready: it ends with its parent, which handles Ctrl-C."""
    global _call  # noqa: PLW0603 - a process does one kind of work only
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    sys.set_int_max_str_digits(0)
    without_bars()
    _call = pickle.loads(sent)


#: What a process works with: the function, and the arguments that all calls share.
_call: tuple[Callable[..., Any], Sequence[Any]]


def _work(*call: Any) -> Any:
    work, shared = _call
    return work(*call, *shared)


def _result(future: Any) -> Any:
    result, files = future.result()
    add_used(files)
    return result


def _on_cluster(
    address: str, work: Callable[..., T], calls: Iterable[Sequence[Any]], shared: Sequence[Any]
) -> Iterator[T]:
    """The results of a cluster. Calls of a lost worker are computed by another one, and a slow call delays no other."""
    import distributed

    try:
        client: Any = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(f"no scheduler answers at {address}: {error}; start one with dask scheduler") from None
    try:
        done: Any = distributed.as_completed(loop=client.loop)
        sent = client.submit(tuple, shared, pure=False)  # sent once, and again where its worker is lost
        underway = 0
        for call in calls:
            given = (_work_there, own_digest(), work, call, sent)
            done.add(client.submit(with_used_files, *given, pure=False))
            underway += 1
            while underway >= CALLS_A_THREAD * _threads(client):
                yield _taken(next(done))
                underway -= 1
        while underway:
            yield _taken(next(done))
            underway -= 1
    except distributed.KilledWorker as error:
        raise InvalidInput(f"workers were lost again and again: {error}; rows so far are kept") from None
    except distributed.client.FutureCancelledError:
        raise InvalidInput(f"the scheduler at {address} was lost; rows so far are kept, so run it again") from None
    finally:
        client.close()


def _work_there(code: str, work: Callable[..., T], call: Sequence[Any], shared: Sequence[Any]) -> T:
    """The result of a call on a worker. code: the digest of the code that asks for it."""
    if own_digest() != code:
        raise InvalidInput("a worker of the cluster has another version of draftproof; install the same one there")
    sys.set_int_max_str_digits(0)
    with _ALONE:
        return work(*call, *shared)


def _taken(future: Any) -> Any:
    result = _result(future)
    future.release()
    return result


def _threads(client: Any) -> int:
    """Threads of all workers now; waits for the first one."""
    announced = False
    while not (count := sum(client.nthreads().values())):
        if not announced:
            remark("the cluster has no workers yet; waiting for one")
            announced = True
        time.sleep(POLL_SECONDS)
    return int(count)
