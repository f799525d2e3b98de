"""User code and broken streams never produce the exit code of a verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.cli import main; main()"
HOSTILE = """
import atexit, os, sys, threading
from draftproof.simulator import Card
from draftproof.verifiers import make

class Naive:
    card = Card(name="mine", title="mine", source=None)
    def verify(self, root, coin):
        self.first()
        return make("naive").verify(root, coin)
    def first(self):
        pass

class Lossy(Naive):
    def verify(self, root, coin):
        return make("naive_from_target").verify(root, coin)

class Exits(Naive):
    def first(self):
        sys.exit(0)

class Ends(Naive):
    def first(self):
        os._exit(0)

class EndsAsRefuted(Naive):
    def first(self):
        os._exit(1)

class EndsLast(Naive):
    def first(self):
        atexit.register(os._exit, 0)

class EndsInAThread(Naive):
    def first(self):
        threading.Thread(target=os._exit, args=(0,)).start()
        threading.Event().wait(5)

class Interrupts(Naive):
    def first(self):
        raise KeyboardInterrupt

class Redirects(Naive):
    def first(self):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

class Raises(Naive):
    def first(self):
        raise GeneratorExit("of mine")

class Closes(Naive):
    def first(self):
        sys.__stdout__.close()

class Dies(Naive):
    def first(self):
        os.kill(os.getpid(), 9)
"""
SMALL = ("--K", "1", "--L2", "1", "--vocab", "2")


def ran(folder: Path, *arguments: str, **streams) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        check=False,
        cwd=folder,
        capture_output=not streams,
        text=True,
        timeout=120,
        **streams,
    )
    return done.returncode, done.stdout or "", done.stderr or ""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    (tmp_path / "hostile.py").write_text(HOSTILE)
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("Lossy", 1, "REFUTED"),
        ("Ends", 2, "no verdict: the process that ran your code was ended with exit code 0"),
        pytest.param("EndsLast", 0, "LOSSLESS", marks=pytest.mark.heavy),
        pytest.param("Naive", 0, "LOSSLESS", marks=pytest.mark.heavy),
        pytest.param("EndsAsRefuted", 2, "ended with exit code 1", marks=pytest.mark.heavy),
        pytest.param("EndsInAThread", 2, "no verdict", marks=pytest.mark.heavy),
        pytest.param("Redirects", 0, "LOSSLESS", marks=pytest.mark.heavy),
        pytest.param("Raises", 2, "something raised GeneratorExit: of mine", marks=pytest.mark.heavy),
        pytest.param("Closes", 0, "LOSSLESS", marks=pytest.mark.heavy),
        pytest.param("Dies", 2, "SIGKILL", marks=pytest.mark.heavy),
        pytest.param("Interrupts", 2, "something raised KeyboardInterrupt", marks=pytest.mark.heavy),
    ],
)
def test_the_exit_code_is_that_of_a_delivered_verdict_or_none(hostile, name, code, said):
    found, out, err = ran(hostile, "check", f"hostile.py:{name}", *SMALL)
    assert (found, "Traceback" in err) == (code, False), err
    assert said in out + err


def test_a_module_that_ends_the_process_is_no_verdict(tmp_path, monkeypatch):
    (tmp_path / "ends.py").write_text("import os\nos._exit(0)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(tmp_path)))))
    found, out, err = ran(tmp_path, "audit", "ends:function")
    assert (found, out) == (2, "")
    assert "no verdict: the process that ran your code was ended with exit code 0" in err


@pytest.mark.parametrize(
    "where", ["verifier", pytest.param("scheme", marks=pytest.mark.heavy), pytest.param("run", marks=pytest.mark.heavy)]
)
def test_a_file_named_in_a_toml_that_ends_the_process_is_no_verdict(hostile, where):
    (hostile / "ends.py").write_text("import os\nos._exit(0)\n")
    verifier = {"verifier": "ends.py:Any", "scheme": "naive", "run": "hostile.py:Ends"}[where]
    scheme = "ends.py:Any" if where == "scheme" else "delayed:K=1,L1=0,L2=1"
    world = '[[worlds]]\nfamily = "perturbed:s=1"\nvocab = 2\n'
    (hostile / "given.toml").write_text(
        f'[sweep]\nverifiers = ["{verifier}"]\n{world}[[schemes]]\nscheme = "{scheme}"\n'
    )
    found, out, err = ran(hostile, "sweep", "given.toml", "--allow-code", "--jobs", "1")
    assert (found, out) == (2, "")
    assert "no verdict: the process that ran your code was ended with exit code 0" in err


def test_code_of_a_checkout_that_ends_the_process_is_no_verdict(tmp_path):
    pytest.importorskip("torch")
    file = tmp_path / "EAGLE" / "eagle" / "model" / "utils.py"
    file.parent.mkdir(parents=True)
    file.write_text("import os\nos._exit(0)\n")
    found, out, err = ran(tmp_path, "gallery", "eagle-posterior", "--checkout", ".")
    assert (found, out) == (2, "")
    assert "no verdict: the process that ran your code was ended with exit code 0" in err


@pytest.mark.parametrize("error", ["BaseException('mine')", "GeneratorExit('mine')"])
def test_an_error_that_is_no_exception_is_one_line(draftproof, hostile, error):
    (hostile / "raises.py").write_text(f"raise {error}\n")
    ran = draftproof("check", "raises.py:Any")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"draftproof: something raised {error.partition('(')[0]}: mine")


@pytest.mark.parametrize("command", ["check", "compare", "matrix"])
@pytest.mark.parametrize("what", ["hostile.py:Exits", "leaves.py:Any"])
def test_sys_exit_in_a_file_is_bad_input(draftproof, hostile, command, what):
    ran = draftproof(command, what, *(SMALL if command != "matrix" else ()))
    assert ran.code == 2
    assert "draftproof: " in ran.err
    assert "exit" in ran.err.lower()
    assert ran.out == ""


@pytest.mark.parametrize("command", ["audit", "validate"])
def test_sys_exit_at_import_is_bad_input_elsewhere_too(draftproof, hostile, command):
    ran = draftproof(*{"audit": ("audit", "leaves.py:f"), "validate": ("validate", "leaves.py:f")}[command])
    assert ran.code == 2
    assert ran.err.strip().splitlines()[-1].startswith("draftproof: ")


def test_a_closed_pipe_is_no_refutation(tmp_path):
    command = [sys.executable, "-c", PROGRAM, "check", "block", *SMALL]
    read, write = os.pipe()
    os.close(read)
    code, _, _ = ran(tmp_path, *command[3:], stdout=write, stderr=subprocess.DEVNULL)
    os.close(write)
    assert code == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_verdict_that_could_not_be_written_is_none(tmp_path):
    with open("/dev/full", "w") as full:
        code, _, _ = ran(tmp_path, "check", "block", *SMALL, "--json", "-", stdout=full, stderr=subprocess.DEVNULL)
    assert code == 2


def test_a_closed_standard_output_is_refused(tmp_path):
    shell = f'exec "{sys.executable}" -c "{PROGRAM}" check block --K 1 --L2 1 >&-'
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr
