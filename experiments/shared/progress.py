"""Progress and remarks on stderr: bars only on a terminal, nothing on stdout."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.text import Text

from draftproof.simulator.errors import printable
from draftproof.simulator.progress import Progress as Tick
from draftproof.simulator.raised import named_errors, quiet

__all__ = [
    "INTERRUPTED",
    "NOT_PROVED",
    "Tick",
    "bar",
    "counted",
    "cut_short",
    "duration",
    "named_errors",
    "output_console",
    "quiet",
    "remark",
    "without_bars",
]

#: Exit code after Ctrl-C.
INTERRUPTED = 130
#: Exit code of a verdict that is not proved, though nothing refutes the verifier.
NOT_PROVED = 3
#: Seconds until the first line about progress where no bar can be drawn, and the most between two of them.
FIRST_LINE, LINE_PERIOD = 10.0, 60.0


class PlainConsole(Console):
    """A console that writes text without markup, and without control characters."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, with printable characters only."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text, "\n"), segment.style)


class _OutputConsole(PlainConsole):
    """A console that raises `BrokenPipeError` on a closed pipe; rich's would exit with 1, which means refuted."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def output_console() -> Console:
    """Standard output; wide when it is no terminal, so that tables do not wrap."""
    width = None if sys.stdout.isatty() else 140
    return _OutputConsole(width=width)


stderr = PlainConsole(stderr=True)


def without_bars() -> None:
    """Print lines in place of bars, also on a terminal: for a process that is one of several."""
    global stderr  # noqa: PLW0603 - a process decides it once, when it begins
    stderr = PlainConsole(stderr=True, force_terminal=False)


def remark(text: str) -> None:
    """Print one line about the work on stderr; a closed stderr is no error."""
    with suppress(OSError, ValueError):
        stderr.print(printable(text), soft_wrap=True, style="dim")


def cut_short(done: int, wanted: int, noun: str, resume: str | None) -> int:
    """Say after Ctrl-C how many rows are done, where they are, and how to go on; returns the exit code."""
    where = (
        f"they are kept in {resume}: the same command goes on from there"
        if resume
        else "with a file of rows (resume) they are kept, and the same command goes on from there"
    )
    remark(f"interrupted after {done:,} of {wanted:,} {noun}; {where}; no other file was written")
    return INTERRUPTED


@contextmanager
def bar(label: str, total: float, *, even: bool = True, detail: Callable[[], str] = lambda: "") -> Iterator[Tick]:
    """A progress bar; it yields the function that advances it. Where stderr is no terminal, it prints lines instead.

    even: whether steps take about as long as each other; then the remaining time is estimated from those that are done.
    detail: is asked for what else there is to say, now and then.
    """
    if not stderr.is_terminal:
        with _lines(label, total, even, detail) as advance:
            yield advance
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        *([TimeRemainingColumn()] if even else []),
        _Detail(detail),
        console=stderr,
        transient=True,
    ) as progress:
        task = progress.add_task(printable(label), total=total)
        yield lambda steps: progress.advance(task, steps)


class _Detail(ProgressColumn):
    def __init__(self, detail: Callable[[], str]) -> None:
        super().__init__()
        self._detail = detail

    def render(self, task: Task) -> Text:
        return Text(self._detail())


@contextmanager
def _lines(label: str, total: float, even: bool, detail: Callable[[], str]) -> Iterator[Tick]:
    clock = time.monotonic  # kept here, as audits replace it in its module for every thread
    done, ended, started = 0.0, threading.Event(), clock()

    def advance(steps: float) -> None:
        nonlocal done
        done += steps

    def say() -> None:
        wait = FIRST_LINE
        while not ended.wait(wait):
            passed = clock() - started
            left = f", {duration(passed * (total - done) / done)} to go" if even and 0 < done < total else ""
            said = detail()
            remark(f"{label}: {done:,.0f} of {total:,.0f} after {passed:.0f} s{left}{said and f', {said}'}")
            wait = min(2 * wait, LINE_PERIOD)

    threading.Thread(target=say, daemon=True).start()
    try:
        yield advance
    finally:
        ended.set()


def counted(amount: float, noun: str) -> str:
    """A number with a noun, in the plural where it is not 1."""
    number = f"{amount:,.0f}"
    return f"{number} {noun}" + "s" * (number != "1")


def duration(seconds: float) -> str:
    """A rough time for people."""
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min"
