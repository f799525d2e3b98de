"""`draftproof precision`: rows with exact fractions; what breaks is a line, not a crash; bad input is one line."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.cli import matrix
from draftproof.experiments.cli import precision as audit
from draftproof.simulator.drafts import lossless_for
from draftproof.verifiers import REGISTRY, STANDALONE

LOSSLESS = [name for name in STANDALONE if "delayed" in lossless_for(REGISTRY[name].card)]
SMALL = ("--vocab", 2, "--K", 2, "--L1", 0, "--L2", 1)

NAN = """
from draftproof.simulator import Card, Verdict
class V:
    card = Card(name="v", title="v", source=None)
    def verify(self, root, coin):
        nothing = (root.target - root.target).sum()
        coin.choose(root.target)
        coin.flip(nothing / nothing)
        return Verdict((), coin.choose(root.target))
"""


def test_rows_hold_exact_fractions_with_floats_beside_them(draftproof):
    pytest.importorskip("torch")
    ran = draftproof("precision", *SMALL, "--precision", "float16,bfloat16", "--json", "-")
    assert ran.code == 0
    rows = ran.json["rows"]
    assert [(row["verifier"], row["precision"]) for row in rows] == [
        (name, precision) for name in LOSSLESS for precision in ("float16", "bfloat16")
    ]
    for row in rows:
        for name in ("total_variation", "max_deviation"):
            exact = Fraction(row[name])
            assert row[f"{name}_float"] == float(exact)
            assert (exact == 0) == (row["verifier"] == "nss")
            assert Fraction(row["roots"][0][name]) == exact
        assert row["status"] == "measured"
        assert row["breaks"] is None
        assert row["source"]["denominator"] == 256
        assert row["scheme"] == {"name": "delayed", "K": 2, "L1": 0, "L2": 1}
        assert ("torch" in row["versions"]) == (row["precision"] == "bfloat16")
    assert len({row["strong_id"] for row in rows}) == len(rows)


def test_by_default_rows_are_exact_in_every_precision(draftproof):
    pytest.importorskip("torch")
    ran = draftproof("precision", "nss", *SMALL, "--precision", "float64,float32,float16,bfloat16", "--json", "-")
    assert [(kind["precision"], kind["significant_bits"]) for kind in ran.json["precisions"]] == [
        ("float64", 53),
        ("float32", 24),
        ("float16", 11),
        ("bfloat16", 8),
    ]
    assert all(kind["rows_exact"] and kind["rows_bias"] == "0" for kind in ran.json["precisions"])


def test_rows_that_are_not_exact_are_said_to_be(draftproof):
    pytest.importorskip("torch")
    given = ("precision", "nss", *SMALL, "--denominator", 1000, "--precision", "float16,bfloat16")
    half, brain = draftproof(*given, "--json", "-").json["precisions"]
    assert not half["rows_exact"]
    assert 0 < half["rows_bias_float"] < brain["rows_bias_float"] < 1e-2
    assert "exact  " not in draftproof(*given).out.split("rounded rows alone")[1].splitlines()[0]


def test_the_table_has_a_line_a_verifier_and_two_columns_a_precision(draftproof):
    ran = draftproof("precision", "naive", "nss", *SMALL)
    assert ran.code == 0
    for word in ("float64", "float32", "float16", "deviation", "rounded rows alone", "exact"):
        assert word in ran.out
    assert "bfloat16" not in ran.out
    (line,) = [line for line in ran.out.splitlines() if line.startswith("│ nss")]
    assert [cell.strip() for cell in line.strip("│").split("│")] == ["nss", *["0"] * 6]
    assert "about" in ran.err  # the cost, before


def test_a_verifier_that_produces_nan_is_a_finding_beside_the_others(draftproof, tmp_path):
    (tmp_path / "v.py").write_text(NAN)
    given = ("precision", "naive", "v.py:V", *SMALL, "--precision", "float16")
    naive, mine = draftproof(*given, "--json", "-").json["rows"]
    assert naive["status"] == "measured"
    assert mine["status"] == "breaks"
    assert mine["total_variation"] is mine["max_deviation_float"] is None
    assert mine["breaks"]["tree"] == {"": [0, 0]}
    assert mine["breaks"]["probability"] == "1"
    assert mine["breaks"]["reason"] == "question 2 to the coin, flip(nan): not a number"
    ran = draftproof(*given)
    assert ran.code == 0
    assert "breaks at float16" in ran.out
    assert "question 2 to the coin" in ran.out


def test_roots_of_a_text_are_all_measured_and_the_largest_stands_in_the_row(draftproof):
    given = ("--text", "topics", "--vocab", 2, "--roots", 3, "--precision", "float16", "--json", "-")
    (row,) = draftproof("precision", "block", *given).json["rows"]
    biases = [Fraction(root["total_variation"]) for root in row["roots"]]
    assert len(biases) == 3
    assert Fraction(row["total_variation"]) == max(biases) > min(biases)


def test_ctrl_c_shows_the_rows_so_far_and_writes_nothing(draftproof, monkeypatch, tmp_path):
    ready, law_of = [1], audit.low_precision_law

    def interrupted(*arguments):
        if not ready:
            raise KeyboardInterrupt
        ready.pop()
        return law_of(*arguments)

    monkeypatch.setattr(audit, "low_precision_law", interrupted)
    ran = draftproof("precision", "naive", "block", *SMALL, "--precision", "float16", "--json", "out.json")
    assert ran.code == 130
    assert "interrupted after 1 of 2 rows" in ran.err
    assert "│ naive" in ran.out
    assert "│ block" not in ran.out
    assert list(tmp_path.iterdir()) == []


#: (arguments, what the message must name)
REFUSED = [
    ("naive --precision float8", "'float8'; choose from float64, float32, float16, bfloat16"),
    ("naive --precision ,", "','"), ("naive --vocab 4 --K 4 --L2 4", "--max-runs"),
    ("naive --K 3 --max-runs 1000", "the nearest shape that fits"), ("blok", "did you mean 'block'"),
    ("naive --K 2 --L2 0", "L2 = 0"), ("naive --json none/a.json", "none/a.json"),
    ("gbv --scheme without_replacement --K 3", "i.i.d."), ("naive --instance none.json", "none.json"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "named"), REFUSED, ids=[arguments for arguments, _ in REFUSED])
def test_bad_input_is_one_line(draftproof, tmp_path, arguments, named):
    ran = draftproof("precision", *arguments.split())
    assert ran.code == 2, ran.err
    assert ran.out == ""
    assert ran.err.startswith("draftproof: ")
    assert len(ran.err.strip().splitlines()) == 1
    assert named in ran.err
    assert list(tmp_path.iterdir()) == []


def test_without_torch_bfloat16_is_refused_with_the_way_out_and_the_rest_works(draftproof, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = draftproof("precision", "naive", *SMALL, "--precision", "float16,bfloat16")
    assert ran.code == 2
    assert ran.err.startswith("draftproof: bfloat16 needs torch, which is not installed: pip install")
    assert draftproof("precision", "naive", *SMALL).code == 0


def test_rows_of_an_instance_file_are_taken_as_they_are(draftproof):
    topics = Path(__file__).parents[2] / "data" / "topics.json"
    ran = draftproof("precision", "naive", "--instance", topics, "--precision", "float16", "--json", "-")
    assert ran.code == 0
    assert set(ran.json["rows"][0]["source"]) == {"instance"}


@pytest.mark.parametrize(
    "command", ["precision naive --vocab 2 --K 1 --L2 1", "matrix naive --instances 1 --scheme delayed"]
)
def test_rows_that_are_kept_are_not_computed_again(draftproof, monkeypatch, command):
    first = draftproof(*command.split(), "--resume", "rows.db", "--json", "-")
    for module in (matrix, audit):
        monkeypatch.setattr(module, "_row", lambda *_: pytest.fail("a row was computed again"))
    again = draftproof(*command.split(), "--resume", "rows.db", "--json", "-")
    assert (first.code, again.code) == (0, 0)
    assert again.json == first.json


def test_cells_on_other_rows_are_computed(draftproof):
    counts = [
        draftproof("matrix", "naive", "--scheme", "delayed", "--resume", "rows.db", "--json", "-", *more).json["cells"]
        for more in ([], ["--instances", 2], ["--family", "dirichlet", "--vocab", 2])
    ]
    assert len({cells[0]["instances"] for cells in counts}) == 3
