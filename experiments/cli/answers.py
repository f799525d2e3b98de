"""The answers of a verb: a row for each of its cells, from a store or computed; and what Ctrl-C leaves of a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.run import Question, run
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.result import Interrupted, Result
from draftproof.experiments.shared.progress import INTERRUPTED, cut_short

T = TypeVar("T")


def answers(
    cells: Sequence[T],
    compute: Callable[..., Row],
    *shared: Any,
    kind: str,
    name: Callable[[T], str],
    resume: str | None,
    machines: Machines = HERE,
) -> list[tuple[T, Row]]:
    """Each cell with its row, in order; after Ctrl-C those that are there, or `KeyboardInterrupt` where there are none.

    compute: gives the row of a cell and of `shared`, which is sent once to each process. kind: of the rows. name: gives
    the id of the row of a cell. It is asked for only where rows are stored in the file `resume`: objects of Python have
    no name.
    """
    store = Store(resume, (kind,))
    questions = [Question(name(cell) if resume else str(number), cell) for number, cell in enumerate(cells)]
    try:
        run(questions, store, compute, *shared, machines=machines, message=None, shown=False)
    except KeyboardInterrupt:
        done = [each for each in questions if each.strong_id in store]
        cut_short(len(done), len(cells), "rows", resume)
        if not done:
            raise
        return [(each.about, store[each.strong_id]) for each in done]
    return [(each.about, store[each.strong_id]) for each in questions]


def finished(result: Result, done: int, wanted: int) -> Result:
    """The result; raises `Interrupted` with it where only so many of the rows that were wanted are done."""
    if done == wanted:
        return result
    title = f"UNFINISHED, {done} of {wanted} rows: {result.title}"
    raise Interrupted(replace(result, title=title, verdict=INTERRUPTED))
