"""The study of selectors: rows from a small pair, and figures that are functions of rows."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import run_command
from experiments.models.selector import making, training
from experiments.models.selector.training import Choice
from experiments.shared.text import EMBEDDED, read_text
from experiments.studies import selectors
from experiments.studies.selectors_views import LADDER, figure, gain, markdown, rate


@pytest.mark.heavy
def test_the_study_of_a_small_pair_and_its_figures(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "EPOCHS", 5)
    monkeypatch.setattr(training, "GRID", (Choice(0.0, 1.0, 0.0, 1e-3, 0.1),) * 4)
    shutil.copytree(tiny_folder, "pair")
    Path("text.txt").write_text(read_text(EMBEDDED)[:60_000], encoding="utf-8")

    def study(*more: str) -> int:
        where = ("--pair", "pair", "--text", "text.txt", "--device", "cpu", "--roots", "20", "--max-nodes", "2")
        given = ("specinfer", "traversal", *where, "--resume", "rows", "--json", "a.json", *more)
        monkeypatch.setattr(sys, "argv", ["study", *given])
        with pytest.raises(SystemExit) as stop:
            run_command(selectors.main)
        return int(stop.value.code or 0)

    assert study("--markdown", "a.md", "--plot", "a.png") == 0
    rows = json.loads(Path("a.json").read_text())["rows"]
    assert [(row["verifier"], row["target_time"]) for row in rows] == [
        (verifier, target) for verifier in ("specinfer", "traversal") for target in selectors.TARGET_TIMES
    ]
    for row in rows:
        assert (row["labels"], row["held_out"]) == ("exact", 4)
        assert [setting["temperature"] for setting in row["settings"]] == [1.0, 0.6]
        for setting in row["settings"]:
            found = setting["policies"]
            assert set(LADDER) >= set(found) >= {"one", "static", "selector", "oracle"}
            assert all(rate(found["oracle"]) >= rate(each) * (1 - 1e-12) for each in found.values())
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert Path("a.md").read_text() == markdown(rows)
    assert "| `specinfer` |" in capsys.readouterr().out
    monkeypatch.setattr(making, "label_row", lambda *_: pytest.fail("a label was computed again"))
    assert study() == 0  # every row is there
    assert json.loads(Path("a.json").read_text())["rows"] == rows


def policy(*tokens: float) -> dict[str, Any]:
    return {"tokens": list(tokens), "times": [2.0] * len(tokens), "used": 1}


def test_gains_are_ratios_with_intervals_that_hold_them() -> None:
    mean, low, high = gain(policy(3, 4, 5, 4), policy(2, 2, 2, 2))
    assert mean == 1.0
    assert 0.5 <= low < mean < high <= 1.5
    assert gain(policy(3, 4), policy(3, 4)) == (0.0, 0.0, 0.0)


def test_tables_and_picture_without_the_rival_or_learners() -> None:
    policies = {"static": policy(2, 2), "entropy": policy(2, 3), "selector": policy(3, 3), "oracle": policy(3, 4)}
    setting = {"temperature": 1.0, "static": [1, 0, 2], "policies": policies, "mean_tokens": [2.5, 2.25, 2.75, 1.0]}
    shapes = [[2, 0, 2], [1, 0, 4], [2, 2, 1], [1, 0, 1]]
    row = {"verifier": "block", "target_time": 4, "V": 8, "shapes": shapes, "labels": "exact", "held_out": 2}
    text = markdown([{**row, "settings": [setting]}])
    assert "| 1 | `block` | 1.00000 | 1, 0, 2 | +25.00% | +50.00% (+50.00% to +50.00%) | +75.00% | 14.29% | 1 |" in text
    assert "Against" not in text
    assert "| temperature | verifier | 4: 2, 0, 2 | 4: 2, 2, 1 | 4: 1, 0, 4 |" in text
    assert "| 1 | `block` | 2.5000 | 2.7500 | 2.2500 |" in text
    assert figure([{**row, "settings": [setting]}]).startswith(b"\x89PNG")
