"""Run the command line in this process and look at its exit code and both streams."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import pytest

from draftproof.experiments import cli
from draftproof.experiments.cli.compare import work


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def row(self) -> Any:
        """The only row of the main table of a verb."""
        [row] = self.json["rows"]
        return row

    @property
    def witness(self) -> Any:
        """The violated balance equation that `check` shows."""
        [row] = self.json["witness"]
        return row


@pytest.fixture
def draftproof(monkeypatch, capsys, tmp_path) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["draftproof", *map(str, arguments)])
        code = cli.run(cli.program(cli.needed_commands(sys.argv[1:])))  # in this process, whatever is named
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def interrupted(monkeypatch) -> Callable[[int], AbstractContextManager[list[Any]]]:
    """Ctrl-C after so many rows of a comparison; gives the cells that were computed."""
    compute = work.row

    @contextmanager
    def after(count: int) -> Iterator[list[Any]]:
        done: list[Any] = []

        def until(cell: Any, rows: Any) -> Any:
            if len(done) == count:
                raise KeyboardInterrupt
            done.append(cell)
            return compute(cell, rows)

        with monkeypatch.context() as patch:
            patch.setattr(work, "row", until)
            yield done

    return after
