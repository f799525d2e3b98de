"""`draftproof compare`: golden values, resuming, tables and pictures that are functions of rows."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.grid.figures import best_budget, delay_figure, delay_lines
from draftproof.experiments.inputs.verifiers import USUAL
from draftproof.simulator.drafts import lossless_for
from draftproof.verifiers import REGISTRY

SMALL = "family:dirichlet,vocab=2"
TOPICS = Path(__file__).parents[2] / "data" / "topics.json"
#: Exact block efficiency on (K, L1, L2) = (2, 1, 2). Source: the enumerating engine, rationals, tests/data/topics.json.
GOLDEN = {
    "nss": "81989568307099/35184372088832",
    "naive": "250255/65536",
    "naive_tree": "4150167679/1073741824",
    "specinfer": "4150265329/1073741824",
    "block": "502439/131072",
    "traversal": "503735578139827/129774047461376",
}


def test_golden_values_on_the_committed_instance(draftproof):
    given = ("--world", TOPICS, "--K", 2, "--L1", 1, "--L2", 2, "--arithmetic", "rational", "--json")
    ran = draftproof("compare", *GOLDEN, *given)
    assert {row["verifier"]: row["block_efficiency"] for row in ran.json["rows"]} == GOLDEN
    assert all(row["lossless"] and row["max_deviation"] == "0" for row in ran.json["rows"])


def test_rows_of_a_verifier_that_ranks_quotients_are_exact_where_rounding_would_decide(draftproof):
    """Its ties are decided in rationals, and where there are only floats the row and the table say so."""
    file = Path(__file__).parents[2] / "simulator" / "verdicts" / "test_ties.py"
    tied = {"": ["1/5", "3/5", "1/5"], **{each: ["1/3", "1/3", "1/3"] for each in "012"}}
    fields = {"vocab_size": 3, "depth": 1, "target": tied, "draft": {"": ["1/8", "3/8", "4/8"]}}
    Path("tied.json").write_text(json.dumps(fields))
    given = (f"{file}:RanksQuotients", "--world", "tied.json", "--K", 2, "--L1", 0, "--L2", 1, "--json")
    (exact,), (row,) = (
        draftproof("compare", *given, *more).json["rows"] for more in (("--arithmetic", "rational"), ())
    )
    assert row["block_efficiency_float"] == exact["block_efficiency_float"]
    assert not row["rounding_decides"]
    floats = {key: [repr(float(Fraction(x))) for x in values] for key, values in tied.items()}
    Path("floats.json").write_text(json.dumps({**fields, "arithmetic": "float64", "target": floats}))
    shown = draftproof("compare", *given[:1], "--world", "floats.json", *given[3:-1], "--no-optimum")
    assert "rounding decides" in shown.out
    checked = draftproof(
        "check", *given[:1], "--world", "floats.json", *given[3:-1], "--arithmetic", "float64", "--json"
    )
    assert checked.row["rounding_decides"].startswith("decides E[tau+1]")


@pytest.mark.heavy
def test_default_is_what_claims_the_scheme_and_what_is_there_to_be_refuted(draftproof):
    """Whoever is for other trees is left out by name; asked for by name it is judged, or it refuses."""
    ran = draftproof("compare", "--world", SMALL, "--K", 3, "--json")
    cards = {name: REGISTRY[name].card for name in USUAL}
    elsewhere = {"greedy_multi_draft", "layer_greedy", "layer_without_replacement", "spechub"}
    assert {row["verifier"] for row in ran.json["rows"]} == set(USUAL) - elsewhere
    refuted = {row["verifier"] for row in ran.json["rows"] if not row["lossless"]}
    assert refuted == {name for name, card in cards.items() if card.control or not lossless_for(card)}
    assert all(f"{name} is not for trees of delayed(K=3, L1=0, L2=2): left out" in ran.err for name in elsewhere)
    twice = draftproof("compare", "--world", SMALL, "--K", "2..3", "--L2", 1)
    assert twice.err.count("spechub") == 1
    assert "spechub is not for trees of delayed(K=2, L1=0, L2=1) and 1 more: left out" in twice.err
    (row,) = draftproof("compare", "greedy_multi_draft", "--world", SMALL, "--K", 3, "--json").json["rows"]
    assert not row["lossless"]
    named = draftproof("compare", "nss", "spechub", "--world", SMALL, "--K", 3)
    assert (named.code, named.out) == (2, "")
    assert "spechub on delayed(K=3, L1=0, L2=2): spechub verifies pairs of the most probable draft token" in named.err


@pytest.mark.parametrize(
    ("verb", "key"),
    [("check block", "block_efficiency"), ("compare block", "block_efficiency"), ("bound", "lower")],
)
def test_roots_of_a_text_stand_one_by_one_and_are_averaged(draftproof, verb, key):
    given = ["--arithmetic", "rational"] * (verb == "compare block")
    ran = draftproof(*verb.split(), "--world", "text:topics,vocab=3,roots=3", "--K", 2, "--L2", 1, *given, "--json")
    roots = ran.json["roots"]
    weights, means = ([Fraction(root[name]) for root in roots] for name in ("weight", key))
    mean = sum(w * m for w, m in zip(weights, means, strict=True))
    assert (ran.code, len(roots), sum(weights), Fraction(ran.row[key])) == (0, 3, 1, mean)
    if "variance" in roots[0]:  # law of total variance
        within = sum(w * Fraction(root["variance"]) for w, root in zip(weights, roots, strict=True))
        between = sum(w * (m - mean) ** 2 for w, m in zip(weights, means, strict=True))
        assert Fraction(ran.row["variance"]) == within + between


def test_a_context_that_reads_as_a_number_of_roots_has_rows_of_its_own(draftproof):
    def mean(world: str, *given: object) -> str:
        ran = draftproof("compare", "specinfer", "--world", world, "--json", *given)
        return ran.row["block_efficiency"]

    one, all_of_them = "text:topics,root=8 most frequent", "text:topics,roots=8"
    assert mean(one, "--resume", "rows.db") == mean(one)
    assert mean(all_of_them, "--resume", "rows.db") == mean(all_of_them) != mean(one)


SHAPES = ("--K", "1..2", "--L1", "0..4", "--L2", "0..2", "--budget", 4)
GIVEN = ("compare", "naive", "block", "traversal", "ensemble", "--world", SMALL, *SHAPES, "--json")


@pytest.fixture
def rows(draftproof):
    return draftproof(*GIVEN).json["rows"]


def drawn(rows):
    """Rows as the picture takes them, those of a store."""
    return [{**row, "scheme": {"name": "delayed"}} for row in rows]


def test_lines_of_the_picture_are_the_rows_of_one_budget_without_refuted_verifiers(rows):
    assert best_budget(drawn(rows)) == 4
    lines = delay_lines(drawn(rows), 4)
    assert set(lines) == {"naive", "block", "traversal", "upper bound"}
    assert [x for x, _, _ in lines["block"]] == [0, 2, 4]
    most = {x: value for x, value, _ in lines["upper bound"]}
    assert all(value <= most[x] + 1e-12 for points in lines.values() for x, value, _ in points)  # rounding of floats
    for x, value, _ in lines["block"]:
        (row,) = [r for r in rows if r["verifier"] == "block" and x == (4 if r["K"] == 1 else r["L1"])]
        assert value == row["block_efficiency_float"]
    assert delay_figure(drawn(rows), "caption").startswith(b"\x89PNG")


def test_a_picture_is_written_where_there_is_something_to_draw(draftproof, tmp_path):
    for verifier, drawn in (("naive", True), ("ensemble", False)):
        ran = draftproof("compare", verifier, "--world", SMALL, "--plot", f"{verifier}.png")
        assert (ran.code, "not drawn" in ran.out) == (0, not drawn)
    [picture] = tmp_path.iterdir()
    assert (picture.name, picture.read_bytes()[:4]) == ("naive.png", b"\x89PNG")


def test_lossless_verifiers_are_ranked_and_none_exceeds_the_optimum(rows):
    for shape in dict.fromkeys(row["shape"] for row in rows):
        here = [row for row in rows if row["shape"] == shape]
        assert [row["verifier"] for row in here][-1] == "ensemble"
        assert here[-1]["verdict"].startswith("REFUTED")
        means = [row["block_efficiency_float"] for row in here[:-1]]
        assert means == sorted(means, reverse=True)
        assert means[0] <= here[0]["optimum_upper_float"] + 1e-12
        gaps = [row["optimum_upper_float"] - mean for row, mean in zip(here[:-1], means, strict=True)]
        assert [row["gap_float"] for row in here[:-1]] == pytest.approx(gaps, abs=1e-11)
        assert here[-1]["gap"] is None


def test_an_optimum_that_cannot_be_had_is_not_left_out_in_silence(draftproof, monkeypatch):
    given = ("compare", "naive", "--scheme", "dyspec:nodes=2", "--world", SMALL, "--jobs", 1, "--json")
    (row,) = draftproof(*given).json["rows"]
    assert row["optimum_float"] >= row["block_efficiency_float"]
    monkeypatch.setattr("draftproof.lp_analysis.hitting.MOST_TREES", 1)
    ran = draftproof(*given, "--optimum")
    assert ran.code == 2
    assert "dyspec(nodes=2) has more than 1 draft trees" in ran.err
    assert draftproof(*given).json["rows"][0]["optimum"] is None


def test_a_file_whose_verifier_changed_is_computed_again(draftproof, tmp_path):
    source = (
        "from draftproof.simulator import Card, Verdict\nclass V:\n    card = Card(name='v', title='v', source=None)\n"
    )
    source += "    def verify(self, root, coin):\n        return Verdict((), coin.choose(root.target))\n"
    (tmp_path / "v.py").write_text(source)
    given = ("compare", "v.py:V", "--world", SMALL, "--resume", "rows.db", "--json")
    assert draftproof(*given).json["rows"][0]["lossless"] is True
    (tmp_path / "v.py").write_text(source.replace("root.target", "root.draft"))
    assert draftproof(*given).json["rows"][0]["lossless"] is False


def test_by_root_shows_every_root(draftproof):
    ran = draftproof("compare", "naive", "--world", "text:topics,vocab=2,roots=3", "--by", "root")
    assert "by root context" in ran.out
    assert "average" in ran.out
    several = draftproof("compare", "naive", "--world", "text:topics,vocab=2..3,roots=3", "--by", "root", "--json").json
    for place, row in enumerate(several["rows"]):
        [means] = several[f"by_root_{place}"]
        roots = [root for root in several["roots"] if root["world"] == row["world"]]
        assert [means[f"root {number}_float"] for number in range(3)] == [r["block_efficiency_float"] for r in roots]


def test_on_text_block_verification_is_ahead_of_the_ensemble_and_towards_its_mixture_of_both(draftproof):
    names = ("block", "ensemble:w=19/20", "toward:inner=block,target=ensemble:w=19/20")
    ran = draftproof("compare", *names, "--world", "text:topics,vocab=4", "--K", 1, "--L2", "3..4", "--json")
    rows = sorted(ran.json["rows"], key=lambda row: (row["L2"], names.index(row["verifier"])))
    tokens = [f"{row['block_efficiency_float']:.3f}" for row in rows]
    assert tokens == ["3.570", "3.551", "3.590", "4.305", "4.256", "4.337"]
    assert [f"{row['total_variation_float']:.3f}" for row in rows[:3]] == ["0.000", "0.024", "0.024"]
