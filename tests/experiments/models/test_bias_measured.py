"""What lossy verifiers write has the tokens and the bias that are predicted, and the monitor sees the larger ones."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from draftproof.experiments.models.pair import pair as pairs
from draftproof.experiments.studies import bias_measured

pytest.importorskip("torch")


@pytest.mark.heavy
def test_what_is_written_has_the_tokens_and_the_bias_that_are_predicted(
    random_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, study: Callable[..., tuple[int, Any]]
) -> None:
    models = random_pair(vocab=3, noise=0.3)
    monkeypatch.setattr(pairs, "load_folder", lambda *_: models)
    monkeypatch.setattr(bias_measured, "VERIFIERS", ("block", "ensemble:w=1/2", "threshold", "budgeted:eps=1/5"))
    monkeypatch.setattr(bias_measured, "LENGTH", 60)
    code, printed = study(bias_measured.main, "--pair", "made", "--L2", 2, "--roots", 2, "--runs", 250, "--json", "-")
    assert code == 0
    rows = json.loads(printed.out)
    for row in rows:
        assert abs(row["written"] - row["tokens"]) < 5 * row["tokens_error"]
        assert abs(row["found"] - row["bias"]) < 5 * row["bias_error"]
    least, *lossy = rows
    assert not least["alarm"]
    assert max(lossy, key=lambda row: row["bias"])["rate"] > least["rate"]
    assert all(row["bias"] > 0.01 for row in lossy)


def test_the_table_has_predicted_beside_written_numbers() -> None:
    row = {"verifier": "block", "tokens": 2.0, "written": 2.1, "tokens_error": 0.1, "bias": 0.0, "found": 0.01}
    cells = bias_measured.table([{**row, "bias_error": 0.02, "alarm": True, "rate": 3.0}]).rows[0]
    shown = [cell.text for cell in cells]
    assert shown == ["`block`", "2.0000", "2.1000 +- 0.1000", "0.0000", "0.0100 +- 0.0200", "alarm", "3.00"]
