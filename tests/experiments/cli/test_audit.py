"""`draftproof audit`: exit codes, the report, the JSON that programs read, bad input in one line."""

import json
import random
import re
import sys
from pathlib import Path

import pytest

import draftproof as dp
from draftproof.simulator.audit import INTERFACES

AUDITED = Path(__file__).parents[2] / "data" / "audited"
QUICK = ("--cases", "context,three_tokens")
FIELDS = {"function", "interface", "library", "arithmetic", "instances", "lossless", "max_deviation"}
FIELDS |= {"total_variation", "first_imbalance", "reuse", "corners", "rests_on"}


def spec(file, name="wrong"):
    return f"{AUDITED / file}.py:{name}"


@pytest.mark.heavy
def test_lossless_function_exits_zero_with_its_efficiency_beside_the_zoo(draftproof):
    ran = draftproof("audit", spec("uncapped_ratio", "right"), "--interface", "chain", "--json")
    assert ran.code == 0
    assert set(ran.row) >= FIELDS
    assert ran.row["lossless"] is True
    assert ran.row["max_deviation"] <= 1e-12
    assert "witness" not in ran.json
    assert ran.row["instances"] == len(ran.json["cases"]) >= 8
    for case in ran.json["cases"]:
        # Both are block verification, one of them in floats.
        assert case["block_efficiency"] == pytest.approx(case["block_float"], abs=1e-12)
    assert "draft trees, about" in ran.err  # the size before the work


def test_refuted_function_exits_one_with_place_hypothesis_and_witness(draftproof, tmp_path):
    ran = draftproof("audit", spec("correction_from_target"), "--interface", "chain", *QUICK, "-o", "out.json")
    assert ran.code == 1
    assert "REFUTED" in ran.out
    assert "wrong is not lossless on delayed(K=1, L1=0, L2=2) (" in ran.out
    assert "hypothesis: the correction after a rejection is drawn from p" in ran.out
    assert "exact total variation" in ran.out
    fields = json.loads((tmp_path / "out.json").read_text())
    assert fields["hypotheses"][0]["name"] == "correction from p"
    [witness] = fields["witness"]
    assert (witness["shrunk"], witness["vocab_size"]) == (True, 2)
    again = draftproof(
        "audit", spec("correction_from_target"), "--interface", "chain", "--world", witness["file"], "--json"
    )
    assert again.code == 1
    assert again.witness["deviation"] == witness["deviation"]


@pytest.mark.heavy
def test_more_tokens_than_the_optimum_is_an_alarm_of_its_own(draftproof):
    given = ("--interface", "step", "--library", "numpy", "--cases", "context")
    ran = draftproof("audit", spec("declared_q"), *given)
    assert ran.code == 1
    assert "hypothesis: the drafts are not drawn from the q" in ran.out
    greedy = draftproof("audit", spec("uncapped_ratio"), "--interface", "chain", "--cases", "context", "--json")
    assert greedy.row["exceeds_optimum"] is True
    assert any(case["block_efficiency"] > case["optimum_float"] for case in greedy.json["cases"])


@pytest.mark.heavy
def test_order_of_leaves_is_named_on_the_witness_of_the_zoo(draftproof):
    world = "family:dirichlet,denominator=20,seeds=0..19"
    found = draftproof("check", "traversal_insertion_order", "--K", 3, "--world", world, "--json").witness
    ran = draftproof("audit", spec("order_of_leaves"), "--world", found["file"], "--json")
    assert ran.json["hypotheses"][0]["name"] == "order of leaves"
    # The same algorithm with the same bug, one in rationals and one in floats.
    assert ran.witness["deviation_float"] == pytest.approx(found["deviation_float"], abs=1e-12)


@pytest.mark.heavy
def test_boundary_reports_tokens_of_probability_zero(draftproof):
    given = ("--interface", "chain", "--library", "numpy", "--cases", "zeros,disjoint")
    assert draftproof("audit", spec("zero_coin"), *given).code == 0
    ran = draftproof("audit", spec("zero_coin"), *given, "--boundary", "--json")
    assert ran.code == 1
    assert any("accepts token" in corner and "probability zero" in corner for corner in ran.row["corners"])
    right = draftproof("audit", spec("zero_coin", "right"), *given, "--boundary")
    assert right.code == 0
    assert "no token of probability zero" in right.out


def test_missing_package_is_named_with_the_extra_that_brings_it(draftproof, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "transformers"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "transformers", None)
    given = ("transformers.generation.utils:_speculative_sampling", "--interface", "transformers")
    ran = draftproof("audit", *given)
    assert ran.code == 2
    assert "pip install 'draftproof[models]'" in ran.err


def test_roots_of_a_text(draftproof):
    given = ("--interface", "chain", "--world", "text:topics,vocab=2,roots=2", "--L2", 1)
    ran = draftproof("audit", spec("correction_from_target", "right"), *given, "--json")
    assert (ran.code, ran.row["instances"]) == (0, 2)


@pytest.mark.heavy
def test_ragged_witness_is_seen_again_with_its_lengths(draftproof, tmp_path):
    text = (
        "import random\n"
        "def f(paths, p, q):\n"
        "    row = p[()] if len(set(map(len, paths))) == 1 else p[()][::-1]\n"
        "    return [], random.choices(range(len(row)), row)[0]\n"
    )
    (tmp_path / "ragged.py").write_text(text)
    ran = draftproof("audit", "ragged.py:f", "--interface", "paths", "--witness", "found.json")
    assert ran.code == 1
    assert "--world found.json --lengths 2,1" in ran.out
    given = ("ragged.py:f", "--interface", "paths", "--world", "found.json", "--json")
    again = draftproof("audit", *given, "--lengths", "2,1")
    assert (again.code, again.json["cases"][0]["scheme"]) == (1, "ragged(2,1)")
    assert draftproof("audit", *given, "--L2", 2, "--K", 2).code == 0


@pytest.mark.heavy
def test_an_open_plan_is_made_for_every_instance(draftproof, tmp_path):
    file = tmp_path / "own.py"
    file.write_text("def walk(root):\n    return (), 0\n")
    ran = draftproof("audit", f"{file}:walk", "--scheme", "sequoia", "--cases", "context,equal", "--json")
    assert ran.code == 1
    trees = [re.search(r"tree=([\d-]+)", case["scheme"])[1] for case in ran.json["cases"]]
    assert trees == ["2-0-2-0-0", "1-1-0"]  # where q = p the first child is always accepted


def test_a_module_that_fails_to_import_something_says_what_and_where(draftproof, tmp_path, monkeypatch):
    (tmp_path / "theirs_with_gap.py").write_text("import random\nimport no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    ran = draftproof("audit", "theirs_with_gap:verify", "--interface", "chain")
    assert ran.code == 2
    assert "No module named 'no_such_package'; raised at theirs_with_gap.py line 2" in ran.err


def careless(tokens, q, p):
    for place, token in enumerate(tokens):
        if random.random() * q[place][token] >= p[place][token]:
            return place, random.choices(range(len(p[place])), p[place])[0]
    return len(tokens), random.choices(range(len(p[-1])), p[-1])[0]


class OneToken:
    name, depth = "one token", 1

    def draw(self, draft, coin):
        return dp.DraftTree.from_paths((), [(coin.choose(draft.row(())),)])


def test_in_python_it_is_a_function_that_takes_objects_and_texts(draftproof):
    """It runs in a process of its own, like assertions, with the numbers of the command."""
    how_long = {"cases": "context", "shrink_seconds": 0}
    how = {"interface": "chain", **how_long}
    found = dp.audit(careless, **how)
    assert (found.verdict, found.row["verdict"], found.row["function"]) == (1, "REFUTED", "careless")
    assert any("drawn from p" in note for note in found.notes)
    [file] = found.files
    assert not Path(file).exists()
    by_name = dp.audit(spec("correction_from_target"), **how)
    ran = draftproof(
        "audit", spec("correction_from_target"), "--interface", "chain", "--cases", "context", "--shrink-seconds", 0,
        "--json",
    )  # fmt: skip
    assert (ran.witness["shrunk"], "shrinking the witness" in ran.err) == (False, False)
    assert by_name.row["bias"] == ran.row["bias"] == pytest.approx(found.row["bias"], abs=1e-12)
    right = dp.audit(spec("correction_from_target", "right"), interface="chain", world=(["1/3", "2/3"], ["1/2", "1/2"]))
    assert (right.verdict, right.row["instances"]) == (0, 1)
    beside = dp.audit(spec("correction_from_target"), scheme=OneToken(), interface="chain", **how_long)
    assert beside.verdict == 1
    assert beside.tables[-2].records()[0]["again"] is None  # no command names the scheme
    with pytest.raises(dp.InvalidInput, match="unknown interface"):
        dp.audit(careless, interface="nothing")
    with pytest.raises(TypeError, match="strict"):
        dp.audit(careless, strict=True)


def test_the_help_names_every_interface():
    words = set(re.findall(r"[\w-]+", dp.audit.__doc__))
    assert set(INTERFACES) <= words
