"""Files of rows: nothing lost, nothing believed that was changed, nobody else's file touched, work shared by runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from draftproof.experiments.models.options import FileOptions
from draftproof.experiments.shared.rows import RowFile, strong_id
from draftproof.experiments.shared.sharing import share
from draftproof.experiments.shared.text import EMBEDDED
from draftproof.simulator.errors import InvalidInput


def row(number: int) -> dict[str, Any]:
    return {"strong_id": strong_id({"n": number}), "value": "43/21", "n": number}


def written(path: Path, count: int = 3) -> bytes:
    kept = RowFile(str(path))
    for number in range(count):
        kept.add(row(number))
    return path.read_bytes()


@pytest.mark.parametrize("content", ['{"scheme": "mine"}', '{"a": 1}\n', "my notes\nmore notes", "[]", "\n\n", "{"])
def test_a_file_of_somebody_else_is_refused_and_left_as_it_is(draftproof, content):
    Path("cfg.json").write_text(content)
    ran = draftproof("compare", "nss", "--vocab", 2, "--L2", 1, "--resume", "cfg.json")
    assert ran.code == 2
    assert "cfg.json is no file of rows" in ran.err
    assert Path("cfg.json").read_text() == content


def test_a_changed_row_is_named_and_computed_again(draftproof):
    given = ("compare", "nss", "--vocab", 2, "--L2", 1, "--resume", "rows.jsonl", "--arithmetic", "rational")
    first = draftproof(*given, "--json", "-").json["rows"][0]["block_efficiency"]
    text = Path("rows.jsonl").read_text()
    Path("rows.jsonl").write_text(text.replace(f'"block_efficiency": "{first}"', '"block_efficiency": "99"'))
    again = draftproof(*given, "--json", "-")
    assert again.json["rows"][0]["block_efficiency"] == first
    assert "rows.jsonl line 2 is cut short or was changed" in again.err
    assert '"99"' in Path("rows.jsonl").read_text()  # what was there is kept
    third = draftproof(*given, "--json", "-")
    assert third.json["rows"][0]["block_efficiency"] == first


def test_a_changed_row_is_named_once(draftproof, capsys):
    theorem = ("prove", "naive", "--K", 1, "--L2", 1, "--resume", "rows.jsonl")
    assert draftproof(*theorem, "--jobs", 1).code == 0
    Path("rows.jsonl").write_text(Path("rows.jsonl").read_text().replace('"digest": "', '"digest": "?'))
    changed = Path("rows.jsonl").read_bytes()
    again = draftproof(*theorem, "--jobs", 1)
    assert (again.code, again.err.count("line 2 is cut short or was changed")) == (0, 1)
    Path("rows.jsonl").write_bytes(changed)
    FileOptions(resume="rows.jsonl").check(EMBEDDED)  # of validate and a study, before they read the rows
    assert capsys.readouterr().err == ""
    Path("other").write_text("notes")
    with pytest.raises(InvalidInput, match="is no file of rows"):
        FileOptions(resume="other").check(EMBEDDED)


def test_every_cut_keeps_all_rows_before_it_and_what_was_there(tmp_path):
    path = tmp_path / "rows.jsonl"
    whole = written(path)
    ends = [number for number, byte in enumerate(whole) if byte == ord("\n")]
    near = {end + step for end in ends for step in (-1, 0, 1)}
    for length in sorted({*range(0, len(whole), max(len(whole) // 50, 1)), *near}):
        path.write_bytes(whole[:length])
        try:
            kept = RowFile(str(path))
        except InvalidInput:  # a header that is cut short beyond recognition: nothing was kept in it yet
            assert length <= ends[0]
            continue
        finished = sum(end <= length for end in ends[1:])
        assert len(kept.rows) == finished
        kept.add(row(7))
        assert path.read_bytes().startswith(whole[:length])
        assert set(RowFile(str(path)).rows) == {*kept.rows}


def test_two_runs_share_the_work_and_a_claim_ends_with_its_process(tmp_path):
    path = tmp_path / "rows.jsonl"
    written(path, 1)
    other = (
        "import sys; from draftproof.experiments.shared.rows import RowFile; kept = RowFile(sys.argv[1]); "
        "print(kept.claim(sys.argv[2]), flush=True); sys.stdin.read()"
    )
    mine = row(1)
    command = [sys.executable, "-c", other, str(path), mine["strong_id"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ours\n"
        kept = RowFile(str(path))
        assert kept.claim(row(0)["strong_id"]) == "there"
        assert kept.claim(mine["strong_id"]) == "theirs"
        assert kept.claim(row(2)["strong_id"]) == "ours"
        process.kill()
        process.wait()
        assert kept.claim(mine["strong_id"]) == "ours"


def test_rows_of_other_runs_are_waited_for_and_not_computed(tmp_path):
    path = tmp_path / "rows.jsonl"
    written(path, 1)
    other = (
        "import json, sys; from draftproof.experiments.shared.rows import RowFile; kept = RowFile(sys.argv[1]); "
        "row = json.loads(sys.argv[2]); print(kept.claim(row['strong_id']), flush=True); "
        "sys.stdin.readline(); kept.add(row)"
    )
    command = [sys.executable, "-c", other, str(path), json.dumps(row(1))]
    made: list[int] = []

    def work(number: int) -> Any:
        def compute() -> dict[str, Any]:
            made.append(number)
            if number == 3:  # all that is ours is done: the other one may end
                process.stdin.write("\n")
                process.stdin.flush()
            return row(number)

        return compute

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ours\n"
        kept = RowFile(str(path))
        share({row(number)["strong_id"]: work(number) for number in range(4)}, kept)
    assert made == [2, 3]
    assert {each["n"] for each in kept.rows.values()} == {0, 1, 2, 3}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_devices_and_pipes_are_no_files_of_rows(draftproof):
    os.mkfifo("pipe")
    for path in ("/dev/full", "/dev/zero", "pipe", "x" * 300):
        for command in (("compare", "nss", "--vocab", 2, "--L2", 1), ("validate", "naive")):
            ran = draftproof(*command, "--resume", path)
            assert ran.code == 2
            assert ran.err.strip().splitlines()[-1].startswith("draftproof: ")
            assert "training" not in ran.err  # it is said before the work


def test_a_full_disk_is_said_in_one_line(tmp_path, monkeypatch):
    kept = RowFile(str(tmp_path / "rows.jsonl"))
    kept.add(row(0))
    before, write, room = (tmp_path / "rows.jsonl").read_bytes(), os.write, [20]

    def full(descriptor: int, data: bytes) -> int:
        if not room:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: room.pop()])

    monkeypatch.setattr("draftproof.experiments.shared.rows.os.write", full)
    with pytest.raises(InvalidInput, match=r"cannot write .*No space left on device; the rows before are kept"):
        kept.add(row(1))
    monkeypatch.undo()
    assert (tmp_path / "rows.jsonl").read_bytes() == before  # half a row is taken back
    assert list(RowFile(str(tmp_path / "rows.jsonl")).rows.values()) == [row(0)]


def test_the_header_says_what_the_file_is(tmp_path):
    header = json.loads(written(tmp_path / "rows.jsonl").splitlines()[0])
    assert header["format"] == "draftproof rows 1"
