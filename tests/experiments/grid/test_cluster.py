"""`--dask`: every grid on a cluster has the results that it has here, also where a worker is lost."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
#: Fields that differ from run to run.
TIMES = ("seconds", "history")


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
    ],
    ids=lambda line: line.split(" --")[0],
)
def test_a_cluster_gives_what_this_machine_gives(draftproof, address, line):
    here, there = (draftproof(*line.split(), "--json", *more) for more in ((), ("--dask", address)))
    assert (there.code, timeless(there.json)) == (here.code, timeless(here.json)), there.err
