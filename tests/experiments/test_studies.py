"""The studies: what their rows hold, that they resume, that the table is a function of the rows."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from draftproof import verifiers
from draftproof.experiments.grid import run as running
from draftproof.experiments.grid.store import Store
from draftproof.experiments.studies import share_of_optimum, share_views


@pytest.fixture
def few(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(share_of_optimum, "DEPTHS", ((0, 1), (1, 1)))
    monkeypatch.setattr(share_of_optimum, "VOCABULARIES", (2,))
    monkeypatch.setattr(share_of_optimum, "PATHS", (2,))
    monkeypatch.setattr(running, "pooled_results", lambda jobs, work, calls, *_: (work(*call) for call in calls))


def test_the_study_has_at_least_two_thousand_instances():
    assert len(list(share_of_optimum.cases(8))) >= 2000
    assert len({case.strong_id for case in share_of_optimum.cases(1)}) == len(list(share_of_optimum.cases(1)))


def test_rows_hold_shares_that_no_lossless_verifier_exceeds(few):
    for case in share_of_optimum.cases(1):
        row = share_of_optimum.compute(case)
        assert 0 <= row["gap_float"] <= share_of_optimum.GAP
        assert (
            set(row["shares"]) - {"mixed_order, best a"} == set(share_of_optimum.studied()) < set(verifiers.STANDALONE)
        )
        for name, lost in row["lost"].items():  # what is lost depth by depth is what is lost in all
            assert sum(lost) == pytest.approx(row["lower_float"] - row["shares"][name] * row["upper_float"], abs=1e-9)
        assert row["shares"]["mixed_order, best a"] >= max(row["shares"]["mixed_order"], row["shares"]["gbv"]) - 1e-12
        assert all(0 < share <= 1 + 1e-12 for share in row["shares"].values())  # rounding of one float quotient
        if case.L1 == 0 and case.L2 == 1:  # one step: transport at the node is the optimum, to the certified gap
            assert row["shares"]["optimal_transport"] >= 1 - share_of_optimum.GAP


def test_a_second_run_computes_nothing_and_says_the_same(few, study):
    code, first = study(share_of_optimum.main, "--seeds", 1, "--resume", "rows.db", "--json", "a.json")
    again, second = study(share_of_optimum.main, "--seeds", 1, "--resume", "rows.db", "--json", "b.json")
    assert (code, again) == (0, 0)
    assert first.out == second.out
    assert "0 instances (8 more are kept" in second.err
    assert json.loads(Path("a.json").read_text())["summary"] == json.loads(Path("b.json").read_text())["summary"]


def test_files_are_written(few, study):
    code, _ = study(share_of_optimum.main, "--seeds", 1, "--plot", "s.png", "--markdown", "s.md", "--resume", "r.db")
    assert code == 0
    assert Path("s.png").read_bytes().startswith(b"\x89PNG")
    assert Path("s.md").read_text().startswith("| verifier")
    rows = list(Store("r.db").values())
    assert "path_transport" in Path("s.md").read_text()
    assert Path("s.md").read_text().endswith(share_views.claims(rows))
    assert share_views.summarise(rows).keys() == rows[0]["shares"].keys()


def test_summary_is_ranked_and_has_the_quantiles_of_its_rows():
    rows = [{"shares": {"a": 0.5, "b": 1.0}}, {"shares": {"a": 0.7, "b": 0.9}}]
    summary = share_views.summarise(rows)
    assert list(summary) == ["b", "a"]
    assert summary["a"]["worst"] == 0.5
    assert summary["a"]["mean"] == pytest.approx(0.6)
    assert summary["b"]["median"] == pytest.approx(0.95)


def test_the_page_of_the_studies_names_what_there_is():
    page = Path(share_views.__file__).with_name("README.md")
    text = page.read_text(encoding="utf-8")
    assert all((page.parent / picture).is_file() for picture in re.findall(r"!\[.*?\]\((.*?)\)", text))
    modules = re.findall(r"\$ python -m (draftproof\.experiments\.studies\.\w+)", text)
    assert share_of_optimum.__name__ in modules
    assert all(find_spec(module) for module in modules)
    assert f"{len(list(share_of_optimum.cases(8))):,} random instances" in text
    quantiles = [line for line in text.splitlines() if line.startswith("|") and "worst" in line]
    headings = [[cell.strip() for cell in line.strip("|").split("|")] for line in quantiles]
    assert ["verifier", "mean", *share_views.QUANTILES] in headings


def test_markdown_holds_the_means_by_branches_and_by_shape_and_what_is_lost_by_depth():
    def row(K, L1, L2, share, lost):
        return {"K": K, "L1": L1, "L2": L2, "shares": {"a": share}, "lost": {"a": [0.0, *lost]}}

    rows = [row(2, 0, 1, 0.5, [0.5]), row(2, 0, 2, 0.7, [0.1, 0.3]), row(3, 1, 1, 0.9, [0.3, -0.00001])]
    text = share_views.markdown(share_views.summarise(rows), rows)
    tables = [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()]
        for part in text.split("\n\n")
    ]
    assert [table[0][1:] for table in tables[1:]] == [["K = 2", "K = 3"], ["0, 1", "0, 2", "1, 1"], ["d = 1", "d = 2"]]
    assert [table[2] for table in tables[1:]] == [
        ["`a`", "0.6000", "0.9000"],
        ["`a`", "0.5000", "0.7000", "0.9000"],
        ["`a`", "0.2000", "0.1500"],
    ]


def counted_rows():
    def row(K, L2, shares, **more):
        names = ("layer_transport", "optimal_transport", "gbv", "block", "mixed_order, best a")
        given = dict(zip(names, shares, strict=True))
        place = {"family": "dirichlet", "parameters": {}, "vocab_size": 2, "K": K, "L1": 0, "L2": L2, "seed": 5}
        lost = {"layer_transport": [0.0, 0.25, 0.125]}
        solved = {"method": "levels", "gap_float": 2e-7, "seconds": 60.0}
        return {**place, "shares": given, "lost": lost, **solved} | more

    return [
        row(2, 1, (0.9, 1 + 2e-16, 0.8, 0.7, 0.9), method="exact"),
        row(2, 2, (0.9, 0.9 + 5e-10, 0.6, 0.7, 0.8)),
        row(3, 2, (0.5, 0.6, 0.6, 0.7, 0.7), gap_float=9e-7, method="levels+columns"),
    ]


def test_the_figures_in_words_are_counted_from_the_rows():
    said = dict(line.removeprefix("- ").split(": ", 1) for line in share_views.claims(counted_rows()).splitlines())
    assert said == {
        "instances": "3, in 3 minutes of one core",
        "optima by method": "`exact` 1, `levels` 1, `levels+columns` 1",
        "largest certified gap": "9.0e-07",
        "largest share": "1 + 2.2e-16",
        "best, to 1e-9": "`optimal_transport` 2, `layer_transport` 1, `block` 1, `mixed_order, best a` 1",
        "where `layer_transport` is not best (2)": "`optimal_transport` 1, `block` 1, `mixed_order, best a` 1",
        "`layer_transport` at L > 1 (2)": "mean 0.70000, worst 0.5000",
        "there ahead of all others, or within 1e-04": "1, 50.0%",
        "worst 1 of `layer_transport`": "0.5000 (dirichlet, V = 2, K = 3, L1 = 0, L2 = 2, seed = 5; `block` 0.7000; "
        "lost at depths 1, 2, ..: 0.2500, 0.1250)",
        "worst 2 of `layer_transport`": "0.9000 (dirichlet, V = 2, K = 2, L1 = 0, L2 = 2, seed = 5; "
        "`optimal_transport` 0.9000; lost at depths 1, 2, ..: 0.2500, 0.1250)",
        "largest misses at one step (1), the best three": "`optimal_transport` 0.0e+00, `layer_transport` 1.0e-01, "
        "`mixed_order, best a` 1.0e-01",
        "`gbv` below `block`": "50% at K = 2, 100% at K = 3",
        "of the gap of `gbv`, the part that the best `a` closes": "40%",
        "instances of depth 2": "2",
    }


def test_the_page_lists_the_figures_that_are_counted():
    text = Path(share_views.__file__).with_name("README.md").read_text(encoding="utf-8")
    section = text.partition("### Numbers in the text")[2].partition("\n## ")[0]
    listed = [line.split(": ", 1)[0] for line in section.splitlines() if line.startswith("- ")]
    made = [line.split(": ", 1)[0] for line in share_views.claims(counted_rows()).splitlines()]
    ours, theirs = (dict.fromkeys(re.sub(r"[\d,]+", "n", label) for label in each) for each in (listed, made))
    of_more_rows = {"- shares that are sampled", "- by enumerationn L > n and few trees (n)n mean (worst)"}
    assert [label for label in ours if label not in of_more_rows] == list(theirs)
