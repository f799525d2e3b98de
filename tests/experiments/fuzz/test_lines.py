"""Mutations of valid command lines: a result, or exit 2 with one short line, quickly and in little memory.

What failed once stands in `tests/data/fuzz/lines.json` and is run again in every run.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from tests.experiments.fuzz.formats import Format, formats
from tests.experiments.fuzz.lines import LINES, MODEL_LINES, OWN, Watcher
from tests.experiments.fuzz.mutations import mutated_line
from tests.quick import quick

if not sys.platform.startswith("linux"):
    pytest.skip("forks are limited and looked at in /proc", allow_module_level=True)

#: Of transformers, which imports each when it is asked for: seconds, on a machine that is busy.
MODEL_CLASSES = ("AutoConfig", "AutoTokenizer", "AutoModelForCausalLM", "LlamaForCausalLM", "PreTrainedTokenizerFast")
KEPT = Path(__file__).resolve().parents[2] / "data" / "fuzz" / "lines.json"


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watcher:
    """In a folder with a file of each kind."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    watcher = Watcher(tmp_path)
    refreshed(tmp_path)
    return watcher


@cache
def valid(place: Path) -> dict[str, Format]:
    """The formats of files, made once."""
    return formats(place)


def refreshed(place: Path) -> None:
    """The files as they were: lines write, too."""
    kinds = valid(place)
    for name, kind in (("given.json", "instance"), ("certificate.json", "certificate"), ("theorem.json", "theorem")):
        Path(name).write_bytes(kinds[kind].data)
    Path("times.json").write_bytes(kinds["cost"].data)
    Path("text.txt").write_bytes(kinds["text"].data)
    Path("own.py").write_text(OWN)


def fuzz(
    watcher: Watcher, lines: Sequence[Sequence[str]], cases: int, record: Callable[[str, object], None]
) -> Counter[str]:
    """How the cases ended; fails where any did in a way that it may not."""
    random, counts, wrong = Random(int(os.environ.get("FUZZ_SEED", "0"))), Counter[str](), []
    words = sorted({word for line in lines for word in line})
    for case in range(cases):
        line = mutated_line(lines[case % len(lines)], words, random) or ["--version"]
        ended = watcher.run(line)
        counts["at work" if ended.code is None else f"exit {ended.code}"] += 1
        if ended.wrong:
            wrong.append((line, ended.wrong))
        if case % 200 == 199:
            refreshed(Path.cwd().parent)
    record("tried", ["mutated: command lines", cases])
    assert not wrong, "\n".join(f"{json.dumps(line)}: {what}" for line, what in wrong)
    return counts


@pytest.mark.heavy
@pytest.mark.parametrize("cases", [40, pytest.param(300, marks=pytest.mark.heavy)])
def test_mutated_lines_end_well(watcher, record_property, cases):
    assert fuzz(watcher, LINES, cases, record_property)["exit 2"] > cases / 4


@pytest.mark.heavy
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; MODELS=yes brings it")
def test_mutated_lines_about_models_end_well(watcher, monkeypatch, record_property):
    from huggingface_hub import constants

    from draftproof.experiments import models
    from draftproof.experiments.models.pair.devices import libraries

    for needed in MODEL_CLASSES:
        getattr(libraries()[1], needed)  # once, not in every fork
    watcher = Watcher(Path.cwd().parent, (models,))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fuzz(watcher, MODEL_LINES, 300, record_property)["exit 2"] > 100


@pytest.mark.heavy
def test_the_lines_that_mutations_begin_with_are_valid(watcher):
    for line in LINES[:: 1 if os.environ.get("FUZZ_SEED") else 7]:
        ended = watcher.run(line, patience=60)
        assert (ended.code in (0, 1, 3), ended.wrong) == (True, None), line


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "line",
    quick(json.loads(KEPT.read_text()), lambda line: "topology" not in line),
    ids=lambda line: " ".join(line)[:60],
)
def test_lines_that_failed_once_are_refused(watcher, line):
    ended = watcher.run(line)
    assert (ended.code, ended.wrong) == (2, None)
