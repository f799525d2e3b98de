"""`draftproof choose`: exact expectations, bounds that leave out, intervals, and one line for what cannot be chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.models.pair.pair import Pair
from experiments.models.pair.roots import roots_of
from experiments.models.pair.warp import Warp
from experiments.models.predicted.prediction import predict
from experiments.models.predicted.tables import pair_tables
from experiments.models.speed import choosing
from experiments.models.speed.choice import recommendation
from experiments.models.speed.choosing import Candidate, Race, Tried
from experiments.models.validation.contest import setting
from experiments.shared.names import find_verifier
from experiments.shared.text import EMBEDDED, read_text
from simulator import Delayed
from simulator.instances.case import Case
from verifiers import make

NAIVE, ONE = find_verifier("naive"), Delayed(1, 0, 1)


@pytest.fixture
def models(tiny_folder: Path, tmp_path: Path) -> tuple[object, ...]:
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    where = ("--device", "cpu", "--text", tmp_path / "text.txt")
    return ("--target", tiny_folder / "target", "--draft", tiny_folder / "draft", *where)


def test_a_pair_gets_an_answer(draftproof: Callable[..., Any], models: tuple[object, ...], tiny_pair: Pair) -> None:
    few = ("--roots", 2, "--tokens", 6, "--rounds", 2, "--K", "1..2", "--L2", 2)
    ran = draftproof("choose", "traversal", "naive", *models, *few, "--json", "c.json", "--plot", "c.png")
    assert ran.code == 0
    found = json.loads(Path("c.json").read_text())
    held_out = Path(str(models[-1])).read_text()[-1000:]
    cases = [Case("", *pair_tables(tiny_pair, Warp(), root, 2)) for root in roots_of(tiny_pair.encode(held_out), 2)]
    rows = [*found["rows"], *found["left_out"]]
    assert len(rows) == 4
    for row in rows:
        scheme = Delayed(*(row["scheme"][key] for key in ("K", "L1", "L2")))
        expected = predict(make(row["verifier"]), cases, scheme).mean
        assert row["expected_block_efficiency"] == pytest.approx(expected, abs=1e-12)  # the same laws, in float64
    finalists = [row for row in found["rows"] if row["finalist"]]
    assert finalists
    assert all(row["speedup_low"] <= row["speedup"] <= row["speedup_high"] for row in finalists)
    assert found["recommendation"] in ran.out
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_not_lossless_is_not_chosen(draftproof: Callable[..., Any], models: tuple[object, ...]) -> None:
    ran = draftproof("choose", "naive_from_target", *models, "--roots", 1, "--K", 1, "--L2", 1)
    assert ran.code == 2
    assert "naive_from_target: not lossless on delayed(K=1, L1=0, L2=1)" in ran.err


def candidate(most: float) -> Candidate:
    return Candidate(NAIVE, ONE, most, 0.0, 1.0)


def test_the_search_ends_where_no_bound_is_above_what_was_measured(
    tiny_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = setting(tiny_pair, Warp(), [(0, 1, 2, 3)], 0)
    ranked = [candidate(most) for most in (9.0, 8.0, 7.0, 6.0, 5.0, 4.9, 1.0)]
    monkeypatch.setattr(choosing, "_texts", lambda *_: [])
    monkeypatch.setattr(choosing, "_tried", lambda each, _: Tried(each, each.most / 2, 1.0, 2.0, 0.0, 0.0))
    found = list(choosing.tried(where, ranked, 8))
    # passes take twice the fitted time in the loop; the best had 4.5, so that 4.9 / 2 and all below is hopeless
    assert [each.candidate.most for each in found] == [9.0, 8.0, 7.0, 6.0, 5.0]
    monkeypatch.setattr(choosing, "_tried", lambda each, _: Tried(each, 0.1, 1.0, 1.0, 0.0, 0.0))
    assert len(list(choosing.tried(where, ranked, 8))) == len(ranked)


def race(*rates: list[float]) -> Race:
    made = Race([Tried(candidate(1.0), 1.0, 1.0, 1.0, 0.0, 0.0) for _ in rates[1:]])
    made.rates = {None if number < 0 else number: values for number, values in enumerate(rates, -1)}
    return made


def test_intervals_are_those_of_paired_rounds() -> None:
    made = race([10.0, 20.0, 40.0], [20.0, 40.0, 80.0])  # twice as fast in every round, whatever the machine does
    assert made.ratio(0) == pytest.approx((2.0, 2.0, 2.0))
    apart = race([1.0, 1.0, 1.0], [np.exp(1), np.exp(2), np.exp(3)])
    half = 4.30 / np.sqrt(3)  # Student's quantile for three rounds, and a deviation of 1
    assert apart.ratio(0) == pytest.approx((np.exp(2), np.exp(2 - half), np.exp(2 + half)))


def test_the_recommendation_says_when_nothing_is_gained_and_what_is_as_good() -> None:
    plain = [10.0, 10.1, 9.9]
    assert recommendation(race(plain, [5.0, 5.1, 4.9])).startswith("no speculation: the best, naive on")
    clear = recommendation(race(plain, [20.0, 20.1, 19.9], [12.0, 12.1, 11.9]))
    assert clear.startswith("naive on delayed(K=1, L1=0, L2=1): 2.00 times")
    assert "not told apart" not in clear
    assert "not told apart from it" in recommendation(race(plain, [20.0, 22.0, 18.0], [19.9, 22.0, 18.1]))
    assert "is open" in recommendation(race(plain, [9.0, 12.0, 10.5]))
    assert replace(candidate(2.0), error=0.5).most == 3.0
