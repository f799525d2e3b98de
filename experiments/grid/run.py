"""Runs a grid of questions: computes the rows that a store does not have, and adds them to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.store import Row, Store
from draftproof.experiments.shared.progress import Tick, bar, counted, duration, remark

T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[T]):
    """What one row answers.

    strong_id: of the row. about: what it is computed from. seconds: the expected time, None where it is unknown.
    user_defined: whether it may depend on user-defined code that is loaded.
    """

    strong_id: str
    about: T
    seconds: float | None = None
    user_defined: bool = True


def run(
    questions: Sequence[Question[T]],
    store: Store,
    compute: Callable[..., Row],
    *shared: Any,
    machines: Machines = HERE,
    noun: str = "row",
    message: str | None = "",
    trial: int = 0,
    shown: bool = True,
) -> list[Row]:
    """The row of each question; those that the store does not have are computed and added to it one by one.

    Several runs can share one store: each leaves out what another one has added. At Ctrl-C raises `KeyboardInterrupt`;
    the rows until then are in the store. compute: gives the row of `Question.about` and of `shared`, which is sent once
    to each process. noun: what a row is called. message: printed with the expected time; None prints nothing. trial: so
    many questions, evenly spaced, are answered first, and the rest is expected to take as long each. shown: whether
    there is a progress bar.
    """
    missing = [question for question in questions if question.strong_id not in store]
    stored = len(questions) - len(missing)
    reused = f" ({stored:,} more are kept from before)" if stored else ""
    with bar(f"{noun}s", len(questions)) if shown else nullcontext(_no_tick) as tick:
        tick(stored)
        left = missing
        if trial and missing:
            first = missing[:: max(1, len(missing) // trial)][:trial]
            _answer(first, store, compute, shared, HERE, tick)
            mean = sum(store[question.strong_id]["seconds"] for question in first) / len(first)
            left = [replace(question, seconds=mean) for question in missing if question not in first]
        known = [question.seconds for question in left if question.seconds is not None]
        seconds = sum(known) if len(known) == len(left) else None
        machines = machines.worth_it(len(left), seconds)
        if message is not None:
            time_left = "" if seconds is None else f"{duration(seconds / machines.jobs)} "
            on = f"on {counted(machines.jobs, 'process').replace('processs', 'processes')}"
            on = on if machines.dask is None else f"of one process, on the cluster at {machines.dask}"
            remark(f"{counted(len(missing), noun)}{reused}: {message}{', ' * bool(message)}{time_left}{on}")
        _answer(left, store, compute, shared, machines, tick)
    return [store[question.strong_id] for question in questions]


def _no_tick(steps: float) -> None:
    pass


def _answer(
    questions: Sequence[Question[T]],
    store: Store,
    compute: Callable[..., Row],
    shared: Sequence[Any],
    machines: Machines,
    tick: Tick,
) -> None:
    """Compute the rows of questions, and add them to the store."""
    asked = dict(enumerate(questions))
    known = all(question.seconds is not None for question in questions)

    def open_calls() -> Iterator[tuple[int, T]]:
        for number, question in asked.items():
            if question.strong_id in store:  # another run has added it meanwhile
                tick(1)
            else:
                yield number, question.about

    results = machines.results if known else machines.after_a_while
    for number, row in results(_numbered, open_calls(), compute, *shared):
        store.add({**row, "strong_id": asked[number].strong_id}, user_defined=asked[number].user_defined)
        tick(1)


def _numbered(number: int, about: Any, compute: Callable[..., Row], *shared: Any) -> tuple[int, Row]:
    return number, compute(about, *shared)
