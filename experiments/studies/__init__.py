"""Studies over many instances, each a command that can be resumed: `python -m draftproof.experiments.studies.NAME`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from draftproof.experiments.grid.run import Executor, Task, rows_of, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, cut_short
from draftproof.simulator.files import printable

Row = dict[str, Any]


@dataclass(frozen=True)
class StudyFiles:
    """The files of a study, as options: its store of rows, and the outputs."""

    resume: Annotated[str | None, typer.Option(help="Store of rows: kept as they come, reused next time.")] = None
    plot: Annotated[str | None, typer.Option("--plot", help="PNG of the figures.")] = None
    markdown: Annotated[str | None, typer.Option("--markdown", help="Markdown tables and figures.")] = None
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None

    def check(self) -> None:
        """Raises `InvalidInput`, before the work, for files that cannot be written."""
        outputs = {"--plot": self.plot, "--markdown": self.markdown, "--json": self.json_target}
        check_files((), {"--resume": self.resume, **outputs})


@dataclass(frozen=True)
class Views:
    """The outputs of a study from its rows: on the terminal, as JSON, Markdown and PNG."""

    terminal: Callable[[Sequence[Row]], Any]
    fields: Callable[[Sequence[Row]], Any]
    markdown: Callable[[Sequence[Row]], str]
    figure: Callable[[Sequence[Row]], bytes]


def conduct(
    tasks: Sequence[Task[Any]], executor: Executor[Any], files: StudyFiles, views: Views, noun: str, trial: int = 0
) -> int:
    """Compute the missing rows, show all and write the files; returns the exit code."""
    store = Store(files.resume)
    complete = run(tasks, store, executor, noun, trial=trial)
    rows = rows_of(tasks, store)
    if not rows:
        return INTERRUPTED
    console = console_for(files.json_target)
    console.print(views.terminal(rows))
    if not complete:
        return cut_short(len(rows), len(tasks), f"{noun}s", files.resume)
    write_json(files.json_target, views.fields(rows))
    if files.markdown:
        write_whole(files.markdown, views.markdown(rows))
    if files.plot:
        write_whole(files.plot, views.figure(rows))
        console.print(f"picture: {printable(files.plot)}")
    return 0
