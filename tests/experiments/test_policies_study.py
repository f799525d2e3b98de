"""The study of policies: its rows, that it resumes, and that its tables are functions of the rows."""

import json
from pathlib import Path

import numpy as np
import pytest

from draftproof.experiments.studies import policies
from draftproof.simulator.drafts import Delayed


@pytest.fixture
def few(monkeypatch, tmp_path):
    """One small world and two verifiers."""
    monkeypatch.chdir(tmp_path)
    place = policies.Place(3, 2, 1, 1.0, 2)
    monkeypatch.setattr(policies, "PLACES", (place, policies.Place(3, 2, 1, 0.5, 2)))
    monkeypatch.setattr(policies, "LARGE", policies.Place(5, 2, 1, 1.0, 2))
    monkeypatch.setattr(policies, "VERIFIERS", ("specinfer", "traversal"))
    monkeypatch.setattr(policies, "TARGET_TIMES", (4,))
    learns = [name for name, baseline in policies.BASELINES.items() if baseline.learner and name != "entropy"]
    kept = {name: baseline for name, baseline in policies.BASELINES.items() if name not in learns}
    monkeypatch.setattr(policies, "BASELINES", kept)


def test_rows_resume_and_the_tables_come_from_them(few, study):
    given = ("--resume", "r.db", "--markdown", "p.md", "--plot", "p.png", "--json", "a.json")
    code, first = study(policies.main, *given)
    again, second = study(policies.main, "--resume", "r.db")
    assert (code, again) == (0, 0)
    assert second.out == first.out.partition("picture: ")[0]
    assert "0 rows (5 more are kept from before)" in second.err
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads(Path("a.json").read_text())["rows"]
    assert Path("p.md").read_text() == policies.markdown(rows)
    assert Path("p.md").read_text().count("### ") == 3
    for row in rows:
        rates = row["times"]["4"]["baselines"]
        best = rates["best"]["rate"]
        assert all(each["rate"] <= best * (1 + 1e-12) for each in rates.values())
        assert rates["static"]["rate"] == max(row["times"]["4"]["statics"].values())


def test_shapes_and_rows_of_the_study():
    found = policies.schemes(4)
    assert len(found) == len(set(found)) == 22
    assert all(isinstance(each, Delayed) and each.depth <= 4 for each in found)
    names = [task.ids for task in policies.tasks()]
    assert len(set(names)) == len(names)
    world = policies.PLACES[1].world()
    assert np.asarray(world.target.states, dtype=float).max(1).mean() > 0.7  # colder than the text


def test_rates_of_worlds_that_bring_as_many_tokens():
    assert policies._mean([1.0, 0.5]) == pytest.approx(2 / 3)
    row = {"verifier": "a", "world": "V = 2, temperature 1", "strong_id": "x"}
    parts = {"statics": {"s": 1.0, "t": 0.5}, "baselines": {"static": {"rate": 1.0}, "best": {"rate": 1.0, "used": 1}}}
    other = {"statics": {"s": 0.5, "t": 1.0}, "baselines": {"static": {"rate": 1.0}, "best": {"rate": 2.0, "used": 1}}}
    rows = [{**row, "times": {"4": parts}}, {**row, "world": "V = 2, temperature 2", "times": {"4": other}}]
    # one action: 2/3 of a token per time; one for each temperature: 1; the best: 4/3
    assert "| V = 2 | `a` | +50.00%, +100.00% |" in policies.markdown(rows)


def test_the_page_has_the_tables_that_the_study_prints():
    text = Path(policies.__file__).parents[1].joinpath("models", "policies", "README.md").read_text(encoding="utf-8")
    titles = [line for line in text.splitlines() if line.startswith("### ")]
    assert [f"### A target pass takes {time} draft passes" for time in policies.TARGET_TIMES] == titles[:3]
    assert len(titles) == 5
    rows = [line for line in text.splitlines() if line.startswith("| V = ") and "`specinfer`" in line]
    assert len(rows) >= len(policies.TARGET_TIMES) * (len(policies.PLACES) + 1)
    assert f"{len(policies.tasks())} rows" in text
