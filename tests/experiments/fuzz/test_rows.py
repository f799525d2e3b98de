"""Rows with one field changed and a digest that matches: each is believed as a whole or refused in one short line."""

import json
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from draftproof.experiments.grid import store as stores
from tests.experiments.fuzz.formats import WORLDS
from tests.experiments.fuzz.mutations import CHARACTERS, mutated_row

SHAPES = ("--world", "family:dirichlet,vocab=2", "--K", "1..2", "--L1", 0, "--L2", 1, "--jobs", 1)
TIMES = "draft=1,branch=.1,target=10,node=.05"
COMPARE = ("compare", "naive", "block", *SHAPES, "--arithmetic", "rational", "--by", "root", "--cost", TIMES,
           "-o", "c.csv", "-o", "c.md")  # fmt: skip
FLOATS = ("compare", "naive", *SHAPES, "-o", "c.json")
PROVE = ("prove", "naive", "--K", 1, "--L2", 1, "--jobs", 1)
RELATE = (*PROVE, "--equals", "block", "-o", "p.json")
FILE = ("compare", "s.toml", "--jobs", 1, "--resume")
REPORT = ("report", "-o", "r.html", "-o", "r.json")


@dataclass(frozen=True)
class Kept:
    """A store. lines: commands that read it, which end with its name."""

    path: Path
    rows: list[dict[str, Any]]
    lines: tuple[tuple[object, ...], ...]

    def write(self, rows: list[dict[str, Any]]) -> None:
        """The same file with these rows of the present code, each with a digest that matches."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as file:
            file.execute("delete from rows")
            for row in rows:
                values = (
                    *(_text(row.get(name, "")) for name in ("strong_id", "kind")),
                    json.dumps(row), json.dumps(stores.code_fields(outside=False), sort_keys=True),
                )  # fmt: skip
                file.execute("insert or replace into rows values (?, ?, ?, ?, ?)", (*values, stores._digest(*values)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.fixture
def kept(draftproof) -> list[Kept]:
    """What the commands keep, with the commands that read it again."""
    pytest.importorskip("z3")
    Path("s.toml").write_text(WORLDS)
    for line in ((*COMPARE, "--resume", "rows.db"), (*FLOATS, "--resume", "rows.db"), (*FILE, "s.db"),
                 (*PROVE, "--resume", "proof.db"), (*RELATE, "--resume", "proof.db")):  # fmt: skip
        assert draftproof(*line).code == 0
    models = stores.Store("models.db")
    cell = {"verifier": "block", "shape": "1, 0, 2", "predicted": 2.5, "measured": 2.4, "total_error": 0.05, "z": -2.0}
    by_root = {"predicted": [2.5], "measured": [2.4]}
    models.add({**cell, "by_root": by_root, "blocks": 1000, "kind": "cell", "strong_id": "a" * 24})
    models.close()
    suffixes = ("csv", "md")
    exports = [("report", "-o", f"a.{suffix}") for suffix in suffixes]
    resumed = [(*line, "--resume") for line in (COMPARE, FLOATS)]
    proofs = [(*line, "--resume") for line in (PROVE, (*PROVE, "--certificate", "p.cert"), RELATE)]
    lines = {
        "rows.db": (REPORT, *resumed), "proof.db": tuple(proofs), "s.db": (REPORT, FILE, *exports),
        "models.db": (REPORT, *exports),
    }  # fmt: skip
    return [Kept(Path(name), list(stores.stored_rows(name)), each) for name, each in lines.items()]


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
        each.write(rows)
        ran = draftproof(*line)
        counts[ran.code] += 1
        told = [text for text in ran.err.splitlines() if text.startswith("draftproof: ")]
        short = max(map(len, ran.err.splitlines()), default=0) <= CHARACTERS and "\x1b" not in ran.err + ran.out
        if ran.code not in (0, 2) or not short or len(told) != (ran.code == 2):
            wrong.append(f"{line}: exit {ran.code}: {json.dumps(rows[number])[:1500]}\n{ran.err[-1500:]}")
    record("tried", ["mutated: rows", cases])
    assert not wrong, f"{len(wrong)} of {cases}\n" + "\n\n".join(wrong[:8])
    return counts


@pytest.mark.heavy
@pytest.mark.parametrize("cases", [60, pytest.param(600, marks=pytest.mark.heavy)])
def test_changed_rows_are_believed_or_refused(kept, draftproof, record_property, cases):
    assert fuzz(kept, cases, draftproof, record_property)[2] > cases / 4
    assert sys.getrecursionlimit() >= 1000


@pytest.mark.heavy
def test_the_rows_that_changes_begin_with_are_taken(kept, draftproof):
    for each in kept:
        each.write(each.rows)
        for line in each.lines:
            ran = draftproof(*line, each.path)
            assert (ran.code, "not taken" in ran.err, "digest" in ran.err) == (0, False, False), ran.err
