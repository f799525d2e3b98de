"""kill -9 and SIGTERM at random moments of every command that writes, alone and while processes work for it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.experiments.faults.conftest import OLD, VERDICTS, Faults, Run, rows_of, size_of, wrong_after

if not sys.platform.startswith("linux"):
    pytest.skip("processes that are left are looked for in /proc", allow_module_level=True)

WRITES = ("--csv", "a.csv", "--markdown", "a.md", "--plot", "a.png", "--json", "a.json")
FILES = ("a.csv", "a.md", "a.png", "a.json")
OWN = "from verifiers.naive import Naive\n"
SHAPES = ("--vocab", "3", "--K", "2", "--L1", "0..1", "--L2", "1..2", "--engine", "enumerate")
#: Command, the files it writes whole, its file of rows.
QUICK = {
    "compare": (("compare", "nss", "naive", *SHAPES, "--jobs", "1", "--resume", "r", *WRITES[:4]), FILES[:2], "r"),
}
HEAVY = {
    "bound": (("bound", "--certificate", "b.json", "--json", "a.json"), ("b.json", "a.json"), None),
    "compare, 2 processes": (
        ("compare", "nss", "naive", "specinfer", "traversal", *SHAPES, "--jobs", "2", "--resume", "r", *WRITES),
        FILES,
        "r",
    ),
    "check": (
        ("check", "naive_from_target", "--vocab", "2", "--witness", "w.json", "--json", "a.json"),
        ("w.json", "a.json"),
        None,
    ),
    "check FILE.py": (("check", "own.py:Naive", "--instances", "40", "--json", "a.json"), ("a.json",), None),
    "prove": (
        ("prove", "block", "--K", "1", "--L2", "2", "--resume", "r", "--certificate", "c.json", "--json", "a.json"),
        ("c.json", "a.json"),
        "r",
    ),
    "study of programs": (
        ("-m", "experiments.studies.programs", "--shapes", "1", "--json", "a.json"),
        ("a.json",),
        None,
    ),
}


def prepared(folder: Path, files: Sequence[str]) -> Path:
    folder.mkdir()
    (folder / "own.py").write_text(OWN)
    for name in files:
        (folder / name).write_text(OLD)
    return folder


def remainders(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


def finished(folder: Path, arguments: Sequence[str]) -> tuple[int, float]:
    started = time.monotonic()
    run = Run(folder, arguments)
    code = run.ended()
    assert code in VERDICTS, run.err
    return code, time.monotonic() - started


def killed_often(name: str, place: Path, faults: Faults, random: Random, times: int, kinds: Sequence[int]) -> None:
    """Kill one command again and again; each run goes on where the one before ended, and the last one may finish."""
    arguments, files, rows = {**QUICK, **HEAVY}[name]
    reference = prepared(place / "whole", files)
    code, seconds = finished(reference, arguments)
    whole = {file: size_of(reference / file) for file in files}
    folder = prepared(place / "hurt", files)
    for turn in range(times):
        number = kinds[turn % len(kinds)]
        run = Run(folder, arguments)
        moment = time.monotonic() + random.uniform(0, seconds)
        before = b""
        while time.monotonic() < moment and run.process.poll() is None:
            time.sleep(0.01)
            if rows and (folder / rows).exists():
                before = (folder / rows).read_bytes()
        ended = run.hurt(number, 0)
        wrong = wrong_after(run, ended, before, whole, rows)
        if ended not in (-number, 128 + number, code):
            wrong.append(f"exit code {ended}: {run.err.strip()[-200:]}")
        if number == signal.SIGTERM and ended == 128 + number and remainders(folder):
            wrong.append(f"left {remainders(folder)}")
        if ended == code:  # it was quicker: from the beginning
            folder = prepared(place / f"hurt {turn}", files)
        faults.tried(f"{name}: {signal.Signals(number).name}", wrong)
    kept = rows_of(folder / rows) if rows else {}
    assert finished(folder, arguments)[0] == code
    assert {file: size_of(folder / file) for file in files} == whole
    if rows:
        after = rows_of(folder / rows)
        assert after.keys() == rows_of(reference / rows).keys()
        assert {key: after[key] for key in kept} == kept
    assert remainders(folder) == []


@pytest.mark.parametrize("name", QUICK)
def test_a_few_moments(tmp_path, faults, random, name):
    killed_often(name, tmp_path, faults, random, 2, (signal.SIGKILL, signal.SIGTERM))
    faults.settle()


@pytest.mark.heavy
@pytest.mark.parametrize("name", [*QUICK, *HEAVY])
def test_many_moments(tmp_path, faults, random, name):
    killed_often(name, tmp_path, faults, random, 12, (signal.SIGKILL, signal.SIGTERM))
    faults.settle()


@pytest.mark.heavy
@pytest.mark.parametrize("module", ["share_of_optimum"])
def test_studies_that_last(tmp_path, faults, random, module):
    """Never to their end: rows alone count, from processes that are ended in the middle of their work."""
    arguments = ("-m", f"experiments.studies.{module}", "--seeds", "1", "--resume", "r", "--json", "a.json")
    folder = prepared(tmp_path / "hurt", ["a.json"])
    for turn in range(6):
        number = (signal.SIGKILL, signal.SIGTERM)[turn % 2]
        run = Run(folder, arguments)
        moment, before = time.monotonic() + random.uniform(1, 15), b""
        while time.monotonic() < moment:
            time.sleep(0.01)
            before = (folder / "r").read_bytes() if (folder / "r").exists() else b""
        ended = run.hurt(number, 0)
        wrong = wrong_after(run, ended, before, {"a.json": None}, "r")
        wrong += [f"exit code {ended}"] if ended not in (-number, 128 + number) else []
        faults.tried(f"study {module}: {signal.Signals(number).name}", wrong)
    assert rows_of(folder / "r")
    faults.settle()


@pytest.mark.heavy
@pytest.mark.skip(reason="has not run to its end yet: what it finds in train and validate is not known")
def test_validate(tmp_path, faults, random):
    pair = ("train", "--out", "pair", "--steps", "5", "--device", "cpu")
    folder = prepared(tmp_path / "hurt", [])
    for number in (signal.SIGKILL, signal.SIGTERM):
        run = Run(folder, pair)
        ended = run.hurt(number, random.uniform(2, 6))
        wrong = wrong_after(run, ended, b"", {}, None)
        if (folder / "pair").exists() and ended not in VERDICTS:
            wrong.append("half a pair")
        faults.tried(f"train: {signal.Signals(number).name}", wrong)
    assert finished(folder, pair)[0] == 0
    assert remainders(folder) == []
    few = ("--roots", "2", "--blocks", "300", "--law-runs", "200", "--K", "1", "--L2", "1..2", "--device", "cpu")
    arguments = ("validate", "naive", "block", "--pair", "pair", *few, "--resume", "r", "--json", "a.json")
    for turn in range(6):
        number = (signal.SIGKILL, signal.SIGTERM)[turn % 2]
        before = (folder / "r").read_bytes() if (folder / "r").exists() else b""
        run = Run(folder, arguments)
        ended = run.hurt(number, random.uniform(1, 20))
        wrong = wrong_after(run, ended, before, {}, "r")
        wrong += ["a.json before the end"] if ended not in VERDICTS and (folder / "a.json").exists() else []
        faults.tried(f"validate: {signal.Signals(number).name}", wrong)
        if ended in VERDICTS:
            (folder / "a.json").unlink()
    faults.settle()
