"""`draftproof compare FILE.toml`: parameters in a file, a store that loses no row, and the same rows on a cluster."""

import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from importlib import import_module
from pathlib import Path

import pytest

from draftproof import compare
from draftproof.experiments.cli.compare import world_file
from draftproof.experiments.inputs.schemes import find_schemes
from draftproof.experiments.inputs.world_grammar import find_worlds
from tests.experiments.grid.stores import timeless

ROOT = Path(__file__).resolve().parents[3]
SMALL = """\
verifiers = ["naive", "block", "block_by_weights", "specinfer"]
arithmetic = "rational"
optimum = true
world = "family:perturbed,s=1,vocab=2,seeds=0..2,denominator=20"
scheme = ["delayed:K=1..2,L2=2", "dyspec:nodes=2"]
"""
#: 3 worlds, two delayed schemes with four verifiers, one other scheme that specinfer is not for, and their optima.
ROWS = 3 * (2 * 5 + 4)


@pytest.fixture
def small(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    return "small.toml"


def compared(draftproof, file, *arguments):
    return draftproof("compare", file, "--jobs", 1, *arguments)


@pytest.mark.parametrize("file", sorted((ROOT / "experiments/studies").glob("*.toml")), ids=lambda file: file.stem)
def test_the_world_files_of_the_studies_are_taken_as_they_are(file):
    given = world_file.read(str(file), compare, allow_code=False)
    worlds = find_worlds(given["world"])
    assert len(worlds) > 2
    assert find_schemes(given["scheme"], worlds)


def test_a_plan_says_rows_and_computes_nothing(draftproof, small):
    ran = compared(draftproof, small, "--plan", "--resume", "rows.db", "--json")
    assert ran.code == 0
    assert (ran.row["rows"], ran.row["missing"]) == (ROWS, ROWS)
    assert ran.row["left_out"] == ["specinfer on dyspec(nodes=2)"]
    assert not Path("rows.db").exists()


def test_rows_are_those_of_one_world_and_come_back_from_csv(draftproof, small):
    pandas = pytest.importorskip("pandas", reason="the extra `dev` is not installed")
    assert compared(draftproof, small, "-o", "rows.csv").code == 0
    frame = pandas.read_csv("rows.csv")
    assert len(frame) == ROWS - 9  # an optimum is in the rows of its world and scheme
    world = "family:perturbed,s=1,vocab=2,denominator=20,seeds=1"
    given = ("--K", 2, "--L1", 0, "--L2", 2, "--world", world, "--arithmetic", "rational", "--json")
    for row in draftproof("compare", "block", "block_by_weights", *given).json["rows"]:
        here = frame[(frame.verifier == row["verifier"]) & frame.world.str.contains("seeds=1") & (frame.K == 2)]
        for name in ("block_efficiency", "lossless", "optimum", "optimum_upper"):
            assert here[name].tolist() == [row[name]]


def test_a_list_of_samplings_is_a_world_for_each(draftproof, small):
    Path(small).write_text(SMALL + 'sampling = ["temperature=.5", "temperature=2", "temperature=.5"]\n')
    assert compared(draftproof, small, "--plan", "--json").row["rows"] == 2 * ROWS


#: Says that it was run, in a file.
SEEN = """
from pathlib import Path
Path("ran").touch()
from draftproof.verifiers.naive import Naive as Mine
"""


@pytest.mark.parametrize("options", [(), ("--plan",)], ids=str)
@pytest.mark.parametrize("ours", ['"naive"', '"dyspec:nodes=2"'])
def test_a_python_file_named_in_the_toml_is_not_run(draftproof, small, ours, options):
    Path("mine.py").write_text(SEEN)
    Path(small).write_text(SMALL.replace(ours, '"mine.py:Mine"'))
    ran = compared(draftproof, small, *options)
    said = "draftproof: small.toml: mine.py:Mine is a Python file; it is run only with --allow-code\n"
    assert (ran.code, ran.err) == (2, said)
    assert not Path("ran").exists()


def test_a_python_file_is_run_where_the_command_line_allows_it_and_never_for_a_plan(draftproof, small):
    Path("mine.py").write_text(SEEN)
    Path(small).write_text(SMALL.replace('"naive"', '"mine.py:Mine"'))
    planned = compared(draftproof, small, "--plan", "--allow-code")
    assert (planned.code, planned.err.count("\n")) == (2, 1)
    assert "plan runs no code" in planned.err
    assert not Path("ran").exists()
    assert compared(draftproof, small, "--allow-code", "--resume", "rows.db").code == 0
    assert Path("ran").exists()
    assert len(timeless("rows.db")) == ROWS


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"specinfer"', '"specinfr"', "unknown verifier 'specinfr'; did you mean 'specinfer'"),
        ('arithmetic = "rational"', 'arithmetic = "exact"', "small.toml: arithmetic = 'exact' is of the wrong kind"),
        ("seeds=0..2", "seeds=2..0", "is empty; write the smaller number first"),
        ("optimum =", 'resume = "theirs.db"\nplot =', "small.toml: unknown key 'resume'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(draftproof, small, old, new, words):
    assert old in SMALL
    Path(small).write_text(SMALL.replace(old, new))
    ran = compared(draftproof, small)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert words in ran.err


BIG = SMALL.replace("0..2", "0..29")


@pytest.mark.heavy
def test_a_cluster_that_loses_a_worker_has_the_same_rows(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "big.toml").write_text(BIG)
    command = [sys.executable, "-m", "draftproof", "compare", "big.toml"]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        run = subprocess.Popen([*command, "--resume", "dask.db", "--dask", cluster.scheduler_address])
        while not timeless(tmp_path / "dask.db"):
            time.sleep(0.2)
            assert run.poll() is None
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert run.wait() == 0
    assert subprocess.run([*command, "--resume", "here.db", "--jobs", "1"], check=False).returncode == 0
    assert timeless("dask.db") == timeless("here.db")


def test_what_is_given_twice_is_compared_once():
    once = compare(["block", "naive"], world="family:dirichlet,seeds=0..1", K=1, L2=1)
    twice = compare(
        ["block", "naive", "block"], world=["family:dirichlet,seeds=0..1", "family:dirichlet,seeds=1"], K=1, L2=1
    )
    assert [row["strong_id"] for row in twice.rows] == [row["strong_id"] for row in once.rows]


def test_limits_leave_out_what_is_larger_and_nothing_else(draftproof, tmp_path):
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
