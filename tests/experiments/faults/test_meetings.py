"""Readers that go away, runs at the same time, clocks that jump."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import typer

from draftproof.experiments import cli
from draftproof.simulator import FAMILIES
from tests.experiments.faults.conftest import VERDICTS, Run, rows_of, whole_of, wrong_after
from tests.experiments.faults.writers import OWN, SMALL, WRITERS, chosen

if not sys.platform.startswith("linux"):
    pytest.skip("processes that are left are looked for in /proc", allow_module_level=True)

#: Built once: half of the time of a run that ends at once.
PROGRAM: Any = typer.main.get_command(cli.program())


class Pipe(io.RawIOBase):
    """Takes so many bytes, then nobody reads any more."""

    def __init__(self, most: int) -> None:
        self.most, self.taken, self.refused = most, 0, False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.taken == self.most and len(data):
            self.refused = True
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        count = min(len(data), self.most - self.taken)
        self.taken += count
        return count


def piped(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], most: int) -> tuple[int, Pipe]:
    pipe = Pipe(most)
    monkeypatch.setattr(sys, "argv", ["draftproof", *arguments])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(pipe, 16), encoding="utf-8"))
    return cli.run(PROGRAM, "draftproof"), pipe


#: Commands for readers that go away, in this process, and how many of the counts of bytes at the least: 0 for all.
PIPED = {
    "check": (("check", "block", *SMALL), 0),
    "check, refuted": (("check", "naive_from_target", "--instance", "given.json", "--witness", "w.json"), 0),
    "list": (("list",), 40),
    "compare": (("compare", "nss", "naive", "--jobs", "1", *SMALL), 100),
    "bound": (("bound", *SMALL), 100),
    "matrix": (("matrix", "naive", "--instances", "1"), 12),
    "precision": (("precision", "naive", *SMALL), 40),
    "audit": (("audit", "own.py:first", "--cases", "context", "--L2", "1"), 20),
    "prove": (("prove", "block", "--K", "1", "--L2", "1"), 60),
}


def pipes(monkeypatch: pytest.MonkeyPatch, place: Path, faults: Any, random: Random, name: str, quick: bool) -> None:
    """Pipes that close after so many counts of bytes, and at both ends."""
    monkeypatch.chdir(place)
    (place / "own.py").write_text(OWN)
    FAMILIES["dirichlet"].instance(2, 1, np.random.default_rng(0), 20).save(place / "given.json")
    command, least = PIPED[name]
    for more in ((), ("--json", "-")):
        code, pipe = piped(monkeypatch, (*command, *more), 10**6)
        total = pipe.taken
        assert code in VERDICTS
        counts: Iterable[int] = {0, 1, total - 1, *(random.randrange(total) for _ in range(2 if quick else least))}
        for most in sorted(counts) if quick or least else range(total):
            ended, pipe = piped(monkeypatch, (*command, *more), most)  # a time can be shorter: then all arrived
            right = ended == (141 if pipe.refused else code)
            faults.tried("pipe closed after some bytes", name, [] if right else [f"{most}: {ended}"])
    monkeypatch.undo()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["check", "check, refuted"])
def test_pipes_that_close(monkeypatch, tmp_path, faults, random, name):
    pipes(monkeypatch, tmp_path, faults, random, name, quick=True)
    faults.settle()


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", PIPED)
def test_pipes_that_close_after_many_counts(monkeypatch, tmp_path, faults, random, name):
    pipes(monkeypatch, tmp_path, faults, random, name, quick=False)
    faults.settle()


@pytest.mark.heavy
@pytest.mark.parametrize("name", chosen(lambda writer: writer.models or writer.workers > 0))
def test_pipes_of_processes_that_nobody_reads(places, faults, name):
    """The same for commands with models or workers, as processes: a reader that is never there."""
    writer = WRITERS[name]
    for turn, more in enumerate(((), ("--json", "-"))):
        folder = places.prepared(writer, f"unread {turn}")
        plain = writer.arguments[: writer.arguments.index("--json")]
        if writer.lasts:
            continue
        read, write = os.pipe()
        os.close(read)
        run = Run(folder, (*plain, *more), stdout=write)
        os.close(write)
        code = run.ended()
        wrong = wrong_after(run, 2, b"", {}, None) + ([] if code == 141 else [f"{code}: {run.err[-300:]}"])
        faults.tried("pipe that nobody reads", name, wrong)
    faults.tried("pipe that nobody reads", name, [])
    faults.settle()


def together(places: Any, faults: Any, random: Random, name: str, kinds: tuple[bool, ...]) -> None:
    """Two runs on the same files at the same time; kinds: for each turn, whether one is killed in the middle."""
    writer = WRITERS[name]
    whole, code, seconds = whole_of(places, writer)
    for turn, kill in enumerate(kinds):
        folder = places.prepared(writer, f"two {turn}")
        runs = [Run(folder, writer.arguments) for _ in range(2)]
        ended = runs[0].hurt(signal.SIGKILL, random.uniform(0, 1.5 * seconds)) if kill else runs[0].ended()
        wrong = [] if ended in (code, -signal.SIGKILL) else [f"exit code {ended}: {runs[0].err[-300:]}"]
        other = runs[1].ended()
        wrong += [] if other == code else [f"the other: {other} {runs[1].err[-300:]}"]
        for run in runs:
            wrong += wrong_after(run, code, b"", whole, None)
        if writer.rows:  # fails where a row stands twice
            rows, wanted = (rows_of(place / writer.rows) for place in (folder, places.root / "whole"))
            wrong += [] if rows.keys() == wanted.keys() else [f"{len(rows)} rows of {len(wanted)}"]
        faults.tried("two runs at once" + (", one killed" if kill else ""), name, wrong)


@pytest.mark.heavy
def test_two_runs_at_the_same_time(places, faults, random):
    together(places, faults, random, "compare", (False,))
    faults.settle()


@pytest.mark.heavy
@pytest.mark.parametrize("name", chosen(lambda writer: not writer.lasts and not writer.folder))
def test_two_runs_many_times(places, faults, random, name):
    together(places, faults, random, name, (False, True) if WRITERS[name].models else (False, True) * 3)
    faults.settle()


#: Fields that depend on the witness: the search for a smaller one ends after some time.
SEARCHED = ("witness", "max_deviation", "total_variation", "block_efficiency")


def jumping(real: Callable[[], float], random: Random, back: bool) -> Callable[[], float]:
    """A clock that now and then goes on or back by hours."""
    offset = 0.0

    def now() -> float:
        nonlocal offset
        if random.random() < 0.2:
            offset += random.uniform(-1e4 if back else 0, 1e4)
        return real() + offset

    return now


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("compare", "nss", "naive", *SMALL, "--jobs", "1", "--resume", "r", "--arithmetic", "rational"), 0),
        (("check", "block", *SMALL), 0),
        (("check", "naive_from_target", *SMALL), 1),
        (("bound", "--vocab", "2"), 0),
        (("prove", "block", "--K", "1", "--L2", "1"), 0),
        pytest.param(("matrix", "naive", "--instances", "1"), 0, marks=pytest.mark.heavy),
        pytest.param(("precision", "naive", *SMALL), 0, marks=pytest.mark.heavy),
        pytest.param(("audit", "own.py:first", "--cases", "context"), 1, marks=pytest.mark.heavy),
    ],
)
def test_clocks_that_jump(draftproof, faults, monkeypatch, random, command, code):
    Path("own.py").write_text(OWN)
    expected = draftproof(*command, "--json", "-").json
    clocks = {"time": time.time, "perf_counter": time.perf_counter, "monotonic": time.monotonic}
    for turn in range(3):
        Path("r").unlink(missing_ok=True)
        for name, real in clocks.items():
            monkeypatch.setattr(time, name, jumping(real, random, back=name == "time" or turn > 0))
        run = draftproof(*command, "--json", "-")
        for name, real in clocks.items():
            monkeypatch.setattr(time, name, real)
        wrong = [] if run.code == code else [f"exit code {run.code}: {run.err}"]
        wrong += [] if timeless(run.json, code == 1) == timeless(expected, code == 1) else ["another answer"]
        faults.tried("clock that jumps", command[0], wrong)
    faults.settle()


def timeless(value: Any, refuted: bool) -> Any:
    """JSON without what clocks said."""
    if isinstance(value, list):
        return [timeless(each, refuted) for each in value]
    if not isinstance(value, dict):
        return value
    left_out = ("second", "announced", "history", "processes", *(SEARCHED if refuted else ()))
    return {key: timeless(each, refuted) for key, each in value.items() if not any(part in key for part in left_out)}
