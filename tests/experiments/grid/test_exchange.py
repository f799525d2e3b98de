"""Rows in other files: tables have every row."""

import csv
from pathlib import Path

import pytest

import draftproof as dp
from draftproof.experiments.grid import store as stores
from draftproof.experiments.grid.report.rows import STORED
from tests.experiments.grid.stores import rows_of

COMPARE = (
    "compare",
    "nss",
    "block",
    "--world",
    "family:dirichlet,vocab=2",
    "--L2",
    1,
    "--arithmetic",
    "rational",
    "--resume",
    "r.db",
)


@pytest.fixture
def compared(draftproof) -> Path:
    """Two laws and a bound."""
    assert draftproof(*COMPARE).code == 0
    return Path("r.db")


def test_tables_have_every_row(draftproof, compared):
    for name in ("r.csv", "r.md"):
        assert draftproof("report", "r.db", "r.db", "-o", name).code == 0
    table = list(csv.DictReader(Path("r.csv").read_text().splitlines()))
    assert list(table[0]) == list(STORED)
    for row in table:
        kept = rows_of("r.db")[row["strong_id"]]
        assert row["scheme"] == "delayed:K=2,L1=0,L2=1"
        name = "block_efficiency" if kept["kind"] == "law" else "lower"
        assert row[name] == kept[name]
        assert kept[name] in Path("r.md").read_text()
    assert Path("r.md").read_text().count("delayed:K=2,L1=0,L2=1") == 1  # alike in all rows
    assert [row["strong_id"] for row in dp.report("r.db").rows] == [row["strong_id"] for row in table]


def test_a_store_without_rows_for_a_page_is_a_table_still(draftproof):
    stores.Store("r.db").add({"strong_id": "a" * 24, "kind": "other", "n": 1})
    found = dp.report("r.db")
    assert str(found) == repr(found)
    assert repr(found).startswith("report of r.db\nno rows that a page of results shows; -o ROWS.csv")
    assert found.rows == [{"strong_id": "a" * 24, "kind": "other", "n": 1}]
    assert draftproof("report", "r.db", "-o", "r.csv").code == 0
    refused = draftproof("report", "r.db", "-o", "r.html")
    assert (refused.code, "r.db: no rows that a page of results shows" in refused.err) == (2, True)
    assert not Path("r.html").exists()


def test_rows_of_several_kinds_have_the_columns_of_all(draftproof, compared):
    other = {"strong_id": "a" * 24, "kind": "other", "n": 1, "words": "=1+1", "list": [1], "none": None}
    stores.Store("r.db").add(other)
    assert draftproof("report", "r.db", "-o", "r.csv").code == 0
    [row] = [row for row in csv.DictReader(Path("r.csv").read_text().splitlines()) if row["kind"] == "other"]
    assert (row["n"], row["words"], row["block_efficiency"]) == ("1", "'=1+1", "")
    assert "list" not in row


def test_what_cannot_be_is_one_line(draftproof, compared):
    for line, words in (
        (("report", "none.db", "-o", "r.csv"), "there is no store none.db"),
        (("report", "r.db", "-o", "none/r.csv"), "cannot write -o none/r.csv"),
        (("report", "r.db", "-o", "r.db"), "give every file its own name"),
    ):
        ran = draftproof(*line)
        assert (ran.code, words in ran.err) == (2, True)


def test_rows_of_another_version_are_refused_by_the_report(draftproof, compared):
    stores.Store("r.db").add({"strong_id": "a" * 24, "kind": "law", "verifier": "block"})
    refused = draftproof("report", "r.db")
    assert (refused.code, "r.db has rows of another version of draftproof ('spec')" in refused.err) == (2, True)


def test_files_of_other_rows_leave_no_row_out_of_a_report(draftproof):
    step = ("--world", "family:dirichlet,vocab=2", "--K", 1, "--L2", 1)
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(f"{name}/{name}.py").write_text("from draftproof.verifiers.block import Block as Own\n")
    assert draftproof("compare", "a/a.py:Own", *step, "--resume", "a.db").code == 0
    Path("a/a.py").write_text("changed = True\n")
    assert draftproof("compare", "b/b.py:Own", *step, "--resume", "b.db").code == 0
    said = {store: draftproof("report", store).out for store in ("a.db", "b.db")}
    assert {store: "left out" in text for store, text in said.items()} == {"a.db": True, "b.db": False}
