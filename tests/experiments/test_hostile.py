"""Whatever the code under test does to the process that runs it, there is no verdict but that of the judge."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from draftproof.experiments import runtime
from draftproof.simulator import FAMILIES, Delayed, InvalidVerifier, check
from tests.modules import module_of
from tests.quick import quick

FILE = Path(__file__).parents[1] / "data" / "hostile.py"
PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.cli import main; main()"
SMALL = ("--K", "1", "--L2", "1", "--vocab", "2")
ENDLESS = ("Swallows", "Lingers")
#: What `check` says of those that end, or break, what runs them: there is no verdict. All others are refuted.
UNHEARD = {
    "Exits": "exit", "Ends": "no verdict: the process that ran your code was ended with exit code 0",
    "EndsAsRefuted": "ended with exit code 1", "EndsInAThread": "no verdict", "ClosesFiles": "no verdict",
    "WritesEverywhere": "", "Dies": "SIGKILL", "Raises": "something raised GeneratorExit: of mine",
    "Interrupts": "something raised KeyboardInterrupt",
}  # fmt: skip
HEARD = (
    "ReadsTheEnvironment", "PatchesFractions", "PatchesTheJudge", "WritesRows", "WalksTheCoin", "WalksTheHeap",
    "EndsLast", "Redirects",
)  # fmt: skip


def ran(folder: Path, *arguments: str, **streams) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        check=False, cwd=folder, capture_output=not streams, text=True, timeout=120, **streams,
    )  # fmt: skip
    return done.returncode, done.stdout or "", done.stderr or ""


@pytest.fixture
def hostile() -> ModuleType:
    return module_of(FILE)


@pytest.mark.parametrize("name", ["WritesRows", "WalksTheCoin"])
def test_beside_the_judge_rows_are_copies_and_the_coin_does_not_tell_who_answers(hostile, name):
    path = Delayed(1, 0, 1)
    instance = FAMILIES["dirichlet"].instance(2, 1, np.random.default_rng(0), 20)
    tables = [table.copy() for table in instance.target.tables]
    with suppress(InvalidVerifier):  # it contradicts itself
        assert not check(getattr(hostile, name)(), instance.target, instance.draft, path).lossless
    assert all((ours == before).all() for ours, before in zip(instance.target.tables, tables, strict=True))


def test_every_hostile_verifier_is_tried(hostile):
    kinds = {name for name, each in vars(hostile).items() if isinstance(each, type) and each.__module__ == "hostile"}
    assert {*UNHEARD, *HEARD, *ENDLESS} == kinds - {"Lossy"}


@pytest.mark.parametrize("name", quick([*HEARD, *UNHEARD], ("WritesEverywhere", "Ends")))
def test_check_is_not_deceived(tmp_path, name):
    code, out, err = ran(tmp_path, "check", f"{FILE}:{name}", *SMALL)
    assert code == (2 if name in UNHEARD else 1), err
    assert "LOSSLESS" not in out
    assert ("REFUTED" in out) is (name not in UNHEARD)
    assert UNHEARD.get(name, "") in err
    assert "Traceback" not in err


CALLED = """
import importlib.util
spec = importlib.util.spec_from_file_location("hostile", {file!r})
hostile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hostile)

class Nothing:
    base = None
    target = property(lambda self: self.row)

def function(tokens, q, p):
    import numpy, random
    root, coin = Nothing(), Nothing()
    root.row, coin.flip = numpy.array(p[0]), None
    hostile.{name}().attack(root, coin)
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, random.choices(range(len(p[i])), weights=p[i])[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""


@pytest.mark.parametrize("name", quick(sorted({*HEARD, *UNHEARD} - {"WalksTheCoin"}), ("PatchesFractions",)))
def test_audit_is_not_deceived(tmp_path, name):
    (tmp_path / "theirs.py").write_text(CALLED.format(file=str(FILE), name=name))
    code, out, err = ran(tmp_path, "audit", "theirs.py:function", "--interface", "chain", "--cases", "context")
    assert code in (1, 2), err
    assert "LOSSLESS" not in out
    assert "Traceback" not in err


@pytest.mark.parametrize("name", quick(sorted(UNHEARD.keys() - {"WritesEverywhere"}), ("Ends",)))
def test_a_command_that_is_run_as_a_whole_has_no_verdict_where_it_is_ended(tmp_path, name):
    code, _, err = ran(tmp_path, "compare", f"{FILE}:{name}", *SMALL, "--json", "rows.json")
    assert code in ((2, 130) if name == "Interrupts" else (2,)), err
    assert not (tmp_path / "rows.json").exists()


@pytest.mark.parametrize("step", [64, pytest.param(1, marks=pytest.mark.heavy)])
def test_no_exit_code_of_the_process_stands_for_a_verdict(monkeypatch, step):
    monkeypatch.setattr(runtime, "_PROGRAM", "import os, sys; os._exit(int(sys.argv[3]))")
    assert {runtime.supervise([str(code)]) for code in range(0, 256, step)} == {2}


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", ["check", pytest.param("compare", marks=pytest.mark.heavy)])
def test_a_signal_ends_what_does_not_listen(tmp_path, name, number):
    program = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {PROGRAM}"
    with subprocess.Popen(
        [sys.executable, "-c", program, name, f"{FILE}:Swallows", *SMALL],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while "at work" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)  # nobody who is left holds its streams
    assert (process.returncode, out) == (128 + number, "")


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "code", "said"), [("check", 1, "REFUTED"), ("compare", 0, "NO")])
def test_a_thread_that_lives_on_does_not_hold_up_the_verdict(tmp_path, name, code, said):
    found, out, err = ran(tmp_path, name, f"{FILE}:Lingers", *SMALL)
    assert found == code, err
    assert said in out


@pytest.mark.parametrize(
    ("arguments", "apart"),
    [
        ("check mine.py:V", True), ("--max-input 5 check mine.py:V --scheme top_k:K=2,L1=0,L2=1", True),
        ("audit mine.py:f --scheme=delayed:K=2", True), ("check mine.py:V --engine structured", False),
        ("check traversal --scheme mine.py:S", False), ("check mine.py:V --scheme=mine.py:S", False),
        ("compare mine.py:V naive --csv check", False), ("prove mine.py:V", False),
    ],
)  # fmt: skip
def test_which_commands_ask_for_runs(arguments, apart):
    assert runtime.names_code(arguments.split())
    assert runtime.runs_in_worker(arguments.split()) is apart


SWEEP = """
[sweep]
verifiers = ["{verifier}"]
[[worlds]]
family = "perturbed:s=1"
vocab = 2
[[schemes]]
scheme = "{scheme}"
"""
LINE = "delayed:K=1,L1=0,L2=1"
#: A command that runs ends.py or a hostile verifier without the command line naming it.
UNNAMED = {
    "audit ends:function": (),
    "gallery eagle-posterior --checkout .": (),
    "sweep given.toml --allow-code --jobs 1": ("ends.py:Any", LINE),
    "sweep given.toml --allow-code --jobs 1 --json a.json": ("naive", "ends.py:Any"),
    "sweep given.toml --allow-code --jobs 1 --json b.json": (f"{FILE}:Ends", LINE),
}


@pytest.mark.parametrize("command", quick(UNNAMED, ("sweep given.toml --allow-code --jobs 1",)))
def test_code_that_the_command_line_does_not_name_has_no_verdict_where_it_ends_the_process(
    tmp_path, monkeypatch, command
):
    if command.startswith("gallery"):
        pytest.importorskip("torch")
    for place in ("ends.py", "EAGLE/eagle/model/utils.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("import os\nos._exit(0)\n")
    if given := UNNAMED[command]:
        (tmp_path / "given.toml").write_text(SWEEP.format(verifier=given[0], scheme=given[1]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(tmp_path)))))
    found, out, err = ran(tmp_path, *command.split())
    assert (found, out) == (2, "")
    assert "no verdict: the process that ran your code was ended with exit code 0" in err


@pytest.mark.parametrize("error", ["BaseException('mine')", "GeneratorExit('mine')"])
def test_an_error_that_is_no_exception_is_one_line(draftproof, error):
    Path("raises.py").write_text(f"raise {error}\n")
    ran = draftproof("check", "raises.py:Any")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"draftproof: something raised {error.partition('(')[0]}: mine")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        *((command, f"{FILE}:Exits") for command in ("check", "compare", "matrix")),
        *((command, "leaves.py:f") for command in ("check", "compare", "matrix", "audit", "validate")),
    ],
)
def test_sys_exit_in_a_file_is_bad_input(draftproof, command, what):
    Path("leaves.py").write_text("import sys\nsys.exit(0)\n")
    ran = draftproof(command, what, *(SMALL if command in ("check", "compare") else ()))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.strip().splitlines()[-1].startswith("draftproof: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_verdict_that_could_not_be_written_is_none(tmp_path):
    with open("/dev/full", "w") as full:
        code, _, _ = ran(tmp_path, "check", "block", *SMALL, "--json", "-", stdout=full, stderr=subprocess.DEVNULL)
    assert code == 2


def test_a_closed_standard_output_is_refused(draftproof, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    ran = draftproof("check", "block", *SMALL)
    assert ran.code == 2
    assert "standard output is closed" in ran.err
