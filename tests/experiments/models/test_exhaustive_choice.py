"""Every candidate measured, and `choose` beside the best of them: it says no where the bounds are wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.cli import run_command
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from experiments.models.speed import choice, choosing, exhaustive, race
from experiments.models.speed.choice import Amount
from experiments.models.speed.exhaustive import Rates, sweeps, verdict
from experiments.models.speed.paired import pooled_ratio
from experiments.models.speed.race import Runner, Turn
from experiments.models.validation.contest import Setting, setting
from experiments.shared.names import find_verifier
from experiments.shared.rows import RowFile
from experiments.studies import exhaustive_choice
from simulator import Delayed

NAMED = [find_verifier(name) for name in ("naive", "specinfer")]
SHAPES = [Delayed(2, 0, 1), Delayed(2, 0, 2)]
PLAYERS = [(named, shape) for shape in SHAPES for named in NAMED]
#: Seconds of a block in a world where nothing else happens; the deeper tree is a little slower, and brings more.
SECONDS = {SHAPES[0]: 1.0, SHAPES[1]: 1.05}


@pytest.fixture
def where(tiny_pair: Pair) -> Setting:
    return setting(tiny_pair, Warp(), [(0, 1, 2, 3), (3, 1, 0)], 0)


@pytest.fixture
def steady(where: Setting, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """A machine where a block takes the seconds of its tree give or take a hundredth, and brings what is expected."""
    expectations = choosing.Expectations(where, choosing.contexts_of(where, 8), SHAPES)
    tokens = dict(zip(PLAYERS, (each.mean for each in expectations.of(PLAYERS)), strict=True))

    def made(_: Any, runners: Sequence[Runner], __: int, seed: int, ___: Any = None) -> list[list[Turn]]:
        noise = np.random.default_rng(seed).normal(1, 0.01, len(runners))
        blocks = [
            (1.0, 0.4) if runner is None else (tokens[runner], SECONDS[runner[1]])  # type: ignore[index]
            for runner in runners
        ]
        return [
            [Turn(round(1e6 * mean), 10**6, 1e6 * seconds * slow, 0.0, 0.0)]
            for (mean, seconds), slow in zip(blocks, noise, strict=True)
        ]

    for module in (race, exhaustive):
        monkeypatch.setattr(module, "turns", made)
    monkeypatch.setattr(choice.PlainRehearsal, "rate", property(lambda _: 1.0 / 0.4))
    for name in ("block", "quick"):
        monkeypatch.setattr(choosing.Rehearsal, name, lambda self, _: SECONDS[self.scheme])
    # on the deeper tree verification takes long: whether it is worth more work is told by the bound
    shared = {SHAPES[0]: SECONDS[SHAPES[0]], SHAPES[1]: 0.5 * SECONDS[SHAPES[1]]}
    monkeypatch.setattr(choosing.Rehearsal, "shared", property(lambda self: shared[self.scheme]))
    return where


def judged(where: Setting, kept: RowFile) -> dict[str, Any]:
    rates = Rates(sweeps(where, PLAYERS, 8, 6, kept))
    return verdict(PLAYERS, rates, choice.chosen_of(where, NAMED, SHAPES, Amount(2, 8, 3)))


def test_the_recommendation_is_the_best_of_all(steady: Setting) -> None:
    found = judged(steady, RowFile(None))
    assert found["agrees"]
    assert found["best"] == found["recommended"] == f"specinfer on {SHAPES[1]}"
    assert found["ratio"] == [1.0, 1.0, 1.0]
    assert found["rank"] == 1
    assert found["predicted"]["mean"] == pytest.approx(1, abs=0.05)
    assert found["predicted"]["deviation"] < 0.05


def test_a_bound_that_is_too_low_is_found_out(steady: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    most = choosing.Expectations.most
    monkeypatch.setattr(
        choosing.Expectations, "most", lambda self, scheme: 1.0 if scheme == SHAPES[1] else most(self, scheme)
    )
    found = judged(steady, RowFile(None))
    assert not found["agrees"]
    assert found["best"] == f"specinfer on {SHAPES[1]}"
    assert found["recommended"] == f"specinfer on {SHAPES[0]}"
    assert found["ratio"][2] < 1


def test_sweeps_go_on_where_they_stopped(where: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    really = exhaustive.turns

    def counted(*given: Any) -> list[Turn]:
        calls.append(1)
        if len(calls) == 6:  # a warm-up and a sweep for both roots of the first round, then the second one
            raise KeyboardInterrupt
        return really(*given)

    monkeypatch.setattr(exhaustive, "turns", counted)
    path = str(tmp_path / "rows")
    with pytest.raises(KeyboardInterrupt):
        sweeps(where, PLAYERS[:2], 4, 2, RowFile(path))
    found = sweeps(where, PLAYERS[:2], 4, 2, RowFile(path))
    assert len(calls) == 7
    assert [len(round_) for round_ in found] == [2, 2]
    assert all(len(texts) == 3 for round_ in found for texts in round_)
    assert all(each.tokens >= 4 and each.seconds > 0 for round_ in found for texts in round_ for each in texts)


def test_the_best_is_named_by_rounds_that_do_not_compare_it() -> None:
    seconds = [[(1.0, 1 / 9, 1 / 5)], [(1.0, 1 / 4, 1 / 5)]] * 2
    rates = Rates([[[Turn(1, 1, each, 0.0, 0.0) for each in sweep] for sweep in round_] for round_ in seconds])
    assert rates.best(slice(0, None, 2)) == 1
    assert rates.ratio(2, 1, slice(1, None, 2)) == pytest.approx((1.25, 1.25, 1.25))


def test_the_interval_of_short_texts_holds_the_ratio_of_long_ones() -> None:
    assert pooled_ratio([(4, 2.0), (6, 1.0)], [(4, 4.0), (6, 2.0)]) == pytest.approx((2, 2, 2))
    generator, held = np.random.default_rng(0), 0
    for _ in range(400):
        machine = generator.lognormal(0, 0.3, 20)  # what else it does slows both
        texts = [
            [
                (float(mean * count), float(slow * count))
                for mean, count, slow in zip(
                    generator.normal(rate, 0.5, 20), generator.integers(3, 6, 20), machine, strict=True
                )
            ]
            for rate in (3.0, 2.5)
        ]
        _, low, high = pooled_ratio(texts[0], texts[1])
        held += low <= 1.2 <= high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.heavy
def test_the_study_says_what_came_out(
    tiny_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    models = ["--target", str(tiny_folder / "target"), "--draft", str(tiny_folder / "draft"), "--device", "cpu"]
    few = ["--roots", "2", "--tokens", "4", "--rounds", "4", "--K", "1", "--L2", "1..2", "--scheme", "dyspec:nodes=2"]
    files = ["--resume", "rows", "--json", "e.json", "--markdown", "e.md"]
    monkeypatch.setattr(sys, "argv", ["exhaustive", "naive", "traversal", *models, *few, *files])
    with pytest.raises(SystemExit) as ended:
        run_command(exhaustive_choice.main)
    found = json.loads(Path("e.json").read_text(encoding="utf-8"))
    assert ended.value.code == (0 if found["agrees"] else 1)
    assert found["candidates"] == 6
    assert len(found["table"]) == 6
    page = Path("e.md").read_text(encoding="utf-8").strip()
    assert page in capsys.readouterr().out
    assert found["recommended"] in page
    kept = Path("rows").read_text(encoding="utf-8")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        run_command(exhaustive_choice.main)
    assert Path("rows").read_text(encoding="utf-8") == kept  # every sweep is known again
    again = json.loads(Path("e.json").read_text(encoding="utf-8"))
    assert again["plain_tokens_per_second"] == found["plain_tokens_per_second"]
    assert again["best"] == found["best"]
