"""Mutations of valid files: each is read or refused in one short line, quickly; nothing else is ever raised.

What failed once stands in `tests/data/fuzz` as FORMAT-WHAT and is read again in every run.
"""

import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest

from draftproof.simulator import DraftproofError
from tests.experiments.fuzz.formats import Format, formats, pair_formats, selector_formats
from tests.experiments.fuzz.mutations import MEMORY, SECONDS, mutated, wrong_message

KEPT = Path(__file__).resolve().parents[2] / "data" / "fuzz"


class Late(BaseException):
    """A case took too long; nothing that is read catches it."""


@contextmanager
def watched() -> Iterator[None]:
    """One case: it ends in an error after so many seconds, or where it took so much memory."""

    def late(number: int, frame: Any) -> None:
        raise Late

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    alarm, digits = signal.signal(signal.SIGALRM, late), sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # as the command line does
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, alarm)
        sys.set_int_max_str_digits(digits)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024 < MEMORY


def ended(read: Callable[[str], Any], path: Path) -> str:
    """`read`, `refused` in one short line, or what it may not do."""
    try:
        with watched():
            read(str(path))
    except DraftproofError as error:
        return wrong_message(str(error)) or "refused"
    except Late:
        return "hangs"
    except Exception as error:
        return f"traceback: {type(error).__name__}: {error}"
    return "read"


def fuzz(kinds: Mapping[str, Format], cases: int, record: Callable[[str, object], None]) -> int:
    """How many of the cases were refused; fails, with the bytes, where any did what it may not."""
    random, counts, wrong = Random(int(os.environ.get("FUZZ_SEED", "0"))), Counter[str](), []
    for case in range(cases):
        name = list(kinds)[case % len(kinds)]
        path = Path(f"fuzzed.{name}")  # messages quote the path: a short one
        path.write_bytes(mutated(kinds[name].data, random))
        what = ended(kinds[name].read, path)
        counts[what if what in ("read", "refused") else "wrong"] += 1
        if what not in ("read", "refused"):
            wrong.append((name, what, path.read_bytes()))
    for number, name in enumerate(kinds):
        record("tried", [f"mutated: {name}", len(range(number, cases, len(kinds)))])
    assert not wrong, "\n".join(f"{name}: {what}: {data[:2_000]!r}" for name, what, data in wrong)
    return counts["refused"]


@pytest.mark.parametrize("cases", [400, pytest.param(6_400, marks=pytest.mark.heavy)])
def test_mutations_are_read_or_refused(tmp_path, capsys, monkeypatch, record_property, cases):
    monkeypatch.chdir(tmp_path)
    assert fuzz(formats(tmp_path), cases, record_property) > cases * 3 / 8
    assert "Traceback" not in capsys.readouterr().err


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pair of two small models."""
    from draftproof.experiments.inputs.text import EMBEDDED, read_text
    from draftproof.experiments.models.pair.corpus import Corpus
    from draftproof.experiments.models.pair.folder import make_pair
    from draftproof.experiments.models.pair.training import Plan, Recipe, Size

    torch = pytest.importorskip("torch")
    plan, size = Plan(steps=1, batch=2, window=16, rate=1e-2), Size(hidden=8, layers=1, heads=1)
    recipe = Recipe(Corpus(EMBEDDED, read_text(EMBEDDED)[:4_000]), "letters", 4, 0, size, size, plan, plan)
    folder = tmp_path_factory.mktemp("fuzz") / "pair"
    make_pair(recipe, folder, torch.device("cpu"))
    return folder


@pytest.mark.heavy
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; MODELS=yes brings it")
def test_mutations_of_a_pair_are_read_or_refused(tmp_path, capsys, monkeypatch, pair, record_property):
    monkeypatch.chdir(tmp_path)
    assert fuzz(pair_formats(pair, tmp_path / "pair"), 600, record_property) > 200
    assert "Traceback" not in capsys.readouterr().err


def test_the_inputs_that_mutations_begin_with_are_valid(tmp_path):
    for name, kind in formats(tmp_path).items():
        (tmp_path / name).write_bytes(kind.data)
        assert ended(kind.read, tmp_path / name) == "read"


@pytest.mark.parametrize("cases", [60, pytest.param(600, marks=pytest.mark.heavy)])
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; MODELS=yes brings it")
def test_mutations_of_a_selector_are_read_or_refused(tmp_path, capsys, monkeypatch, record_property, cases):
    monkeypatch.chdir(tmp_path)
    folder = Path("kept")  # messages quote it: a short one
    folder.mkdir()
    kinds = selector_formats(folder)
    for name, kind in kinds.items():
        (tmp_path / name).write_bytes(kind.data)
        assert ended(kind.read, tmp_path / name) == "read"
    assert fuzz(kinds, cases, record_property) > cases / 3
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.heavy
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; MODELS=yes brings it")
def test_the_pair_that_mutations_begin_with_is_valid(tmp_path, pair):
    for name, kind in pair_formats(pair, tmp_path / "pair").items():
        (tmp_path / name).write_bytes(kind.data)
        assert ended(kind.read, tmp_path / name) == "read"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted(path.name for path in KEPT.glob("*-*")))
def test_what_failed_once_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    kinds, path = formats(tmp_path), Path("fuzzed")
    path.write_bytes((KEPT / name).read_bytes())
    assert ended(kinds[name.partition("-")[0]].read, path) == "refused"
