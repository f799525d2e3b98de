"""`draftproof model validate` exit codes, the table, planted biases, and one line for bad input."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.pair import folder, opened
from draftproof.experiments.models.pair.training import Recipe
from draftproof.experiments.models.validate import checks, run
from draftproof.experiments.models.validate.run import failures

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

FEW = ("--roots", 2, "--blocks", 300, "--K", 1, "--L2", "1..2")


@pytest.fixture
def models(tiny_folder: Path, tmp_path: Path) -> tuple[object, ...]:
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    where = ("--device", "cpu", "--text", tmp_path / "text.txt")
    return ("--target", tiny_folder / "target", "--draft", tiny_folder / "draft", *where)


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Less of what comes before the cells and is not what a test is about; whole in the first one of this file."""
    whole = checks.greedy_text

    def begin() -> None:
        monkeypatch.setattr(run, "TREES", 4)
        monkeypatch.setattr(run, "BLOCKS", 20)
        monkeypatch.setattr(checks, "greedy_text", lambda pair, prompt, _: whole(pair, prompt, 40))

    return begin


@pytest.mark.heavy
def test_a_pair_is_validated_and_rows_are_kept(
    draftproof: Callable[..., Any], models: tuple[object, ...], briefly: Callable[[], None]
) -> None:
    given = ("model", "validate", "naive", "block", *models, *FEW, "--resume", "rows.db")
    ran = draftproof(*given, "--json", "a.json", "--markdown", "a.md", "--plot", "a.png", "--times", "t.json")
    assert ran.code == 0
    report = json.loads(Path("a.json").read_text())
    assert report["consistent"]
    assert [(row["verifier"], row["shape"]) for row in report["rows"]] == [
        (name, shape) for shape in ("1, 0, 1", "1, 0, 2") for name in ("naive", "block")
    ]
    assert all(row["blocks"] == 300 for row in report["rows"])
    assert "bits per character" not in ran.out  # which is known of a pair of `model train` alone
    for said in (
        "tree attention",
        "caches after 200 blocks",
        "greedy: 200 tokens",
    ):
        assert said in ran.out
    assert "all as predicted" in ran.out
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert "| 1, 0, 2" in Path("a.md").read_text()
    assert "times: t.json, for compare --cost" in ran.out
    timed = draftproof("compare", "naive", "--K", 1, "--L2", "1..3", "--cost", "t.json", "--json").json["rows"]
    times = json.loads(Path("t.json").read_text())
    expected = [row["nodes"] * times["draft"]["1"] + times["target"][str(row["nodes"])] for row in timed]
    assert [row["time"] for row in timed] == pytest.approx(expected, rel=1e-12)  # sums in another order
    briefly()
    again = draftproof(*given, "--json", "-")
    assert again.json["rows"] == report["rows"]
    assert again.code == 0


@pytest.mark.heavy
def test_a_verifier_of_a_file_in_place_of_another_is_found_out(
    draftproof: Callable[..., Any], models: tuple[object, ...], tmp_path: Path, briefly: Callable[[], None]
) -> None:
    briefly()
    (tmp_path / "mine.py").write_text(LIAR, encoding="utf-8")
    ran = draftproof(
        "model",
        "validate",
        "naive",
        "block",
        *models,
        *FEW,
        "--replace",
        "naive=mine.py:Eager",
        "--json",
        "r.json",
    )
    assert ran.code == 1
    assert "NOT as predicted" in ran.out
    report = json.loads(Path("r.json").read_text())
    name = "naive (runs eager)"
    assert {each["verifier"] for each in report["table"]["failed"]} == {name}
    own = [row["own_law"] for row in report["rows"] if row["verifier"] == name]
    assert [each["block_efficiency"] for each in own] == pytest.approx([2, 3])  # accepts all drafts
    assert [row["own_law"] for row in report["rows"] if row["verifier"] == "block"] == [None, None]
    assert ran.out.index(f"{name}: REFUTED on delayed") < ran.out.index("tree attention")  # before any model runs
    (checked,) = report["exact_checks"]
    assert (checked["verifier"], checked["lossless"]) == (name, False)
    assert Path(checked["witness"]["file"]).is_file()
    again = draftproof("check", "mine.py:Eager", "--world", checked["witness"]["file"])
    assert (again.code, "NOT LOSSLESS" in again.out or "REFUTED" in again.out) == (1, True)
    assert f"{name} is refuted by the exact check (--lossy '{name}' says it is known)" in ran.out


@pytest.mark.heavy
def test_a_verifier_of_a_file_that_holds_exactly_is_validated_like_ours(
    draftproof: Callable[..., Any], models: tuple[object, ...], tmp_path: Path, briefly: Callable[[], None]
) -> None:
    briefly()
    (tmp_path / "mine.py").write_text(SOUND, encoding="utf-8")
    few = ("--roots", 1, "--blocks", 60, "--K", 1, "--L2", 1, "--json", "r.json")
    ran = draftproof("model", "validate", "mine.py:Sound", "mine.py:Floats", *models, *few)
    assert ran.code == 0, ran.out
    checks_of = {each["verifier"]: each for each in json.loads(Path("r.json").read_text())["exact_checks"]}
    assert checks_of["sound"]["lossless"] is True
    assert checks_of["sound"]["instances"] > 50
    assert f"sound: lossless on {checks_of['sound']['instances']} small instances, exactly" in ran.out
    assert checks_of["floats"]["lossless"] is None  # it takes no fractions, and is measured all the same
    assert "floats: not checked exactly: " in ran.out


@pytest.mark.heavy
def test_a_lossy_verifier_fails_unless_it_is_known(
    draftproof: Callable[..., Any], models: tuple[object, ...], briefly: Callable[[], None]
) -> None:
    briefly()
    few = ("--roots", 1, "--blocks", 60, "--K", 1, "--L2", 1)
    given = ("model", "validate", "naive", "naive_from_target", *models, *few, "--resume", "rows.db")
    ran = draftproof(*given, "--json", "a.json")
    report = json.loads(Path("a.json").read_text())
    assert [(row["verifier"], row["lossless"], row["verdict"]) for row in report["rows"]] == [
        ("naive", True, "exact"),
        ("naive_from_target", False, "exact"),
    ]
    assert ran.code == 1
    wrong = "naive_from_target is not lossless on the tables (--lossy naive_from_target says it is known)"
    assert f"NOT as predicted: {wrong}" in ran.out
    assert not report["consistent"]
    known = draftproof(*given, "--lossy", "naive_from_target", "--json", "a.json")
    assert known.code == 0
    assert "all as predicted" not in known.out
    assert "lossy, as is known: naive_from_target (1 cell); the other 1 as predicted" in known.out
    assert len(re.findall("LOSSY", known.out)) == 1
    assert json.loads(Path("a.json").read_text())["known_lossy"] == ["naive_from_target"]
    assert draftproof(*given, "--lossy", "naive").code == 1  # somebody else


@pytest.mark.parametrize(
    ("label", "said"), [("ensemble", "ensemble"), ("naive (runs ensemble)", "'naive (runs ensemble)'")]
)
def test_what_is_known_to_be_lossy_may_write_another_text_and_have_another_law(label: str, said: str) -> None:
    sound = {"passed": True}
    report = {
        "same": {
            "tree_attention": sound,
            "caches": sound,
            "greedy": {"differ": [{"verifier": label}], "passed": False},
        },
        "table": {"failed": [], "passed": True},
        "rows": [{"verifier": label, "lossless": False, "verdict": "exact"}],
        "exact_checks": [],
    }
    assert failures({**report, "known_lossy": [label]}) == []
    lossy = f"{label} is not lossless on the tables (--lossy {said} says it is known)"
    assert failures({**report, "known_lossy": ["naive"]}) == ["greedy text", lossy]
    report["same"]["greedy"]["differ"].append({"verifier": "naive"})
    assert failures({**report, "known_lossy": [label]}) == ["greedy text"]


@pytest.mark.heavy
def test_without_models_a_pair_is_trained_first(
    draftproof: Callable[..., Any], tiny_recipe: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(opened, "choose_recipe", lambda *_: tiny_recipe)
    monkeypatch.setattr(opened, "read_corpus", lambda _: tiny_recipe.corpus)
    given = ("model", "validate", "naive", *FEW, "--device", "cpu", "--pair", "made")
    assert draftproof(*given).code == 0
    assert (tmp_path / "made" / "pair.json").is_file()
    monkeypatch.setattr(folder, "_train_both", None)  # it is there and is not trained again
    ran = draftproof(*given)
    assert ran.code == 0
    assert "made holds a pair already" in ran.err
    other_seed = draftproof(*given, "--seed", 5)
    assert other_seed.code == 0  # of the runs: the pair is used as it is
    refused = draftproof(*given, "--vocab", 4)
    assert refused.code == 2
    assert "made holds a pair with vocab_size 8, not 4; leave out --vocab" in refused.err


def test_an_interrupted_run_says_where_its_rows_are(
    draftproof: Callable[..., Any],
    models: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
    briefly: Callable[[], None],
) -> None:
    briefly()

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "cell_rows", interrupted)
    ran = draftproof("model", "validate", "naive", *models, *FEW, "--resume", "rows.db", "--json", "a.json")
    assert ran.code == 130
    assert "interrupted; rows so far are kept in rows.db" in ran.err
    assert not Path("a.json").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is at hand")
def test_the_same_command_runs_on_cuda(draftproof: Callable[..., Any], models: tuple[object, ...]) -> None:
    ran = draftproof("model", "validate", "naive", "traversal", *models, *FEW, "--device", "cuda", "--json", "a.json")
    assert ran.code == 0
    assert json.loads(Path("a.json").read_text())["device"] == torch.cuda.get_device_name()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "nowhere", "--draft", "nowhere"), "nowhere"),
        (("--target", "a"), "target is given without draft"),
        (("--draft", "a"), "--draft is given without --target or --pair"),
        (("--pair", "p", "--draft", "early"), "layers is missing; write early:layers=2"),
        (("--pair", "p", "--target", "a", "--draft", "b"), "--pair and --target both say which models"),
        (("--target", "a", "--draft", "b", "--vocab", 4), "--vocab and --tokenizer belong to a pair that is trained"),
        (("--replace", "naive"), "write NAME=OTHER"), (("--replace", "naive=nobody"), "unknown verifier 'nobody'"),
        (("--replace", "naive=ensemble", "--replace", "naive=nss"), "names naive twice"),
        (("--sampling", "temperature=-1"), "temperature -1.0"), (("--sampling", "top_p=2"), "top_p 2.0"),
        (("--K", "2", "--L2", "0"), "no shape in the ranges"),
        (("--scheme", "eagle"), "unknown scheme 'eagle'; did you mean 'eagle2'?"),
        (("--scheme", "dyspec:K=2"), "dyspec"), (("--device", "tpu"), "unknown device 'tpu'"),
        (("--text", "nowhere.txt"), "cannot read text nowhere.txt"),
        (("--json", "no/folder.json"), "cannot write --json"), (("nobody",), "unknown verifier 'nobody'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(draftproof: Callable[..., Any], arguments: tuple[object, ...], said: str) -> None:
    ran = draftproof("model", "validate", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert ran.out == ""


def test_what_fits_no_contest_is_one_line(
    draftproof: Callable[..., Any], models: tuple[object, ...], briefly: Callable[[], None]
) -> None:
    briefly()
    for arguments, said in (
        (("naive", "--replace", "block=nss"), "block is not among naive"),
        (("optimum",), "optimum is planned for one instance"),
        (("naive", "--roots", 10_000), "give no 10000 roots"),
        (("naive", "--vectors", "lists"), "unknown vectors 'lists'"),
    ):
        ran = draftproof("model", "validate", *arguments, *models, *FEW[2:])
        assert ran.code == 2
        assert said in ran.err
        assert "Traceback" not in ran.err
