"""Run the command line in this process and look at its exit code and both streams."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from experiments import cli


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def draftproof(monkeypatch, capsys, tmp_path) -> Callable[..., Ran]:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["draftproof", *map(str, arguments)])
        code = cli.run(cli.program(cli.named(sys.argv[1:])))  # in this process, whatever is named
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
