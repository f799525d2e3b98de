"""Faults put upon the command line from outside, what has to hold after each, and the table of them.

`pytest -m "" tests/experiments/faults` prints the table: fault, command, tried, survived, lost.
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

from tests.experiments.faults.writers import OLD, Places, Writer

ROOT = Path(__file__).resolve().parents[3]
#: Small work is spread over processes, too: what is tried here is what becomes of them.
COMMAND = (
    "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.commands.compare import work; "
    "work.PARALLEL_FROM_SECONDS = 0.0; from draftproof.experiments.cli import main; main()"
)
MARK = "DRAFTPROOF_FAULT_TEST"
#: Codes that only a delivered verdict may have.
VERDICTS = (0, 1, 3)
#: Seconds within which every process of a killed run must be gone.
GONE = 30.0


def marked(mark: str, of: bytes = b"") -> set[int]:
    """Processes that this mark was handed down to, with these words in their command line.

    Those that have ended have no environment any more.
    """
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                known = f"{MARK}={mark}".encode() in (entry / "environ").read_bytes()
                if known and of in (entry / "cmdline").read_bytes():
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
        own = {MARK: self._mark, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
        if (folder / "tmp").is_dir():
            own["TMPDIR"] = str(folder / "tmp")
        self.process = subprocess.Popen(
            [sys.executable, *call], cwd=folder, env={**os.environ, **own}, start_new_session=True, **streams
        )
        self.out = self.err = ""

    def ended(self) -> int:
        """The exit code, once it has ended."""
        out, err = self.process.communicate(timeout=600)
        self.out, self.err = (out or b"").decode(), (err or b"").decode()
        return int(self.process.returncode)

    def hurt(self, number: int, after: float) -> int:
        """The exit code after a signal at that many seconds, or before it."""
        time.sleep(after)
        self.process.send_signal(number)
        return self.ended()

    def workers(self) -> int:
        """Processes that work for it."""
        return len(marked(self._mark, b"spawn_main"))

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
        return {key: shape_of(each) for key, each in value.items() if key != "history"}
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


def folder_of(path: Path) -> set[str]:
    """The files of a folder that is written whole; none where it is not there."""
    return {str(each.relative_to(path)) for each in path.rglob("*")}


def remainders(folder: Path) -> list[str]:
    """Temporary files and folders that were left, also where temporary ones belong."""
    return [path.name for path in (*folder.iterdir(), *(folder / "tmp").glob(".*")) if path.name.endswith(".part")]


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
        wrong.append(f"a traceback: {run.err.strip()[-400:]}")
    if rows is not None and before and not (run.folder / rows).read_bytes().startswith(before):
        wrong.append("rows that stood in the file are gone")
    return wrong


def whole_of(places: Places, writer: Writer) -> tuple[dict[str, object], int, float]:
    """What a run writes that nobody hurts, its exit code, and its seconds."""
    folder = places.prepared(writer, "whole")
    started = time.monotonic()
    run = Run(folder, writer.arguments)
    code = run.ended()
    assert code in VERDICTS, run.err
    return {name: size_of(folder / name) for name in writer.files}, code, time.monotonic() - started


class Faults:
    """Counts what was tried under one name, and what was lost."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record
        self.settled = False
        self._tried: dict[tuple[str, str], list[list[str]]] = defaultdict(list)

    def tried(self, fault: str, command: str, wrong: Sequence[str]) -> None:
        """One more of this fault, with whatever went wrong; in the table at once, whatever becomes of the test."""
        self._tried[fault, command].append(list(wrong))
        self._record("fault", [fault, command, 1, int(bool(wrong))])

    def settle(self) -> None:
        """The test fails where anything was lost."""
        self.settled = bool(self._tried)
        wrong = {fault: [one for one in each if one] for fault, each in self._tried.items() if any(each)}
        assert not wrong, wrong


@pytest.fixture
def faults(record_property: Callable[[str, object], None]) -> Iterator[Faults]:
    counted = Faults(record_property)
    yield counted
    assert counted.settled


@pytest.fixture(scope="session")
def _pair(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """The folder of a small pair, trained when it is first asked for, with its text beside it."""

    def made() -> Path:
        folder = tmp_path_factory.getbasetemp() / "models" / "pair"
        if not folder.exists():
            from draftproof.experiments.shared.text import EMBEDDED, read_text

            folder.parent.mkdir()
            (folder.parent / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
            arguments = ("train", "--out", "pair", "--steps", "20", "--text", "text.txt", "--device", "cpu")
            run = Run(folder.parent, arguments)
            assert run.ended() == 0, run.err
        return folder

    return made


@pytest.fixture
def places(tmp_path: Path, _pair: Callable[[], Path]) -> Places:
    return Places(tmp_path, _pair)


@pytest.fixture
def random(request: pytest.FixtureRequest) -> Random:
    """The same moments in every run, other ones in every test."""
    return Random(request.node.name)


def faults_shown(terminalreporter: Any) -> None:
    """The table, for the summary of a run."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "fault" and report.when == "call":
                    fault, command, tried, lost = value
                    counts[fault, command][0] += tried
                    counts[fault, command][1] += lost
    if not counts:
        return
    lines = [(*names, tried, lost) for names, (tried, lost) in sorted(counts.items())]
    lines.append(("all", "", *(sum(column) for column in zip(*counts.values(), strict=True))))
    terminalreporter.write_line(f"{'fault':38} {'command':36} {'tried':>6} {'survived':>9} {'lost':>5}")
    for fault, command, tried, lost in lines:
        terminalreporter.write_line(f"{fault:38} {command:36} {tried:6} {tried - lost:9} {lost:5}")
