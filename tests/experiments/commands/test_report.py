"""`draftproof report`: its numbers are those of the rows, its commands print them, its page stands alone."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.commands.report.figures import bars, curves
from experiments.commands.report.summary import command
from tests.experiments.commands.test_sweep import SMALL


@pytest.fixture
def made(draftproof, tmp_path):
    """A store and its report: the summary as JSON, and the page."""
    (tmp_path / "small.toml").write_text(SMALL)
    assert draftproof("sweep", "small.toml", "--jobs", 1).code == 0
    ran = draftproof("report", "sweep.db", "-o", "report.html", "--json", "-")
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


def test_the_page_is_whole_and_names_nothing_elsewhere(made):
    _, page = made
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.addresses == []
    assert {"svg", "table", "style", "script"} <= set(checker.tags)
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page) == []
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
    assert page.index('class="findings"') < page.index("<table")


def test_findings_come_from_the_rows(made):
    summary, page = made
    assert summary["findings"][0] == "39 rows: 4 verifiers on 3 worlds (perturbed) and 3 draft schemes."
    assert any(text.startswith("Refuted: block_by_weights (") for text in summary["findings"])
    assert any("block below naive" in text for text in summary["findings"] if text.startswith("Never on these rows"))
    assert all(text.split(":")[0] in page for text in summary["findings"])


def test_the_worst_share_is_printed_again_by_its_command(made, draftproof):
    summary, _ = made
    row = next(row for row in summary["verifiers"] if row["verifier"] == "naive")
    program, *words = shlex.split(row["worst_command"])
    assert program == "draftproof"
    [again] = draftproof(*words, "--optimum", "--json", "-").json["rows"]
    assert again["block_efficiency_float"] / again["optimum_float"] == pytest.approx(row["worst"], rel=1e-6)


def test_the_largest_difference_is_printed_again_by_its_command(made, draftproof):
    summary, _ = made
    pair = next(pair for pair in summary["pairs"] if (pair["verifier"], pair["other"]) == ("naive", "block"))
    assert pair["below"] > 0
    rows = {row["verifier"]: row for row in draftproof(*shlex.split(pair["command"])[1:], "--json", "-").json["rows"]}
    gap = rows["block"]["block_efficiency_float"] - rows["naive"]["block_efficiency_float"]
    assert gap == pytest.approx(pair["largest"], abs=1e-12)


def test_means_are_those_of_the_rows(made, draftproof):
    summary, _ = made
    shape = ("--scheme", "delayed:K=2,L1=0,L2=2", "--family", "perturbed:s=1", "--vocab", 2, "--denominator", 20)
    values = [
        draftproof("compare", "block", *shape, "--seed", seed, "--json", "-").json["rows"][0]["block_efficiency_float"]
        for seed in range(3)
    ]
    row = next(row for row in summary["by_scheme"] if (row["verifier"], row["scheme"]) == ("block", shape[1]))
    assert row["mean"] == pytest.approx(sum(values) / 3, rel=1e-12)


def test_terms_are_equal_and_the_best_scheme_of_each_world_counts(made, draftproof):
    summary, page = made
    assert "<h2>On equal terms</h2>" in page
    world = ("--family", "perturbed:s=1", "--vocab", 2, "--denominator", 20)
    rows = [row for row in summary["matched"] if row["verifier"] == "block"]
    assert {row["term"] for row in rows} == {"drafted tokens", "depth", "time"}
    shapes = {row["scheme"]: row["nodes"] for row in summary["by_scheme"]}
    for row in rows:
        if row["term"] != "drafted tokens":
            continue
        best = []
        for seed in range(3):
            named = [word for shape, nodes in shapes.items() if nodes == row["value"] for word in ("--scheme", shape)]
            each = [
                draftproof("compare", "block", *named[i : i + 2], *world, "--seed", seed, "--json", "-").json["rows"][0]
                for i in range(0, len(named), 2)
            ]
            best.append(max(found["block_efficiency_float"] for found in each))
        assert row["mean"] == pytest.approx(sum(best) / 3, rel=1e-12)
        assert row["median"] == pytest.approx(sorted(best)[1], rel=1e-12)
    for term in {(row["term"], row["value"]) for row in summary["matched"]}:
        group = [row for row in summary["matched"] if (row["term"], row["value"]) == term]
        assert sum(row["wins"] for row in group) >= 1
        assert all(0 <= row["wins"] <= 1 for row in group)
    [fastest] = [row for row in rows if row["term"] == "time"]
    assert 0 < fastest["mean"] < 1  # a target pass takes ten


def test_names_are_escaped():
    assert "<script>" not in bars({"<script>": 1.0}, "<b>", {})
    assert "<i>" not in curves({"<i>": [(1, 2.0)]}, "t", "x", "y")
    assert curves({}, "t", "x", "y") == ""


def test_a_text_and_a_file_have_commands_too():
    text = {
        "text": "topics",
        "vocab_size": 4,
        "denominator": 9,
        "target_order": 3,
        "draft_order": 1,
        "root": "8 most frequent",
    }
    row = {"source": text, "shape": "delayed:K=1,L1=0,L2=1", "arithmetic": "float64"}
    assert "--text topics --vocab 4" in command(row, "naive")
    assert "--roots 8" in command(row, "naive")
    assert "--instance FILE" in command({**row, "source": {"instance": "abc"}}, "naive")


def test_what_has_no_rows_is_one_line(draftproof, tmp_path):
    ran = draftproof("report", "none.db")
    assert ran.code == 2
    assert "there is no store none.db" in ran.err
    (tmp_path / "other.json").write_text('{"a": 1}\n')
    assert draftproof("report", "other.json").code == 2
    (tmp_path / "empty.jsonl").write_text('{"format": "draftproof rows 1", "version": "0.1.0"}\n')
    ran = draftproof("report", "empty.jsonl")
    assert (ran.code, "has no rows that a report shows" in ran.err) == (2, True)


def test_rows_of_compare_say_what_the_same_rows_of_a_sweep_say(made, draftproof):
    summary, _ = made
    for seed in range(3):
        names = [row["verifier"] for row in summary["verifiers"]]
        shape = ("--family", "perturbed:s=1", "--vocab", 2, "--denominator", 20, "--seed", seed, "--optimum")
        for scheme in dict.fromkeys(row["scheme"] for row in summary["by_scheme"]):
            assert draftproof("compare", *names, "--scheme", scheme, *shape, "--resume", "rows.jsonl").code in (0, 1)
    again = draftproof("report", "rows.jsonl", "--json", "-").json
    others = {row["verifier"]: row for row in summary["verifiers"]}
    assert {row["verifier"] for row in again["verifiers"]} == others.keys() != set()
    for row in again["verifiers"]:
        other = others[row["verifier"]]
        assert row["lossless"] == other["lossless"]
        for key in ("mean", "share", "worst"):  # rounding of sums in another order
            assert row[key] == (None if other[key] is None else pytest.approx(other[key], rel=1e-12))
    same = ("verifier", "other", "rows", "below")
    assert sorted([pair[key] for key in same] for pair in again["pairs"]) == sorted(
        [pair[key] for key in same] for pair in summary["pairs"]
    )


def test_a_control_that_no_row_refutes_is_no_finding_of_its_own(draftproof):
    given = ("--text", "topics", "--vocab", 3, "--K", 2, "--L1", 0, "--L2", "1..2", "--roots", 1)
    assert draftproof("compare", "naive", "block", "traversal_insertion_order", *given, "--resume", "r.jsonl").code == 0
    findings = draftproof("report", "r.jsonl", "--json", "-").json["findings"]
    [named] = [text for text in findings if "traversal_insertion_order" in text]
    assert named.startswith("Not refuted by these rows, and yet not lossless: traversal_insertion_order")
    assert "Lossless on every row: block, naive." in findings


def test_cells_of_models_and_shares_are_sections(draftproof, tmp_path):
    from experiments.shared.rows import RowFile

    kept = RowFile("rows.jsonl")
    cell = {"verifier": "block", "shape": "1, 0, 2", "predicted": 2.5, "measured": 2.4, "total_error": 0.05, "z": -2.0}
    kept.add({**cell, "blocks": 1000, "strong_id": "a" * 24})
    kept.add({"shares": {"block": 0.9, "gbv": 0.95}, "strong_id": "b" * 24})
    kept.add({"shares": {"block": 0.8, "gbv": 0.97}, "strong_id": "c" * 24})
    ran = draftproof("report", "rows.jsonl", "-o", "r.html", "--json", "-")
    assert ran.json["findings"] == [
        "On real models: 1 cell, 1 within 4 standard errors of the prediction; the farthest is block on 1, 0, 2, "
        "z = -2.00.",
        "Shares of the optimum on 2 random instances: gbv 96.00% on average, 95.00% at worst.",
    ]
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<h2>On real models</h2>" in page
    assert "<h2>Shares of the optimum</h2>" in page
    assert "<h2>Verifiers of public projects</h2>" in page
    assert "<h2>Verifiers</h2>" not in page
