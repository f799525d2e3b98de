"""What all verbs share: results in every format, the grammar of worlds, commands made from functions."""

import io
import json
import pickle
import subprocess
import sys
from fractions import Fraction
from inspect import signature
from pathlib import Path

import pandas as pd
import pytest

import draftproof as dp
from draftproof.experiments.inputs.grammar import expand
from draftproof.experiments.inputs.schemes import find_schemes
from draftproof.experiments.inputs.world_grammar import find_worlds
from draftproof.experiments.result import Column, Result, Table
from draftproof.simulator.arithmetic import RATIONAL

HALF = Fraction(91, 36)
TABLE = Table(
    [Column("verifier"), Column("mean", "exact", "E[tau+1]"), Column("share", "percent"), Column("own", shown=False)],
    [["a|b", HALF, 0.25, [1, 2]], ["<b>", Fraction(1, 10**30), None, None]],
)
RESULT = Result("two *rows*", [TABLE], ["a note"], 1, {"w.json": "{}"})


def test_people_read_the_same_number_in_every_format() -> None:
    texts = [str(RESULT), RESULT.markdown(), RESULT.html()]
    for text in texts:
        assert "91/36" in text
        assert "1.0e-30" in text
        assert "25.00%" in text
        assert "own" not in text
    assert "a\\|b" in RESULT.markdown()
    assert "&lt;b&gt;" in RESULT.html()


def test_programs_get_exact_numbers_whole_and_as_floats(tmp_path) -> None:
    fields = json.loads(RESULT.json())
    assert (fields["verdict"], fields["files"], fields["notes"]) == (1, ["w.json"], ["a note"])
    assert fields["rows"][0] == {
        "verifier": "a|b", "mean": "91/36", "mean_float": 91 / 36, "share": 0.25, "share_float": 0.25, "own": [1, 2],
    }  # fmt: skip
    for name in ("r.json", "r.csv", "r.md", "r.html"):
        RESULT.write(tmp_path / name)
    table = pd.read_csv(tmp_path / "r.csv")
    assert list(table["mean"]) == ["91/36", f"1/{10**30}"]
    assert table["mean_float"][0] == 91 / 36
    assert list(pd.DataFrame(RESULT.rows)["mean"]) == [HALF, Fraction(1, 10**30)]
    with pytest.raises(dp.InvalidInput, match=r"cannot write r\.txt: give it a suffix"):
        RESULT.write("r.txt")
    RESULT.save(tmp_path)
    assert (tmp_path / "w.json").read_text() == "{}"


def test_fields_without_a_column_are_for_programs() -> None:
    table = Table.whole([Column("name")], [{"name": "a", "own": 1}, {"name": "b", "other": HALF}])
    assert [column.name for column in table.texts()[0]] == ["name"]
    assert table.fields() == [
        {"name": "a", "own": 1, "other": None}, {"name": "b", "own": None, "other": "91/36"},
    ]  # fmt: skip


def test_what_all_rows_share_is_said_once() -> None:
    table = Table([Column("name"), Column("world")], [["a", "w"], ["b", "w"]])
    assert table.caption == "world w"
    assert [column.name for column in table.texts()[0]] == ["name"]
    assert [set(row) for row in table.fields()] == [{"name", "world"}] * 2


def test_ranges_stand_for_every_number() -> None:
    assert expand("delayed:K=1..2,L2=3..4") == [f"delayed:K={K},L2={L}" for K in (1, 2) for L in (3, 4)]
    assert expand("text:topics") == ["text:topics"]
    with pytest.raises(dp.InvalidInput, match="empty"):
        expand("family:x,seeds=4..3")
    with pytest.raises(dp.TooLarge, match="stands for"):
        expand("family:x,seeds=0..9999999")


def test_one_path_stands_once_and_branches_have_a_length() -> None:
    shapes = find_schemes("delayed", K="1..2", L1="0..1", L2="0..1")
    assert sorted({(each.K, each.depth) for each in shapes}) == [(1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    assert len(shapes) == 5


def test_worlds_are_texts_or_two_processes() -> None:
    worlds = find_worlds("family:perturbed,s=1,vocab=2,seeds=3..5,denominator=20")
    assert [world.source["seed"] for world in worlds] == [3, 4, 5]
    assert worlds[0].source["s"] == 1
    p, q = ["1/2", "1/2"], ["1/4", "3/4"]
    for pair in ((p, q), [p, q], [(p, q)]):
        [world] = find_worlds(pair)
        [case] = world.cases(1, RATIONAL)
        assert list(map(str, case.draft.row(()))) == ["1/4", "3/4"]
    assert len(find_worlds([(p, q), "text:topics", "family:dirichlet"])) == 3
    assert find_worlds("text:topics,vocab=3,root=the")[0].source["root"] == "the"


@pytest.mark.parametrize(
    ("world", "words"),
    [
        ("dirichlet", "did you mean family:dirichlet"), ("topics", "did you mean text:topics"),
        ("famly:dirichlet", "did you mean family"), ("nothing", "write family:.., text:.., models:.. or FILE.json"),
        ("family:perturbed,vocb=3", "vocb"), ("family:dirichlet,vocab=x", "whole number"),
        ("text:topics,seeds=3", "seeds has no meaning for text; it takes vocab"), ("text:topics,roots=0", "at least 1"),
        ("text:topics,vocab=3,vocab=4", "twice"), ("text:topics,root=a,roots=2", "one of the two"),
        ("grid:vocab=2", "needs the denominator"), ("models:", "folder of `model train`"),
        ("missing.json", "missing.json"), ([], "no world is given"), (3, "is no world"), (("a",), "is no world"),
    ],
)  # fmt: skip
def test_a_wrong_world_is_named_with_the_way_out(world, words) -> None:
    if world == "models:":
        pytest.importorskip("torch")
    with pytest.raises(dp.InvalidInput, match=words):
        find_worlds(world)


@pytest.mark.parametrize(
    ("verb", "seldom"),
    [
        ("check", "--max-runs"), ("prove", "--max-trees"), ("audit", "--max-runs"), ("compare", "--max-runs"),
        ("bound", "--gap"), ("claims", None), ("vectors", None), ("report", None), ("verify", None),
        ("model train", "--cost"), ("model validate", "--vectors"), ("model choose", "--clock"),
    ],
)  # fmt: skip
def test_help_is_one_screen_and_the_rest_is_under_help_all(draftproof, verb, seldom) -> None:
    short, full = draftproof(*verb.split(), "--help"), draftproof(*verb.split(), "--help-all")
    assert (short.code, full.code) == (0, 0)
    assert len(short.out.splitlines()) <= 40
    if seldom is not None:
        assert seldom not in short.out
        assert seldom in full.out


def test_a_flag_that_may_be_left_open_has_its_opposite_and_processes_are_for_the_command_line(draftproof) -> None:
    shown = draftproof("compare", "--help-all").out
    assert "--optimum" in shown
    assert "--no-optimum" in shown
    given = ("compare", "naive", "--K", 1, "--L2", 1, "--json")
    left_out, wanted = (draftproof(*given, flag).row["optimum"] for flag in ("--no-optimum", "--optimum"))
    assert left_out is None
    assert wanted is not None
    assert signature(dp.compare).parameters["jobs"].default == 1


def test_files_are_written_by_their_suffix_and_checked_before_the_work(draftproof, tmp_path) -> None:
    given = ("check", "naive_from_target", "--K", 1, "--L2", 1)
    ran = draftproof(*given, "-o", "a.md", "-o", "b.json", "--json")
    assert ran.code == 1
    assert json.loads((tmp_path / "b.json").read_text()) == ran.json
    assert (tmp_path / ran.json["files"][0]).exists()
    refused = draftproof(*given, "-o", "a.txt")
    assert (refused.code, refused.out) == (2, "")
    assert "give it a suffix" in refused.err


@pytest.mark.heavy
@pytest.mark.parametrize(("words", "offered"), [("che", "check"), ("check --wo", "--world")])
def test_a_shell_gets_completions(words, offered) -> None:
    env = {"_DRAFTPROOF_COMPLETE": "complete_bash", "COMP_WORDS": f"draftproof {words}"}
    env["COMP_CWORD"] = str(len(words.split()))
    program = "import os, sys; os.environ.update({}); from draftproof import main; main()"
    ran = subprocess.run([sys.executable, "-c", program.format(env)], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == [offered]


MINE = 'from draftproof.verifiers import make\n\nMine = make("naive_from_target")\n'


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        (("check", "mine.py:Mine"), "--witness"),
        (("compare", "mine.py:Mine"), "--plot"),
        (("compare", "naive", "--scheme", "mine.py:Mine"), "--plot"),
        (("bound", "mine.py:Mine", "--bias", "0"), "--plot"),
        (("prove", "mine.py:Mine"), "--certificate"),
        (("audit", "mine.py:Mine"), "--witness"),
        (("compare", "naive", "--world", "file:mine.py"), "--plot"),
        (("check", "naive", "--world", "text:mine.py", "--world", "family:dirichlet"), "--witness"),
    ],
)
def test_no_file_that_is_read_is_written(draftproof, line, flag) -> None:
    Path("mine.py").write_text(MINE)
    ran = draftproof(*line, flag, "mine.py")
    assert ran.code == 2
    assert "mine.py; give every file its own name" in ran.err
    assert Path("mine.py").read_text() == MINE


def test_a_row_without_numbers_has_the_columns_of_the_others() -> None:
    table = Table([Column("masses", "exact"), Column("mean", "exact")], [[None, HALF], [[HALF, HALF], None]])
    read = pd.read_csv(io.StringIO(table.csv()))
    assert list(read.columns) == ["masses", "mean", "mean_float"] == list(table.fields()[0])
    assert json.loads(read["masses"][1]) == [str(HALF)] * 2
    assert list(read["mean"].fillna("")) == [str(HALF), ""]


def test_parameters_of_a_scheme_from_a_file_are_ranges_too(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "class Own:\n    depth = 1\n    def __init__(self, K):\n        self.K = K\n"
        "    def draw(self, draft, coin):\n        return [(coin.choose(draft.row(())),) for _ in range(self.K)]\n"
    )
    schemes = find_schemes("own.py:Own", K="1..3")
    assert [scheme.as_dict()["file"] for scheme in schemes] == [f"own.py:Own:K={K}" for K in (1, 2, 3)]
    assert [scheme.as_dict() for scheme in map(pickle.loads, map(pickle.dumps, schemes))] == [
        scheme.as_dict() for scheme in schemes
    ]
