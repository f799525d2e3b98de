"""Work that several runs share through one file of rows: nothing is computed twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from draftproof.experiments.shared.pool import PERIOD, spread
from draftproof.experiments.shared.progress import Tick, bar, duration, remark
from draftproof.experiments.shared.rows import RowFile

R = TypeVar("R")
T = TypeVar("T")


def unclaimed(
    tasks: Sequence[T], claim: Callable[[T], str], there: Callable[[T], None] = lambda _: None
) -> Iterator[T | None]:
    """The tasks that no other run has done; what another computes now comes last. None: nothing at the moment.

    claim: as `RowFile.claim` answers for a task. there: called with each task that is done already.
    """
    waiting = list(tasks)
    while waiting:
        theirs = []
        for task in waiting:
            state = claim(task)
            if state == "ours":
                yield task
            elif state == "theirs":
                theirs.append(task)
            else:
                there(task)
        if len(theirs) == len(waiting):
            yield None
        waiting = theirs


def share(work: Mapping[str, Callable[[], dict[str, Any]]], kept: RowFile, done: Tick = lambda _: None) -> None:
    """Compute the rows that are missing, one by one, into `kept`; returns when all are there. work: by `strong_id`."""
    ours = unclaimed(list(work), kept.claim, lambda _: done(1))
    for row in computed(ours, lambda name: work[name](), 1):
        kept.add(row)
        done(1)


def computed(tasks: Iterable[T | None], compute: Callable[[T], R], jobs: int) -> Iterator[R]:
    """What `compute` makes of every task: one by one here, or spread over `jobs` processes, in no order."""
    if jobs > 1:
        yield from spread(jobs, compute, (None if task is None else (task,) for task in tasks))
        return
    for task in tasks:
        if task is None:
            time.sleep(PERIOD)
        else:
            yield compute(task)


def share_after_trial(
    tasks: Sequence[T],
    name: Callable[[T], str],
    compute: Callable[[T], dict[str, Any]],
    kept: RowFile,
    jobs: int,
    trial: int,
    noun: str,
) -> bool:
    """Compute the rows that are missing into `kept`; False if Ctrl-C ended it early.

    Some `trial` tasks, spread over all of them, come first and one by one: their seconds tell how long the rest takes,
    which is said. name: the `strong_id` of the row of a task. noun: what tasks are.
    """
    missing = [task for task in tasks if name(task) not in kept.rows]
    with bar(noun, len(tasks)) as tick:
        tick(len(tasks) - len(missing))
        try:
            first = missing[:: max(1, len(missing) // trial)][:trial]
            share({name(task): partial(compute, task) for task in first}, kept, tick)
            rest = [task for task in missing if task not in first]
            mean = sum(kept.rows[name(task)]["seconds"] for task in first) / max(len(first), 1)
            remark(
                f"{len(missing):,} {noun} ({len(tasks) - len(missing):,} more are kept from before), "
                f"{duration(len(rest) * mean / jobs)} on {jobs} processes"
            )
            ours = unclaimed(rest, lambda task: kept.claim(name(task)), lambda _: tick(1))
            for row in computed(ours, compute, jobs):
                kept.add(row)
                tick(1)
        except KeyboardInterrupt:
            return False
    return True
