"""The study of speed and acceptance: what its rows hold, that it resumes, that its views are functions of the rows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models.loop.setting import setting
from draftproof.experiments.models.measure import texts
from draftproof.experiments.models.measure.passes import Latency, fit_latency
from draftproof.experiments.models.measure.texts import Length
from draftproof.experiments.models.pair.pair import Pair
from draftproof.experiments.studies import real_models
from draftproof.simulator import Delayed
from draftproof.simulator.instances.sampling import Sampling

ROOTS = [(0, 1, 2, 3), (5, 0, 0, 1)]
CONTEXTS = [4, 24]


@pytest.fixture(scope="module")
def latency(tiny_pair: Pair) -> Latency:
    return fit_latency(tiny_pair, CONTEXTS, repetitions=2)


@pytest.mark.parametrize("name", ["specinfer", "traversal"])
def test_a_row_holds_measured_and_predicted(tiny_pair: Pair, latency: Latency, name: str) -> None:
    made = setting(tiny_pair, Sampling(), ROOTS, seed=0)
    row = texts.speculative_row(made, find_verifier(name), Delayed(2, 1, 1), Length(80, 12), latency)
    spread = (row["block_efficiency_error"] ** 2 + row["predicted_efficiency_error"] ** 2) ** 0.5
    assert abs(row["block_efficiency"] - row["predicted_efficiency"]) < 4 * spread
    assert row["blocks"] * (row["block_efficiency"]) >= 2 * 80  # the last block may be cut
    seconds = row["seconds_by_part"]
    assert sum(seconds[part] for part in (*real_models.PARTS,)) == pytest.approx(seconds["all"])
    assert row["tokens_per_second"] == pytest.approx(2 * 80 / seconds["all"])
    assert row["speedup"] > 0
    around = (seconds["verify"] + seconds["cache"]) / row["blocks"]
    expected = row["predicted_efficiency"] / (latency.block(Delayed(2, 1, 1), 4 + 40) + around)
    assert row["predicted_tokens_per_second"] == pytest.approx(expected)
    assert [each["depth"] for each in row["depths"]] == [0, 1]
    assert all(0 < each["accepted"] <= 1 and 0 < each["distance"] < 2 for each in row["depths"])


def test_large_vocabularies_are_predicted_at_their_own_block_starts(random_pair: Callable[..., Any]) -> None:
    pair = random_pair(vocab=400)
    made = setting(pair, Sampling(), [(1, 2, 3)], seed=0)
    row = texts.speculative_row(
        made, find_verifier("naive"), Delayed(2, 0, 2), Length(60, 10), fit_latency(pair, [2, 9], repetitions=1)
    )
    spread = (row["block_efficiency_error"] ** 2 + row["predicted_efficiency_error"] ** 2) ** 0.5
    assert abs(row["block_efficiency"] - row["predicted_efficiency"]) < 4 * spread


def test_plain_generation_is_the_yardstick(tiny_pair: Pair, latency: Latency) -> None:
    made = setting(tiny_pair, Sampling(), ROOTS, seed=0)
    row = texts.plain_row(made, Length(40), latency)
    assert row["tokens_per_second"] == pytest.approx(2 * 40 / row["seconds_by_part"]["all"])
    assert row["seconds_by_part"]["draft"] == 0


def test_a_fit_survives_being_kept(tiny_pair: Pair) -> None:
    made = setting(tiny_pair, Sampling(), ROOTS, seed=0)
    row = texts.latency_row(made, CONTEXTS, [1, 4])
    again = texts.latency_of(json.loads(json.dumps(row)))
    assert again.draft.coefficients == row["draft"]["coefficients"]
    assert [each.read for each in again.target.passes] == [1, 4, 1, 4]
    assert again.target.coefficients == row["target"]["coefficients"]
    assert len(row["target"]["passes"]) == 4
    assert len(real_models.latency_lines(row)) == 3


@pytest.mark.heavy
def test_the_study_prints_draws_and_resumes(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: Callable[..., tuple[int, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    models = ("--target", tiny_folder / "target", "--draft", tiny_folder / "draft", "--text", "text.txt")
    shapes = [
        "--K", "1..2", "--L1", "1", "--L2", "1", "--sampling", "temperature=.7", "--sampling", "temperature=1",
        "--tokens", "16", "--roots", "2",
    ]  # fmt: skip
    given = ("naive", "traversal", *models, *shapes, "--resume", "rows.db")
    code, first = study(
        real_models.main, *given, "--plot", "a.png", "--markdown", "a.md", "--json", "a.json", "--times", "t.json"
    )
    assert code == 0
    times = time_model("t.json")
    assert first.out.count("traversal") == 2 * 2 * 2  # two tables for each temperature, two shapes of one depth
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads(Path("a.json").read_text())["rows"]
    assert [row["kind"] for row in rows] == ["latency", *(2 * ["plain", *4 * ["speculative"]])]
    assert len({row["strong_id"] for row in rows}) == len(rows)
    fitted = texts.latency_of(rows[0])
    assert times == fitted.times(16 + 16 // 2)
    assert times.time(Delayed(2, 1, 1).as_dict()) == fitted.block(Delayed(2, 1, 1), 16 + 16 // 2)
    assert Path("a.md").read_text().count("| naive") == 4
    again, second = study(real_models.main, *given, "--json", "b.json")
    assert (again, json.loads(Path("b.json").read_text())["rows"]) == (0, rows)
    assert second.out == first.out.replace("picture: a.png\n", "").replace(
        "times: t.json, for draftproof compare --cost\n", ""
    )
