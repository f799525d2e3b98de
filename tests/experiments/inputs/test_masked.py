"""Grammars and other masks on the command line: on the target, on the draft, on both."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.inputs.world_grammar import find_worlds
from draftproof.simulator.arithmetic import RATIONAL

PLANTED = Path(__file__).parents[2] / "data" / "audited" / "own_masks.py"
TABLE = {3: "table=01-/-10", 4: "table=01-1/-10-"}
WHERE = [("--sampling", "{}"), ("--sampling", "{}", "--draft-sampling", ""), ("--draft-sampling", "{}")]


@pytest.mark.parametrize(("where", "size"), [(WHERE[0], 3), (WHERE[1], 4), (WHERE[2], 3)])
def test_commands_take_masks_on_target_draft_and_both(draftproof, where, size):
    at = ("--K", 2, "--L2", 1, *(text.format(TABLE[size]) for text in where))
    world = f"family:dirichlet,vocab={size}"
    ran = draftproof("check", "naive", "traversal", "naive_from_target", "--world", world, *at, "--json")
    assert [row["lossless"] for row in ran.json["rows"]] == [True, True, False]
    given = ("--world", world, *at, "--arithmetic", "rational", "--json")
    rows = draftproof("compare", "naive", "traversal", *given).json["rows"]
    assert [row["lossless"] for row in rows] == [True, True]
    attained = draftproof("bound", "--world", world, *at, "--json").row
    assert all(1 <= Fraction(row["block_efficiency"]) <= Fraction(attained["upper"]) for row in rows)


def test_letters_of_a_text_are_its_symbols():
    text = "text:topics,vocab=4,root=the"
    [masked] = find_worlds(text, "eos=t,stop_strings=· ,no_repeat_ngram_size=2")
    [case] = masked.cases(2, RATIONAL)
    plain = find_worlds(text)[0].pair
    assert plain.show((0, 1, 2, 3)) == " et·"
    assert [str(value) for value in case.target.row((3, 0))] == ["0", "0", "1", "0"]


def test_a_regular_expression_is_written_last_with_its_commas(draftproof):
    pytest.importorskip("interegular")
    made = draftproof("check", "block", "--K", 1, "--sampling", "top_k=2,regex=(01){1,2}|2*", "--json").row
    assert made["lossless"]
    refused = draftproof("check", "block", "--sampling", "regex=((")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "regex '((' cannot be read: missing )" in refused.err


def test_models_without_torch_are_refused_in_one_line(draftproof, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    refused = draftproof("check", "naive", "--world", f"models:{tmp_path}")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "needs torch, which is not installed" in refused.err


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "masks"), [("bonus", "table=01-/-10"), pytest.param("late", "regex=(0*11*2)*0*", marks=pytest.mark.heavy)]
)
def test_an_audit_refutes_a_wrong_mask_on_a_witness_with_the_same_tokens(draftproof, name, masks):
    if masks.startswith("regex"):
        pytest.importorskip("interegular")
    at = ("--interface", "chain", "--library", "python", "--arithmetic", "rational", "--world", "family:dirichlet")
    ran = draftproof("audit", f"{PLANTED}:{name}", *at, "--processing", masks, "--json")
    assert ran.code == 1
    assert (ran.witness["shrunk"], ran.witness["vocab_size"]) == (True, 3)
    assert draftproof("audit", f"{PLANTED}:right", *at, "--processing", masks).code == 0
