"""The gallery: its table is what was measured, its witnesses run, and its adapters call what is in a checkout."""

import json
import re
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from draftproof.experiments.gallery import measuring as work
from draftproof.experiments.gallery import page as views
from draftproof.experiments.gallery.entries import ENTRIES

#: What each witness prints: found and wanted, in the order of its line.
WITNESSES = {
    "vllm_ascend_block.txt": r"0\.5\d+ of the texts begin with token 0 instead of 0\.75",
    "gbv_ties.txt": r"the token has law 31/56 9/28 1/8 instead of 1/2 3/8 1/8",
    "traversal_order.txt": r"token 0 comes first in 15/32 instead of 1/2",
}


def test_the_page_and_the_table_are_generated():
    known = work.measured()
    assert {entry.name for entry in ENTRIES} == set(known)
    assert views.PAGE.read_text(encoding="utf-8") == views.page(known)


def test_the_command_prints_the_table(draftproof):
    ran = draftproof("list", "gallery")
    assert ran.code == 0
    assert all(f"│ {entry.name} " in ran.out for entry in ENTRIES)
    rows = draftproof("list", "gallery", "--json").json["entries"]
    known = work.measured()
    assert [(row["name"], row["verdict"], row["deviation"]) for row in rows] == [
        (entry.name, known[entry.name].verdict, known[entry.name].deviation) for entry in ENTRIES
    ]


def test_every_lossy_entry_has_a_text_and_a_witness_and_no_other():
    for entry in ENTRIES:
        lossy = work.measured()[entry.name].verdict == "lossy"
        assert bool(entry.text) is bool(entry.witness) is lossy
    assert {entry.witness for entry in ENTRIES if entry.witness} == set(WITNESSES)
    assert {path.name for path in views.WITNESSES.iterdir()} == set(WITNESSES)


@pytest.mark.heavy
@pytest.mark.parametrize("name", WITNESSES)
def test_a_witness_runs_by_itself_and_shows_the_bug(name, tmp_path):
    source = (views.WITNESSES / name).read_text(encoding="utf-8")
    assert "draftproof" not in source
    assert len(source.splitlines()) <= 20
    run = [sys.executable, "-I", str(views.WITNESSES / name)]
    printed = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    assert re.fullmatch(WITNESSES[name], printed.strip())


def test_commits_and_days_are_whole():
    for entry in ENTRIES:
        assert entry.is_installed or re.fullmatch(r"[0-9a-f]{40}", entry.commit)
        found = work.measured()[entry.name]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.day)
        assert found.instances > found.refuted >= 0
        assert (found.refuted > 0) is (found.verdict == "lossy")


@pytest.mark.heavy
def test_the_installed_entry_is_measured_again_as_recorded(draftproof, tmp_path):
    pytest.importorskip("transformers")
    ran = draftproof("audit", "transformers-sampling", "--gallery", str(tmp_path), "--json")
    assert ran.code == 0
    assert (ran.row["verdict"], ran.row["agrees"]) == ("lossless", True)


POSTERIOR = """
import random
import torch
import a_package_of_nobody

def evaluate_posterior(logits, candidates, logits_processor):
    rows, best, length = logits_processor(None, logits).softmax(-1), 0, 0
    token = int(torch.multinomial(rows[0, 0], 1))
    return best, length, token
"""


@pytest.mark.heavy
def test_an_adapter_calls_what_is_in_the_checkout(draftproof, tmp_path):
    pytest.importorskip("torch")
    file = tmp_path / "EAGLE" / "eagle" / "model" / "utils.py"
    file.parent.mkdir(parents=True)
    file.write_text(POSTERIOR)
    ran = draftproof("audit", "eagle-posterior", "--gallery", str(tmp_path), "--json")
    assert ran.code == 0
    file.write_text(POSTERIOR.replace("rows[0, 0]", "rows[0, 0].sqrt()"))
    ran = draftproof("audit", "eagle-posterior", "--gallery", str(tmp_path / "EAGLE"))
    assert ran.code == 1
    assert re.search("verdict +lossy", ran.out)
    assert re.search("recorded +lossless", ran.out)


def test_ctrl_c_shows_the_entries_that_are_done(draftproof, tmp_path, monkeypatch):
    installed = [entry for entry in ENTRIES if entry.is_installed]
    assert len(installed) > 1

    def run(entry, *given):
        if entry is not installed[0]:
            raise KeyboardInterrupt
        return work.measured()[entry.name]

    monkeypatch.setattr(work, "run", run)
    ran = draftproof("audit", "--gallery", str(tmp_path))
    assert ran.code == 130
    assert re.search(f"name +{installed[0].name}", ran.out)
    assert f"interrupted at {installed[1].name}" in ran.err


def test_recording_keeps_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "MEASURED", tmp_path / "measured.json")
    first, second = (work.Outcome(each.name, "s", "lossless", 1, 0, 0.0, "", "", "2026-01-01") for each in ENTRIES[:2])
    work.MEASURED.write_text("[]")
    for each in (second, first):
        (tmp_path / "given.json").write_text(json.dumps({"rows": [asdict(each) | {"recorded": ""}]}))
        work.record(tmp_path / "given.json")
    assert list(work.measured().values()) == [first, second]
    assert json.loads(work.MEASURED.read_text())[0]["name"] == first.name
    assert first.agrees_with(replace(first, deviation=1e-12, day="2027-01-01"))
    assert not first.agrees_with(replace(first, deviation=1e-3))
