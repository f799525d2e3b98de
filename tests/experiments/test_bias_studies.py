"""The studies of what a bias brings: shares of the frontier's gain, and the search for a bias above its budget."""

import json
from fractions import Fraction

import pytest

from draftproof.experiments.studies import bias_search, bias_shares
from draftproof.simulator.drafts import Delayed
from draftproof.verifiers.lossy.budgeted import Budgeted


def test_a_search_prints_the_worst_bias_it_found(study):
    code, printed = study(bias_search.main, "--instances", 40, "--climbs", 1, "--steps", 20)
    assert code == 0
    assert "budgeted, 40 random instances: largest bias 1 eps" in printed.out
    assert "budgeted_tree, 40 random instances: largest bias 1 eps" in printed.out


def test_a_bias_above_the_budget_is_found(study, monkeypatch):
    monkeypatch.setattr(bias_search, "make", lambda name, eps: Budgeted(min(2 * eps, Fraction(1))))
    code, printed = study(bias_search.main, "--instances", 20, "--climbs", 0)
    assert code == 1
    assert "largest bias 2 eps" in printed.out


def test_the_bias_of_the_search_is_that_of_the_check():
    row, other = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    found = bias_search.bias_of("budgeted", Fraction(1, 10), Delayed(1, 0, 1), [[row]], [[other]])
    assert found == Fraction(1, 10)


@pytest.mark.heavy
def test_shares_of_the_gain_are_high_and_the_table_has_them(study, monkeypatch, tmp_path):
    monkeypatch.setattr(bias_shares, "SHAPES", {"budgeted": ((3, Delayed(1, 0, 2)),)})
    code, printed = study(bias_shares.main, "--count", 3, "--json", "-")
    assert code == 0
    rows = json.loads(printed.out)
    assert {row["source"] for row in rows} == {*bias_shares.FAMILY_NAMES, bias_shares.TEXT}
    shares = [row["own"] / row["most"] for row in rows if row["most"] >= bias_shares.LEAST]
    assert sum(shares) / len(shares) > 0.9


def test_a_line_has_the_mean_the_worst_and_all_gains_together():
    rows = [{"own": 1.0, "most": 2.0, "spent": 1.0}, {"own": 0.5, "most": 0.5, "spent": 0.5}]
    assert [cell.text for cell in bias_shares.line("all", rows)] == ["all", "2", "75.00%", "50.00%", "60.00%", "75.00%"]
