"""The answers of a verb: a row for each of its cells, from a store or computed; and what Ctrl-C leaves of a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.run import Question, run
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.result import Interrupted, Result
from draftproof.experiments.shared.progress import counted, cut_short

T = TypeVar("T")


class AtHand(KeyboardInterrupt):
    """Ctrl-C while a row was computed. about: its cell; row: with the numbers so far, which no store keeps."""

    def __init__(self, about: Any, row: Row) -> None:
        super().__init__()
        self.about, self.row = about, row


@dataclass(frozen=True)
class Answers(Generic[T]):
    """Cells with their rows, in order. missing: how many more Ctrl-C has left without one."""

    rows: list[tuple[T, Row]]
    missing: int = 0

    def result(self, made: Result) -> Result:
        """The result made from the rows; raises `Interrupted` with it where some are missing."""
        if not self.missing:
            return made
        raise Interrupted(replace(made, title=f"UNFINISHED, {counted(self.missing, 'row')} missing: {made.title}"))


def answers(
    cells: Sequence[T],
    compute: Callable[..., Row],
    *shared: Any,
    kind: str,
    name: Callable[[T], str],
    resume: str | None,
    machines: Machines = HERE,
) -> Answers[T]:
    """The row of each cell; raises `KeyboardInterrupt` where Ctrl-C leaves none.

    compute: gives the row of a cell and of `shared`, which is sent once to each process. kind: of the rows. name: gives
    the id of the row of a cell. It is asked for only where rows are stored in the file `resume`: objects of Python have
    no name.
    """
    store = Store(resume, (kind,))
    questions = [Question(name(cell) if resume else str(number), cell) for number, cell in enumerate(cells)]
    try:
        rows = run(questions, store, compute, *shared, machines=machines, message=None, shown=False)
    except KeyboardInterrupt as stop:
        done = [(question.about, store[question.strong_id]) for question in questions if question.strong_id in store]
        missing = len(cells) - len(done)
        cut_short(len(done), len(cells), "rows", resume)
        done += [(stop.about, stop.row)] if isinstance(stop, AtHand) else []
        if not done:
            raise
        return Answers(done, missing)
    return Answers(list(zip(cells, rows, strict=True)))
