"""`draftproof model validate` exit codes, the table, planted biases, and one line for bad input."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.pair import opened
from draftproof.experiments.models.validate import checks, run

LIAR = """
from draftproof.simulator import Card, Verdict
class Eager:
    card = Card(name="eager", title="accepts every draft and adds token 0", source=None, needs=None)
    def verify(self, root, coin):
        node = root
        while node.children:
            node = node.child(node.children[0])
        return Verdict(node.context, 0)
"""

SOUND = """
from draftproof.simulator import Card, Verdict
class Sound:
    card = Card(name="sound", title="draws from the target", source=None)
    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target))
class Floats:
    card = Card(name="floats", title="asks for arrays", source=None)
    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target.round(12)))
"""

FEW = ("--blocks", 300, "--K", 1, "--L2", "1..2")


@pytest.fixture
def models(tiny_folder, tmp_path):
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    return f"models:target={tiny_folder}/target,draft={tiny_folder}/draft,device=cpu,text={tmp_path}/text.txt"


@pytest.fixture
def briefly(monkeypatch):
    """Less of what comes before the cells and is not what a test is about; whole in the first one of this file."""
    whole = checks.greedy_text

    def begin():
        monkeypatch.setattr(run, "TREES", 4)
        monkeypatch.setattr(run, "BLOCKS", 20)
        monkeypatch.setattr(checks, "greedy_text", lambda pair, prompt, _: whole(pair, prompt, 40))

    return begin


@pytest.mark.heavy
def test_a_pair_is_validated_and_rows_are_kept(draftproof, models, briefly):
    given = ("model", "validate", "naive", "block", "--world", f"{models},roots=2", *FEW, "--resume", "rows.db")
    ran = draftproof(*given, "-o", "a.json", "-o", "a.md", "--plot", "a.png", "--times", "t.json")
    assert ran.code == 0
    report = json.loads(Path("a.json").read_text())
    assert report["verdict"] == 0
    assert [(row["verifier"], row["shape"]) for row in report["rows"]] == [
        (name, shape) for shape in ("1, 0, 1", "1, 0, 2") for name in ("naive", "block")
    ]
    assert all(row["blocks"] == 300 for row in report["rows"])
    checked = {row["check"]: row for row in report["same"]}
    assert checked["caches"]["blocks"] == checked["greedy"]["tokens"] == 200
    assert all(row["passed"] for row in report["same"])
    assert "all as predicted" in ran.out
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert "1, 0, 2" in Path("a.md").read_text()
    assert "times: t.json, for compare --cost" in ran.out
    timed = draftproof("compare", "naive", "--K", 1, "--L2", "1..3", "--cost", "t.json", "--json").json["rows"]
    times = json.loads(Path("t.json").read_text())
    expected = [row["nodes"] * times["draft"]["1"] + times["target"][str(row["nodes"])] for row in timed]
    assert [row["time"] for row in timed] == pytest.approx(expected, rel=1e-12)  # sums in another order
    briefly()
    again = draftproof(*given, "--json")
    assert again.json["rows"] == report["rows"]
    assert again.code == 0


@pytest.mark.heavy
def test_a_verifier_of_a_file_in_place_of_another_is_found_out(draftproof, models, tmp_path, briefly):
    briefly()
    (tmp_path / "mine.py").write_text(LIAR, encoding="utf-8")
    ran = draftproof(
        "model",
        "validate",
        "naive",
        "block",
        "--world",
        f"{models},roots=2",
        *FEW,
        "--replace",
        "naive=mine.py:Eager",
        "-o",
        "r.json",
    )
    assert ran.code == 1
    assert "NOT as predicted" in ran.out
    report = json.loads(Path("r.json").read_text())
    name = "naive (runs eager)"
    assert {each["verifier"] for each in report["about"][0]["failed"]} == {name}
    own = [row["own_law"] for row in report["rows"] if row["verifier"] == name]
    assert [each["block_efficiency"] for each in own] == pytest.approx([2, 3])  # accepts all drafts
    assert [row["own_law"] for row in report["rows"] if row["verifier"] == "block"] == [None, None]
    (checked,) = report["exact_checks"]
    assert (checked["verifier"], checked["lossless"]) == (name, False)
    assert checked["verdict"].startswith("REFUTED on delayed")
    again = draftproof(*checked["again"].split()[1:])
    assert (again.code, "REFUTED" in again.out) == (1, True)
    assert f"{name} is refuted by the exact check (--lossy '{name}' says it is known)" in ran.out


@pytest.mark.heavy
def test_a_verifier_of_a_file_that_holds_exactly_is_validated_like_ours(draftproof, models, tmp_path, briefly):
    briefly()
    (tmp_path / "mine.py").write_text(SOUND, encoding="utf-8")
    few = ("--blocks", 60, "--K", 1, "--L2", 1, "-o", "r.json")
    ran = draftproof("model", "validate", "mine.py:Sound", "mine.py:Floats", "--world", f"{models},roots=1", *few)
    assert ran.code == 0, ran.out
    checks_of = {each["verifier"]: each for each in json.loads(Path("r.json").read_text())["exact_checks"]}
    assert checks_of["sound"]["lossless"] is True
    assert checks_of["sound"]["instances"] > 50
    assert checks_of["sound"]["verdict"] == "LOSSLESS on small instances, exactly"
    assert checks_of["floats"]["lossless"] is None  # it takes no fractions, and is measured all the same
    assert checks_of["floats"]["verdict"].startswith("not checked exactly: ")


@pytest.mark.heavy
def test_a_lossy_verifier_fails_unless_it_is_known(draftproof, models, briefly):
    briefly()
    few = ("--blocks", 60, "--K", 1, "--L2", 1)
    given = (
        "model",
        "validate",
        "naive",
        "naive_from_target",
        "--world",
        f"{models},roots=1",
        *few,
        "--resume",
        "rows.db",
    )
    ran = draftproof(*given, "-o", "a.json")
    report = json.loads(Path("a.json").read_text())
    assert [(row["verifier"], row["lossless"], row["verdict"]) for row in report["rows"]] == [
        ("naive", True, "exact"),
        ("naive_from_target", False, "exact"),
    ]
    assert ran.code == 1
    wrong = "naive_from_target is not lossless on the tables (--lossy naive_from_target says it is known)"
    assert f"NOT as predicted: {wrong}" in ran.out
    assert report["verdict"] == 1
    known = draftproof(*given, "--lossy", "naive_from_target", "-o", "a.json")
    assert known.code == 0
    assert "all as predicted" not in known.out
    assert "lossy, as is known: naive_from_target (1 cell); the other 1 as predicted" in known.out
    assert known.out.count("LOSSY") == 1
    assert json.loads(Path("a.json").read_text())["about"][0]["known_lossy"] == ["naive_from_target"]
    assert draftproof(*given, "--lossy", "naive").code == 1  # somebody else


@pytest.mark.parametrize(
    ("label", "said"), [("ensemble", "ensemble"), ("naive (runs ensemble)", "'naive (runs ensemble)'")]
)
def test_what_is_known_to_be_lossy_may_write_another_text_and_have_another_law(label, said):
    sound = {"passed": True}
    differ = [{"verifier": label}]
    same = {"tree_attention": sound, "caches": sound, "greedy": {"differ": differ, "passed": False}}
    rows = [{"verifier": label, "lossless": False, "verdict": "exact"}]
    report = run.Report(None, (), (), [label], same, rows, {"failed": [], "passed": True})
    assert report.failures == []
    lossy = f"{label} is not lossless on the tables (--lossy {said} says it is known)"
    assert replace(report, known=["naive"]).failures == ["greedy text", lossy]
    differ.append({"verifier": "naive"})
    assert report.failures == ["greedy text"]


@pytest.mark.heavy
def test_without_a_world_a_pair_is_trained_first(draftproof, tiny_recipe, monkeypatch, tmp_path):
    monkeypatch.setattr(opened, "choose_recipe", lambda *_: tiny_recipe)
    monkeypatch.setattr(opened, "read_corpus", lambda _: tiny_recipe.corpus)
    assert draftproof("model", "validate", "naive", *FEW, "--quick").code == 0
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_says_where_its_rows_are(draftproof, models, monkeypatch, briefly):
    briefly()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "cell_rows", interrupted)
    ran = draftproof(
        "model", "validate", "naive", "--world", f"{models},roots=2", *FEW, "--resume", "rows.db", "-o", "a.json"
    )
    assert ran.code == 130
    assert "interrupted; the rows so far are kept in rows.db" in ran.err
    assert not Path("a.json").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is at hand")
def test_the_same_command_runs_on_cuda(draftproof, models):
    world = models.replace("device=cpu", "device=cuda,roots=2")
    ran = draftproof("model", "validate", "naive", "traversal", "--world", world, *FEW, "--json")
    assert ran.code == 0
    assert ran.json["about"][0]["device"] == torch.cuda.get_device_name()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--world", "models:draft=a"), "models need a folder of `model train`"),
        (("--world", "models:p,draft=early"), "layers is missing; write early:layers=2"),
        (("--world", "models:p,target=a,draft=b"), "both say which models; give one of them"),
        (("--world", "models:p,roots=0"), "roots=0 leaves nothing; give at least 1"),
        (("--seed", -1), "seed -1: give at least 0"),
        (("--replace", "naive=nobody"), "unknown verifier 'nobody'"),
        (("--replace", "naive=ensemble", "--replace", "naive=nss"), "names naive twice"),
        (("--sampling", "temperature=-1"), "temperature -1.0"), (("--sampling", "top_p=2"), "top_p 2.0"),
        (("--K", "2..3", "--L2", "0"), "several branches need L2 of at least 1"),
        (("--scheme", "eagle"), "unknown scheme 'eagle'; did you mean 'eagle2'?"),
        (("--scheme", "dyspec:K=2"), "dyspec"),
        (("--world", "models:target=a,draft=b,device=tpu"), "unknown device 'tpu'"),
        (("--world", "models:p,text=nowhere.txt"), "cannot read text nowhere.txt"),
        (("-o", "no/folder.json"), "cannot write -o"), (("nobody",), "unknown verifier 'nobody'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(draftproof, arguments, said):
    ran = draftproof("model", "validate", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert ran.out == ""


def test_what_fits_no_contest_is_one_line(draftproof, models, briefly):
    briefly()
    for arguments, said in (
        (("naive", "--replace", "block=nss", "--world", models), "block is not among naive"),
        (("optimum", "--world", models), "optimum is planned for one instance"),
        (("naive", "--world", f"{models},roots=10000"), "give no 10000 roots"),
        (("naive", "--vectors", "lists", "--world", models), "'lists' is not one of 'numpy', 'torch'"),
    ):
        ran = draftproof("model", "validate", *arguments, *FEW)
        assert ran.code == 2
        assert said in ran.err
        assert "Traceback" not in ran.err
