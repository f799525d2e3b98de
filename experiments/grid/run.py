"""Runs a grid of tasks: computes the rows that a store does not have, here or in processes, and adds them to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from draftproof.experiments.grid.pool import pooled_results
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.shared.progress import Tick, bar, counted, duration, remark

T = TypeVar("T")
#: Seconds of expected work from which on it pays to start processes.
PARALLEL_FROM_SECONDS = 3.0


@dataclass(frozen=True)
class Task(Generic[T]):
    """Rows that are computed together and stored all or none.

    ids: of the rows. argument: of `Executor.compute`. seconds: the expected time, None where it is unknown.
    from_library: ids of rows that do not depend on user-defined code, even where some is loaded.
    """

    ids: tuple[str, ...]
    argument: T
    seconds: float | None = None
    from_library: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Executor(Generic[T]):
    """Computes tasks in this process, or in several where they take long enough.

    compute: returns one row, or several, from `Task.argument` and from what all tasks share. shared: sent once to each
    process.
    """

    compute: Callable[..., Row | list[Row]]
    jobs: int = 1
    shared: tuple[Any, ...] = ()

    def processes(self, tasks: int, seconds: float | None) -> int:
        """How many processes are used for so many tasks."""
        worth_it = seconds is None or seconds > PARALLEL_FROM_SECONDS
        return max(1, min(self.jobs, tasks)) if worth_it else 1

    def rows(self, tasks: Iterator[T], processes: int) -> Iterator[Row | list[Row]]:
        """The rows of every task, in no order."""
        if processes > 1:
            calls = ((task,) for task in tasks)
            yield from pooled_results(processes, _compute, calls, _begin, self.compute, *self.shared)
            return
        for task in tasks:
            yield self.compute(task, *self.shared)


#: In a process of a pool, what its tasks are computed with.
_work: tuple[Any, ...]


def _begin(*work: Any) -> None:
    global _work  # noqa: PLW0603 - a process works for one executor only
    _work = work


def _compute(task: Any) -> Any:
    compute, *shared = _work
    return compute(task, *shared)


def missing_of(tasks: Sequence[Task[T]], store: Store) -> list[Task[T]]:
    """The tasks of which the store does not have all rows."""
    return [task for task in tasks if any(name not in store for name in task.ids)]


def run(
    tasks: Sequence[Task[T]],
    store: Store,
    executor: Executor[T],
    noun: str = "row",
    message: str | None = "",
    trial: int = 0,
    shown: bool = True,
) -> bool:
    """Compute the rows that the store does not have and add them; False if Ctrl-C ended it early.

    Several runs can share one store: each leaves out what another one has added. noun: what a row is called. message:
    printed with the expected time; None prints nothing. trial: so many tasks, evenly spaced, are computed first, and
    the rest is expected to take as long each. shown: whether there is a progress bar.
    """
    missing = missing_of(tasks, store)
    total, left = (sum(len(task.ids) for task in group) for group in (tasks, missing))
    reused = f" ({total - left:,} more are kept from before)" if left < total else ""
    with bar(f"{noun}s", total) if shown else nullcontext(_no_tick) as tick:
        tick(total - left)
        try:
            if trial and missing:
                first = missing[:: max(1, len(missing) // trial)][:trial]
                _store_rows(first, store, executor, 1, tick)
                mean = sum(store[name]["seconds"] for task in first for name in task.ids) / len(first)
                tried = {task.ids for task in first}
                missing = [replace(task, seconds=mean) for task in missing if task.ids not in tried]
            known = [task.seconds for task in missing if task.seconds is not None]
            seconds = sum(known) if len(known) == len(missing) else None
            processes = executor.processes(len(missing), seconds)
            if message is not None:
                time_left = "" if seconds is None else f"{duration(seconds / processes)} "
                on = f"on {counted(processes, 'process').replace('processs', 'processes')}"
                remark(f"{counted(left, noun)}{reused}: {message}{', ' * bool(message)}{time_left}{on}")
            _store_rows(missing, store, executor, processes, tick)
        except KeyboardInterrupt:
            return False
    return True


def computed_rows(
    functions: Mapping[str, Callable[[], Row]],
    store: Store,
    noun: str = "row",
    message: str | None = None,
    trial: int = 0,
) -> list[Row]:
    """The rows of functions by `strong_id`, computed in this process unless they are stored; arguments as for `run`."""
    tasks = [Task((name,), call) for name, call in functions.items()]
    if not run(tasks, store, Executor(lambda call: call()), noun, message, trial):
        raise KeyboardInterrupt
    return [store[name] for name in functions]


def rows_of(tasks: Sequence[Task[T]], store: Store) -> list[Row]:
    """Those rows of the tasks that the store has."""
    return [store[name] for task in tasks for name in task.ids if name in store]


def _no_tick(steps: float) -> None:
    pass


def _store_rows(tasks: Sequence[Task[T]], store: Store, executor: Executor[T], processes: int, tick: Tick) -> None:
    """Compute the tasks, and add their rows to the store."""
    from_library = frozenset[str]().union(*(task.from_library for task in tasks))
    for result in executor.rows(_not_added(tasks, store, tick), processes):
        rows = result if isinstance(result, list) else [result]
        store.add(*rows, from_library=from_library)
        tick(len(rows))


def _not_added(tasks: Sequence[Task[T]], store: Store, tick: Tick) -> Iterator[T]:
    """The tasks of which no other run has added the rows meanwhile."""
    for task in tasks:
        if all(name in store for name in task.ids):
            tick(len(task.ids))
        else:
            yield task.argument
