"""Whatever the code under test does to the process that runs it, it is not called lossless, and it does not linger."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from draftproof.experiments import supervision
from draftproof.simulator import FAMILIES, Delayed, InvalidVerifier, check
from tests.quick import quick

FILE = Path(__file__).parents[1] / "data" / "hostile.py"
PROGRAM = "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.cli import main; main()"
SMALL = ("--K", "1", "--L2", "1", "--vocab", "2")
ENDLESS = ("Swallows", "Lingers")
NAMES = [
    "ReadsTheEnvironment", "PatchesFractions", "PatchesTheJudge", "WritesRows", "WalksTheCoin", "WalksTheHeap", "Exits",
    "Ends", "EndsLast", "EndsInAThread", "ClosesFiles", "WritesEverywhere",
]  # fmt: skip
#: Those that end, or break, what runs them: there is no verdict.
UNHEARD = {"Exits", "Ends", "EndsInAThread", "ClosesFiles", "WritesEverywhere"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *arguments]


def ran(folder: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        command(*arguments), check=False, cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, **variables},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def hostile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hostile", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    assert {*NAMES, *ENDLESS} == kinds - {"Lossy", "Card"}


@pytest.mark.parametrize("name", quick(NAMES, ("WalksTheHeap", "WritesEverywhere", "Ends")))
def test_check_is_not_deceived(tmp_path, name):
    code, out, err = ran(tmp_path, "check", f"{FILE}:{name}", *SMALL)
    assert code == (2 if name in UNHEARD else 1), err
    assert "LOSSLESS" not in out
    assert ("REFUTED" in out) is (name not in UNHEARD)
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


@pytest.mark.parametrize("name", quick([*NAMES[:4], *NAMES[5:]], ("PatchesFractions", "Ends")))
def test_audit_is_not_deceived(tmp_path, name):
    (tmp_path / "theirs.py").write_text(CALLED.format(file=str(FILE), name=name))
    code, out, err = ran(tmp_path, "audit", "theirs.py:function", "--interface", "chain", "--cases", "context")
    assert code in (1, 2), err
    assert "LOSSLESS" not in out
    assert "Traceback" not in err


@pytest.mark.parametrize("name", quick(sorted(UNHEARD - {"WritesEverywhere"}), ("Ends",)))
def test_a_command_that_is_run_as_a_whole_has_no_verdict_where_it_is_ended(tmp_path, name):
    code, _, err = ran(tmp_path, "compare", f"{FILE}:{name}", *SMALL, "--json", "rows.json")
    assert code == 2, err
    assert not (tmp_path / "rows.json").exists()


def test_what_the_environment_says_is_nothing(tmp_path):
    variables = {"DRAFTPROOF_VERDICTS": f"{os.getpid()},150,151,152"}
    assert ran(tmp_path, "check", f"{FILE}:Lossy", *SMALL, **variables)[0] == 1


@pytest.mark.parametrize("step", [64, pytest.param(1, marks=pytest.mark.heavy)])
def test_no_exit_code_of_the_process_stands_for_a_verdict(monkeypatch, step):
    monkeypatch.setattr(supervision, "_PROGRAM", "import os, sys; os._exit(int(sys.argv[3]))")
    assert {supervision.supervise([str(code)]) for code in range(0, 256, step)} == {2}


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


@pytest.mark.parametrize("name", ["check", pytest.param("compare", marks=pytest.mark.heavy)])
def test_a_thread_that_lives_on_does_not_hold_up_the_verdict(tmp_path, name):
    code, out, err = ran(tmp_path, name, f"{FILE}:Lingers", *SMALL)
    assert code == (1 if name == "check" else 0), err
    assert ("REFUTED" if name == "check" else "NO") in out


@pytest.mark.parametrize(
    ("arguments", "apart"),
    [
        ("check mine.py:V", True),
        ("--max-input 5 check mine.py:V --scheme top_k:K=2,L1=0,L2=1", True),
        ("audit mine.py:f --scheme=delayed:K=2", True),
        ("check mine.py:V --engine structured", False),
        ("check traversal --scheme mine.py:S", False),
        ("check mine.py:V --scheme=mine.py:S", False),
        ("compare mine.py:V naive --csv check", False),
        ("prove mine.py:V", False),
    ],
)
def test_which_commands_ask_for_runs(arguments, apart):
    assert supervision.is_asked_for_runs(arguments.split()) is apart
