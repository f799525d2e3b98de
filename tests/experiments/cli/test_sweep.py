"""`draftproof sweep`: what is asked, the rows, a store that loses none, and the same rows on a cluster."""

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.cli.sweep import sweep_file, work
from draftproof.experiments.grid.exchange import COLUMNS
from tests.experiments.grid.stores import timeless

ROOT = Path(__file__).resolve().parents[3]
SMALL = """\
[sweep]
verifiers = ["naive", "block", "block_by_weights", "specinfer"]
arithmetic = "rational"
questions = ["check", "bound"]

[[worlds]]
family = "perturbed:s=1"
vocab = 2
seeds = "0..2"
denominator = 20

[[schemes]]
K = "1..2"
L2 = 2

[[schemes]]
scheme = "dyspec:nodes=2"
"""
#: 3 worlds, two delayed schemes with four verifiers and a bound, one other scheme that specinfer is not for.
ROWS = 3 * (2 * 5 + 4)


@pytest.fixture
def small(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    return "small.toml"


def swept(draftproof, file, *arguments):
    return draftproof("sweep", file, "--jobs", 1, *arguments)


@pytest.mark.parametrize("file", sorted((ROOT / "experiments/studies").glob("*.toml")), ids=lambda file: file.stem)
def test_the_world_files_of_the_studies_are_taken_as_they_are(file):
    assert sweep_file.read(str(file)).worlds


def test_a_plan_says_rows_and_computes_nothing(draftproof, small):
    ran = swept(draftproof, small, "--plan", "--json", "-")
    assert ran.code == 0
    assert (ran.json["rows"], ran.json["missing"]) == (ROWS, ROWS)
    assert ran.json["left_out"] == ["specinfer on dyspec(nodes=2)"]
    assert not Path("sweep.db").exists()


def test_rows_are_those_of_compare_and_come_back_from_csv(draftproof, small):
    pandas = pytest.importorskip("pandas", reason="the extra `dev` is not installed")
    assert swept(draftproof, small, "--export", "rows.csv").code == 0
    frame = pandas.read_csv("rows.csv")
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == ROWS
    shape = ("--K", 2, "--L1", 0, "--L2", 2, "--family", "perturbed:s=1", "--vocab", 2, "--denominator", 20)
    wanted = draftproof(
        "compare", "block", "block_by_weights", *shape, "--seed", 1, "--arithmetic", "rational", "--json", "-"
    )
    for row in wanted.json["rows"]:
        here = frame[(frame.verifier == row["verifier"]) & (frame.seed == 1) & (frame.K == 2)]
        assert here.block_efficiency.tolist() == [row["block_efficiency"]]
        assert here.lossless.tolist() == [row["lossless"]]
    bounds = frame[frame.question == "bound"]
    assert len(bounds) == 9
    assert all(Fraction(low) <= Fraction(high) for low, high in zip(bounds.lower, bounds.upper, strict=True))


def test_a_list_of_samplings_is_a_world_for_each(tmp_path):
    one, two = (tmp_path / name for name in ("one.toml", "two.toml"))
    world = SMALL.partition("[[worlds]]")[2].partition("[[schemes]]")[0]
    warm, cold = (f'[[worlds]]{world}sampling = "temperature={each}"\n' for each in (".5", "2"))
    two.write_text(SMALL.replace(f"[[worlds]]{world}", warm + cold))
    one.write_text(SMALL.replace(world, f'{world}sampling = ["temperature=.5", "temperature=2"]\n'))
    worlds = sweep_file.read(str(one)).worlds
    assert worlds == sweep_file.read(str(two)).worlds
    assert len(worlds) == 6


@pytest.mark.parametrize("value", ["[]", '["temperature=.5", 2]', "[[]]"])
def test_a_list_that_says_no_sampling_is_refused_in_one_line(draftproof, tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    Path("odd.toml").write_text(SMALL.replace('family = "perturbed:s=1"', f'family = "equal"\nsampling = {value}'))
    ran = swept(draftproof, "odd.toml")
    assert ran.code == 2
    assert "sampling = [" in ran.err
    assert "or a list of such" in ran.err


#: Says that it was run, in a file.
SEEN = """
from pathlib import Path
Path("ran").touch()
from draftproof.verifiers.naive import Naive as Mine
"""


@pytest.mark.parametrize("options", [(), ("--plan",)], ids=str)
@pytest.mark.parametrize(
    ("ours", "theirs", "line"), [('"naive"', '"mine.py:Mine"', 2), ('"dyspec:nodes=2"', '"mine.py:Mine"', 17)]
)
def test_a_python_file_named_in_the_toml_is_not_run(draftproof, small, ours, theirs, line, options):
    Path("mine.py").write_text(SEEN)
    Path(small).write_text(SMALL.replace(ours, theirs))
    ran = swept(draftproof, small, *options)
    said = f"draftproof: small.toml line {line}: mine.py:Mine is a Python file; it is run only with --allow-code\n"
    assert (ran.code, ran.err) == (2, said)
    assert not Path("ran").exists()


def test_a_python_file_is_run_where_the_command_line_allows_it_and_never_for_a_plan(draftproof, small):
    Path("mine.py").write_text(SEEN)
    Path(small).write_text(SMALL.replace('"naive"', '"mine.py:Mine"'))
    planned = swept(draftproof, small, "--plan", "--allow-code")
    assert (planned.code, planned.err.count("\n")) == (2, 1)
    assert "--plan runs no code" in planned.err
    assert not Path("ran").exists()
    assert swept(draftproof, small, "--allow-code").code == 0
    assert Path("ran").exists()
    assert len(timeless("sweep.db")) == ROWS


@pytest.mark.heavy
def test_rows_are_found_again(draftproof, small, monkeypatch):
    assert swept(draftproof, small).code == 0
    monkeypatch.setattr(work, "compute", lambda group: pytest.fail("computed again"))
    ran = swept(draftproof, small)
    assert ran.code == 0
    assert f"0 rows ({ROWS} more are kept" in ran.err


def test_after_ctrl_c_what_was_done_is_kept_and_the_rest_is_the_same(draftproof, small, interrupted):
    assert swept(draftproof, small, "--store", "whole.db").code == 0
    with interrupted(2) as done:
        assert swept(draftproof, small, "--store", "part.db").code == 130
    kept = timeless("part.db")
    assert sorted(kept) == sorted(name for group in done for name, _ in group.items)
    assert swept(draftproof, small, "--store", "part.db").code == 0
    assert timeless("part.db") == timeless("whole.db")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"naive", ', '"naive" ', "small.toml line 2: not valid TOML"),
        ('"specinfer"', '"specinfr"', "small.toml line 2: unknown verifier 'specinfr'; did you mean 'specinfer'"),
        ('arithmetic = "rational"', 'arithmetic = "exact"', "small.toml line 3: "),
        ('"bound"]', '"bounds"]', "small.toml line 4: questions = ['check', 'bounds']; choose from check, bound"),
        ('"perturbed:s=1"', '"pertubed"', "small.toml line 7: unknown family 'pertubed'"),
        ("denominator = 20", "denominators = 20", "small.toml line 10: unknown key 'denominators' in worlds"),
        ('seeds = "0..2"', 'seeds = "2..0"', "small.toml line 9: seeds = '2..0'; give a whole number or a range"),
        ('family = "perturbed:s=1"', 'roots = 8', "line 6: a world is a family, a text, an instance or models"),
        ('K = "1..2"', "K = [1, 2]", "small.toml line 13: K = [1, 2] is of the wrong kind"),
        ('"dyspec:nodes=2"', '"dyspecs"', "small.toml line 17: unknown scheme 'dyspecs'"),
        ("[[schemes]]", "[[shapes]]", "unknown 'shapes'; known: [sweep], [[worlds]], [[schemes]]"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(draftproof, tmp_path, old, new, words):
    assert old in SMALL
    (tmp_path / "small.toml").write_text(SMALL.replace(old, new))
    ran = swept(draftproof, "small.toml")
    assert ran.code == 2
    assert words in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing argument 'FILE.toml'"),
        (("small.toml", "--export", "rows.xls"), "the name must end in one of .csv"),
        (("small.toml", "--store", "small.toml"), "give every file its own name"),
        (("none.toml",), "cannot read sweep none.toml"),
        (("small.toml", "--store", "text.db"), "text.db is no store of rows, or one of another version"),
    ],
)
def test_what_cannot_be_is_one_line(draftproof, small, arguments, words):
    Path("text.db").write_text("an older text\n" * 100)
    ran = draftproof("sweep", *arguments)
    assert (ran.code, Path("sweep.db").exists()) == (2, False)
    assert words in ran.err
    assert Path("text.db").read_text().startswith("an older text")


BIG = SMALL.replace('"0..2"', '"0..29"')


@pytest.mark.heavy
def test_a_cluster_that_loses_a_worker_has_the_same_rows(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "big.toml").write_text(BIG)
    command = [sys.executable, "-m", "draftproof.experiments.cli", "sweep", "big.toml"]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        run = subprocess.Popen([*command, "--store", "dask.db", "--dask", cluster.scheduler_address])
        while not timeless(tmp_path / "dask.db"):
            time.sleep(0.2)
            assert run.poll() is None
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert run.wait() == 0
    assert subprocess.run([*command, "--store", "here.db", "--jobs", "1"], check=False).returncode == 0
    assert timeless("dask.db") == timeless("here.db")


def test_without_dask_or_a_scheduler_it_is_one_line(draftproof, small, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = swept(draftproof, small, "--dask", "tcp://127.0.0.1:9")
    assert ran.code == 2
    assert "--dask needs dask and distributed" in ran.err
    assert json.dumps(ran.out) == '""'
