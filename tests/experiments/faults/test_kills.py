"""kill -9 and SIGTERM at random moments of every command that writes, alone and while processes work for it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from random import Random

import pytest

from tests.experiments.faults.conftest import (
    OLD,
    Faults,
    Run,
    folder_of,
    remainders,
    rows_of,
    size_of,
    whole_of,
    wrong_after,
)
from tests.experiments.faults.writers import MODELS, WRITERS, Places, Writer, chosen

if not sys.platform.startswith("linux"):
    pytest.skip("processes that are left are looked for in /proc", allow_module_level=True)

KINDS = (signal.SIGKILL, signal.SIGTERM)
#: Seconds within which a command that is never awaited is killed.
LASTING = 15.0
#: Seconds to wait for workers, on a machine that is busy.
PATIENCE = 240.0


def hurt(run: Run, writer: Writer, number: int, moment: float, together: bool) -> tuple[int, bytes, bool]:
    """Kill a run: its exit code, its file of rows just before, and whether all its workers were there.

    moment: seconds after the start. together: seconds after its workers are all there.
    """
    before, seen, end = b"", False, time.monotonic() + moment + together * PATIENCE
    while time.monotonic() < end and run.process.poll() is None:
        time.sleep(0.01)
        if writer.rows and (run.folder / writer.rows).exists():
            before = (run.folder / writer.rows).read_bytes()
        if together and not seen and run.workers() >= writer.workers:
            seen, end = True, time.monotonic() + moment
    return run.hurt(number, 0), before, seen


def killed_often(name: str, places: Places, faults: Faults, random: Random, kinds: Sequence[int]) -> None:
    """Kill one command again and again; each run goes on where the one before ended, and the last one may finish."""
    writer = WRITERS[name]
    whole, code, seconds = whole_of(places, writer)
    folder, parallel = places.prepared(writer, "hurt"), 0
    for turn, number in enumerate(kinds):
        run, together, there = Run(folder, writer.arguments), bool(writer.workers and turn % 3), remainders(folder)
        moment = random.uniform(0, seconds / 4 if together else seconds)
        ended, before, seen = hurt(run, writer, number, moment, together)
        parallel += seen
        wrong = wrong_after(run, ended, before, whole, writer.rows)
        if ended not in (-number, 128 + number, code):
            wrong.append(f"exit code {ended}: {run.err.strip()[-200:]}")
        if ended == 128 + number and (left := set(remainders(folder)) - set(there)):
            wrong.append(f"left {left}")
        if writer.folder and folder_of(folder / writer.folder) not in (set(), folder_of(places.root / "whole/new")):
            wrong.append("half a folder")
        if ended == code:  # it was quicker: from the beginning
            folder = places.prepared(writer, f"hurt {turn}")
        faults.tried(signal.Signals(number).name, name, wrong)
    assert parallel >= len(kinds) / 3 or not writer.workers
    kept = rows_of(folder / writer.rows) if writer.rows else {}
    last = Run(folder, writer.arguments)
    assert last.ended() == code, last.err
    assert {file: size_of(folder / file) for file in writer.files} == whole
    if writer.rows:
        after = rows_of(folder / writer.rows)
        assert after.keys() == rows_of(places.root / "whole" / writer.rows).keys()
        assert {key: after[key] for key in kept} == kept
    assert remainders(folder) == []


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["compare"])
def test_a_few_moments(places, faults, random, name):
    killed_often(name, places, faults, random, KINDS)
    faults.settle()


@pytest.mark.heavy
@pytest.mark.parametrize("name", chosen(lambda writer: not writer.lasts))
def test_many_moments(places, faults, random, name):
    killed_often(name, places, faults, random, KINDS * (4 if WRITERS[name].models else 6))
    faults.settle()


@pytest.mark.heavy
@pytest.mark.parametrize("name", chosen(lambda writer: writer.lasts))
def test_commands_that_last(places, faults, random, name):
    """Hardly ever to their end: rows alone count, from processes that are ended in the middle of their work."""
    writer = WRITERS[name]
    folder, parallel = places.prepared(writer, "hurt"), 0
    for turn in range(8):
        number, together = KINDS[turn % 2], bool(writer.workers and turn > 3)
        places.fill(writer, folder)
        run = Run(folder, writer.arguments)
        ended, before, seen = hurt(run, writer, number, random.uniform(0, LASTING), together)
        parallel += seen
        wrong = wrong_after(run, ended, before, {}, writer.rows)
        for file in writer.files:
            if (folder / file).read_bytes() != OLD.encode():  # whole, since it is read
                size_of(folder / file)
        wrong += [f"exit code {ended}: {run.err[-200:]}"] if ended not in (-number, 128 + number, 0) else []
        faults.tried(signal.Signals(number).name, name, wrong)
    assert not writer.rows or rows_of(folder / writer.rows)
    assert parallel == 4 or not writer.workers
    faults.settle()


def new_remainders(run: Run, there: set[str]) -> set[str]:
    """Waits for temporary folders that were not there."""
    end = time.monotonic() + PATIENCE
    while run.process.poll() is None and time.monotonic() < end:
        if made := set(remainders(run.folder)) - there:
            return made
        time.sleep(0.02)
    return set()


@MODELS
@pytest.mark.heavy
def test_a_pair_that_is_trained_for_one_run_is_not_left(places, faults, random):
    """The folder of the pair is a temporary one: a run that is killed leaves it, the next run removes it."""
    folder = places.prepared(WRITERS["validate"], "hurt")
    given = ("validate", "own.py:Naive", "--quick", "--text", "../text.txt", "--device", "cpu", "--json", "a.json")
    for turn in range(6):
        number, there = KINDS[turn % 2], set(remainders(folder))
        run = Run(folder, given)
        made = new_remainders(run, there)
        wrong = [] if made and not there & set(remainders(folder)) else ["what the run before left is still there"]
        ended = run.hurt(number, random.uniform(0, 3))
        wrong += wrong_after(run, ended, b"", {}, None)
        wrong += [f"exit code {ended}: {run.err[-200:]}"] if ended not in (-number, 128 + number) else []
        wrong += ["left the pair"] if number == signal.SIGTERM and remainders(folder) else []
        faults.tried(signal.Signals(number).name, "validate FILE.py, training first", wrong)
    faults.settle()
