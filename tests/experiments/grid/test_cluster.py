"""`--dask`: every grid on a cluster has the results that it has here, also where a worker is lost."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from draftproof.experiments.grid import machines

ROOT = Path(__file__).resolve().parents[3]
#: Fields that differ from run to run, and with the number of processes that ask a solver.
TIMES = ("seconds", "history", "solver_questions")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The scheduler of a cluster with two workers."""
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), before])
    try:
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            yield cluster.scheduler_address
    finally:
        os.environ["PYTHONPATH"] = before


def timeless(value: Any) -> Any:
    """Plain data without the fields that differ from run to run."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


@pytest.mark.heavy
@pytest.mark.parametrize(
    "line",
    [
        "compare naive block --world family:dirichlet,vocab=2,seeds=0..3 --K 2 --L2 1..2 --arithmetic rational",
        "bound --world text:topics,vocab=2,roots=3 --K 2 --L2 2",
        "bound --bias 0,.05 --world text:topics,vocab=2,roots=3 --K 1 --L2 2",
        "check naive block ensemble --world family:dirichlet,vocab=2,seeds=0..1 --K 1 --L2 1..2",
        "claims solvers-have-law-p",
        "prove block --K 1 --vocab 2",
        "prove block --dominates naive --K 1",
    ],
    ids=lambda line: line.split(" --")[0],
)
def test_a_cluster_gives_what_this_machine_gives(draftproof, address, line):
    here, there = (draftproof(*line.split(), "--json", *more) for more in ((), ("--dask", address)))
    assert (there.code, timeless(there.json)) == (here.code, timeless(here.json)), there.err


@pytest.mark.heavy
@pytest.mark.parametrize(
    "line",
    [
        "bound --world text:topics,vocab=2,roots=3 --K 2 --L2 2",
        "bound --bias 0,.05 --world text:topics,vocab=2,roots=3 --K 1 --L2 2",
        "check naive block ensemble --world family:dirichlet,vocab=2,seeds=0..1 --K 1 --L2 1..2",
    ],
    ids=lambda line: line.split(" --")[0],
)
def test_several_processes_give_what_one_gives(draftproof, monkeypatch, line):
    monkeypatch.setattr(machines, "PARALLEL_FROM_SECONDS", 0.0)
    one, two = (draftproof(*line.split(), "--json", "--jobs", jobs) for jobs in (1, 2))
    assert (two.code, timeless(two.json)) == (one.code, timeless(one.json)), two.err


@pytest.mark.heavy
def test_a_cluster_measures_models_as_this_machine_does(draftproof, address, tmp_path):
    pytest.importorskip("torch")
    from tests.experiments.models.made_pair import save_models

    save_models(tmp_path, steps=2, vocab=60)
    given = ("--world", "models:target=target,draft=draft,text=text.txt", "--K", 1, "--L1", 0, "--L2", 1)
    ran = [
        draftproof("model", "validate", "naive", *given, "--blocks", 20, "--json", *more)
        for more in ((), ("--dask", address))
    ]
    assert ran[1].code == ran[0].code, ran[1].err
    assert timeless(ran[1].json["rows"]) == timeless(ran[0].json["rows"])
