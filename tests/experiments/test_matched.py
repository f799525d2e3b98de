"""The matched comparison: its grids, that it resumes, that its tables are those of its rows and of the report."""

import json
import re
import tomllib
from functools import partial
from pathlib import Path

import pytest

from draftproof.experiments.cli.sweep import sweep_file
from draftproof.experiments.grid.report.matched import WorldOnScheme
from draftproof.experiments.grid.report.summary import REPORTED
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
    assert "96 rows: under a second" in out.err  # four worlds, four schemes, five verifiers and a bound
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


NUCLEUS = """
[sweep]
verifiers = ["nss", "naive", "naive_tree", "specinfer", "spectr", "khisti", "block", "traversal"]

[[worlds]]
text = "topics"
vocab = 3
roots = 1
sampling = ["temperature=.5", "temperature=1", "temperature=1,top_p=.6"]

[[schemes]]
K = 2
L2 = "1..2"
"""


def test_the_reported_order_stands_by_temperature_and_nucleus(matched_study):
    Path(matched.NUCLEUS).write_text(NUCLEUS)
    assert matched_study("--nucleus", "--store", "n.db", "--markdown", "n.md", "--json", "n.json")[0] == 0
    text, ordering = Path("n.md").read_text(), json.loads(Path("n.json").read_text())["ordering"]
    tables = {}
    for title in ("Pairs of the reported order by sampling", "The reported order, pair by pair"):
        lines = text.partition(f"### {title}\n")[2].partition("\n###")[0].splitlines()
        tables[title] = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][2:]
    counts, marks = tables.values()
    assert [line[:3] for line in counts] == [["topics", "1", "0.5"], ["topics", "1", "1"], ["topics", "0.6", "1"]]
    assert {sum(map(int, line[3:8])) for line in counts} == {28} == {len(marks)}
    assert [len(mark) for mark in marks[0][2:]] == [2, 1]
    for line, row in zip(marks, ordering, strict=True):  # what holds on all drafts holds at every temperature
        assert (line[0], line[1]) == (row["lower"], row["higher"])
        if row["verdict"] == "holds on all drafts":
            assert set(line[2] + line[3]) <= {"+", "="}
        if row["verdict"].startswith("impossible"):
            assert set(line[2] + line[3]) == {"x"}
    for line in counts:
        means = [float(part.rpartition(" ")[2]) for part in re.split(" [<=] ", line[8])]
        assert len(means) == 8
        assert means == sorted(means)


def test_the_reported_order_stands_by_delay_with_a_picture(matched_study):
    for name in matched.DELAYS:
        Path(name).write_text(NUCLEUS.replace('L2 = "1..2"', 'L1 = "0..1"\nL2 = 1'))
    given = ("--delays", "--store", "d.db", "--markdown", "d.md", "--plot", "d.png")
    assert matched_study(*given)[0] == 0
    text = Path("d.md").read_text().partition("### Pairs of the reported order by delay\n")[2]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    assert [line[:3] for line in lines] == [["topics", top_p, delay] for top_p in ("1", "0.6") for delay in "01"]
    assert {sum(map(int, line[3:8])) for line in lines} == {28}
    assert Path("d.png").read_bytes().startswith(b"\x89PNG")
    code, out = matched_study("--delays", "--nucleus")
    assert (code, "leave one out" in out.err) == (2, True)
    code, out = matched_study("--plot", "d.png")
    assert (code, "--delays" in out.err) == (2, True)


def test_pairs_of_models_have_the_names_of_their_folders_and_equal_means_an_equals_sign():
    def world(digest, top_p, nss):
        source = {"pair": digest, "warp": {"temperature": 1.0, "top_p": top_p}}
        values = dict.fromkeys(REPORTED, 2.0) | {"nss": nss}
        rows = {
            name: {"block_efficiency_float": value, "spec": name, "options": [], "arithmetic": "float64", "shape": "s"}
            for name, value in values.items()
        }
        return WorldOnScheme({"source": source, "scheme": {"K": 2}}, rows=rows)

    pairs = [world("b", None, 1.0), world("a", 0.9, 2.5), world("a", None, 1.5)]
    counts, marks = matched.by_sampling(pairs, {"a": "runs/first", "b": "runs/second"})
    assert [[cell.text for cell in line[:3]] for line in counts.rows] == [
        ["first", "1", "1"], ["first", "0.9", "1"], ["second", "1", "1"],
    ]  # fmt: skip
    assert counts.rows[0][-1].text.startswith("nss 1.500 < block 2.000 = khisti 2.000")
    assert marks.headings == ("lower", "higher", "first, 1", "first, 0.9", "second, 1")
    assert [cell.text for cell in marks.rows[0]] == ["nss", "block", "+", "x", "+"]
    assert [cell.text for cell in marks.rows[-1]] == ["spectr", "traversal", "=", "=", "="]


def test_the_grid_of_nuclei_has_the_temperatures_and_nuclei_of_papers():
    fields = tomllib.loads((Path(matched.__file__).with_suffix("") / matched.NUCLEUS).read_text())
    settings = {
        f"temperature={T:g}{p}" for T in (0.2, 0.4, 0.6, 0.8, 1, 1.2) for p in ("", ",top_p=0.99", ",top_p=0.9")
    }
    assert [set(world["sampling"]) for world in fields["worlds"]] == [settings] * 3


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
