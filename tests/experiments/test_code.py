"""Digests of code: they change with everything that a result depends on; rows of other code are not believed."""

import importlib
import os
import sys
from pathlib import Path

import pytest

from draftproof.experiments.grid import machines, store
from draftproof.experiments.shared import code
from draftproof.experiments.shared.code import ROOT, own_digest
from draftproof.simulator.errors import InvalidInput
from tests.quick import quick


def test_a_change_of_any_source_of_ours_changes_the_digest_of_all(tmp_path, monkeypatch):
    monkeypatch.setattr(code, "ROOT", tmp_path)
    (tmp_path / "simulator" / "deep").mkdir(parents=True)
    own_digest.cache_clear()
    before = own_digest()
    (tmp_path / "simulator" / "deep" / "table.npz").write_bytes(b"1")
    own_digest.cache_clear()
    after = own_digest()
    own_digest.cache_clear()
    assert before != after


VERIFIER = """
import rate
from draftproof.simulator import Verdict
from draftproof.verifiers.naive import Naive

class Mine(Naive):
    def verify(self, root, coin):
        {first}
        if coin.flip(rate.RATE):
            return Verdict(root.context, coin.choose(root.draft))
        return super().verify(root, coin)
"""
SCHEME = """
from shape import DEPTH

class Line:
    depth = DEPTH

    def draw(self, draft, coin):
        path = ()
        for _ in range(self.depth):
            path += (coin.choose(draft.row(path)),)
        return [path]
"""
SMALL = ("--world", "family:dirichlet,vocab=2", "--jobs", "1", "--arithmetic", "rational")
WORLDS = """
verifiers = ["naive", "here/mine.py:Mine"]
arithmetic = "rational"
world = "family:dirichlet,vocab=2"
scheme = "here/line.py:Line"
"""
COMMANDS = {
    "compare": ("compare", "naive", "here/mine.py:Mine", "--scheme", "here/line.py:Line", *SMALL, "--resume", "kept"),
    "prove": ("prove", "here/mine.py:Mine", "--scheme", "here/line.py:Line", "--vocab", "2", "--jobs", "1",
              "--resume", "kept"),
    "file": ("compare", "worlds.toml", "--allow-code", "--jobs", "1", "--resume", "kept"),
}  # fmt: skip


@pytest.fixture
def ran(draftproof, tmp_path, monkeypatch):
    """Runs a command as if in a new process; a verifier and a scheme are in one folder, their helpers in another."""
    for folder in ("here", "src"):
        Path(folder).mkdir()
    Path("here/mine.py").write_text(VERIFIER.format(first="pass"))
    Path("here/line.py").write_text(SCHEME)
    Path("src/rate.py").write_text("RATE = 0\n")
    Path("src/shape.py").write_text("DEPTH = 1\n")
    Path("worlds.toml").write_text(WORLDS)
    monkeypatch.syspath_prepend(tmp_path / "src")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def forget():
        code._used.clear()
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
                del sys.modules[name]

    def run(*words):
        forget()
        importlib.invalidate_caches()
        return draftproof(*words)

    yield run
    forget()


def test_files_of_others_are_none_of_ours_and_none_that_are_installed(ran):
    assert ran(*COMMANDS["compare"]).code == 0
    every = {Path(file) for file in code.outside_files()}  # other tests of this process have loaded files of their own
    assert not [file for file in every if file.is_relative_to(ROOT) and not file.is_relative_to(ROOT / "tests")]
    files = {file for file in every if file.is_relative_to(Path.cwd().resolve())}
    assert files == {Path(file).resolve() for file in ("here/mine.py", "here/line.py", "src/rate.py", "src/shape.py")}


@pytest.mark.heavy
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("changed", ["src/rate.py", "src/shape.py"])
def test_rows_are_not_believed_once_a_module_elsewhere_has_changed(ran, command, changed):
    if command == "prove":
        pytest.importorskip("z3")
    first = ran(*COMMANDS[command])
    assert first.code == 0
    again = ran(*COMMANDS[command])
    assert (again.code, "not taken" in again.err) == (0, False)
    Path(changed).write_text(Path(changed).read_text() + "# other\n")
    other = ran(*COMMANDS[command])
    assert (other.code, "not taken" in other.err) == (0, True)
    if command == "file":
        assert "not taken" not in ran(*COMMANDS[command]).err  # they are replaced


def test_a_verdict_follows_a_module_elsewhere(ran):
    assert "REFUTED " not in ran(*COMMANDS["compare"]).out
    Path("src/rate.py").write_text("RATE = 1\n")
    assert ran(*COMMANDS["compare"]).out.count("REFUTED ") == 1
    Path("src/rate.py").write_text("RATE = 0\n")
    assert "REFUTED " not in ran(*COMMANDS["compare"]).out


#: What a verifier executes when it is loaded and when it verifies, and a file that then is another one.
EXECUTED = {
    "run": ("import runpy; runpy.run_path('src/late.py')", "pass", "src/late.py"),
    "text": ("import pathlib; exec(pathlib.Path('src/late.py').read_text())", "pass", "src/late.py"),
    "module by its file": (
        "import importlib.util as u; s = u.spec_from_file_location('late', 'src/late.py'); "
        "s.loader.exec_module(u.module_from_spec(s))", "pass", "src/late.py",
    ),
    "imported while it verifies": ("", "import late", "src/late.py"),
    "new in front of an old one": ("", "pass", "here/rate.py"),
}  # fmt: skip


@pytest.mark.parametrize("name", quick(EXECUTED, ("run", "new in front of an old one")))
def test_a_file_that_is_executed_counts(ran, name):
    first, later, changed = EXECUTED[name]
    Path("src/late.py").write_text("")
    Path("here/mine.py").write_text(f"{first}\n" + VERIFIER.format(first=later))
    assert ran(*COMMANDS["compare"]).code == 0
    assert "not taken" not in ran(*COMMANDS["compare"]).err
    Path(changed).write_text("RATE = 0  # other\n")
    assert "not taken" in ran(*COMMANDS["compare"]).err


@pytest.mark.heavy
def test_a_module_that_another_process_imports_counts(ran, monkeypatch, tmp_path):
    monkeypatch.setattr(machines, "PARALLEL_FROM_SECONDS", 0)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(tmp_path / "src")]))
    Path("here/mine.py").write_text(VERIFIER.format(first="import late"))
    Path("src/late.py").write_text("")
    line = [*COMMANDS["compare"]]
    line[line.index("--jobs") + 1] = "2"
    assert ran(*line).code == 0
    assert "not taken" not in ran(*line).err
    Path("src/late.py").write_text("# other\n")
    assert "not taken" in ran(*line).err


def test_rows_of_ours_do_not_depend_on_the_files_of_others(ran):
    line = [word for word in COMMANDS["compare"] if word not in ("--scheme", "here/line.py:Line")]
    assert ran(*line, "--no-optimum").code == 0
    Path("src/rate.py").write_text("RATE = 0  # other\n")
    assert "1 row (1 more are kept" in ran(*line, "--no-optimum").err


@pytest.mark.parametrize("command", COMMANDS)
def test_rows_of_another_draftproof_are_not_believed(draftproof, monkeypatch, command):
    if command == "prove":
        pytest.importorskip("z3")
    Path("worlds.toml").write_text(WORLDS.replace(', "here/mine.py:Mine"', "").replace("here/line.py:Line", "delayed"))
    line = [word.replace("here/mine.py:Mine", "block") for word in COMMANDS[command]]
    line = [{"here/line.py:Line": "delayed:K=1,L1=0,L2=1"}.get(word, word) for word in line]
    assert draftproof(*line).code == 0
    assert "not taken" not in draftproof(*line).err
    monkeypatch.setattr(store, "_ours", lambda: "another")
    assert "not taken" in draftproof(*line).err


def test_a_file_that_changes_while_a_run_uses_it_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(code, "_used", {})
    code.add_used({"mine.py": "1"})
    code.add_used({"mine.py": "1"})
    with pytest.raises(InvalidInput, match=r"mine.py was changed while this run used it"):
        code.add_used({"mine.py": "2"})
