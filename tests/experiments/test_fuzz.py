"""Mutations of valid inputs: each is read or refused in one short line, quickly; nothing else is ever raised."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from experiments.shared.latency import time_model
from experiments.shared.rows import RowFile, strong_id
from lp_analysis import certificate, check_file, dumps, optimum
from simulator import FAMILIES, Delayed, DraftproofError, Instance

#: Seconds for one case, and characters of a message.
SECONDS, CHARACTERS = 10, 300
ODD = (
    "",
    "-1",
    "1e999",
    "NaN",
    "null",
    "[]",
    "{}",
    '"1/0"',
    "9" * 5000,
    '"' + "9" * 5000 + '"',
    "[" * 2000,
    "\\ud800",
    "\x00",
    "é",
)


def valid(folder: Path) -> dict[str, tuple[bytes, Callable[[str], Any]]]:
    """For every format a valid file and what reads it."""
    made = FAMILIES["dirichlet"].instance(2, 2, np.random.default_rng(0), 20)
    given = Instance(made.target, made.draft, Delayed(2, 0, 2))
    file = folder / "rows.jsonl"
    RowFile(str(file)).add({"strong_id": strong_id({"n": 1}), "value": "43/21"})
    times = {"draft": {"1": 1.0, "4": 1.3}, "target": {"0": 10, "8": 10.5}}
    return {
        "instance": (given.dumps().encode(), Instance.load),
        "certificate": (_certificate(given), check_file),
        "rows": (file.read_bytes(), RowFile),
        "cost": (json.dumps(times).encode(), time_model),
    }


def _certificate(given: Instance) -> bytes:
    found = optimum(given.target, given.draft, Delayed(2, 0, 2))
    return str(dumps(certificate(given.target, given.draft, found))).encode()


def mutated(data: bytes, random: Random) -> bytes:
    """One to three small changes."""
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(data) + 1)
        end = min(len(data), place + random.choice((0, 1, 3, 20)))
        kind = random.randrange(4)
        if kind == 0:
            data = data[:place] + random.choice(ODD).encode("utf-8", "surrogatepass") + data[end:]
        elif kind == 1:
            data = data[:place] + bytes([random.randrange(256)]) + data[end:]
        elif kind == 2:
            data = data[:place] + data[end:]
        else:
            data = data[:end] + data[place:end] * random.randint(1, 3) + data[end:]
    return data


def refused(read: Callable[[str], Any], path: Path) -> bool:
    """Whether the file is refused, in one short line; anything else than reading and refusing fails the test."""
    try:
        read(str(path))
    except DraftproofError as error:
        message = str(error)
        assert len(message) <= CHARACTERS, message
        assert "\n" not in message
        return True
    return False


def fuzz(folder: Path, capsys: pytest.CaptureFixture[str], cases: int) -> int:
    """How many of the cases were refused."""
    formats, random, count = valid(folder), Random(0), 0

    def late(number: int, frame: Any) -> None:
        raise AssertionError(f"a case took more than {SECONDS} s")

    before, digits = signal.signal(signal.SIGALRM, late), sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # as the command line does
    try:
        for case in range(cases):
            name = list(formats)[case % len(formats)]
            data, read = formats[name]
            path = Path(f"fuzzed.{name}")  # messages quote the path: a short one
            path.write_bytes(mutated(data, random))
            signal.alarm(SECONDS)
            count += refused(read, path)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        sys.set_int_max_str_digits(digits)
    assert "Traceback" not in capsys.readouterr().err
    return count


def test_five_hundred_mutations_are_read_or_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fuzz(tmp_path, capsys, 500) > 250


@pytest.mark.heavy
def test_ten_thousand_mutations_are_read_or_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fuzz(tmp_path, capsys, 10_000) > 5_000


def test_the_inputs_that_mutations_begin_with_are_valid(tmp_path):
    for name, (data, read) in valid(tmp_path).items():
        (tmp_path / name).write_bytes(data)
        assert not refused(read, tmp_path / name)
