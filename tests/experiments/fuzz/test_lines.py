"""Mutations of valid command lines: a result, or exit 2 with one short line, quickly.

What failed once stands in `tests/data/fuzz/lines.json` and is run again in every run.
"""

import json
import os
import resource
import signal
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.experiments.fuzz.formats import formats
from tests.experiments.fuzz.lines import LINES, MODEL_LINES, OWN
from tests.experiments.fuzz.mutations import CHARACTERS, MEMORY, SECONDS, mutated_line

KEPT = Path(__file__).resolve().parents[2] / "data" / "fuzz" / "lines.json"
if not sys.platform.startswith("linux"):
    pytest.skip("memory is looked at in /proc", allow_module_level=True)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return formats(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def ended(draftproof, monkeypatch, kinds):
    """Runs lines beside a file of each kind: how a line ended, and what is wrong with that, "" for nothing.

    Work that takes more than so many seconds of the processor is ended as by SIGTERM; memory is limited.
    """
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def run(line: list[str]) -> tuple[int, str]:
        for name, kind in (("given.json", "instance"), ("certificate.json", "certificate"), ("theorem.json", "theorem"),
                           ("times.json", "cost"), ("text.txt", "text")):  # fmt: skip
            Path(name).write_bytes(kinds[kind].data)  # lines write, too
        Path("own.py").write_text(OWN)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        before = signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGTERM))
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, hard))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            ran = draftproof(*line)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        lines = ran.err.strip().splitlines()
        said = [each for each in lines if each.startswith("draftproof: ")]
        if "Traceback" in ran.err or ran.code not in (0, 1, 2, 3, 128 + signal.SIGTERM):
            return ran.code, f"exit code {ran.code}: {ran.err[-1500:]}"
        if ran.code == 2 and (len(said) != 1 or said != lines[-1:]):
            return ran.code, f"not one line: {ran.err[-600:]!r}"
        return ran.code, "".join(f"{len(each)} characters" for each in lines if len(each) > CHARACTERS)

    return run


@pytest.mark.heavy
@pytest.mark.parametrize(("lines", "cases"), [(LINES, 300), (MODEL_LINES, 300)], ids=["lines", "of models"])
def test_mutated_lines_end_well(ended, record_property, lines, cases):
    if lines is MODEL_LINES:
        pytest.importorskip("torch")
    random, counts, wrong = Random(int(os.environ.get("FUZZ_SEED", "0"))), Counter[int](), []
    words = sorted({word for line in lines for word in line})
    for case in range(cases):
        line = mutated_line(lines[case % len(lines)], words, random) or ["--version"]
        code, what = ended(line)
        counts[code] += 1
        wrong += [f"{json.dumps(line)}: {what}"] if what else []
    record_property("tried", ["mutated: command lines", cases])
    assert not wrong, "\n".join(wrong)
    assert counts[2] > cases / 4


@pytest.mark.heavy
def test_the_lines_that_mutations_begin_with_are_valid(ended):
    for line in LINES[:: 1 if os.environ.get("FUZZ_SEED") else 7]:
        code, what = ended(line)
        assert (code in (0, 1, 3), what) == (True, ""), line


@pytest.mark.parametrize("line", json.loads(KEPT.read_text()), ids=lambda line: " ".join(line)[:60])
def test_lines_that_failed_once_are_refused(ended, line):
    assert ended(line) == (2, "")
