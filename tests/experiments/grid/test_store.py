"""Stores of rows: nothing lost, nothing believed that was changed, nobody else's file touched, work shared by runs."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from draftproof.experiments.grid import store as stores
from draftproof.experiments.grid.rows import strong_id
from draftproof.experiments.grid.run import Question, run
from draftproof.experiments.grid.store import Store, stored_rows
from draftproof.simulator.errors import InvalidInput
from tests.experiments.grid.stores import change

COMPARE = (
    "compare",
    "nss",
    "--world",
    "family:dirichlet,vocab=2",
    "--L2",
    1,
    "--no-optimum",
    "--arithmetic",
    "rational",
    "--resume",
    "r.db",
)


def row(number: int) -> dict[str, Any]:
    return {"strong_id": strong_id({"n": number}), "value": "43/21", "n": number, "kind": "number", "seconds": 0.5}


def written(path: Path, count: int = 3) -> None:
    kept = Store(str(path))
    for number in range(count):
        kept.add(row(number))
    kept.close()


def numbers(kept: Store) -> list[int]:
    return [each["n"] for each in kept.values()]


@pytest.mark.parametrize("content", ['{"scheme": "mine"}', "my notes\nmore notes", "[]", "\n\n", "SQLite format 3\0 ."])
def test_a_file_of_somebody_else_is_refused_and_left_as_it_is(draftproof, content):
    Path("r.db").write_text(content)
    ran = draftproof(*COMPARE)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "r.db is no store of rows, or one of another version; choose another file" in ran.err
    assert Path("r.db").read_text() == content
    assert os.listdir() == ["r.db"]


def test_a_changed_row_is_named_and_computed_again(draftproof):
    first = draftproof(*COMPARE, "--json").json["rows"][0]["block_efficiency"]
    change("r.db", f"update rows set row = replace(row, '{first}', '9')")
    again = draftproof(*COMPARE, "--json")
    assert again.json["rows"][0]["block_efficiency"] == first
    assert again.err.count("does not match its digest; it is computed again") == 1
    third = draftproof(*COMPARE, "--json")
    assert third.json["rows"][0]["block_efficiency"] == first
    assert "digest" not in third.err


@pytest.mark.one_in(2)
@pytest.mark.parametrize("column", ["strong_id", "kind", "row", "code", "digest"])
@pytest.mark.parametrize("value", ["'x'", "x'ff'", "cast(x'80' as text)", "1.5"])
def test_a_change_of_any_column_is_found(tmp_path, capsys, column, value):
    path = tmp_path / "r.db"
    written(path)
    change(path, f"update rows set {column} = {value} where rowid = 2")
    assert numbers(Store(str(path))) == [0, 2]
    assert capsys.readouterr().err.count("does not match its digest") == 1
    assert [each["n"] for each in stored_rows(str(path))] in ([0, 2], [2, 0])


@pytest.mark.heavy
def test_no_part_of_a_store_that_was_cut_short_is_believed_wrongly(tmp_path):
    path = tmp_path / "r.db"
    written(path, 40)
    whole = path.read_bytes()
    read = 0
    for length in range(0, len(whole), 1000):
        path.write_bytes(whole[:length])
        try:
            found = list(Store(str(path)).values())
        except InvalidInput:  # too little of it is there
            continue
        read += 1
        assert found == [row(each["n"]) for each in found]
    assert read > 0


def test_what_is_added_together_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    kept = Store(str(tmp_path / "r.db"))
    kept.add(row(0))
    monkeypatch.setattr(stores, "_stored", lambda each, by, own=stores._stored: own(each, by)[: 5 - each["n"] // 2])
    with pytest.raises(InvalidInput, match="cannot write"):
        kept.add(row(1), row(2))
    assert numbers(kept) == numbers(Store(str(tmp_path / "r.db"))) == [0]


def test_rows_that_another_run_adds_meanwhile_are_not_computed(tmp_path):
    path = tmp_path / "r.db"
    written(path, 1)
    made: list[int] = []

    def compute(number: int) -> dict[str, Any]:
        made.append(number)
        Store(str(path)).add(row(2))
        return row(number)

    kept = Store(str(path))
    run([Question(row(number)["strong_id"], number) for number in range(4)], kept, compute)
    assert made == [1, 3]
    assert set(numbers(kept)) == {0, 1, 2, 3}


def test_a_row_that_other_code_replaces_meanwhile_is_not_believed(tmp_path, monkeypatch):
    path = tmp_path / "r.db"
    written(path, 1)
    kept = Store(str(path))
    with monkeypatch.context() as other:
        other.setattr(stores, "_ours", lambda: "another")
        Store(str(path)).add({**row(0), "value": "0"})
    with pytest.raises(InvalidInput, match="other code has replaced it meanwhile; run again"):
        kept[row(0)["strong_id"]]


@pytest.mark.heavy
def test_two_runs_that_write_at_the_same_time_lose_nothing_even_if_one_is_killed(tmp_path):
    script = (
        "import json, sys; from draftproof.experiments.grid.store import Store; kept = Store(sys.argv[1]); "
        "[(kept.add(each), print(each['n'], flush=True)) for each in json.loads(sys.argv[2])]"
    )
    path, sent = str(tmp_path / "r.db"), [[row(number) for number in range(first, first + 300)] for first in (0, 200)]
    one, other = (
        subprocess.Popen([sys.executable, "-c", script, path, json.dumps(rows)], stdout=subprocess.PIPE, text=True)
        for rows in sent
    )
    assert other.stdout is not None
    told = [int(other.stdout.readline()) for _ in range(50)]
    other.kill()
    told += [int(line) for line in other.communicate()[0].splitlines() if line]
    one.communicate()
    assert (one.returncode, other.returncode) == (0, -9)
    kept = numbers(Store(path))
    assert len(kept) == len(set(kept))
    assert {*range(300), *told} <= set(kept)


@pytest.mark.heavy
def test_many_who_make_one_store_at_the_same_time_wait_for_each_other(tmp_path):
    script = (
        "import sys; from draftproof.experiments.grid.store import Store; sys.stdin.readline(); "
        "kept = Store(sys.argv[1]); kept.add({'strong_id': sys.argv[2] * 12}); kept.close()"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path / "r.db", f"{n:x}"], stdin=subprocess.PIPE)
        for n in range(6)
    ]
    for each in runs:
        assert each.stdin is not None
        each.stdin.write(b"\n")
        each.stdin.flush()
    for each in runs:
        each.communicate()
    assert [each.returncode for each in runs] == [0] * 6
    assert len(Store(str(tmp_path / "r.db"))) == 6


@pytest.mark.parametrize("name", [":memory:", "file:x.db?mode=memory", "file:x.db", ""])
def test_a_name_that_sqlite_takes_for_something_else_is_refused(draftproof, tmp_path, name):
    for line in (
        ("report", name),
        ("report", name, "-o", "a.csv"),
        ("compare", "nss", "--world", "family:dirichlet,vocab=2", "--L2", 1, "--resume", name),
    ):
        ran = draftproof(*line)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_in_one_line_and_keeps_the_rows_before(tmp_path):
    path = tmp_path / "r.db"
    kept = Store(str(path))
    kept.add(row(0))
    assert kept._file is not None
    kept._file.execute(f"pragma max_page_count = {kept._file.execute('pragma page_count').fetchone()[0]}")
    with pytest.raises(InvalidInput, match=r"cannot write .*r\.db: database or disk is full; the rows before are kept"):
        kept.add(row(1), {**row(2), "value": "1" * 10**5})
    assert numbers(kept) == [0]
    kept.close()
    assert numbers(Store(str(path))) == [0]


def test_a_store_that_is_just_being_made_is_empty(tmp_path):
    """What a reader finds between the first bytes of a new store and its tables."""
    change(tmp_path / "new.db", "pragma journal_mode = wal")
    assert list(stored_rows(str(tmp_path / "new.db"))) == []
    (tmp_path / "empty.db").touch()
    assert len(Store(str(tmp_path / "empty.db"))) == 0


FOREIGN = (
    "create table meta (key text, value text)",
    "create table photos (id integer)",
    "create table rows (strong_id text)",
    "create table meta (key text primary key, value text not null) without rowid; "
    "create view rows as with recursive n(x) as (select 1 union all select x + 1 from n) "
    "select x as strong_id, 'law' as kind, '{}' as row, '{}' as code, '' as digest from n",
)


@pytest.mark.parametrize("script", FOREIGN)
@pytest.mark.parametrize("command", [("report", "r.db"), COMPARE], ids=["report", "compare"])
def test_a_database_of_somebody_else_is_named_and_left_as_it_is(draftproof, tmp_path, script, command):
    change("r.db", script)
    before = (tmp_path / "r.db").read_bytes()
    ran = draftproof(*command)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "r.db is no store of rows" in ran.err
    assert (tmp_path / "r.db").read_bytes() == before
    assert os.listdir() == ["r.db"]


@pytest.mark.parametrize("command", [("report", "r.db"), COMPARE], ids=["report", "compare"])
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_locked_database_is_named_at_once(draftproof, monkeypatch, command, mode):
    monkeypatch.setattr(stores, "READER_WAIT", 0)
    file = sqlite3.connect("r.db", isolation_level=None)
    file.executescript(f"pragma journal_mode = {mode}; pragma locking_mode = exclusive; create table a (b)")
    file.execute("begin exclusive")
    ran = draftproof(*command)
    file.close()
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "r.db is locked by another program" in ran.err


def test_a_row_that_is_too_large_is_refused(draftproof):
    assert draftproof(*COMPARE).code == 0
    [kept] = stored_rows("r.db")
    Store("r.db").add({**kept, "more": "x" * 2**21})
    for command in (COMPARE, ("report", "r.db")):
        ran = draftproof("--max-input", 1, *command)
        assert (ran.code, "r.db has 2," in ran.err.strip().splitlines()[-1]) == (2, True)
    draftproof("--max-input", 64, "list")


def test_a_row_is_not_taken_once_a_file_is_loaded_that_it_does_not_know(tmp_path, monkeypatch):
    path, loaded = str(tmp_path / "r.db"), {"a.py": "1"}
    monkeypatch.setattr(stores, "outside_files", lambda: dict(loaded))
    written(tmp_path / "r.db", 1)
    kept = Store(path)
    Store(path).add(row(1), row(2))
    assert row(1)["strong_id"] in kept
    loaded["b.py"] = "1"
    assert row(2)["strong_id"] not in kept


def test_kinds_that_are_not_asked_for_are_not_there(tmp_path):
    written(tmp_path / "r.db")
    assert numbers(Store(str(tmp_path / "r.db"), ("number",))) == [0, 1, 2]
    assert numbers(Store(str(tmp_path / "r.db"), ("law",))) == []


def test_rows_of_other_code_are_not_taken(tmp_path, capsys, monkeypatch):
    written(tmp_path / "r.db")
    monkeypatch.setattr(stores, "_ours", lambda: "another")
    assert numbers(Store(str(tmp_path / "r.db"))) == []
    assert "3 rows of other code, files or libraries not taken" in capsys.readouterr().err
    assert {each["n"] for each in stored_rows(str(tmp_path / "r.db"))} == {0, 1, 2}
