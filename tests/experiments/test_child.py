"""However the code under test ends its process, and whatever it prints there, that is no verdict."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from draftproof.experiments import runtime
from tests.quick import quick

PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.cli import main; main()"
SMALL = ("--K", "1", "--L2", "1")
#: A lossless verifier, and a lossless function, with something in its midst.
SOURCE = """
import os, random, signal, sys, threading, time
from draftproof.simulator import Card
from draftproof.verifiers import make

def act():
    {line}

class Mine:
    card = Card(name="mine", title="mine", source=None)

    def verify(self, root, coin):
        act()
        return make("naive").verify(root, coin)

def function(tokens, q, p):
    act()
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            rest = [max(a - b, 0) for a, b in zip(p[i], q[i])]
            return i, random.choices(range(len(rest)), weights=rest)[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]
"""
ENDED = "no verdict: the process that ran your code was ended "
#: What the code does, and what is said of it where it does that in a verifier.
ENDS = {
    "os._exit(0)": f"{ENDED}with exit code 0",
    "os._exit(1)": f"{ENDED}with exit code 1",
    "os.kill(os.getpid(), signal.SIGKILL)": f"{ENDED}by signal 9 (SIGKILL)",
    "os.kill(os.getpid(), signal.SIGSEGV)": f"{ENDED}by signal 11 (SIGSEGV)",
    "threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(5)": f"{ENDED}with exit code 0",
    "os.closerange(0, 256)": "",
    "sys.exit(0)": "SystemExit: 0",
    "raise GeneratorExit('mine')": "something raised GeneratorExit: mine",
    "raise KeyboardInterrupt": "",
}
SWALLOWS = """for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    print("at work", file=sys.stderr, flush=True)
    while True:
        try:
            time.sleep(600)
        except:
            pass
"""


@pytest.fixture
def file(tmp_path):
    """Writes mine.py, where `act` does this."""
    return lambda line: (tmp_path / "mine.py").write_text(SOURCE.format(line=line))


def ran(folder: Path, *arguments: str, **streams) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        check=False, cwd=folder, capture_output=not streams, text=True, timeout=120, **streams,
    )  # fmt: skip
    return done.returncode, done.stdout or "", done.stderr or ""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("line", quick(ENDS, ("os._exit(0)", "os.closerange(0, 256)")))
@pytest.mark.parametrize("command", ["check", pytest.param("compare", marks=pytest.mark.heavy)])
def test_a_verifier_that_ends_its_process_has_no_verdict(tmp_path, file, command, line):
    file(line)
    code, out, err = ran(tmp_path, command, "mine.py:Mine", *SMALL, "-o", "a.json")
    assert (code, out) == (130 if "KeyboardInterrupt" in line else 2, ""), err
    assert ENDS[line] in err
    assert "Traceback" not in err
    assert not (tmp_path / "a.json").exists()


@pytest.mark.heavy
@pytest.mark.parametrize("line", quick(ENDS, ("os.kill(os.getpid(), signal.SIGSEGV)",)))
def test_a_function_that_ends_its_process_is_not_lossless(tmp_path, file, line):
    file(line)
    code, out, err = ran(tmp_path, "audit", "mine.py:function", "--interface", "chain", "--cases", "context")
    assert code in ((130,) if "KeyboardInterrupt" in line else (1, 2)), err
    assert "LOSSLESS" not in out
    assert "Traceback" not in err


@pytest.mark.one_in(2)
@pytest.mark.parametrize("line", ["print('LOSSLESS')", "os.write(1, b'LOSSLESS'); os.system('echo LOSSLESS')"])
def test_what_a_verifier_prints_is_no_part_of_the_result(tmp_path, file, line):
    file(line)
    code, out, err = ran(tmp_path, "check", "mine.py:Mine", *SMALL, "--json")
    assert (code, json.loads(out)["rows"][0]["lossless"]) == (0, True)
    assert "LOSSLESS" in err


@pytest.mark.parametrize("step", [64, pytest.param(1, marks=pytest.mark.heavy)])
def test_no_exit_code_of_the_process_stands_for_a_verdict(monkeypatch, step):
    monkeypatch.setattr(runtime, "_PROGRAM", "import os, sys; os._exit(int(sys.argv[3]))")
    assert {runtime.run_in_child([str(code)]) for code in range(0, 256, step)} == {2}


@pytest.mark.parametrize(("sent", "code"), [("0\\n", 0), ("3\\n", 3), ("0", 2), ("", 2), ("none\\n", 2)])
def test_a_code_arrives_whole_or_not_at_all(monkeypatch, sent, code):
    monkeypatch.setattr(runtime, "_PROGRAM", f"import os, sys; os.write(int(sys.argv[1]), b'{sent}')")
    assert runtime.run_in_child([]) == code


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", ["check", pytest.param("compare", marks=pytest.mark.heavy)])
def test_a_signal_ends_what_does_not_listen(tmp_path, file, name, number):
    file(SWALLOWS)
    program = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {PROGRAM}"
    program = f"from draftproof.experiments import runtime; runtime.END_SECONDS = 0.5; {program}"
    with subprocess.Popen(
        [sys.executable, "-c", program, name, "mine.py:Mine", *SMALL],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        while "at work" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)  # nobody who is left holds its streams
    assert (process.returncode, out) == (128 + number, "")


@pytest.mark.parametrize(("handler", "code"), [(signal.SIG_IGN, 0), (signal.SIG_DFL, 129)])
def test_a_signal_that_is_ignored_ends_nothing(monkeypatch, handler, code):
    """As `nohup` asks for."""
    monkeypatch.setattr(runtime, "END_SECONDS", 0.1)
    hurt = "import os, signal, sys, time; os.kill(os.getppid(), signal.SIGHUP); time.sleep(1)"
    monkeypatch.setattr(runtime, "_PROGRAM", f"{hurt}; os.write(int(sys.argv[1]), b'0\\n')")
    before = signal.signal(signal.SIGHUP, handler)
    try:
        assert runtime.run_in_child([]) == code
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["check", "compare"])
def test_a_thread_that_lives_on_does_not_hold_up_the_verdict(tmp_path, file, name):
    file("threading.Thread(target=time.sleep, args=(600,)).start()")
    found, out, err = ran(tmp_path, name, "mine.py:Mine", *SMALL)
    assert found == 0, err
    assert "mine" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("check mine.py:V", True), ("check traversal --scheme=mine.py:S", True), ("--max-input 5 audit a:f", True),
        ("audit --gallery .", True), ("compare a.toml --allow-code", True), ("check block -o a.json", False),
    ],
)  # fmt: skip
def test_which_commands_run_in_a_child(arguments, named):
    assert runtime.names_code(arguments.split()) is named


WORLDS = """
verifiers = ["{verifier}"]
world = "family:perturbed,s=1,vocab=2"
scheme = "{scheme}"
"""
LINE = "delayed:K=1,L1=0,L2=1"
#: A command that runs ends.py without the command line naming it.
UNNAMED = {
    "audit ends:function": (),
    "audit eagle-posterior --gallery .": (),
    "compare given.toml --allow-code --jobs 1": ("ends.py:Any", LINE),
    "compare given.toml --allow-code --jobs 1 -o a.json": ("naive", "ends.py:Any"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("command", quick(UNNAMED, ("compare given.toml --allow-code --jobs 1",)))
def test_code_that_the_command_line_does_not_name_has_no_verdict_where_it_ends_the_process(
    tmp_path, monkeypatch, command
):
    if "--gallery" in command:
        pytest.importorskip("torch")
    for place in ("ends.py", "EAGLE/eagle/model/utils.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("import os\nos._exit(0)\n")
    if given := UNNAMED[command]:
        (tmp_path / "given.toml").write_text(WORLDS.format(verifier=given[0], scheme=given[1]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(tmp_path)))))
    found, out, err = ran(tmp_path, *command.split())
    assert (found, out) == (2, "")
    assert f"{ENDED}with exit code 0" in err


@pytest.mark.parametrize("error", ["BaseException('mine')", "GeneratorExit('mine')"])
def test_an_error_that_is_no_exception_is_one_line(draftproof, error):
    Path("raises.py").write_text(f"raise {error}\n")
    ran = draftproof("check", "raises.py:Any")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"draftproof: something raised {error.partition('(')[0]}: mine")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        *((command, "mine.py:Mine") for command in ("check", "compare")),
        *((command, "leaves.py:f") for command in ("check", "compare", "audit", "model validate")),
    ],
)
def test_sys_exit_in_a_file_is_bad_input(draftproof, file, command, what):
    file("sys.exit(0)")
    Path("leaves.py").write_text("import sys\nsys.exit(0)\n")
    ran = draftproof(*command.split(), what, *(SMALL if command in ("check", "compare") else ()))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.strip().splitlines()[-1].startswith("draftproof: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_verdict_that_could_not_be_written_is_none(tmp_path, file):
    file("pass")
    for verifier in ("block", "mine.py:Mine"):
        with open("/dev/full", "w") as full:
            given = ("check", verifier, *SMALL, "--json")
            code, _, _ = ran(tmp_path, *given, stdout=full, stderr=subprocess.DEVNULL)
        assert code == 2


def test_a_closed_standard_output_is_refused(draftproof, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    ran = draftproof("check", "block", *SMALL)
    assert ran.code == 2
    assert "standard output is closed" in ran.err


@pytest.mark.heavy
@pytest.mark.parametrize(("command", "made"), [("check {} -o a.json", "a.json"), ("compare {} --resume a.db", "a.db")])
def test_code_that_changes_the_folder_changes_no_place_of_a_file(tmp_path, file, command, made):
    (tmp_path / "elsewhere").mkdir()
    file("os.path.isdir('elsewhere') and os.chdir('elsewhere')")
    found, _, err = ran(tmp_path, *command.format("mine.py:Mine").split(), *SMALL)
    assert found == 0, err
    assert (tmp_path / made).exists()
    assert not list((tmp_path / "elsewhere").iterdir())
