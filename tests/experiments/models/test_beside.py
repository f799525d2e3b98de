"""Ways of writing beside each other: what each writes, what is counted, and that nothing is left behind."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from draftproof import Delayed, generate_with
from experiments.cli import run_command
from experiments.models.drafts.eagle import new_head
from experiments.models.pair.pair import Pair
from experiments.models.pair.warp import Warp
from experiments.models.speed.beside import ALONE, ASSISTED, Writer, assisted_by, beside, written
from experiments.models.speed.paired import ratio
from experiments.studies import beside_generate
from simulator.drafts import DySpec
from simulator.errors import InvalidInput

ROOT = (0, 1, 2, 3)
OURS = Writer("block", generate_with("block", Delayed(1, 0, 3)))


def test_greedy_texts_of_all_are_the_same(tiny_pair: Pair) -> None:
    texts = [written(tiny_pair, each, ROOT, Warp(0), 20, 0) for each in (ALONE, ASSISTED, assisted_by(3), OURS)]
    assert len(texts[0]) == 20
    assert texts == [texts[0]] * 4


def test_rows_count_passes_and_split_the_time(tiny_pair: Pair) -> None:
    rows = beside(tiny_pair, [ALONE, ASSISTED, OURS], [ROOT, ROOT[1:]], Warp(0.9, 5, 0.95), 24, 2, 0)
    alone, assisted, ours = rows
    assert alone["tokens_per_target_pass"] == 1
    assert alone["draft_passes_per_token"] == 0
    assert alone["times_alone"] == assisted["times_assisted"] == (1, 1, 1)
    assert 1 < ours["tokens_per_target_pass"] < 4
    assert ours["draft_passes_per_token"] > 24 / 24 / 4 * 3  # three a block of at most four tokens
    assert alone["draft_ms"] == 0 < ours["draft_ms"]
    for row in rows:
        assert row["target_ms"] > 0
        assert row["target_share"] + row["draft_share"] + row["around_share"] == pytest.approx(1)
        assert row["times_alone"][1] <= row["times_alone"][0] <= row["times_alone"][2]
        assert row["times_alone"][0] == pytest.approx(row["tokens_per_second"] / alone["tokens_per_second"])
    assert not tiny_pair.target._forward_hooks
    assert not tiny_pair.draft._forward_pre_hooks


def test_nothing_is_said_of_an_assistant_that_takes_no_part(random_pair: Callable[..., Pair]) -> None:
    pair = random_pair()
    headed = dataclasses.replace(pair, draft=new_head(pair.target, 0).eval())
    rows = beside(headed, [ALONE, OURS], [ROOT], Warp(), 8, 2, 0)
    assert [row["times_assisted"] for row in rows] == [None, None]
    assert rows[1]["draft_passes_per_token"] > 0
    assert " | - | " in beside_generate.as_markdown(rows)


def test_a_verifier_is_left_out_on_a_scheme_that_it_does_not_claim(capsys: pytest.CaptureFixture[str]) -> None:
    found = beside_generate._ours(["layer_transport", "block"], [Delayed(1, 0, 2), DySpec(3)], "numpy")
    assert [each.label.split(" on ")[0] for each in found] == ["layer_transport", "block", "block"]
    assert "left out: layer_transport is not lossless on dyspec" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="no verifier is lossless on any"):
        beside_generate._ours(["layer_transport"], [DySpec(3)], "numpy")


def test_the_assistant_drafts_what_it_is_told_and_forgets_it(tiny_pair: Pair) -> None:
    config = tiny_pair.draft.generation_config
    names = ("num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold")
    before = [getattr(config, name) for name in names]
    counts = []
    for drafts in (1, 6):
        (_, _, row) = beside(tiny_pair, [ALONE, ASSISTED, assisted_by(drafts)], [ROOT], Warp(), 30, 2, 0)
        counts.append(row["tokens_per_target_pass"])
    assert counts[0] <= 2 < counts[1]
    assert [getattr(config, name) for name in names] == before


def test_the_interval_is_of_paired_rounds() -> None:
    assert ratio([20.0, 40.0], [10.0, 20.0]) == pytest.approx((2, 2, 2))
    half = 12.71 * np.std([1, 3], ddof=1) / np.sqrt(2)  # Student's quantile for two rounds
    expected = np.exp([2, 2 - half, 2 + half])
    assert ratio([np.exp(1), np.exp(3)], [1.0, 1.0]) == pytest.approx(tuple(expected))


@pytest.mark.heavy
def test_the_study_prints_and_keeps_a_row_for_each(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    models = ["--target", str(tiny_folder / "target"), "--draft", str(tiny_folder / "draft"), "--device", "cpu"]
    few = [
        "--roots",
        "1",
        "--tokens",
        "8",
        "--rounds",
        "2",
        "--K",
        "1",
        "--L2",
        "2",
        "--scheme",
        "delayed:K=2,L1=0,L2=1",
    ]
    monkeypatch.setattr(sys, "argv", ["beside", "block", *models, *few, "--json", "b.json", "--markdown", "b.md"])
    with pytest.raises(SystemExit) as ended:
        run_command(beside_generate.main)
    assert ended.value.code == 0
    found = json.loads(Path("b.json").read_text(encoding="utf-8"))
    labels = [row["writer"] for row in found["rows"]]
    ours = [f"block on delayed({shape})" for shape in ("K=1, L1=0, L2=2", "K=2, L1=0, L2=1")]
    assert labels == [ALONE.label, ASSISTED.label, assisted_by(2).label, *ours]
    table = Path("b.md").read_text(encoding="utf-8").strip()
    assert table in capsys.readouterr().out
    assert all(f"| {label} | " in table for label in labels)
