"""Ctrl-C and SIGTERM have exit codes of their own, whatever libraries make of them on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
import typer

from draftproof.experiments import cli
from draftproof.experiments.shared.streams import AGAIN, told_to_end
from draftproof.simulator.errors import InvalidInput


@pytest.fixture
def ended(monkeypatch, capsys):
    """Runs something as a program of its own, which hears Ctrl-C: its exit code, and what it says."""

    def run(work) -> tuple[int, str]:
        program = typer.Typer()
        program.command()(work)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["program"])
            patched.setattr(sys, "unraisablehook", lambda it: sys.stderr.write(f"{it.exc_value}"))
            before = signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                return cli.run(program), capsys.readouterr().err
            finally:
                signal.signal(signal.SIGINT, before)

    return run


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


@pytest.fixture
def torch_to_import(monkeypatch) -> ModuleType:
    """Torch in the midst of its import."""
    module = ModuleType("torch")
    module.__spec__ = ModuleSpec("torch", None)
    module.__spec__._initializing = True
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


BOTH = pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])


@BOTH
def test_a_signal_waits_until_torch_is_imported(ended, torch_to_import, number, code):
    reached: list[str] = []

    def work() -> None:
        signal.raise_signal(number)
        time.sleep(3 * AGAIN)
        reached.append("imported")
        torch_to_import.__spec__._initializing = False
        for _ in range(1000):
            time.sleep(0.02)
        reached.append("worked")

    assert ended(work) == (code, "")
    assert reached == ["imported"]


@BOTH
@pytest.mark.parametrize("ready", [True, False])
def test_a_signal_that_waits_is_not_lost_where_the_work_ends(ended, torch_to_import, number, code, ready):
    def work() -> int:
        signal.raise_signal(number)
        torch_to_import.__spec__._initializing = not ready
        return 1

    assert ended(work) == (code, "")
    before = signal.signal(number, lambda *_: pytest.fail("it came after the end"))
    try:
        time.sleep(3 * AGAIN)
    finally:
        signal.signal(number, before)


def test_a_signal_that_meets_no_import_is_heard_at_once(ended):
    assert ended(lambda: [signal.raise_signal(signal.SIGTERM), 0][1]) == (143, "")


class HalfMade:
    """Complains while it is removed, where a signal ended its making."""

    def __init__(self, number: int) -> None:
        if number:
            signal.raise_signal(number)

    def __del__(self) -> None:
        raise AttributeError("no owner")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (0, 0)])
def test_what_a_signal_leaves_half_made_is_quiet(ended, number, code):
    assert ended(lambda: HalfMade(number) and None) == (code, "" if number else "no owner")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_after_the_last_line_of_the_work_has_its_own_code(monkeypatch, ended, number, code):
    assert ended(lambda: 0) == (0, "")
    monkeypatch.setattr(cli, "quietly_closed", lambda: os.kill(os.getpid(), number))
    assert ended(lambda: 0) == (code, "")


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
def test_what_was_made_of_a_signal_has_the_code_of_the_signal(monkeypatch, ended, number, code, work, said):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Unfinished()])
    monkeypatch.setattr(Unfinished, "number", number, raising=False)
    found, err = ended(work)
    assert found == code
    assert "unfinished" not in err
    assert "Traceback" not in err
    assert said in err


WITHIN_TEXT = """
import signal
from draftproof.experiments.cli import run_command

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
