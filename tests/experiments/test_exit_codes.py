"""User code and broken streams never produce the exit code of a verdict."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import typer

from experiments import cli
from experiments.shared.streams import told_to_end
from simulator.errors import InvalidInput

PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from experiments.cli import main; main()"
HOSTILE = """
import atexit, os, sys, threading
from simulator import Card
from verifiers import make

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
        ("EndsLast", 2, "no verdict"),
        pytest.param("Naive", 0, "LOSSLESS", marks=pytest.mark.heavy),
        pytest.param("EndsAsRefuted", 2, "ended with exit code 1", marks=pytest.mark.heavy),
        pytest.param("EndsInAThread", 2, "no verdict", marks=pytest.mark.heavy),
        pytest.param("Redirects", 2, "replaced standard output", marks=pytest.mark.heavy),
        pytest.param("Raises", 2, "something raised GeneratorExit: of mine", marks=pytest.mark.heavy),
        pytest.param("Closes", 2, "closed standard output", marks=pytest.mark.heavy),
        pytest.param("Dies", 137, "SIGKILL", marks=pytest.mark.heavy),
        pytest.param("Interrupts", 130, "", marks=pytest.mark.heavy),
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


class Dying:
    """Is told to end while it is being removed, where an exception is swallowed."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def swallow_and_wait() -> None:
    Dying()
    for _ in range(1000):
        time.sleep(0.02)


def test_a_signal_that_is_swallowed_comes_again(capsys):
    with told_to_end() as came:
        with pytest.raises(KeyboardInterrupt):
            swallow_and_wait()
        assert len(came) == 2
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_after_the_last_line_of_the_work_has_its_own_code(monkeypatch, number, code):
    program = typer.Typer()
    program.command()(lambda: 0)
    monkeypatch.setattr(sys, "argv", ["program"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background begins without it
    try:
        assert cli.run(program) == 0
        monkeypatch.setattr(cli, "quietly_closed", lambda: os.kill(os.getpid(), number))
        assert cli.run(program) == code
    finally:
        signal.signal(signal.SIGINT, before)


class Unfinished:
    """A module whose import makes an error of its own of a signal that comes in its midst, as compiled ones do."""

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == "unfinished" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        try:
            signal.raise_signal(self.number)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None


def missing() -> int:
    try:
        import unfinished  # noqa: F401
    except ImportError:
        raise InvalidInput("this needs unfinished: pip install unfinished") from None
    return 0


def unnamed() -> int:
    try:
        import unfinished  # noqa: F401
    except ImportError:
        raise SystemError("returned a result with an exception set") from None
    return 0


def unsaved() -> int:
    try:
        signal.raise_signal(Unfinished.number)
    except KeyboardInterrupt:
        raise InvalidInput("cannot write rows.jsonl: no space left") from None
    return 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize(("work", "said"), [(missing, ""), (unnamed, ""), (unsaved, "rows.jsonl")])
def test_what_was_made_of_a_signal_has_the_code_of_the_signal(monkeypatch, capsys, number, code, work, said):
    program = typer.Typer()
    program.command()(work)
    monkeypatch.setattr(sys, "argv", ["program"])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Unfinished()])
    monkeypatch.setattr(Unfinished, "number", number, raising=False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background begins without it
    try:
        assert cli.run(program) == code
    finally:
        signal.signal(signal.SIGINT, before)
    err = capsys.readouterr().err
    assert "unfinished" not in err
    assert "Traceback" not in err
    assert said in err


WITHIN_TEXT = """
import signal
from experiments.cli import run_command

signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background begins without it

def main():
    exec("import time; print('at work', flush=True); time.sleep(60)")
    return 0

if __name__ == "__main__":
    run_command(main)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_within_code_that_is_made_of_text_has_its_own_code(tmp_path, number, code):
    (tmp_path / "study.py").write_text(WITHIN_TEXT)
    with subprocess.Popen([sys.executable, "-m", "study"], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"at work\n"
        process.send_signal(number)
        assert process.wait(60) == code
