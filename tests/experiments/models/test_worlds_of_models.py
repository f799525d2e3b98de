"""Worlds that come from models, in a file of parameters and in reports: their own rows."""

import shlex
from pathlib import Path

import pytest

from draftproof.experiments.inputs.text import EMBEDDED, read_text

ASKED = """
verifiers = ["naive", "traversal"]
optimum = true
world = "models:target={folder}/target,draft={folder}/draft,text=text.txt,roots=2"
sampling = "temperature=.7"
scheme = "delayed:K=2,L2=1"
"""


@pytest.fixture
def asked(tiny_folder, tmp_path):
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    (tmp_path / "models.toml").write_text(ASKED.format(folder=tiny_folder))


def test_a_report_has_their_rows_and_commands_that_print_them_again(draftproof, asked):
    ran = draftproof("compare", "models.toml", "--jobs", 1, "--resume", "rows.db", "--json")
    assert ran.code == 0
    summary = draftproof("report", "rows.db", "--json").json
    assert "on 1 world (models)" in summary["notes"][0]
    rows = {row["verifier"]: row for row in ran.json["rows"]}
    for found in summary["verifiers"]:
        row = rows[found["verifier"]]
        assert found["mean"] == pytest.approx(row["block_efficiency_float"], rel=1e-12)
        assert 1 - found["below"] == pytest.approx(row["block_efficiency_float"] / row["optimum_float"], rel=1e-6)
        [again] = draftproof(*shlex.split(found["command"])[1:], "--resume", "rows.db", "--json").json["rows"]
        assert again["strong_id"] == row["strong_id"]


def test_several_processes_have_the_tables_of_one(draftproof, asked, monkeypatch):
    monkeypatch.setattr("draftproof.experiments.grid.machines.PARALLEL_FROM_SECONDS", 0.0)
    alone, together = (draftproof("compare", "models.toml", "--jobs", jobs, "--json").json["rows"] for jobs in (1, 2))
    for row in (*alone, *together):
        del row["seconds"]
    assert alone == together


@pytest.mark.parametrize(
    ("key", "words"),
    [("seeds=0..3", "seeds has no meaning for models"), ("order=1", "order has no meaning for models")],
)
def test_what_does_not_fit_is_named(draftproof, asked, key, words):
    text = Path("models.toml").read_text()
    Path("models.toml").write_text(text.replace("roots=2", f"roots=2,{key}"))
    ran = draftproof("compare", "models.toml")
    assert ran.code == 2
    assert words in ran.err
