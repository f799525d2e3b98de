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


def test_what_has_no_rows_is_one_line(draftproof):
    ran = draftproof("report", "none.db")
    assert ran.code == 2
    assert "there is no store none.db" in ran.err
