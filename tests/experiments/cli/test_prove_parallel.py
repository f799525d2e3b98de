"""`draftproof prove --jobs`: the same theorem and certificate over processes, steps that are kept, workers that die."""

from importlib import import_module

import pytest

from draftproof.experiments.cli.prove import steps
from draftproof.experiments.cli.prove.at_one_size import theorem_row
from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.grid import machines
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.simulator.drafts import Delayed
from tests.experiments.grid.stores import change

prove = import_module("draftproof.experiments.cli.prove")
STEPS = ("--K", 1)  # four draft trees and seven balances

DYING = """
import multiprocessing, os
from draftproof.verifiers.naive import Naive

if multiprocessing.parent_process():
    os._exit(3)

class Dying(Naive):
    pass
"""


@pytest.fixture
def many(monkeypatch):
    """Processes are taken even for a moment's work; how many at each time."""
    taken = []
    results = machines.Machines.results
    monkeypatch.setattr(machines, "PARALLEL_FROM_SECONDS", 0.0)
    monkeypatch.setattr(
        machines.Machines, "results", lambda own, *given: taken.append(own.jobs) or results(own, *given)
    )
    return taken


@pytest.mark.heavy
def test_two_processes_give_the_same_cells_and_the_same_certificate(draftproof, tmp_path, many):
    rows = [
        draftproof("prove", "block", *STEPS, "--jobs", jobs, "--certificate", f"{jobs}.json", "--json").row
        for jobs in (1, 2)
    ]
    assert 2 in many
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    same = ("verdict", "identities", "verdict_cells", "cells", "degree", "runs", "open_cells", "compared")
    assert [rows[0][key] for key in same] == [rows[1][key] for key in same]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("more", "rows", "lost", "computed"),
    [  # draft trees, then balances and the theorem; of a relation the trees of both and a difference for each context
        (
            (),
            4 + 7 + 1,
            "delete from rows where rowid > 4; update rows set row = substr(row, 1, 40) where rowid = 4",
            1 + 7,
        ),
        (("--dominates", "naive"), 2 * 4 + 6, "delete from rows where rowid = (select max(rowid) from rows)", 1),
    ],
    ids=["theorem", "relation"],
)
def test_what_was_ended_goes_on_with_the_steps_it_had(draftproof, tmp_path, monkeypatch, more, rows, lost, computed):
    about = ("prove", "block", *more, *STEPS, "--jobs", 1, "--resume", "rows.db", "--certificate")
    assert draftproof(*about, "whole.json").code == 0
    assert len(Store("rows.db")) == rows
    change("rows.db", lost)
    done = []
    explored, judged = steps.explored, steps.judged
    monkeypatch.setattr(steps, "explored", lambda *given: done.append("tree") or explored(*given))
    monkeypatch.setattr(steps, "judged", lambda *given: done.append("difference") or judged(*given))
    assert draftproof(*about, "again.json").code == 0
    assert len(done) == computed
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_steps_of_other_code_are_not_taken(tmp_path, monkeypatch):
    request = Request(find_verifier("naive"), 2, Delayed(1, 0, 1), False, (), 100)
    rows = str(tmp_path / "rows.db")
    assert theorem_row(request, store=Store(rows))["proved"]
    done = []
    explored = steps.explored
    monkeypatch.setattr(steps, "explored", lambda *given: done.append(1) or explored(*given))
    theorem_row(request, store=Store(rows))
    assert done == []
    monkeypatch.setattr("draftproof.experiments.grid.store._ours", lambda: "another")
    theorem_row(request, store=Store(rows))
    assert done == [1, 1]


@pytest.mark.heavy
def test_a_worker_that_dies_ends_the_proof_without_a_verdict(draftproof, tmp_path, many):
    (tmp_path / "dying.py").write_text(DYING)
    ran = draftproof("prove", "dying.py:Dying", *STEPS, "--jobs", 2, "-o", "out.json")
    assert ran.code == 2
    assert "ended unexpectedly" in ran.err
    assert not (tmp_path / "out.json").exists()
