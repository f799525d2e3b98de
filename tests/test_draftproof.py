"""The face: every name is there, and numbers leave it as Python's own."""

import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import draftproof

ROOT = Path(__file__).resolve().parents[1]
P = [["1/2", "1/3", "1/6"]], [["1/6", "1/3", "1/2"]] * 3
Q = [["1/3", "1/3", "1/3"]], [["1/2", "1/4", "1/4"]] * 3


def test_every_name_is_there() -> None:
    assert all(getattr(draftproof, name) is not None for name in draftproof.__all__)
    assert set(draftproof.__all__) <= set(dir(draftproof))


def test_help_begins_with_the_verbs() -> None:
    verbs = "check prove audit compare bound claims model report list verify"
    lines = pydoc.plain(pydoc.render_doc(draftproof)).partition("DESCRIPTION")[2].splitlines()
    assert [line.split()[0] for line in lines[1:11]] == verbs.split()


def numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(key)
            yield from numbers(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from numbers(inner)
    else:
        yield value


@pytest.mark.parametrize("arithmetic", ["rational", "float64"])
def test_no_type_of_flint_leaves_the_library(arithmetic: str) -> None:
    target, draft = draftproof.TableProcess(P), draftproof.TableProcess(Q)
    law = draftproof.block_law("traversal", target, draft, "delayed:K=2,L1=0,L2=1", arithmetic)
    verdict = draftproof.check("ensemble:w=1/2", (target, draft), "delayed:K=2,L1=0,L2=1", arithmetic=arithmetic)
    rows = draftproof.compare(
        ["naive", "specinfer"], (target, draft), "delayed:K=2,L1=0,L2=1", arithmetic=arithmetic
    ).rows
    witness = draftproof.find_witness("ensemble:w=1/2", "delayed:K=2,L1=0,L2=1")
    bound = draftproof.bound(world=(target, draft), scheme="delayed:K=2,L1=0,L2=1", bias=[0, 0.1])
    assert witness is not None
    results = [
        law.as_dict(),
        *verdict.tables[0].records(),
        *verdict.tables[1].records(),
        *rows,
        witness.to_dict(),
        *bound.rows,
    ]
    found = {type(value) for value in numbers(results)}
    assert found <= {Fraction, float, int, str, bool, type(None)}
    assert (Fraction if arithmetic == "rational" else float) in {type(mass) for mass in law.as_dict().values()}
    total = sum(law.as_dict().values())
    assert total == 1 if arithmetic == "rational" else abs(total - 1) < 1e-12  # rounding of a dozen sums


def test_results_show_themselves() -> None:
    target, draft = draftproof.TableProcess(P), draftproof.TableProcess(Q)
    shape = "delayed:K=2,L1=0,L2=1"
    verdict = draftproof.check("ensemble:w=1/2", (target, draft), shape)
    assert repr(verdict).startswith("ensemble:w=1/2 on delayed(K=2, L1=0, L2=1)\n")
    law = draftproof.block_law("naive", target, draft, shape)
    assert repr(law) == "BlockLaw(V = 3, depth 1, rational: block efficiency 11/6)"
    tree = draftproof.DraftTree({(): (0, 2), (0,): (1,)})
    assert repr(tree) == "DraftTree((): 0, 2; (0,): 1)"
    assert repr(tree.root(target, draft)) == "TreeNode((): children (0, 2), p = (1/2, 1/3, 1/6), q = (1/3, 1/3, 1/3))"
    assert repr(target) == "TableProcess(process: V = 3, depth 1, rational)"
    bound = draftproof.bound(world=(target, draft), scheme=shape)
    assert "attained  " in repr(bound)
    rows = draftproof.compare("naive", (target, draft), shape, arithmetic="rational")
    assert "11/6" in repr(rows)
    for result in (verdict, rows, bound):
        assert "<table>" in result._repr_html_()
        assert "flint" not in result._repr_html_()


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = {"PYTHONPATH": f"{folder}:{ROOT}", "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, *command], cwd=folder, env=path, capture_output=True, text=True, check=False)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["verifiers", "simulator", "experiments"])
def test_another_package_of_the_name_of_a_room_does_not_matter(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise ImportError('another package')", encoding="utf-8")
    assert run(tmp_path, "-m", "draftproof", "check", "block", "--K", "1", "--L2", "1").returncode == 0


def test_only_the_package_is_imported_by_its_name() -> None:
    """A module that is loaded under two names would be two modules."""
    wrong = re.compile(r"^\s*(?:from|import) (?:simulator|verifiers|lp_analysis|experiments)\b", re.MULTILINE)
    rooms = ("draftproof", "simulator", "verifiers", "lp_analysis", "experiments", "tests")
    files = {path for room in rooms for path in (ROOT / room).rglob("*.py")}
    assert len(files) > 500
    assert [path for path in files if wrong.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("check block --K 1 --L2 1", 0, "LOSSLESS (proved"),
        pytest.param("check ensemble:w=1/2 --K 1 --L2 1", 1, "REFUTED", marks=pytest.mark.heavy),
        ("check blok", 2, "unknown verifier 'blok'"),
        pytest.param("", 2, "Usage: draftproof [OPTIONS] COMMAND", marks=pytest.mark.heavy),
    ],
)
def test_the_package_is_the_command_too(tmp_path: Path, command: str, code: int, said: str) -> None:
    ran = run(tmp_path, "-m", "draftproof", *command.split())
    assert (ran.returncode, said in ran.stdout + ran.stderr) == (code, True)


def test_the_face_loads_no_solver_and_no_audit() -> None:
    heavy = "scipy,torch,matplotlib,pandas,hypothesis,typer,numpy"
    code = f"import sys, draftproof; print([name for name in {heavy!r}.split(',') if name in sys.modules])"
    assert run(ROOT, "-c", code).stdout == "[]\n"


@pytest.mark.parametrize(
    ("failure", "code"), [(KeyboardInterrupt(), 130), (ImportError("half a library"), 70), (SystemExit(1), 1)]
)
def test_what_fails_before_the_work_does_not_end_with_the_code_of_refuted(monkeypatch, capsys, failure, code):
    def fail() -> None:
        raise failure

    monkeypatch.setattr("draftproof.experiments.cli.main", fail)
    with pytest.raises(SystemExit) as ended:
        draftproof.main()
    assert ended.value.code == code
    assert ("half a library" in capsys.readouterr().err) == (code == 70)
