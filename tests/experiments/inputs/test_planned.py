"""`optimum` on the command line: planned for each instance, exactly lossless, equal to the certified lower bound."""

import pytest

TREE = ("--K", 2, "--L1", 1, "--L2", 1)
WORLD = ("--world", "family:perturbed,s=1", *TREE)


@pytest.mark.parametrize("engine", ["auto", "enumerate"])
def test_check_proves_it_lossless_with_the_efficiency_of_the_bound(draftproof, engine):
    found = draftproof("check", "optimum", "--world", "family:perturbed,s=1", *TREE, "--engine", engine, "--json")
    bound = draftproof("bound", "--world", "family:perturbed,s=1", *TREE, "--json").row
    assert found.code == 0
    assert found.row["max_deviation"] == "0"
    assert found.row["block_efficiency"] == bound["lower"]


def test_compare_leaves_it_less_than_the_certified_gap(draftproof):
    rows = draftproof("compare", "optimum", "block", *WORLD, "--arithmetic", "rational", "--json").json["rows"]
    assert [row["verifier"] for row in rows] == ["optimum", "block"]
    assert 0 <= rows[0]["gap_float"] <= 1e-6 < rows[1]["gap_float"]


def test_each_root_gets_its_own_plan(draftproof):
    shape = ("--K", 2, "--L2", 1, "--json")
    found = draftproof("check", "optimum", "--world", "text:topics,roots=2", *shape).json
    bound = draftproof("bound", "--world", "text:topics,roots=2", *shape).json
    assert [root["block_efficiency"] for root in found["roots"]] == [root["lower"] for root in bound["roots"]]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("check", "optimum", "--scheme", "top_k"), "delayed"),
        (("check", "optimum:plan=1"), "no parameters"),
        (("check", "optimum", "--world", "conformance"), "planned"),
        (("check", "optimum", "--precision", "float16"), "planned"),
        (("check", "optimum", "--K", 2, "--L2", 10), "20,000"),
    ],
)
def test_where_it_cannot_run_it_says_why(draftproof, arguments, named):
    ran = draftproof(*arguments)
    assert ran.code == 2, ran.err
    assert named in ran.err.strip().splitlines()[-1]
