"""Intervals of sampled predictions hold the truth as often as they say; what does not is noticed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from experiments.cli import run_command
from experiments.models.pair.warp import Warp
from experiments.models.predicted.betting import mean_interval
from experiments.models.predicted.coverage import (
    Coverage,
    Setting,
    by_products,
    by_tables,
    by_trees,
    coverage,
    exact_interval,
    made_pair,
)
from experiments.models.predicted.sampled import SampledPrediction
from experiments.studies import coverage as study
from simulator import Delayed, InvalidInput
from verifiers import make


@pytest.mark.parametrize("count", [1, 2, 8, 30])
def test_means_of_zeros_and_ones_are_held_as_often_as_said_exactly(count: int) -> None:
    """The probability that the interval holds the truth, summed over all counts of ones, at many truths."""
    found = [mean_interval([1] * ones + [0] * (count - ones), 0, 1) for ones in range(count + 1)]
    for truth in np.linspace(0.01, 0.99, 99):
        held = sum(binom.pmf(ones, count, truth) for ones, (low, high) in enumerate(found) if low <= truth <= high)
        assert held >= 0.95


def test_half_of_that_interval_is_not_enough_at_some_truth() -> None:
    worst, count = 1.0, 30
    found = [mean_interval([1] * ones + [0] * (count - ones), 0, 1) for ones in range(count + 1)]
    for truth in np.linspace(0.01, 0.99, 99):
        centres = [((low + high) / 2, (high - low) / 4) for low, high in found]
        held = sum(
            binom.pmf(ones, count, truth) for ones, (centre, half) in enumerate(centres) if abs(centre - truth) <= half
        )
        worst = min(worst, held)
    assert worst < 0.9


def test_the_interval_shrinks_with_more_numbers_and_keeps_to_its_range() -> None:
    numbers = np.tile([1.5, 2.0, 2.5, 3.0], 64)
    widths = [np.diff(mean_interval(numbers[:count], 1, 3))[0] for count in (8, 32, 128, 256)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 4
    low, high = mean_interval([3.0] * 8, 1, 3)
    assert 1 < low < 2.7
    assert high == pytest.approx(3)  # halvings of the range
    assert mean_interval([3.0] * 8, 1, 3, 0.5)[0] > low
    assert mean_interval([1.0] * 8, 1, 1) == (1, 1)  # trees without drafts


def setting(name: str, scheme: Delayed, trees: int, **pair: Any) -> Setting:
    return Setting("test", made_pair(**pair), make(name), scheme, Warp(), ((1, 2, 3), (3, 1, 5, 2)), trees)


def test_intervals_of_predictions_hold_the_exact_block_efficiency() -> None:
    """On a draft that is mostly right: nearly all trees have the same mean, and Student's interval is too narrow."""
    given = setting("traversal", Delayed(2, 0, 2), 8, vocab=8, noise=0.01)
    found = coverage(given, by_tables(given), 60)
    assert found.covers()
    assert not found.covers("half")
    assert not found.covers("normal")
    assert found.widths["half"] == pytest.approx(found.widths["student"] / 2)


def test_two_roads_to_the_truth_agree() -> None:
    given = setting("naive", Delayed(1, 0, 2), 8, vocab=8)
    exact, sums, run = by_tables(given), by_products(given), by_trees(400)(given)
    assert sums.mean == pytest.approx(exact.mean, abs=1e-6)  # float32 passes in other batches
    assert abs(run.mean - exact.mean) < 4 * run.error < 0.2  # four standard errors of 800 trees
    with pytest.raises(InvalidInput, match="take naive, one path of 2"):
        by_products(setting("block", Delayed(1, 0, 2), 8, vocab=8))


def test_the_judge_of_coverage_says_no() -> None:
    def counted(hits: int) -> Coverage:
        return Coverage(200, dict.fromkeys(("interval",), hits), {})

    assert [counted(hits).covers() for hits in (200, 190, 184, 182, 130)] == [True, True, True, False, False]
    low, high = exact_interval(190, 200)
    assert 0.90 < low < 0.95 < high < 0.98
    assert exact_interval(0, 10)[0] == 0
    assert exact_interval(10, 10)[1] == 1
    # the ends are where so extreme a count has 2.5 %: rounding of the quantiles alone
    assert binom.sf(189, 200, low) == pytest.approx(0.025)
    assert binom.cdf(190, 200, high) == pytest.approx(0.025)


def test_freedom_is_of_the_trees_of_all_roots_with_a_spread() -> None:
    spread = np.array([[1.0, 2, 3, 2], [2, 2, 2, 2]])
    assert SampledPrediction(spread, spread**2, 2).freedom == 3
    assert SampledPrediction(spread[[0, 0]], spread**2, 2).freedom == 6
    assert SampledPrediction(spread[[1, 1]], spread**2, 2).interval()[0] < 2


@pytest.mark.heavy
def test_the_study_prints_its_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["--repetitions", "20", "--first", "1", "--json", "a.json", "--markdown", "a.md"]
    monkeypatch.setattr(sys, "argv", ["coverage", *few])
    with pytest.raises(SystemExit) as ended:
        run_command(study.main)
    assert ended.value.code == 0
    found = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert found["covers"]
    assert [row["repetitions"] for row in found["rows"]] == [20]
    table = Path("a.md").read_text(encoding="utf-8").strip()
    assert table in capsys.readouterr().out
    assert f"{found['rows'][0]['hits']['interval']} (" in table
    monkeypatch.setattr(SampledPrediction, "interval", lambda self, level: (self.mean, self.mean + 1e-9))
    with pytest.raises(SystemExit) as ended:
        run_command(study.main)
    assert ended.value.code == 1
