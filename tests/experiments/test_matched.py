"""The matched comparison: its grids, that it resumes, that its tables are those of its rows and of the report."""

import json
from functools import partial
from pathlib import Path

import pytest

from draftproof.experiments.cli.sweep import sweep_file
from draftproof.experiments.grid.store import Store
from draftproof.experiments.studies import matched

SMALL = """
[sweep]
verifiers = ["nss", "naive", "block", "traversal", "block_by_weights"]
questions = ["check", "bound"]

[[worlds]]
family = "perturbed:s=1"
vocab = 2
seeds = "0..1"
sampling = "temperature=.5"

[[worlds]]
family = "dirichlet"
vocab = 2
seeds = "0..1"

[[schemes]]
K = 1
L2 = "1..2"

[[schemes]]
K = 2
L2 = "1..2"
"""


@pytest.fixture
def matched_study(monkeypatch, study, tmp_path):
    (tmp_path / matched.CELLS).write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(matched, "HERE", tmp_path)
    return partial(study, matched.main, "--no-deep", "--jobs", "1")


def cells_of(grid: sweep_file.Sweep) -> dict[str, int]:
    found: dict[str, int] = {}
    for world in grid.worlds:
        source = world.source
        warmth = source.get("sampling", {"temperature": 1.0})["temperature"]
        key = f"{source.get('family', source.get('text'))} {source.get('s')} {warmth:g}"
        found[key] = found.get(key, 0) + 1
    return found


def test_the_grids_are_six_kinds_at_four_temperatures_and_all_shapes_as_far_as_exact_goes():
    cells, deep = matched.grid(matched.CELLS), matched.grid(matched.DEEP)
    assert len(cells_of(cells)) == 24
    assert set(cells_of(cells).values()) == {3}
    shapes = {(scheme.K, scheme.L1, scheme.L2) for scheme in deep.schemes}
    assert shapes == {(1, 0, L2) for L2 in range(1, 9)} | {
        (K, L1, L2) for K in (2, 3, 4) for L1 in range(9) for L2 in range(1, 9) if L1 + L2 <= 8
    }
    assert {scheme for scheme in cells.schemes if scheme.nodes == 6 or scheme.depth == 4} <= set(deep.schemes)
    assert cells.verifiers == deep.verifiers
    assert len(matched.grid(matched.LARGE).worlds) > 2000


def test_tables_are_those_of_the_rows_and_of_the_report(matched_study, draftproof):
    code, out = matched_study("--store", "m.db", "--markdown", "m.md", "--json", "m.json")
    assert code == 0
    assert "96 rows: about" in out.err  # four worlds, four schemes, five verifiers and a bound
    summary, text = json.loads(Path("m.json").read_text()), Path("m.md").read_text()
    assert text in out.out
    assert summary["matched"] == draftproof("report", "m.db", "--json", "-").json["matched"]
    table = text.partition("### Block efficiency at depth 2, V = 2")[2].partition("\n###")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert lines[0][:3] == ["verifier", "dirichlet, T = 1", "perturbed:s=1, T = 0.5"]
    assert [line[0] for line in lines[2:4]] == ["optimum", "traversal"]
    means = {row["verifier"]: row["mean"] for row in summary["matched"] if (row["term"], row["value"]) == ("depth", 2)}
    assert {line[0]: line[3] for line in lines[2:]} == {name: f"{mean:.4f}" for name, mean in means.items()}
    assert "block_by_weights" not in means  # a control
    assert "impossible: never so on the same drafts" in text


def test_it_goes_on_where_it_stopped_and_shows_its_own_rows_alone(matched_study, interrupted):
    with interrupted(3) as done:
        code, out = matched_study("--store", "m.db")
    assert (code, "rows; they are kept in m.db" in out.err) == (130, True)
    assert len(Store("m.db")) == sum(len(group.items) for group in done)
    assert matched_study("--store", "m.db")[0] == 0
    other = SMALL.replace('"dirichlet"', '"equal"')
    Path(matched.CELLS).write_text(other)
    code, out = matched_study("--store", "m.db")
    assert code == 0
    assert "(equal, perturbed)" in out.out


def test_all_terms_stand_side_by_side():
    def row(term, value, verifier, share, schemes=4):
        about = {"term": term, "value": value, "vocab_size": 2, "schemes": schemes}
        return {**about, "verifier": verifier, "share": share}

    rows = [
        row("drafted tokens", 4, "optimum", 1.0), row("drafted tokens", 4, "block", 0.5),
        row("depth", 3, "block", 0.75), row("depth", 3, "gbv", 0.9),
        row("time", "draft=.1,target=1", "gbv", 0.8),
    ]  # fmt: skip
    table = matched.side_by_side(rows, "share", "t")
    assert list(table.headings) == ["verifier", "N = 4", "L = 3", "draft=.1"]
    assert [[cell.text for cell in line] for line in table.rows] == [
        ["gbv", "", "90.00%", "80.00%"],
        ["block", "50.00%", "75.00%", ""],
    ]


def test_a_term_without_a_choice_is_left_to_the_report(matched_study):
    assert matched_study("--store", "m.db", "--markdown", "m.md")[0] == 0
    text = Path("m.md").read_text()  # four schemes: only the branches of one step say more
    shares = text.partition("### Mean share of the optimum on equal terms, V = 2\n\n")[2].splitlines()[0]
    assert shares == "| verifier | K = 2 |"
    agreement = text.partition("### The order on equal terms")[2]
    assert agreement.count("\n| ") == 3
