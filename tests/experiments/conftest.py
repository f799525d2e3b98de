"""Run the command line in this process and look at its exit code and both streams."""

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from draftproof.experiments import cli


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
