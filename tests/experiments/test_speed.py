"""The speed command, in its smallest version: what it measures and how it is told, not how fast anything is."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from draftproof.experiments import cli
from draftproof.experiments.studies.speed import command as speed
from draftproof.experiments.studies.speed.audits import chain
from draftproof.experiments.studies.speed.growth import Growth
from draftproof.experiments.studies.speed.measuring import TOP_DOWN, Row, in_turn
from draftproof.experiments.studies.speed.vocab_page import table
from draftproof.simulator import Delayed, check
from draftproof.simulator.audit import make_audit
from draftproof.simulator.instances.families import FAMILIES
from draftproof.verifiers import STANDALONE, make


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The JSON of the smallest version."""
    target = tmp_path_factory.mktemp("speed") / "speed.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["speed", "--quick", "--json", str(target)])
        with pytest.raises(SystemExit) as stop:
            cli.run_command(speed.main)
    assert not stop.value.code
    return json.loads(target.read_text(encoding="utf-8"))


def test_every_section_is_measured(quick):
    assert quick["quick"] is True
    assert list(dict.fromkeys(row["section"] for row in quick["rows"])) == [
        "memory floor",
        "enumeration",
        "leaf to root",
        "sampling",
        "programs",
        "paths",
        "sharing",
        "runs",
        "blocks",
        "vocab",
        "audits",
        "bounds",
        "sweeps",
    ]
    floor = [row["problem"] for row in quick["rows"] if row["section"] == "memory floor" and row["unit"] == "s"]
    assert [name for name in TOP_DOWN if not any(problem.startswith(name) for problem in floor)] == []


def test_every_row_has_both_sides_and_a_verdict_that_fits_them(quick):
    for row in quick["rows"]:
        assert row["measured"] > 0
        assert row["other"] > 0
        small, large = (row["measured"], row["other"]) if row["faster"] else (row["other"], row["measured"])
        assert row["ratio"] == large / small
        if row["goal"] is None:
            assert row["met"] is None
        else:
            assert row["met"] is (row["ratio"] >= row["goal"] if row["faster"] else row["ratio"] <= row["goal"])
    assert any(row["goal"] is not None for row in quick["rows"])


def test_blocks_at_real_vocabularies_are_told_with_their_share_of_a_pass(quick):
    rows = [row for row in quick["rows"] if row["section"] == "vocab"]
    lines = table(rows).splitlines()
    assert len(lines) == 2 + len({row["problem"].split(",")[0] for row in rows if row["unit"] == "s"})
    for row in (row for row in rows if row["unit"] == "s"):
        (line,) = (line for line in lines if line.startswith(f"| `{row['problem'].split(',')[0]}` |"))
        assert f"{1000 * row['measured']:.2g} ms" in line
        assert (f"({100 * row['ratio']:.2g} %)" in line) == (row["goal"] is not None)
    assert [row["other"] >= 2 for row in rows if row["unit"] == "tokens"] == [True]


def test_programs_are_counted(quick):
    notes = {row["problem"].split()[0]: row["note"] for row in quick["rows"] if row["section"] == "programs"}
    assert set(notes) == {"khisti", "optimal_transport"}
    assert all(" programs" in note and int(note.split()[0].replace(",", "")) > 0 for note in notes.values())
    assert notes["khisti"].endswith(" linear")


def test_growth_is_told_along_each_axis(quick):
    assert {each["axis"] for each in quick["growth"]} == {"L", "K", "V"}
    for each in quick["growth"]:
        seconds = list(each["seconds"].values())
        assert each["steps"] == [seconds[1] / seconds[0]]
        assert min(seconds) > 0


def test_a_missed_goal_is_told():
    slow = Row("section", "problem", 3.0, "pass", 1.0, 2.0)
    assert (slow.ratio, slow.met) == (3.0, False)
    assert (Row("section", "problem", 3.0, "pass", 1.0, 2.0, faster=True).ratio) == 1 / 3
    assert Row("section", "problem", 1.0, "pass", 3.0, 2.0, faster=True).met is True
    shown = list(speed.comparison_table([slow]).columns[-1].cells)
    assert shown == ["NO"]


def test_growth_fits_a_factor_a_level_or_a_power():
    level = Growth("any", "", "L", {1: 0.5, 2: 2.0, 3: 8.0})
    assert level.steps == [4.0, 4.0]
    assert level.fitted == pytest.approx(4.0)
    power = Growth("any", "", "V", {2: 4.0, 4: 16.0, 8: 64.0})
    assert power.fitted == pytest.approx(2.0)


def test_tasks_run_in_turn_and_the_least_time_counts():
    order = []
    least = in_turn({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 0.0)
    assert order == ["a", "b"]
    assert set(least) == {"a", "b"}
    assert all(seconds >= 0 for seconds in least.values())


def test_json_to_stdout_is_all_that_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["speed", "--quick", "--only", "one-step", "--json", "-"])
    with pytest.raises(SystemExit):
        cli.run_command(speed.main)
    found = json.loads(capsys.readouterr().out)
    assert [row["section"] for row in found["rows"]] == ["blocks"]
    assert found["growth"] == []


def test_a_section_that_does_not_exist_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["speed", "--only", "memory"])
    with pytest.raises(SystemExit) as stop:
        cli.run_command(speed.main)
    assert stop.value.code == 2
    assert "unknown section 'memory'; choose floor, enumeration" in " ".join(capsys.readouterr().err.split())


def test_runs_of_every_verifier_are_counted_in_both_arithmetics(quick):
    rows = {row["problem"].split()[0]: row for row in quick["rows"] if row["section"] == "runs"}
    assert set(rows) == set(STANDALONE) - {"spechub"}  # it takes its own pairs only
    # At V = 2 with two drafts, nss draws a token, and another one if the first was drafted: 3 runs where both drafts
    # are the same (two trees), 4 where they differ (two trees).
    assert rows["nss"]["note"].startswith("14 runs; ")


def test_the_function_that_is_audited_is_lossless_and_as_good_as_naive():
    instance = FAMILIES["dirichlet"].instance(2, 2, np.random.default_rng(0))
    found = make_audit(chain, "chain").judge(instance, Delayed(1, 0, 2))
    assert found.lossless
    ours = check(make("naive"), instance.target, instance.draft, Delayed(1, 0, 2))
    # It computes in floats.
    assert float(found.check.block_efficiency) == pytest.approx(float(ours.block_efficiency), abs=1e-12)


def test_a_file_that_cannot_be_written_is_refused_before_the_work(monkeypatch, capsys):
    monkeypatch.setattr(speed, "SECTIONS", None)
    monkeypatch.setattr(sys, "argv", ["speed", "--quick", "--json", "no/such/folder/speed.json"])
    with pytest.raises(SystemExit) as stop:
        cli.run_command(speed.main)
    assert stop.value.code == 2
    assert "cannot write --json" in " ".join(capsys.readouterr().err.split())
