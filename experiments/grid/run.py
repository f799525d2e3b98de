"""Runs a grid of tasks: what a store has not yet is computed, here or in processes, and kept as it comes."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from draftproof.experiments.grid.pool import PERIOD, spread
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.shared.progress import Tick, bar, counted, duration, remark

T = TypeVar("T")
#: Below this many seconds of expected work the cost of starting processes is not worth it.
PARALLEL_FROM_SECONDS = 3.0


@dataclass(frozen=True)
class Task(Generic[T]):
    """Rows that are computed together and kept all or none.

    ids: of the rows. about: what they are computed from. seconds: about how long that takes, None where that is not
    known. own: ids of rows that depend on no code of others, even where some is loaded.
    """

    ids: tuple[str, ...]
    about: T
    seconds: float | None = None
    own: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Executor(Generic[T]):
    """Computes tasks in this process, or in several where that is worth it.

    compute: makes one row or several of what a task is about. start: called with `given` before, in every process.
    """

    compute: Callable[[T], Row | list[Row]]
    jobs: int = 1
    start: Callable[..., None] | None = None
    given: tuple[Any, ...] = ()

    def processes(self, tasks: int, seconds: float | None) -> int:
        """How many processes are used for so many tasks."""
        worth_it = seconds is None or seconds > PARALLEL_FROM_SECONDS
        return max(1, min(self.jobs, tasks)) if worth_it else 1

    def rows(self, tasks: Iterator[T | None], processes: int) -> Iterator[Row | list[Row]]:
        """The rows of every task, in no order. None: there is no task at the moment."""
        if processes > 1:
            calls = (None if task is None else (task,) for task in tasks)
            yield from spread(processes, self.compute, calls, self.start, *self.given)
            return
        if self.start is not None:
            self.start(*self.given)
        for task in tasks:
            if task is None:
                time.sleep(PERIOD)
            else:
                yield self.compute(task)


def missing_of(tasks: Sequence[Task[T]], store: Store) -> list[Task[T]]:
    """The tasks that a store has not all rows of."""
    return [task for task in tasks if any(name not in store for name in task.ids)]


def run(
    tasks: Sequence[Task[T]],
    store: Store,
    executor: Executor[T],
    noun: str = "row",
    about: str | None = "",
    trial: int = 0,
    shown: bool = True,
) -> bool:
    """Compute the rows that are missing into the store, with a bar; False if Ctrl-C ended it early.

    Several runs can share one store: what another one computes is waited for. noun: what rows are. about: said beside
    the time that is expected; None says nothing. trial: so many tasks, spread over all of them, come first and one by
    one, and their seconds tell how long the rest takes. shown: whether there is a bar.
    """
    missing = missing_of(tasks, store)
    total, left = (sum(len(task.ids) for task in some) for some in (tasks, missing))
    reused = f" ({total - left:,} more are kept from before)" if left < total else ""
    with bar(f"{noun}s", total) if shown else nullcontext(_no_tick) as tick:
        tick(total - left)
        try:
            if trial and missing:
                first = missing[:: max(1, len(missing) // trial)][:trial]
                _keep(first, store, executor, 1, tick)
                mean = sum(store[name]["seconds"] for task in first for name in task.ids) / len(first)
                tried = {task.ids for task in first}
                missing = [replace(task, seconds=mean) for task in missing if task.ids not in tried]
            known = [task.seconds for task in missing if task.seconds is not None]
            seconds = sum(known) if len(known) == len(missing) else None
            processes = executor.processes(len(missing), seconds)
            if about is not None:
                time_left = "" if seconds is None else f"{duration(seconds / processes)} "
                on = f"on {counted(processes, 'process').replace('processs', 'processes')}"
                remark(f"{counted(left, noun)}{reused}: {about}{', ' * bool(about)}{time_left}{on}")
            _keep(missing, store, executor, processes, tick)
        except KeyboardInterrupt:
            return False
    return True


def finished(
    work: Mapping[str, Callable[[], Row]],
    store: Store,
    noun: str = "row",
    about: str | None = None,
    trial: int = 0,
    shown: bool = True,
) -> list[Row]:
    """`run` for rows by their `strong_id` that are computed one by one in this process; all of them, in this order."""
    tasks = [Task((name,), call) for name, call in work.items()]
    if not run(tasks, store, Executor(lambda call: call()), noun, about, trial, shown):
        raise KeyboardInterrupt
    return [store[name] for name in work]


def rows_of(tasks: Sequence[Task[T]], store: Store) -> list[Row]:
    """The rows of tasks that a store has."""
    return [store[name] for task in tasks for name in task.ids if name in store]


def _no_tick(steps: float) -> None:
    pass


def _keep(tasks: Sequence[Task[T]], store: Store, executor: Executor[T], processes: int, tick: Tick) -> None:
    """Compute the tasks that no other run computes, and keep their rows."""
    own = frozenset[str]().union(*(task.own for task in tasks))
    unclaimed = _unclaimed(list(tasks), store, tick)
    for found in executor.rows(unclaimed, processes):
        rows = found if isinstance(found, list) else [found]
        store.add(*rows, own=own)
        tick(len(rows))


def _unclaimed(waiting: list[Task[T]], store: Store, tick: Tick) -> Iterator[T | None]:
    """What no other run has done; what another computes now comes last. None: nothing at the moment."""
    while waiting:
        theirs = []
        for task in waiting:
            state = store.claim(*task.ids)
            if state == "ours":
                yield task.about
            elif state == "theirs":
                theirs.append(task)
            else:
                tick(len(task.ids))
        if len(theirs) == len(waiting):
            yield None
        waiting = theirs
