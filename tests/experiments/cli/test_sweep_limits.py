"""Sweeps that leave out what is too large, and whose worlds have a temperature."""

import re
import shlex
import tracemalloc
from pathlib import Path

import pytest

from tests.experiments.cli.test_sweep import ROWS, SMALL, swept


@pytest.fixture
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_limits_leave_out_what_is_larger_and_nothing_else(draftproof, tmp_path, here):
    def planned(head: str, scheme: str = "L2 = 2") -> dict:
        text = SMALL.replace("[sweep]\n", f"[sweep]\n{head}\n").replace("L2 = 2", scheme, 1)
        (tmp_path / "limited.toml").write_text(text)
        return swept(draftproof, "limited.toml", "--plan", "--json", "-").json

    assert planned("most_runs = 100_000\nmost_steps = 100_000\nmost_paths = 100")["rows"] == ROWS
    paths = planned("most_paths = 3")  # two tokens deep there are four; one path needs no program
    assert paths["rows"] == ROWS - 2 * 3
    assert {f"the optimum of {scheme}" for scheme in ("delayed(K=2, L1=0, L2=2)", "dyspec(nodes=2)")} < set(
        paths["left_out"]
    )
    steps = planned("most_steps = 10")
    assert 0 < steps["rows"] < ROWS
    assert "specinfer on delayed(K=2, L1=0, L2=2)" in steps["left_out"]
    assert steps == planned("most_steps = 10") | {"hours": steps["hours"]}  # by steps, not by the clock
    runs = planned("most_runs = 1")  # dyspec is enumerated
    assert (runs["rows"], {"block on dyspec(nodes=2)"} < set(runs["left_out"])) == (ROWS - 3 * 3, True)
    huge = 'verifiers = ["block_by_weights"]'
    (tmp_path / "huge.toml").write_text(re.sub(r"verifiers = .*", huge, SMALL).replace("L2 = 2", "L2 = 30", 1))
    assert swept(draftproof, "huge.toml", "--plan").code == 2
    shallow = planned("", 'L2 = "1..3"\nmax_depth = 2')
    assert shallow["rows"] == planned("", 'L2 = "1..2"')["rows"] == ROWS + 3 * 2 * 5


def test_worlds_have_a_temperature(draftproof, tmp_path, here):
    warm = SMALL.replace("denominator = 20", 'denominator = 20\nsampling = "temperature=.5"')
    (tmp_path / "warm.toml").write_text(warm)
    assert swept(draftproof, "warm.toml", "--export", "warm.csv").code == 0
    again = draftproof("report", "sweep.db", "--json").json
    words = shlex.split(next(row for row in again["verifiers"] if row["verifier"] == "naive")["worst_command"])
    assert "--sampling temperature=.5" in " ".join(words)
    [row] = draftproof(*words[1:], "--optimum", "--json", "-").json["rows"]
    [worst] = [row["worst"] for row in again["verifiers"] if row["verifier"] == "naive"]
    assert row["block_efficiency_float"] / row["optimum_float"] == pytest.approx(worst, rel=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'seeds = "0..2"',
            'seeds = "0..999999999"',
            r"small.toml line \d+: [\d,]+,000,000 rows are more than 5,000,000",
        ),
        (
            'K = "1..2"',
            'L1 = "0..1000"\nK = "1..1000"',
            r"[\d,]+ shapes are more than 100,000; make the ranges of K, L1 and",
        ),
    ],
)
def test_a_sweep_without_end_is_refused_at_once(draftproof, tmp_path, old, new, words):
    assert old in SMALL
    Path("small.toml").write_text(SMALL.replace(old, new))
    tracemalloc.start()
    ran = draftproof("sweep", "small.toml", "--plan")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert re.search(words, ran.err)
    assert peak < 2**27


def test_shapes_without_end_are_refused_at_once(draftproof):
    ran = draftproof("compare", "naive", "--K", "1..1000", "--L1", "0..1000", "--L2", "1..1000")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "1,001,000,000 shapes are more than 100,000" in ran.err


def test_stores_are_reported_up_to_a_size(draftproof):
    line = ("compare", "naive", "--vocab", 2, "--K", 1, "--L1", 0, "--L2", 1, "--no-optimum", "--resume", "rows.db")
    assert draftproof(*line).code == 0
    with Path("rows.db").open("a") as file:
        file.write("\n" * 2**20)
    ran = draftproof("--max-input", 1, "report", "rows.db")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "rows.db has 1,0" in ran.err
    assert "allow larger files (draftproof --max-input MIB ..)" in ran.err
    assert draftproof("--max-input", 2, "report", "rows.db").code == 0
    draftproof("--max-input", 64, "list")
