"""`draftproof claims`: what it prints, its exit codes, and rows that are found again."""

import pytest

from draftproof.experiments.claims import work

#: Two that take well under a second, one of them refuted.
PAIR = ("gbv-one-path-is-block", "gbv-at-least-block")


@pytest.mark.heavy
def test_one_claim_is_shown_with_its_variants(draftproof):
    ran = draftproof("claims", PAIR[1], "--jobs", 1)
    assert ran.code == 0
    shown = " ".join(ran.out.split())
    assert "claim gbv-at-least-block status refuted" in shown
    assert "false variant naive never brings less than block: refuted at instance" in shown
    assert "true variant the optimum never brings less: holds on" in shown


def test_after_ctrl_c_what_was_done_is_kept(draftproof, monkeypatch):
    compute, done = work.compute, []

    def interrupted(name):
        if done:
            raise KeyboardInterrupt
        done.append(name)
        return compute(name)

    monkeypatch.setattr(work, "compute", interrupted)
    ran = draftproof("claims", *PAIR, "--jobs", 1, "--resume", "r")
    assert ran.code == 130
    assert "rows; they are kept in r" in ran.err


@pytest.mark.heavy
def test_an_instance_that_does_not_come_along_is_written(draftproof, monkeypatch, tmp_path):
    monkeypatch.setattr("draftproof.experiments.claims.ledger.INSTANCES", tmp_path / "none")
    (tmp_path / "here").mkdir()
    ran = draftproof("claims", PAIR[1], "--jobs", 1, "--folder", "here", "--json")
    assert ran.code == 0
    assert ran.row["instance"] == "here/claim-gbv-at-least-block.json"
    again = draftproof(*ran.row["command"].split()[1:], "--json")
    assert [row["block_efficiency"] for row in again.json["rows"]] == ["2", "7/4"]


def test_a_verdict_that_is_not_the_known_one_is_exit_1(draftproof, monkeypatch):
    compute = work.compute
    monkeypatch.setattr(work, "compute", lambda name: compute(name) | {"as_expected": False})
    ran = draftproof("claims", "actions", "gbv-one-path-is-block", "--jobs", 1)
    assert ran.code == 1
    assert "not its recorded status" in ran.out
