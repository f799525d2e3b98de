"""`draftproof check --precision`: rows with exact fractions; what breaks is said beside the others."""

import sys
from fractions import Fraction

import pytest

from draftproof.simulator.drafts import lossless_for
from draftproof.verifiers import REGISTRY, STANDALONE

LOSSLESS = [name for name in STANDALONE if "delayed" in lossless_for(REGISTRY[name].card)]
SHAPE = ("--K", 2, "--L1", 0, "--L2", 1)
SMALL = ("--world", "family:dirichlet,vocab=2,denominator=256", *SHAPE)

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
    ran = draftproof("check", *LOSSLESS, *SMALL, "--precision", "float16,bfloat16", "--json")
    assert ran.code == 0
    rows, roots = ran.json["rows"], ran.json["roots"]
    assert [(row["verifier"], row["precision"]) for row in rows] == [
        (name, precision) for name in LOSSLESS for precision in ("float16", "bfloat16")
    ]
    for row, root in zip(rows, roots, strict=True):
        for name in ("total_variation", "max_deviation"):
            exact = Fraction(row[name])
            assert row[f"{name}_float"] == float(exact)
            assert (exact == 0) == (row["verifier"] == "nss")
            assert Fraction(root[name]) == exact
        assert row["breaks"] is None
        assert row["scheme"] == "delayed(K=2, L1=0, L2=1)"
        assert ("torch" in row["versions"]) == (row["precision"] == "bfloat16")


def test_a_verifier_that_produces_nan_is_a_finding_beside_the_others(draftproof, tmp_path):
    (tmp_path / "v.py").write_text(NAN)
    given = ("check", "naive", "v.py:V", *SMALL, "--precision", "float16")
    ran = draftproof(*given, "--json")
    naive, mine = ran.json["rows"]
    assert naive["breaks"] is None
    assert mine["total_variation"] is mine["max_deviation"] is None
    root = ran.json["roots"][1]
    assert (root["tree"], root["probability"]) == ({"": [0, 0]}, "1")
    assert root["breaks"].endswith("question 2 to the coin, flip(nan): not a number")
    shown = draftproof(*given)
    assert (shown.code, "question 2 to the coin" in " ".join(shown.out.split())) == (0, True)


def test_without_torch_bfloat16_is_refused_with_the_way_out_and_the_rest_works(draftproof, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    ran = draftproof("check", "naive", *SMALL, "--precision", "float16,bfloat16")
    assert ran.code == 2
    assert ran.err.startswith("draftproof: bfloat16 needs torch, which is not installed: pip install")
    assert draftproof("check", "naive", *SMALL, "--precision", "float16").code == 0
