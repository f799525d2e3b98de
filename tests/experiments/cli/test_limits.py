"""Comparisons that leave out what is too large, and refuse what has no end."""

import re
import tracemalloc
from importlib import import_module
from pathlib import Path

import pytest

from tests.experiments.cli.test_world_file import ROWS, SMALL, compared


@pytest.fixture
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_limits_leave_out_what_is_larger_and_nothing_else(draftproof, tmp_path, here):
    def planned(*limits: object, scheme: str = "L2=2") -> dict:
        (tmp_path / "limited.toml").write_text(SMALL.replace("L2=2", scheme, 1))
        return compared(draftproof, "limited.toml", "--plan", *limits, "--json").row

    assert planned("--most-runs", 100_000, "--most-steps", 100_000, "--most-paths", 100)["rows"] == ROWS
    paths = planned("--most-paths", 3)  # two tokens deep there are four; one path needs no program
    assert paths["rows"] == ROWS - 2 * 3
    assert {f"the optimum on {scheme}" for scheme in ("delayed(K=2, L1=0, L2=2)", "dyspec(nodes=2)")} < set(
        paths["left_out"]
    )
    steps = planned("--most-steps", 10)
    assert 0 < steps["rows"] < ROWS
    assert "specinfer on delayed(K=2, L1=0, L2=2)" in steps["left_out"]
    assert steps["rows"] == planned("--most-steps", 10)["rows"]  # by steps, not by the clock
    runs = planned("--most-runs", 1)  # dyspec is enumerated
    assert (runs["rows"], {"block on dyspec(nodes=2)"} < set(runs["left_out"])) == (ROWS - 3 * 3, True)
    huge = 'verifiers = ["block_by_weights"]'
    (tmp_path / "huge.toml").write_text(re.sub(r"verifiers = .*", huge, SMALL).replace("L2=2", "L2=30", 1))
    assert compared(draftproof, "huge.toml", "--plan").code == 2
    shallow = planned("--max-depth", 2, scheme="L2=1..3")
    assert shallow["rows"] == planned(scheme="L2=1..2")["rows"] == ROWS + 3 * 2 * 5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seeds=0..2", "seeds=0..999999999", r"stands for 1,000,000,000 of them, more than 1,000,000"),
        ("seeds=0..2", "seeds=0..4999", r"60,000 rows are more than 50,000"),
        ("K=1..2", "L1=0..1000,K=1..1000", r"stands for 1,001,000 of them, more than 100,000"),
    ],
)
def test_a_comparison_without_end_is_refused_at_once(draftproof, tmp_path, monkeypatch, old, new, words):
    monkeypatch.setattr(import_module("draftproof.experiments.cli.compare"), "MOST_ROWS", 50_000)
    assert old in SMALL
    Path("small.toml").write_text(SMALL.replace(old, new))
    tracemalloc.start()
    ran = draftproof("compare", "small.toml", "--plan")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert re.search(words, ran.err)
    assert peak < 2**27


def test_shapes_without_end_are_refused_at_once(draftproof):
    ran = draftproof("compare", "naive", "--K", "1..1000", "--L1", "0..1000", "--L2", "1..1000")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "stands for 1,001,000,000 of them, more than 100,000" in ran.err


@pytest.mark.parametrize("samplings", [("top_k=1", "temperature=1"), ("temperature=1", "top_k=1")])
def test_a_limit_of_runs_is_about_each_sampling(draftproof, samplings):
    given = ["compare", "khisti", "--world", "family:perturbed,vocab=4", "--engine", "enumerate", "--no-optimum"]
    given += [word for text in samplings for word in ("--sampling", text)]
    assert draftproof(*given, "--max-runs", 100).code == 2
    assert draftproof(*given, "--most-runs", 100, "--json").row["sampling"] == "top_k=1"
