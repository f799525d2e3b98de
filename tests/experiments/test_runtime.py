"""Signals have exit codes of their own, limits of time leave no alarm behind, files are written in one step."""

import gc
import os
import signal
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec

import pytest
import typer

from draftproof.experiments import cli, runtime
from draftproof.experiments.runtime import limited, temporary
from draftproof.simulator.errors import InvalidInput, TooLarge

BOTH = pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])


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


class Removed:
    """Is told to end while it is being removed, where an exception is swallowed."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@BOTH
def test_no_verdict_comes_after_a_signal_that_was_swallowed(ended, number, code):
    def work() -> int:
        Removed(number)
        return 0

    assert ended(work) == (code, "")


@BOTH
def test_a_signal_after_the_last_line_of_the_work_has_its_own_code(monkeypatch, ended, number, code):
    assert ended(lambda: 0) == (0, "")
    monkeypatch.setattr(runtime, "flush_or_discard", lambda: os.kill(os.getpid(), number))
    assert ended(lambda: 0) == (code, "")


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


def test_a_signal_in_the_import_of_torch_ends_the_process_at_once(monkeypatch, ended):
    module = type(sys)("torch")
    module.__spec__ = ModuleSpec("torch", None)
    module.__spec__._initializing = True
    monkeypatch.setitem(sys.modules, "torch", module)
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    ended(lambda: signal.raise_signal(signal.SIGTERM))
    assert codes == [143]


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
        raise InvalidInput("cannot write rows.csv: no space left") from None
    return 0


@BOTH
@pytest.mark.parametrize(("work", "said"), [(missing, ""), (unnamed, ""), (unsaved, "rows.csv")])
def test_what_was_made_of_a_signal_has_the_code_of_the_signal(monkeypatch, ended, number, code, work, said):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Unfinished()])
    monkeypatch.setattr(Unfinished, "number", number, raising=False)
    found, err = ended(work)
    assert found == code
    assert "unfinished" not in err
    assert "Traceback" not in err
    assert said in err


def test_a_limit_that_rings_at_once_is_gone_afterwards():
    before = signal.getsignal(signal.SIGALRM)
    for _ in range(200):
        with pytest.raises(TooLarge, match="too long"), limited(1e-6, "too long"):
            time.sleep(1)
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
        assert signal.getsignal(signal.SIGALRM) is before
    with limited(60, "too long"):
        assert sum(range(100)) == 4950
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def patient():
    """Work that goes on after errors of its own, as of values; `TooLarge` is one."""
    for _ in range(100):
        try:
            time.sleep(0.01)
        except ValueError:
            raise AssertionError("taken for an error of the work") from None


def test_work_that_handles_its_own_errors_is_cut_short_all_the_same():
    with pytest.raises(TooLarge, match="too long"), limited(0.01, "too long"):
        patient()


class Slow:
    """Takes longer to be removed than a limit allows."""

    def __del__(self) -> None:
        time.sleep(0.2)


def removing() -> None:
    Slow()
    patient()


def collecting() -> None:
    """A collection of garbage takes longer than a limit allows, as somebody else does something beside it."""

    def beside(phase: str, info: dict[str, int]) -> None:
        time.sleep(0.2)

    gc.callbacks.append(beside)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(beside)
    patient()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("work", [removing, collecting])
def test_an_alarm_that_rings_where_python_drops_exceptions_rings_again(monkeypatch, work):
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    with pytest.raises(TooLarge, match="too long"), limited(0.05, "too long"):
        work()
    assert not dropped


@pytest.mark.heavy
@pytest.mark.parametrize("code", [130, 143])
def test_a_process_that_a_signal_has_ended_does_not_abort_while_python_ends(code):
    text = f"""
import atexit, os
from draftproof.experiments import cli

atexit.register(os.abort)
cli.run = lambda *given: {code}
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr


@pytest.mark.parametrize("folder", [False, True])
def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, folder):
    (tmp_path / "rows.json").write_text("old")

    def interrupted() -> None:
        with temporary(tmp_path, "rows.json", folder) as new:
            (new / "weights" if folder else new).write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_packages_that_a_command_does_not_need_are_not_imported():
    program = (
        "import sys; from draftproof.experiments.cli import program, run\n"
        "sys.argv[1:] = ['compare', 'naive', '--world', 'family:dirichlet,vocab=2', '--K', '1', '--L2', '1']\n"
        "code = run(program(['compare']))\n"
        "print(code, sorted({'scipy.stats', 'torch', 'cvxpy', 'matplotlib'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "0 []"
