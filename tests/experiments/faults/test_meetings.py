"""Readers that go away, runs at the same time, clocks that jump."""

from __future__ import annotations

import errno
import io
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from experiments import cli
from tests.experiments.faults.conftest import OLD, VERDICTS, Run, rows_of, size_of

if not sys.platform.startswith("linux"):
    pytest.skip("processes that are left are looked for in /proc", allow_module_level=True)

SMALL = ("--vocab", "2", "--K", "1..2", "--L2", "1..2", "--jobs", "1")
FILES = ("a.csv", "a.json")


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
    return cli.run(cli.app), pipe


def pipes(
    monkeypatch: pytest.MonkeyPatch, place: Path, faults: Any, random: Random, count: int, *commands: str
) -> None:
    """Pipes that close after so many counts of bytes, and at both ends."""
    monkeypatch.chdir(place)
    small = ("--vocab", "2", "--K", "1", "--L2", "1")
    for command in commands:
        for more in ((), ("--json", "-")):
            arguments = (*command.split(), *small, *more)
            code, pipe = piped(monkeypatch, arguments, 10**6)
            total = pipe.taken
            assert code in VERDICTS
            counts = {0, 1, total - 1, *(random.randrange(total) for _ in range(count))}
            for most in sorted(counts):
                ended, pipe = piped(monkeypatch, arguments, most)  # a time can be a digit shorter: then all arrived
                right = ended == (141 if pipe.refused else code)
                faults.tried(f"pipe closed after some bytes: {command}", [] if right else [f"{most}: {ended}"])
            monkeypatch.undo()
            monkeypatch.chdir(place)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_pipes_that_close(monkeypatch, tmp_path, faults, random):
    pipes(monkeypatch, tmp_path, faults, random, 2, "check block", "check naive_from_target")
    faults.settle()


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_pipes_that_close_after_every_count_of_a_sample(monkeypatch, tmp_path, faults, random):
    commands = ("check block", "check naive_from_target", "compare nss naive --jobs 1", "bound")
    pipes(monkeypatch, tmp_path, faults, random, 150, *commands)
    faults.settle()


def prepared(folder: Path) -> Path:
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(OLD)
    return folder


def together(place: Path, faults: Any, random: Random, kill: bool) -> None:
    """Two runs on one file of rows that also write the same files; kill: one of them is, in the middle."""
    shapes = ("--vocab", "3", "--K", "2", "--L1", "0..1", "--L2", "1..2", "--engine", "enumerate", "--jobs", "1")
    arguments = ("compare", "nss", "naive", *shapes, "--resume", "r", "--csv", "a.csv", "--json", "a.json")
    folder = prepared(place)
    runs = [Run(folder, arguments) for _ in range(2)]
    if kill:
        code = runs[0].hurt(signal.SIGKILL, random.uniform(0.5, 5))
        wrong = [f"exit code {code}"] if code not in (0, -signal.SIGKILL) else []
    else:
        code = runs[0].ended()
        wrong = [f"exit code {code}: {runs[0].err}"] if code else []
    wrong += [f"the other: {runs[1].err}"] if runs[1].ended() else []
    wrong += [f"{run.left()} left" for run in runs if run.left()]
    rows = rows_of(folder / "r")  # fails where a row stands twice
    whole = {name: size_of(folder / name) for name in FILES}
    wrong += [] if len(rows) == 12 else [f"{len(rows)} rows"]  # 2 verifiers and the optimum on 4 shapes
    wrong += [] if len(whole["a.csv"]) == 9 else ["a.csv is not whole"]
    faults.tried("two runs on one file of rows" + (", one killed" if kill else ""), wrong)


def test_two_runs_at_the_same_time(tmp_path, faults, random):
    together(tmp_path / "two", faults, random, kill=False)
    faults.settle()


@pytest.mark.heavy
def test_two_runs_many_times(tmp_path, faults, random):
    for turn in range(8):
        together(tmp_path / f"two {turn}", faults, random, kill=turn % 2 == 1)
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
        (("compare", "nss", "naive", *SMALL, "--resume", "r", "--arithmetic", "rational"), 0),
        (("check", "block", "--K", "1", "--L2", "1"), 0),
        (("check", "naive_from_target", "--K", "1", "--L2", "1"), 1),
        (("bound", "--vocab", "2"), 0),
        (("prove", "block", "--K", "1", "--L2", "1"), 0),
    ],
)
def test_clocks_that_jump(draftproof, faults, monkeypatch, random, command, code):
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
        faults.tried(f"clock that jumps: {command[0]}", wrong)
    faults.settle()


def timeless(value: Any, refuted: bool) -> Any:
    """JSON without what clocks said."""
    if isinstance(value, list):
        return [timeless(each, refuted) for each in value]
    if not isinstance(value, dict):
        return value
    left_out = ("second", "history", *(SEARCHED if refuted else ()))
    return {key: timeless(each, refuted) for key, each in value.items() if not any(part in key for part in left_out)}
