"""`draftproof report`: its numbers are those of the rows, its commands print them, its page stands alone."""

import json
import re
import shlex
import sqlite3
import sys
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest

import draftproof as dp
from draftproof.experiments.grid.report.rows import WorldOnScheme, worlds_on_schemes
from draftproof.experiments.grid.report.terms import TIMES, matched
from draftproof.experiments.grid.store import Store
from draftproof.experiments.shared import code
from tests.experiments.cli.test_world_file import SMALL
from tests.experiments.grid.stores import DAMAGE, change

#: A world of `SMALL`, without its seed.
WORLD = "family:perturbed,s=1,vocab=2,denominator=20"


@pytest.fixture
def made(draftproof, tmp_path):
    """A store and its report: the tables as JSON, and the page."""
    (tmp_path / "small.toml").write_text(SMALL)
    assert draftproof("compare", "small.toml", "--jobs", 1, "--resume", "made.db").code == 0
    ran = draftproof("report", "made.db", "-o", "report.html", "--json")
    assert ran.code == 0
    return ran.json, Path("report.html").read_text(encoding="utf-8")


class Checker(HTMLParser):
    """Tags that are closed in order, and every address that a page names."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for key, value in attrs if key in ("src", "href", "xlink:href", "action")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.heavy
def test_the_page_is_whole_and_names_nothing_elsewhere(draftproof):
    shapes = ("--K", "1..2", "--L1", "0..1", "--L2", "1..2", "--max-nodes", 3)
    given = ("--world", "text:topics,vocab=3,roots=2", *shapes, "--resume", "rows.db")
    assert draftproof("compare", "naive", "block", "traversal", *given).code == 0
    summary = draftproof("report", "rows.db", "-o", "drawn.html", "--json").json
    page = Path("drawn.html").read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.addresses == []
    assert {"svg", "table", "style", "script"} <= set(checker.tags)
    assert re.findall(r"https?://(?!www\.w3\.org/)", page) == []
    assert page.index(summary["notes"][2].partition("(")[0]) < page.index("<svg") < page.index("<table")


def test_sentences_lead_and_what_a_row_refutes_stands_in_a_table_of_its_own(made):
    summary, page = made
    compared, leads, refuted = summary["notes"]
    assert compared == "4 verifiers compared exactly on 3 worlds (perturbed) and 3 draft schemes: 42 rows."
    best, *_, last = summary["verifiers"]
    assert leads.startswith(f"{best['verifier']} leads, {best['below_float']:.2%} below the optimum on average")
    assert leads.endswith(f"{last['verifier']} is last with {last['below_float']:.2%}.")
    assert refuted == "Refuted: block_by_weights (every row)."
    assert [(row["refuted"], row["rows"]) for row in summary["refuted"]] == [(9, 9)]
    before, _, rest = page.partition('<table id="refuted">')
    table, _, after = rest.partition("</table>")
    assert "<td>block_by_weights</td>" in table
    assert "block_by_weights" not in before.partition("<table")[2] + after


def test_commands_print_the_numbers_beside_them_again(made, draftproof):
    [pair] = [pair for pair in made[0]["pairs"] if (pair["verifier"], pair["other"]) == ("naive", "block")]
    second, first = draftproof(*shlex.split(pair["command"])[1:], "--json").json["rows"]
    gap = second["block_efficiency_float"] - first["block_efficiency_float"]
    assert (first["verifier"], gap) == ("naive", pytest.approx(pair["largest"], abs=1e-12))
    assert gap > 0
    row = made[0]["verifiers"][-1]
    [again] = draftproof(*shlex.split(row["command"])[1:], "--json").json["rows"]
    assert 1 - again["block_efficiency_float"] / again["optimum_float"] == pytest.approx(row["at_worst"], rel=1e-6)


OWN = """
from draftproof.verifiers import REGISTRY

class Mine:
    card, verify = type(REGISTRY["naive"].card)(name="mine", title="", source=None), REGISTRY["naive"].verify

class Two:
    depth = 1

    def draw(self, draft, coin):
        return [(coin.choose(draft.row(())),) for _ in range(2)]
"""
INSTANCE = {"vocab_size": 2, "depth": 1, "target": {"": ["1/3", "2/3"], "0": ["0", "1"], "1": ["0", "1"]}}
INSTANCE["draft"] = {"": ["1/2", "1/2"]}


def test_commands_of_own_files_and_instances_print_their_rows_again(draftproof, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "given.json").write_text(json.dumps(INSTANCE))
    line = ("own.py:Mine", "naive", "--scheme", "own.py:Two", "--world", "given.json", "--arithmetic", "rational")
    [first, second] = draftproof("compare", *line, "--resume", "rows.db", "--json").json["rows"]
    summary = draftproof("report", "rows.db", "--json", "-o", "own.html").json
    assert {row["verifier"]: row["mean"] for row in summary["verifiers"]} == {
        row["verifier"]: row["block_efficiency_float"] for row in (first, second)
    }
    [scheme] = summary["schemes"]
    again = draftproof(*shlex.split(scheme["command"])[1:], "--json").json["rows"]
    assert {row["strong_id"] for row in again} == {first["strong_id"], second["strong_id"]}
    assert f'data-copy="{scheme["command"]}"' in Path("own.html").read_text(encoding="utf-8")


#: What a file becomes after a first comparison; a second one is made with the new content.
CHANGES = {
    "own.py": OWN.replace('["naive"].verify', '["naive_from_target"].verify'),
    "scheme.py": OWN.replace("range(2)", "range(3)"),
    "given.json": json.dumps({**INSTANCE, "draft": {"": ["1/4", "3/4"]}}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_rows_of_a_file_that_has_changed_are_left_out(draftproof, tmp_path, monkeypatch, name):
    monkeypatch.setattr(code, "_used", {})  # those of earlier tests
    for file, content in {"own.py": OWN, "scheme.py": OWN, "given.json": json.dumps(INSTANCE)}.items():
        (tmp_path / file).write_text(content)
    world = ("--scheme", "scheme.py:Two", "--world", "given.json", "--no-optimum", "--resume", "rows.db")
    assert draftproof("compare", "own.py:Mine", *world).code == 0
    (tmp_path / name).write_text(CHANGES[name])
    sentence = f"1 row left out, of files that have changed since: {name}."
    ran = draftproof("report", "rows.db", "--json", "-o", "rows.csv")
    assert ran.json["notes"] == [sentence]
    assert sentence in ran.err
    assert "mine" not in (tmp_path / "rows.csv").read_text()
    assert draftproof("compare", "own.py:Mine", *world).code == 0
    summary = draftproof("report", "rows.db", "--json").json
    assert summary["notes"][-1] == sentence
    [row] = [row for table in ("verifiers", "refuted") for row in summary.get(table, [])]
    assert (row["verifier"], row["rows"], "refuted" in row) == ("mine", 1, name == "own.py")


@pytest.mark.parametrize("how", ["", "--bias 0,.1", "--long-run"])
def test_bounds_of_a_text_that_has_changed_are_left_out_of_the_table_of_all_rows(draftproof, tmp_path, how):
    (tmp_path / "given.txt").write_text("abab" * 50)
    world = "--world text:given.txt,vocab=2,target_order=1,draft_order=1 --K 1 --L1 0 --L2 1 --resume rows.db"
    assert draftproof("bound", *world.split(), *how.split()).code == 0
    (tmp_path / "given.txt").write_text("aabb" * 50)
    ran = draftproof("report", "rows.db", "-o", "rows.csv")
    assert "left out, of files that have changed since: given.txt." in ran.err
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 1


def test_a_file_called_like_a_text_that_comes_along_is_not_what_rows_rest_on(draftproof, tmp_path):
    (tmp_path / "topics").write_text("one")
    world = "--world text:topics,vocab=2,roots=1 --K 1 --L1 0 --L2 1 --no-optimum --resume rows.db"
    assert draftproof("compare", "naive", *world.split()).code == 0
    (tmp_path / "topics").write_text("another")
    assert "left out" not in str(draftproof("report", "rows.db", "--json").json["notes"])


@pytest.mark.heavy
def test_terms_are_equal_and_the_best_scheme_of_each_world_counts(made, draftproof):
    rows = [row for row in made[0]["matched"] if row["verifier"] == "block"]
    assert {row["term"] for row in rows} == {"drafted tokens", "depth", "time"}  # no tree of one step
    shapes = {row["scheme"]: row["nodes"] for row in made[0]["schemes"]}
    for row in rows:
        schemes = ["--K", "1..2", "--L1", 0, "--L2", 2, "--cost", TIMES[1]]
        if row["term"] == "drafted tokens":
            named = [shape for shape, nodes in shapes.items() if nodes == row["value"]]
            schemes = [word for shape in named for word in ("--scheme", shape)]
        elif row["value"] != TIMES[1]:
            continue
        measure = "speedup" if row["term"] == "time" else "block_efficiency_float"
        best = []
        for seed in range(3):
            ran = draftproof("compare", "block", *schemes, "--world", f"{WORLD},seeds={seed}", "--json")
            best.append(max(found[measure] for found in ran.json["rows"]))
        assert row["mean"] == row["perturbed:s=1, T = 1"] == pytest.approx(sum(best) / 3, rel=1e-12)
        assert row["median"] == pytest.approx(sorted(best)[1], rel=1e-12)
    for term in {(row["term"], row["value"]) for row in made[0]["matched"]}:
        optimum, *group = [row for row in made[0]["matched"] if (row["term"], row["value"]) == term]
        assert optimum["verifier"] == "optimum"
        assert sum(row["wins"] for row in group) >= 1
        assert all(row["mean"] <= optimum["mean"] + 1e-9 for row in group)
    fastest = {row["value"]: row["mean"] for row in rows if row["term"] == "time"}
    assert 1 < max(fastest.values()) == fastest[TIMES[0]]


def pair(values: dict[str, float], world: int = 0, lossy: tuple[str, ...] = (), upper: float | None = None, **scheme):
    """A world on a scheme with these block efficiencies."""
    fields = {"name": "delayed", "K": 2, "L1": 0, "L2": 2, **scheme}
    source = {"family": "dirichlet", "vocab_size": 2, "seed": world, "denominator": 9}
    row = {"source": source, "scheme": fields, "shape": str(fields), "nodes": 4, "arithmetic": "float64"}
    row |= {"options": ["--world", f"family:dirichlet,seeds={world}"], "depth": fields["L1"] + fields["L2"]}
    rows = {
        name: {**row, "block_efficiency_float": value, "control": False, "lossless": True, "spec": name}
        for name, value in values.items()
    }
    return WorldOnScheme(row, upper, rows, set(lossy))


def test_who_is_not_on_all_drafts_of_a_comparison_does_not_stand_in_it():
    both = [pair({"block": 2.0, "gbv": 2.5}, world, upper=2.6) for world in (0, 1)]

    def names(*pairs):
        return {row["verifier"] for row in matched(pairs) if row["term"] == "drafted tokens"}

    assert names(*both) == {"optimum", "block", "gbv"}
    assert names(*both, pair({"block": 2.0}, 2, upper=2.6)) == {"optimum", "block"}
    assert names(*both, pair({"block": 2.0, "gbv": 9.0}, 2, lossy=("gbv",), upper=2.6)) == {"optimum", "block"}
    assert names(*both, pair({"block": 2.0, "gbv": 2.5}, 2)) == {"block", "gbv"}
    assert names(*both, pair({"spectr": 2.0}, 2)) == set()


def test_the_best_scheme_counts_for_each_by_itself():
    pairs = [pair({"block": 2.0, "gbv": 1.5}), pair({"block": 1.0, "gbv": 2.5}, K=4, L2=1)]
    rows = {row["verifier"]: row for row in matched(pairs) if row["term"] == "drafted tokens"}
    assert {name: (row["mean"], row["wins"]) for name, row in rows.items()} == {"block": (2.0, 0), "gbv": (2.5, 1)}
    assert {row["verifier"]: row["mean"] for row in matched(pairs) if row["term"] == "acceptance"}["gbv"] == 1.5


def test_one_refuted_row_takes_a_verifier_out_of_every_comparison():
    pairs = [pair({"block": 2.0, "gbv": 2.5}, world) for world in (0, 1)]
    rows = [{**row, "kind": "law", "verifier": name} for each in pairs for name, row in each.rows.items()]
    assert [set(each.values) for each in worlds_on_schemes(rows)] == [{"block", "gbv"}] * 2
    rows[-1]["lossless"] = False
    assert [set(each.values) for each in worlds_on_schemes(rows)] == [{"block"}] * 2
    rows[-1]["scheme"] = rows[-2]["scheme"] = {"name": "another"}  # of which the card may not speak
    assert [set(each.values) for each in worlds_on_schemes(rows)] == [{"block", "gbv"}, {"block"}]


def test_a_refutation_counts_whatever_another_row_says(draftproof):
    rows = [{**row, "kind": "law", "verifier": "block"} for row in pair({"block": 2.0}).rows.values()] * 2
    refuted = {**rows[0], "lossless": False, "max_deviation_float": 0.1}
    for order in ([rows[0], refuted], [refuted, rows[0]]):
        [found] = worlds_on_schemes(order)
        assert found.rows["block"] == refuted


def test_verifiers_of_two_files_with_one_name_are_two(draftproof, tmp_path):
    (tmp_path / "a.py").write_text(OWN)
    (tmp_path / "b.py").write_text(OWN.replace('["naive"].verify', '["naive_from_target"].verify'))
    for file in ("a.py:Mine", "b.py:Mine"):
        line = ("compare", file, "--K", 1, "--L2", 1, "--world", "family:dirichlet,vocab=2", "--resume", "rows.db")
        assert draftproof(*line).code == 0
    summary = draftproof("report", "rows.db", "--json").json
    assert [row["verifier"] for row in summary["verifiers"]] == ["a.py:Mine"]
    assert summary["notes"][-1] == "Refuted: b.py:Mine (every row)."


def test_who_is_refuted_where_it_is_told_another_q_is_compared_where_it_is_told_q(draftproof):
    world = ("--world", "family:dirichlet,vocab=2", "--K", 1, "--L2", 1, "--no-optimum")
    given = ("compare", "naive", *world, "--resume", "r.db")
    for options in ((), ("--draft-sampling", "bits=2"), ("--told", "temperature=.5")):
        assert draftproof(*given, *options).code == 0
    assert "kept from before" in draftproof(*given, "--told", "temperature=.5").err
    ran = draftproof("report", "r.db", "--json")
    [row] = ran.json["verifiers"]
    assert (row["verifier"], row["rows"]) == ("naive", 2)
    assert "Refuted: naive (every row with --told)." in ran.json["notes"]


def test_a_control_that_no_row_refutes_is_no_finding_of_its_own(draftproof):
    given = ("--world", "text:topics,vocab=3,roots=1", "--K", 2, "--L1", 0, "--L2", "1..2")
    assert draftproof("compare", "naive", "block", "traversal_insertion_order", *given, "--resume", "r.db").code == 0
    assert draftproof("report", "r.db", "--json").json["notes"][-1] == (
        "No verifier is refuted; not lossless either, though no row here shows it: traversal_insertion_order."
    )


@pytest.mark.heavy
def test_cells_of_models_and_theorems_are_sections(draftproof, tmp_path):
    kept = Store("rows.db")
    cell = {"verifier": "block", "shape": "1, 0, 2", "predicted": 2.5, "measured": 2.4, "total_error": 0.05, "z": -2.0}
    by_root = {"predicted": [2.5], "measured": [2.4]}
    kept.add({**cell, "by_root": by_root, "blocks": 1000, "kind": "cell", "strong_id": "a" * 24})
    line = ("prove", "naive", "--vocab", 2, "--K", 1, "--L1", 0, "--L2", 1, "--resume", "proved.db")
    assert draftproof(*line).code == 0
    ran = draftproof("report", "rows.db", "proved.db", "-o", "r.html", "--json")
    assert ran.json["notes"] == [
        "On real models: 1 cell, 1 within 4 standard errors of the prediction; the farthest is block on 1, 0, 2, "
        "z = -2.00.",
        "1 theorem for all p and q: naive.",
    ]
    assert {"cells", "theorems"} == ran.json.keys() - {"title", "verdict", "notes", "files"}


@pytest.mark.heavy
def test_what_is_read_is_left_as_it_is_also_while_it_is_written(draftproof, made, tmp_path):
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    store = Store("made.db")
    store.add({**next(iter(store.values())), "seconds": 5.0})
    assert Path("made.db-wal").exists()
    assert draftproof("report", "made.db", "--json").json["notes"] == made[0]["notes"]
    store.close()
    change("made.db", DAMAGE)
    before = files()
    ran = draftproof("report", "made.db")
    assert ran.code == 0
    assert "1 row left out" in ran.err
    assert files() == before


@pytest.fixture
def usual_digits():
    """The longest whole numbers that a script reads, which commands allow to be longer."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(4300)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("usual_digits")
def test_python_reads_numbers_of_more_digits_than_a_script_does(tmp_path):
    long, other = "1" * 5000, "3" + "0" * 4999
    store = tmp_path / "long.db"
    given = {"K": 1, "L1": 0, "L2": 1, "optimum": False, "arithmetic": "rational"}
    dp.compare("naive", "family:dirichlet,vocab=2", **given, resume=str(store))
    with closing(sqlite3.connect(store)) as file:
        [text] = file.execute("select row from rows").fetchone()
    row = json.loads(text) | {"variance": f"{long}/{other}", "variance_float": int(long[:30]) / int(other[:30])}
    Store(str(store)).add(row)
    assert dp.report(str(store)).rows[0]["strong_id"] == row["strong_id"]
