"""Rows in other files: JSON lines come back as they were, tables have every row."""

import csv
import json
from pathlib import Path

import pytest

from draftproof.experiments.grid import store as stores
from draftproof.experiments.grid.exchange import COLUMNS, FORMATS, lines
from draftproof.experiments.grid.store import stored_rows
from tests.experiments.grid.stores import rows_of

COMPARE = ("compare", "nss", "block", "--vocab", 2, "--L2", 1, "--arithmetic", "rational", "--resume", "r.db")


@pytest.fixture
def compared(draftproof) -> Path:
    """Two laws and a bound."""
    assert draftproof(*COMPARE).code == 0
    return Path("r.db")


def test_json_lines_come_back_as_they_were_and_are_believed(draftproof, compared):
    assert draftproof("rows", "r.db", "--export", "r.jsonl").code == 0
    header = json.loads(Path("r.jsonl").read_text().splitlines()[0])
    assert header["format"] == "draftproof rows 1"
    ran = draftproof("rows", "again.db", "--import", "r.jsonl", "--json", "-")
    assert (ran.json["imported"], ran.json["rows"]) == (3, {"bound": 1, "law": 2})
    assert rows_of("again.db") == rows_of("r.db") != {}
    assert "0 rows (3 more are kept" in draftproof(*COMPARE[:-1], "again.db").err
    assert draftproof("rows", "again.db", "--import", "r.jsonl", "--json", "-").json["imported"] == 0
    assert draftproof("rows", "again.db", "--export", "again.jsonl").code == 0
    assert Path("again.jsonl").read_bytes() == Path("r.jsonl").read_bytes()


def test_imported_rows_of_other_code_are_shown_and_not_resumed(draftproof, compared):
    rows = [{**row, stores.COMPUTED_BY: {"draftproof": "other"}} for row in stored_rows("r.db")]
    Path("old.jsonl").write_text("".join(lines(rows)))
    assert draftproof("rows", "old.db", "--import", "old.jsonl").code == 0
    assert "3 rows: " in draftproof(*COMPARE[:-1], "old.db").err
    Path("bare.jsonl").write_text("".join(lines(list(stored_rows("r.db")))))  # they do not say by which code
    assert draftproof("rows", "bare.db", "--import", "bare.jsonl").code == 0
    assert draftproof("report", "bare.db").code == 0
    assert "3 rows of other code" in draftproof(*COMPARE[:-1], "bare.db").err


def test_an_import_replaces_no_row(draftproof, compared):
    before = rows_of("r.db")
    Path("old.jsonl").write_text("".join(lines([{**row, "seconds": 99.0} for row in before.values()])))
    assert draftproof("rows", "r.db", "--import", "old.jsonl").code == 0
    assert rows_of("r.db") == before


def test_every_cut_of_json_lines_keeps_all_rows_before_it(draftproof, compared):
    draftproof("rows", "r.db", "--export", "r.jsonl")
    whole = Path("r.jsonl").read_bytes()
    ends = [number for number, byte in enumerate(whole) if byte == ord("\n")]
    for length in sorted({end + step for end in ends for step in (-1, 0, 1)} | {0, 10, len(whole) - 30}):
        Path("cut.jsonl").write_bytes(whole[:length])
        ran = draftproof("rows", f"{length}.db", "--import", "cut.jsonl", "--json", "-")
        if length < ends[0] - len('"version": "0.1.0"}'):
            assert (ran.code, "cut.jsonl is no file of rows" in ran.err) == (2, True)
            continue
        assert ran.code == 0
        assert ran.json["imported"] == sum(end <= length for end in ends[1:])
        assert ("cut short" in ran.err) == (ends[0] + 1 < length and length not in ends and length - 1 not in ends)


def test_lines_that_are_changed_are_named_and_left_out_and_wrong_ones_refused(draftproof, compared):
    draftproof("rows", "r.db", "--export", "r.jsonl")
    text = Path("r.jsonl").read_text()
    Path("r.jsonl").write_text(text.replace('"digest": "', '"digest": "?'))
    ran = draftproof("rows", "new.db", "--import", "r.jsonl", "--json", "-")
    assert ran.json["imported"] == 0
    assert "r.jsonl line 2 is cut short or was changed: its digest does not match; left out" in ran.err
    for odd, words in (({"lossless": "yes"}, "lossless = 'yes'"), ({"a": json.loads("[" * 900 + "]" * 900)}, "nested")):
        rows = [{**row, **odd} for row in stored_rows("r.db")]
        Path("odd.jsonl").write_text("".join(lines(rows)))
        ran = draftproof("rows", "new.db", "--import", "odd.jsonl")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "odd.jsonl line " in ran.err
        assert words in ran.err
        assert rows_of("new.db") == {}


def test_tables_have_every_row(draftproof, compared):
    for name in ("r.csv", "r.md", "r.tex"):
        assert draftproof("rows", "r.db", "--export", name, "--json", "-").json["exported"] == 3
    table = list(csv.DictReader(Path("r.csv").read_text().splitlines()))
    assert list(table[0]) == list(COLUMNS)
    for row in table:
        kept = rows_of("r.db")[row["strong_id"]]
        assert row["scheme"] == "delayed:K=2,L1=0,L2=1"
        name = "block_efficiency" if kept["kind"] == "law" else "lower"
        assert row[name] == kept[name]
        assert kept[name] in Path("r.md").read_text()
        assert kept[name] in Path("r.tex").read_text()
    assert Path("r.md").read_text().count("\n") == 2 + 3
    assert Path("r.tex").read_text().count("\\\\\n") == 1 + 3


def test_rows_of_several_kinds_have_the_columns_of_all(draftproof, compared):
    other = {"strong_id": "a" * 24, "kind": "other", "n": 1, "words": "=1+1", "list": [1], "none": None}
    stores.Store("r.db").add(other)
    assert draftproof("rows", "r.db", "--export", "r.csv").code == 0
    [row] = [row for row in csv.DictReader(Path("r.csv").read_text().splitlines()) if row["kind"] == "other"]
    assert (row["n"], row["words"], row["block_efficiency"]) == ("1", "'=1+1", "")
    assert "list" not in row


def test_parquet_is_read_back(draftproof, compared):
    pandas = pytest.importorskip("pandas", reason="the extra `dev` is not installed")
    pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    stores.Store("r.db").add({"strong_id": "a" * 24, "kind": "other", "n": 1})
    assert draftproof("rows", "r.db", "--export", "r.parquet").code == 0
    frame = pandas.read_parquet("r.parquet")
    assert len(frame) == 4
    assert frame[frame.strong_id == "a" * 24].n.tolist() == [1]


def test_what_cannot_be_is_one_line(draftproof, compared):
    for line, words in (
        (("rows", "none.db"), "there is no store none.db"),
        (("rows", "r.db", "--export", "r.xls"), f"the name must end in one of {', '.join(FORMATS)}"),
        (("rows", "r.db", "--import", "none.jsonl"), "cannot read rows none.jsonl"),
        (("rows", "r.db", "--import", "r.db"), "give every file its own name"),
        (("rows", "new.db", "--import", "r.db"), "r.db is no file of rows"),
    ):
        ran = draftproof(*line)
        assert (ran.code, words in ran.err, Path("new.db").exists()) == (2, True, False)
