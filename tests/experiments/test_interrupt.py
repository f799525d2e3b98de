"""Ctrl-C: finished rows are kept, complete files stay as they were, the next run goes on from there."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from draftproof.experiments.grid.store import stored_rows
from draftproof.simulator.audit import Audit
from draftproof.simulator.verdicts.lossless import Evaluator
from tests.experiments.grid.stores import timeless

#: Work that lasts.
COMMAND = [
    "compare", "nss", "naive", "specinfer", "traversal", "--K", "2..3", "--L1", "0..1", "--L2", "1..2",
    "--engine", "enumerate", "--resume", "rows.db", "-o", "rows.json",
]  # fmt: skip
CHECK = ["check", "specinfer", "--world", "family:dirichlet,vocab=3,denominator=20,seeds=0..499", "--K", "3"]
#: Makes a file once an instance was checked.
TELLING = """
from draftproof.simulator.verdicts.lossless import Evaluator
check = Evaluator.check
begun = []
def told(*given):
    if begun:
        open("begun", "w").close()
    begun.append(0)
    return check(*given)
Evaluator.check = told
"""


def start(arguments: list[str], folder: Path, before: str = "") -> subprocess.Popen:
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
from draftproof.experiments.cli import main
{before}
sys.argv[0] = "draftproof"
main()
"""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupt_when(process: subprocess.Popen, ready) -> tuple[str, str]:
    for _ in range(3000):
        if ready():
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


@pytest.mark.heavy
def test_compare_keeps_its_rows_and_goes_on_from_them(tmp_path):
    (tmp_path / "rows.json").write_text("an older result")
    rows = tmp_path / "rows.db"
    process = start(COMMAND, tmp_path)
    out, err = interrupt_when(process, lambda: timeless(rows))
    assert process.returncode == 130
    assert "kept in rows.db" in err
    kept = list(stored_rows(str(rows), ["law"]))
    assert "specinfer" in out  # the table of what is done
    assert "the same command goes on" in err
    assert "leaked" not in err
    assert 1 <= len(kept) < 32
    assert (tmp_path / "rows.json").read_text() == "an older result"

    small = [*COMMAND[:2], *COMMAND[5:]]  # nss alone, to keep the test short
    again = start(small, tmp_path)
    again.communicate(timeout=300)
    assert again.returncode == 0
    final = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert len(final) == 8
    known = {row["strong_id"]: row for row in final}
    for row in kept:
        if row["verifier"] == "nss":
            shown = known[row["strong_id"]]  # with the optimum beside it
            assert all(shown[key] == row[key] for key in ("verifier", "block_efficiency", "max_deviation", "seconds"))


def test_check_says_how_far_it_came(tmp_path):
    process = start([*CHECK, "--engine", "enumerate", "-o", "out.json"], tmp_path, TELLING)
    out, err = interrupt_when(process, (tmp_path / "begun").exists)
    assert process.returncode == 130
    assert re.search(r"no verdict, \d+ of 500 instances, no violation on these", err)
    assert out == ""
    assert not (tmp_path / "out.json").exists()


def test_audit_shows_what_was_judged_and_gives_no_verdict(draftproof, tmp_path, monkeypatch):
    judged, done = Audit.judge, []

    def until(*given):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(judged(*given))
        return done[-1]

    monkeypatch.setattr(Audit, "judge", until)
    (tmp_path / "theirs.py").write_text("def nothing(tokens, q, p):\n    return 0, 0\n")
    right = Path(__file__).parents[1] / "data" / "audited" / "traps.py"
    for function, found in ((f"{right}:right", "no bias on these"), ("theirs.py:nothing", "it is refuted on one")):
        done.clear()
        ran = draftproof("audit", function, "--interface", "chain")
        assert ran.code == 130
        assert f"UNFINISHED, no verdict: 2 of 12 instances, {found}" in ran.out
        assert "LOSSLESS" not in ran.out
        assert not list(tmp_path.glob("witness*"))


def test_the_standard_check_and_one_of_several_verifiers_say_that_they_are_unfinished(draftproof, monkeypatch):
    check, done = Evaluator.check, []

    def until(*given):
        done.append(0)
        if len(done) > 3:
            raise KeyboardInterrupt
        return check(*given)

    monkeypatch.setattr(Evaluator, "check", until)
    alone = draftproof("check", "spechub")
    assert (alone.code, alone.out, "no verdict, 3 of " in alone.err) == (130, "", True)
    done.clear()
    given = ("--world", "family:dirichlet,seeds=0..1", "--K", 1, "--L2", 1, "--engine", "enumerate")
    both = draftproof("check", "nss", "naive", *given)
    assert both.code == 130
    assert both.out.startswith("UNFINISHED, 1 row missing: nss on ")
    assert "naive" not in both.out


def test_a_program_that_is_ended_within_code_from_a_text_says_so(tmp_path):
    """Python itself ends by SIGINT after `python -m` where a `KeyboardInterrupt` has left an `exec` of a text."""
    (tmp_path / "ended.py").write_text(
        """
import sys
import typer
from draftproof.experiments.cli import run

def main() -> int:
    exec("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    return 0

app = typer.Typer()
app.command()(main)
sys.exit(run(app))
"""
    )
    ended = subprocess.run([sys.executable, "-m", "ended"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (143, "")
