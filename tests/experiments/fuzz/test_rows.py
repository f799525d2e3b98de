"""Rows with one field changed and a digest that matches: each is believed as a whole or refused in one short line."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import pytest

from draftproof.experiments.commands.sweep import store as stores
from draftproof.experiments.shared import rows as files
from tests.experiments.fuzz.formats import SWEEP
from tests.experiments.fuzz.mutations import CHARACTERS, mutated_row

SHAPES = ("--family", "dirichlet", "--vocab", 2, "--K", "1..2", "--L1", 0, "--L2", 1, "--jobs", 1)
TIMES = "draft=1,branch=.1,target=10,node=.05"
COMPARE = ("compare", "naive", "block", *SHAPES, "--arithmetic", "rational", "--by-root", "--cost", TIMES,
           "--csv", "c.csv", "--markdown", "c.md", "--latex", "c.tex")  # fmt: skip
FLOATS = ("compare", "naive", *SHAPES, "--json", "c.json")
PROVE = ("prove", "naive", "--K", 1, "--L2", 1, "--jobs", 1)
RELATE = (*PROVE, "--equals", "block", "--json", "p.json")
SWEPT = ("sweep", "s.toml", "--jobs", 1, "--store")
REPORT = ("report", "-o", "r.html", "--json", "r.json")


@dataclass(frozen=True)
class Kept:
    """A file of rows or a store. lines: commands that read it, which end with its name."""

    path: Path
    rows: list[dict[str, Any]]
    write: Callable[[Path, list[dict[str, Any]]], None]
    lines: tuple[tuple[object, ...], ...]


def write_file(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = [{"format": files.FORMAT, "version": "0"}, *({**row, "digest": files._digest(row)} for row in rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


COLUMNS = ("strong_id", "question", "verifier", "scheme", "row", "code", "seconds")


def write_store(path: Path, rows: list[dict[str, Any]]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("delete from rows")
        for row in rows:
            values = [_column(row.get(name, "")) for name in COLUMNS]
            digest = stores._crc(values[4], values[5])
            file.execute(
                "insert or replace into rows values (?, ?, ?, ?, ?, ?, ?, ?)", (*values[:6], digest, values[6])
            )


def _column(value: Any) -> Any:
    """What SQLite takes: there is no NaN in it."""
    plain = isinstance(value, str) or (isinstance(value, float) and isfinite(value))
    return value if plain else json.dumps(value, sort_keys=True)


def read_store(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as file:
        found = [dict(zip(COLUMNS, row, strict=True)) for row in file.execute(f"select {','.join(COLUMNS)} from rows")]
    return [{**row, "row": json.loads(row["row"]), "code": json.loads(row["code"])} for row in found]


def read_file(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [{key: value for key, value in row.items() if key != "digest"} for row in found]


@pytest.fixture
def kept(draftproof) -> list[Kept]:
    """What the commands keep, with the commands that read it again."""
    pytest.importorskip("z3")
    Path("s.toml").write_text(SWEEP)
    for line in ((*COMPARE, "--resume", "rows.jsonl"), (*FLOATS, "--resume", "rows.jsonl"), (*SWEPT, "s.db"),
                 (*PROVE, "--resume", "proof.jsonl"), (*RELATE, "--resume", "proof.jsonl")):  # fmt: skip
        assert draftproof(*line).code == 0
    models = files.RowFile("models.jsonl")
    cell = {"verifier": "block", "shape": "1, 0, 2", "predicted": 2.5, "measured": 2.4, "total_error": 0.05, "z": -2.0}
    models.add({**cell, "blocks": 1000, "kind": "cell", "strong_id": "a" * 24})
    models.add({"shares": {"block": 0.9, "gbv": 0.95}, "kind": "share", "strong_id": "b" * 24})
    exports = [
        ("sweep", "--export", name, "--store") for name in ("a.csv", "a.parquet")[: 1 + bool(find_spec("pyarrow"))]
    ]
    resumed = [(*line, "--resume") for line in (COMPARE, FLOATS)]
    proofs = [(*line, "--resume") for line in (PROVE, (*PROVE, "--certificate", "p.cert"), RELATE)]
    rows, proof, store, models = map(Path, ("rows.jsonl", "proof.jsonl", "s.db", "models.jsonl"))
    return [
        Kept(rows, read_file(rows), write_file, (REPORT, *resumed)),
        Kept(proof, read_file(proof), write_file, tuple(proofs)),
        Kept(store, read_store(store), write_store, (REPORT, SWEPT, *exports)),
        Kept(models, read_file(models), write_file, (REPORT,)),
    ]


def fuzz(
    kept: list[Kept], cases: int, draftproof: Callable[..., Any], record: Callable[[str, object], None]
) -> Counter[int]:
    """How the commands ended; fails with the rows where any ended in a way that it may not."""
    random, counts, wrong = Random(int(os.environ.get("FUZZ_SEED", "0"))), Counter[int](), []
    for case in range(cases):
        each = kept[case % len(kept)]
        number = random.randrange(len(each.rows))
        rows = [mutated_row(row, random) if at == number else row for at, row in enumerate(each.rows)]
        line = (*random.choice(each.lines), each.path)
        each.write(each.path, rows)
        ran = draftproof(*line)
        counts[ran.code] += 1
        told = [text for text in ran.err.splitlines() if text.startswith("draftproof: ")]
        short = max(map(len, ran.err.splitlines()), default=0) <= CHARACTERS and "\x1b" not in ran.err + ran.out
        if ran.code not in (0, 2) or not short or len(told) != (ran.code == 2):
            wrong.append(f"{line}: exit {ran.code}: {json.dumps(rows[number])[:1500]}\n{ran.err[-1500:]}")
    record("tried", ["mutated: rows", cases])
    assert not wrong, f"{len(wrong)} of {cases}\n" + "\n\n".join(wrong[:8])
    return counts


@pytest.mark.parametrize("cases", [60, pytest.param(600, marks=pytest.mark.heavy)])
def test_changed_rows_are_believed_or_refused(kept, draftproof, record_property, cases):
    assert fuzz(kept, cases, draftproof, record_property)[2] > cases / 4
    assert sys.getrecursionlimit() >= 1000


def test_the_rows_that_changes_begin_with_are_taken(kept, draftproof):
    for each in kept:
        each.write(each.path, each.rows)
        for line in each.lines:
            ran = draftproof(*line, each.path)
            assert (ran.code, "not taken" in ran.err, "digest" in ran.err) == (0, False, False), ran.err
