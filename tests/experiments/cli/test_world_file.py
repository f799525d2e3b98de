"""`draftproof compare FILE.toml`: parameters in a file, a store that loses no row, and the same rows on a cluster."""

import os
import signal
import subprocess
import sys
import time
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
        ('"naive", ', '"naive" ', "small.toml line 1: not valid TOML"),
        ('"specinfer"', '"specinfr"', "unknown verifier 'specinfr'; did you mean 'specinfer'"),
        ('arithmetic = "rational"', 'arithmetic = "exact"', "small.toml: arithmetic = 'exact' is of the wrong kind"),
        ("optimum = true", 'optimum = "yes"', "small.toml: optimum = 'yes' is of the wrong kind"),
        ("perturbed,", "pertubed,", "unknown family 'pertubed'"),
        ("denominator=20", "denominators=20", "family perturbed has no parameter 'denominators'"),
        ("seeds=0..2", "seeds=2..0", "is empty; write the smaller number first"),
        ("K=1..2", "K=1-2", "give a whole number"),
        ('"dyspec:nodes=2"', '"dyspecs"', "unknown scheme 'dyspecs'"),
        ("scheme =", "schemes =", "small.toml: unknown key 'schemes'; known: verifiers, world, scheme"),
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
