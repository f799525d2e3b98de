"""`draftproof prove`: exit codes, the JSON that programs read, refutations that `check` confirms."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

import draftproof as dp
from draftproof.simulator.theorems.algebra import oracle
from draftproof.simulator.theorems.proof.theorem import COMPARED

ONE_STEP = ("--K", 1, "--L1", 0, "--L2", 1)


def test_in_python_it_is_a_function_that_takes_objects(tmp_path):
    assert dp.prove("naive", scheme=dp.Delayed(1, 0, 1)).row["identities"] == 3
    proved = dp.prove(dp.make("naive"), K=1, L2=1, vocab=2)
    assert (proved.verdict, proved.row["proved"]) == (0, True)
    related = dp.prove(dp.make("gbv"), L2=1, dominates=dp.make("block"))
    assert related.verdict == 1
    assert related.tables[1].records()[0]["block_efficiency"] == [Fraction(7, 4), 2]


class OfAnotherName:
    """It is not what its card says."""

    card = dp.make("naive").card

    def verify(self, root, coin):
        return dp.Verdict((), coin.choose(root.draft))


def test_an_object_never_passes_for_the_verifier_that_its_card_names(tmp_path, monkeypatch):
    monkeypatch.setattr("draftproof.experiments.grid.machines.PARALLEL_FROM_SECONDS", 0.0)
    assert dp.prove(OfAnotherName(), K=1, vocab=2, jobs=2).verdict == 1
    for given in ({"certificate": "c.json"}, {"resume": "rows.db"}):
        with pytest.raises(dp.InvalidInput, match="which no file can name"):
            dp.prove(OfAnotherName(), K=1, vocab=2, **given)


def test_a_refutation_exits_one_with_an_instance_that_check_refutes(draftproof):
    ran = draftproof("prove", "block_by_weights", "--K", 1, "--json")
    assert ran.code == 1
    assert ran.row["verdict"] == "REFUTED"
    assert ran.row["polynomial"]
    again = draftproof("check", "block_by_weights", "--world", ran.witness["file"], "--json")
    assert again.code == 1
    assert again.witness["found"] == ran.witness["found"]


def test_what_is_not_covered_exits_three_and_is_no_theorem(draftproof, monkeypatch):
    monkeypatch.setattr(oracle.Oracle, "_answer", lambda self, region, atom, near=None: oracle.Empty.UNKNOWN)
    ran = draftproof("prove", "naive", *ONE_STEP)
    assert ran.code == 3
    assert "NOT PROVED" in ran.out
    assert "LOSSLESS" not in ran.out
    assert "undecided where" in ran.out
    assert "open, of random points" in ran.out
    assert "at most (at 95%)" in ran.out


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("verifier", "free", "shape"),
    [
        ("mixed_order", "a", ("--L2", 1)),
        pytest.param("mixed_order", "a", ("--L2", 2), marks=pytest.mark.heavy),
        pytest.param("khisti", "solver", ("--L2", 2), marks=pytest.mark.heavy),
        pytest.param("khisti", "solver", ("--L2", 1, "--vocab", 3), marks=pytest.mark.heavy),
        ("spectr", "solver", ("--L2", 1)),
        pytest.param("spectr", "solver", ("--L2", 1, "--vocab", 3), marks=pytest.mark.heavy),
        ("path_transport", "solver", ("--L2", 1)),
    ],
)
def test_every_value_of_a_free_number_is_lossless(draftproof, verifier, free, shape):
    ran = draftproof("prove", verifier, "--free", free, *shape, "--json")
    assert ran.code == 0
    assert ran.row["free"]
    assert ran.row["proved"] is True
    assert ran.row["compared"] == COMPARED


def test_a_free_number_that_is_lossy_somewhere_is_refuted(draftproof):
    ran = draftproof("prove", "ensemble", "--free", "w", *ONE_STEP)
    assert ran.code == 1
    assert re.search("the numerator .*w", ran.out)


def test_a_theorem_that_stands_in_the_file_of_rows_is_not_proved_again(draftproof, monkeypatch):
    from draftproof.experiments.cli.prove import at_one_size

    first = draftproof("prove", "naive", *ONE_STEP, "--resume", "rows.db", "--json")
    monkeypatch.setattr(at_one_size, "theorem_row", None)
    again = draftproof("prove", "naive", *ONE_STEP, "--resume", "rows.db", "--json")
    assert again.code == 0
    assert again.row["seconds"] == first.row["seconds"]


def test_a_scheme_without_its_tree_is_told_how_to_be_named(draftproof):
    ran = draftproof("prove", "sequoia", "--scheme", "sequoia")
    assert ran.code == 2
    assert "tree=1-0" in ran.err
    assert draftproof("prove", "sequoia", "--scheme", "sequoia:nodes=4,depth=2,tree=1-0").code == 0


def test_a_counterexample_between_verifiers_of_files_is_seen_by_the_command_that_it_names(draftproof):
    """Their cards have names that no registry has."""
    Path("theirs.py").write_text(
        "from draftproof.verifiers import make\nfrom draftproof.simulator import Card\n"
        "class Mine:\n    card = Card(name='l1', title='', source=None)\n"
        "    def verify(self, root, coin):\n        return make('nss').verify(root, coin)\n"
    )
    ran = draftproof("prove", "theirs.py:Mine", "--dominates", "naive", "--vocab", 2, "--K", 1, "--L2", 1)
    assert ran.code == 1
    again = draftproof(*re.search("see it again +draftproof (.*)", ran.out)[1].split(), "--json")
    mine, naive = (row["block_efficiency_float"] for row in again.json["rows"])
    assert mine < naive


WRONG_FOR_THREE = """
from draftproof import Card, Verdict
from draftproof.verifiers import make

naive = make("naive")

class Mine:
    card = Card(name="mine", title="wrong for a third token", source=None)

    def verify(self, root, coin):
        if root.children and root.children[0] == 2:
            return Verdict((), coin.choose(root.draft))
        return naive.verify(root, coin)
"""


def test_points_of_three_tokens_are_looked_at_where_no_vocabulary_is_named(draftproof, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(WRONG_FOR_THREE)
    shape = ("--K", 1, "--L1", 0, "--L2", 1)
    ran = draftproof("prove", f"{file}:Mine", *shape, "--json")
    assert (ran.code, ran.row["verdict"], ran.row["vocab_size"]) == (1, "REFUTED", 3)
    assert draftproof("prove", f"{file}:Mine", *shape, "--vocab", 2).code == 0
    right = draftproof("prove", "naive", *shape)
    assert right.code == 0
    assert "at V = 2" in right.out
    assert "at V = 3 it is lossless at 22 points of p and q, which proves nothing: --vocab 3" in right.out
