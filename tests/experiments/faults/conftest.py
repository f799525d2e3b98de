"""Faults put upon the command line from outside, what has to hold after each, and the table of them.

`pytest -m "" tests/experiments/faults` prints the table: fault, tried, survived, lost.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMAND = "import sys; sys.argv[0] = 'draftproof'; from experiments.cli import main; main()"
MARK = "DRAFTPROOF_FAULT_TEST"
#: Codes that only a delivered verdict may have.
VERDICTS = (0, 1, 3)
#: Seconds within which every process of a killed run must be gone.
GONE = 30.0
#: What stood in a file before the run.
OLD = "an older result\n"


def marked(mark: str) -> set[int]:
    """Processes that this mark was handed down to; those that have ended have no environment any more."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


class Run:
    """One run of a command in a folder, as a process that can be hurt."""

    def __init__(self, folder: Path, arguments: Sequence[str], **more: Any) -> None:
        self.folder, self._mark = folder, uuid.uuid4().hex
        call = arguments if arguments[0] == "-m" else ("-c", COMMAND, *arguments)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        variables = {**os.environ, MARK: self._mark, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
        self.process = subprocess.Popen(
            [sys.executable, *call], cwd=folder, env=variables, start_new_session=True, **streams
        )
        self.out = self.err = ""

    def ended(self) -> int:
        """The exit code, once it has ended."""
        out, err = self.process.communicate(timeout=300)
        self.out, self.err = (out or b"").decode(), (err or b"").decode()
        return int(self.process.returncode)

    def hurt(self, number: int, after: float) -> int:
        """The exit code after a signal at that many seconds, or before it."""
        time.sleep(after)
        self.process.send_signal(number)
        return self.ended()

    def left(self) -> set[int]:
        """Processes that outlive it; they are ended, so that they disturb nothing."""
        end = time.monotonic() + GONE
        while (found := marked(self._mark)) and time.monotonic() < end:
            time.sleep(0.1)
        for process in found:
            os.kill(process, signal.SIGKILL)
        return found


def size_of(path: Path) -> object:
    """Equal for two files of one command exactly when both are whole; raises `ValueError` for one that is not."""
    data = path.read_bytes()
    if path.suffix == ".json":
        return shape_of(json.loads(data))
    if path.suffix == ".png":
        if not (data.startswith(b"\x89PNG") and data.endswith(b"IEND\xaeB`\x82")):
            raise ValueError(path.name)
        return "picture"
    if path.suffix == ".csv":
        return [len(line) for line in csv.reader(io.StringIO(data.decode()))]
    return data.count(b"\n"), data.endswith(b"\n")


def shape_of(value: object) -> object:
    """Names and lengths of JSON, not its numbers: times differ from run to run."""
    if isinstance(value, dict):
        return {key: shape_of(each) for key, each in value.items()}
    return len(value) if isinstance(value, list) else None


def faults_of_files(folder: Path, whole: Mapping[str, object], all_written: bool) -> list[str]:
    """What is wrong with the files of a run; whole: what each is when it is whole. An old file may still stand."""
    wrong = []
    for name, expected in whole.items():
        path = folder / name
        if not all_written and (not path.exists() or path.read_text(errors="replace") == OLD):
            continue
        try:
            if size_of(path) != expected:
                wrong.append(f"{name} is not what a whole run writes")
        except (ValueError, OSError) as error:
            wrong.append(f"{name} is half written: {error}")
    return wrong


def rows_of(path: Path) -> dict[str, str]:
    """The text of every whole row, by its id; a row that stands twice raises."""
    rows: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if "strong_id" in row:
            assert row["strong_id"] not in rows, "a row was computed twice"
            rows[row["strong_id"]] = line
    return rows


def wrong_after(run: Run, code: int, before: bytes, whole: Mapping[str, object], rows: str | None) -> list[str]:
    """Everything that a fault may never do, of those that it did. before: the file of rows just before the fault."""
    wrong = [f"{len(left)} processes left"] if (left := run.left()) else []
    wrong += faults_of_files(run.folder, whole, all_written=code in VERDICTS)
    if "Traceback" in run.err:
        wrong.append(f"a traceback: {run.err.strip().splitlines()[-1]}")
    if rows is not None and before and not (run.folder / rows).read_bytes().startswith(before):
        wrong.append("rows that stood in the file are gone")
    return wrong


class Faults:
    """Counts what was tried under one name, and what was lost."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record
        self.settled = False
        self._tried: dict[str, list[list[str]]] = defaultdict(list)

    def tried(self, fault: str, wrong: Sequence[str]) -> None:
        """One more of this fault, with whatever went wrong."""
        self._tried[fault].append(list(wrong))

    def settle(self) -> None:
        """Into the table; the test fails where anything was lost."""
        self.settled = bool(self._tried)
        for fault, each in self._tried.items():
            self._record("fault", [fault, len(each), sum(map(bool, each))])
        wrong = {fault: [one for one in each if one] for fault, each in self._tried.items() if any(each)}
        assert not wrong, wrong


@pytest.fixture
def faults(record_property: Callable[[str, object], None]) -> Iterator[Faults]:
    counted = Faults(record_property)
    yield counted
    assert counted.settled


@pytest.fixture
def random(request: pytest.FixtureRequest) -> Random:
    """The same moments in every run, other ones in every test."""
    return Random(request.node.name)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "fault" and report.when == "call":
                    counts[value[0]][0] += value[1]
                    counts[value[0]][1] += value[2]
    if not counts:
        return
    write = terminalreporter.write_line
    write(f"{'fault':60} {'tried':>6} {'survived':>9} {'lost':>5}")
    for fault, (tried, lost) in [
        *sorted(counts.items()),
        ("all", [sum(column) for column in zip(*counts.values(), strict=True)]),
    ]:
        write(f"{fault:60} {tried:6} {tried - lost:9} {lost:5}")
