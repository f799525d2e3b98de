"""The study of stratified branches: its grids, and that its tables are functions of the rows."""

import json
from functools import partial
from pathlib import Path

import pytest

from draftproof.experiments.cli.sweep import sweep_file
from draftproof.experiments.studies import stratified

SMALL = """
[sweep]
verifiers = ["layer_transport", "specinfer"]
arithmetic = "float64"
questions = ["check", "bound"]

[[worlds]]
family = "perturbed:s=1"
vocab = 2
seeds = "0..1"
sampling = "temperature=.5"

[[worlds]]
text = "topics"
vocab = 3
roots = 2

[[schemes]]
K = 2
L2 = 1

[[schemes]]
scheme = "stratified"
K = 2
L2 = 1
"""


@pytest.fixture
def small(monkeypatch, study, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stratified, "HERE", tmp_path)
    monkeypatch.setattr(stratified, "GRIDS", ("small.toml",))
    return partial(study, stratified.main, "--jobs", "1")


def test_the_random_grid_has_a_thousand_drawings_of_each_scheme():
    grid = sweep_file.read(str(stratified.HERE / "random.toml"))
    schemes = {scheme.name for scheme in grid.schemes}
    assert schemes == {"delayed", "stratified"}
    assert len(grid.worlds) * len(grid.schemes) // len(schemes) >= 1000
    assert stratified.BEST in {named.verifier.card.name for named in grid.verifiers}


def test_the_tables_have_the_gains_of_the_rows(small):
    code, printed = small("--store", "s.db", "--json", "s.json", "--markdown", "s.md")
    assert code == 0
    fields = json.loads(Path("s.json").read_text())
    assert len(fields["drawings"]) == 3
    assert fields["goals"]["instances"] == 2
    shares = []
    for drawing in fields["drawings"]:
        optimum, own = drawing["optimum"], drawing["stratified"]["layer_transport"]
        assert optimum["stratified"] >= optimum["iid"] - stratified.GAP
        assert own <= optimum["stratified"] + 1e-12  # rounding of sums
        if "family" in drawing["source"]:
            shares.append(own / optimum["stratified"])
    assert fields["goals"]["mean"] == pytest.approx(sum(shares) / 2)
    assert fields["goals"]["worst"] == min(shares)
    text = Path("s.md").read_text()
    assert text in printed.out
    assert "| perturbed:s=1, temperature 0.5 | 2 |" in text
    assert "| V = 3; 2, 0, 1 | 1 |" in text
    gains = [d["stratified"]["specinfer"] / d["iid"]["specinfer"] - 1 for d in fields["drawings"]]
    assert f"| specinfer | 3 | {sum(gains) / 3:.2%} | {min(gains):.2%} | {max(gains):.2%} | " in text
    assert small("--store", "s.db", "--json", "t.json")[0] == 0
    assert json.loads(Path("t.json").read_text()) == fields


def test_goals_are_missed_where_a_share_is_too_small():
    class One:
        def __init__(self, share):
            self.share = share

    assert stratified.reached([One(0.999), One(0.98)])["reached"] is False
    assert stratified.reached([One(0.999), One(0.96), *[One(1.0)] * 20])["reached"] is False
    assert stratified.reached([One(0.999), One(0.998)])["reached"] is True
