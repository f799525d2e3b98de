"""Work that several runs share through one file of rows: nothing is computed twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from experiments.shared.pool import PERIOD
from experiments.shared.progress import Tick
from experiments.shared.rows import RowFile

T = TypeVar("T")


def unclaimed(
    tasks: Sequence[T], kept: RowFile, name: Callable[[T], str], done: Tick = lambda _: None
) -> Iterator[T | None]:
    """The tasks that no other run has done; what another computes now comes last. None: nothing at the moment.

    name: the `strong_id` of the row of a task. done: called with 1 for each row that is there already.
    """
    waiting = list(tasks)
    while waiting:
        theirs = []
        for task in waiting:
            state = kept.claim(name(task))
            if state == "ours":
                yield task
            elif state == "theirs":
                theirs.append(task)
            else:
                done(1)
        if len(theirs) == len(waiting):
            yield None
        waiting = theirs


def share(work: Mapping[str, Callable[[], dict[str, Any]]], kept: RowFile, done: Tick = lambda _: None) -> None:
    """Compute the rows that are missing, one by one, into `kept`; returns when all are there. work: by `strong_id`."""
    for name in unclaimed(list(work), kept, str, done):
        if name is None:
            time.sleep(PERIOD)
        else:
            kept.add(work[name]())
            done(1)
