"""Sweeps over worlds that come from models: their own rows, as the exact commands take them."""

import shlex
from pathlib import Path

import pytest

from draftproof.experiments.inputs.text import EMBEDDED, read_text

ASKED = """
[sweep]
verifiers = ["naive", "traversal"]
questions = ["check", "bound"]

[[worlds]]
target = "{folder}/target"
draft = "{folder}/draft"
text = "text.txt"
roots = 2
sampling = "temperature=.7"

[[schemes]]
K = 2
L2 = 1
"""


@pytest.fixture
def asked(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    (tmp_path / "models.toml").write_text(ASKED.format(folder=tiny_folder))
    return ("--target", f"{tiny_folder}/target", "--draft", f"{tiny_folder}/draft", "--text", "text.txt")


def test_rows_are_those_of_compare(draftproof, asked):
    assert draftproof("sweep", "models.toml", "--jobs", 1).code == 0
    summary = draftproof("report", "sweep.db", "--json").json
    assert (summary["kinds"], summary["rows"], summary["worlds"]) == (["models"], 3, 1)
    given = (*asked, "--sampling", "temperature=.7", "--roots", 2, "--K", 2, "--L1", 0, "--L2", 1, "--optimum")
    rows = {
        row["verifier"]: row for row in draftproof("compare", "naive", "traversal", *given, "--json", "-").json["rows"]
    }
    for found in summary["verifiers"]:
        row = rows[found["verifier"]]
        assert found["mean"] == pytest.approx(row["block_efficiency_float"], rel=1e-12)
        assert found["share"] == pytest.approx(row["block_efficiency_float"] / row["optimum_float"], rel=1e-6)
        words = shlex.split(found["worst_command"])
        assert words[words.index("--sampling") + 1] == "temperature=.7"
        assert [words[words.index(flag) + 1] for flag in ("--target", "--draft")] == [asked[1], asked[3]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('seeds = "0..3"', "seeds has no effect on this target"),
        ('pair = "elsewhere"', "give one of them"),
        ('family = "dirichlet"', "--family has no effect on an instance from models"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(draftproof, asked, line, words):
    text = Path("models.toml").read_text()
    Path("models.toml").write_text(text.replace("roots = 2", f"roots = 2\n{line}"))
    ran = draftproof("sweep", "models.toml")
    assert ran.code == 2
    assert "models.toml line" in ran.err
    assert words in ran.err
