"""`draftproof prove --vocab any`: exit codes, what it prints, the JSON, certificates."""

import pytest

from draftproof.experiments.cli.prove import any_vocabulary
from draftproof.experiments.cli.prove.at_one_size import relation_row
from draftproof.experiments.cli.prove.request import Request
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.theorems.proof.judging import DOMINATES

STEP = ("--vocab", "any", "--K", 1, "--L1", 0, "--L2", 1)


@pytest.mark.heavy
def test_a_theorem_says_what_it_covers_and_what_the_induction_needs(draftproof):
    ran = draftproof("prove", "naive", *STEP, "--every-length")
    assert ran.code == 0
    assert "LOSSLESS for every p and q with full support and every V, at delayed(K=1, L1=0, L2=1)" in ran.out
    assert "Read that in the code: it is NOT proved." in " ".join(ran.out.split())
    assert "1 branch: sees only whether a subtree is rejected" in ran.out


COUPLED = """
from draftproof.simulator.protocol import Verdict
from draftproof.verifiers.nss import NaiveSampling


class Whole:
    card = NaiveSampling.card

    def verify(self, root, coin):
        y = coin.choose(root.target)
        return Verdict((), y) if y not in root.children else Verdict((y,), coin.choose(root.child(y).target))
"""


@pytest.mark.heavy
def test_a_theorem_stands_where_the_induction_does_not(draftproof, tmp_path):
    """It never goes on after one token, so what is kept below a token does not have its score."""
    (tmp_path / "whole.py").write_text(COUPLED)
    ran = draftproof("prove", f"{tmp_path / 'whole.py'}:Whole", *STEP, "--every-length", "--json")
    assert (ran.code, ran.row["proved"], ran.row["every_length"]) == (3, True, False)
    assert draftproof("prove", "naive", *STEP, "--every-length", "--json").row["every_length"] is True


def test_a_lossy_verifier_is_refuted_at_the_smallest_size(draftproof):
    ran = draftproof("prove", "naive_from_target", *STEP, "--json")
    assert (ran.code, ran.row["verdict"], ran.row["vocab_size"]) == (1, "REFUTED", 2)


def test_a_relation_is_proved_or_refuted(draftproof):
    assert draftproof("prove", "specinfer", *STEP, "--equals", "naive").code == 0
    ran = draftproof("prove", "nss", *STEP, "--dominates", "naive")
    assert ran.code == 1
    assert "nss falls below naive" in ran.out


def test_the_search_for_a_witness_ends():
    request = Request(find_verifier("block"), 2, Delayed(1, 0, 1), False, (), 100)
    assert relation_row(request, DOMINATES, find_verifier("naive"))["proved"]
    with pytest.raises(TooLarge, match="stopped after 0 s"):
        relation_row(request, DOMINATES, find_verifier("naive"), seconds=0)


def test_what_cannot_be_followed_is_refused_with_its_line(draftproof):
    ran = draftproof("prove", "gbv", "--vocab", "any", "--K", 2, "--L1", 0, "--L2", 1)
    assert ran.code == 2
    assert "vectors.py line" in ran.err


def test_what_a_theorem_cannot_be_about_is_refused_before_a_witness_is_looked_for(draftproof, monkeypatch):
    scheme = ("--scheme", "without_replacement", "--K", 2, "--L1", 0)
    monkeypatch.setattr(any_vocabulary, "try_points", lambda *_: pytest.fail("a witness was looked for"))
    layers = ("--K", 2, "--L1", 0, "--L2", 1)
    assert draftproof("prove", "layer_transport", "--vocab", "any", *layers).code == 2
    assert draftproof("prove", "nss", "--vocab", "any", *scheme, "--L2", 1, "--every-length").code == 2
