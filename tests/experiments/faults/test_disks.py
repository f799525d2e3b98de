"""Full disks, and folders that nobody can write to."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from tests.experiments.faults.conftest import (
    VERDICTS,
    Run,
    folder_of,
    remainders,
    rows_of,
    whole_of,
    wrong_after,
)
from tests.experiments.faults.writers import MODELS, OLD, OWN, WRITERS, Places, chosen

if not sys.platform.startswith("linux"):
    pytest.skip("processes that are left are looked for in /proc", allow_module_level=True)


def of_size(most: int) -> None:
    """For this process and its children no file can grow beyond so many bytes: a full disk that needs no disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def full(places: Places, name: str, sizes: Sequence[float]) -> Iterator[list[str]]:
    """What went wrong at each share of the largest file; a run with room then finishes from what was kept."""
    writer = WRITERS[name]
    whole, _, _ = whole_of(places, writer)
    written = [*writer.outputs.values(), *folder_of(places.root / "whole" / (writer.folder or "no"))]
    sized = [places.root / "whole" / each for each in (*written, *(f"new/{each}" for each in written))]
    largest = max(path.stat().st_size for path in sized if path.is_file())
    for turn, share in enumerate(sizes):
        most = int(largest * share)
        folder = places.prepared(writer, f"full {turn}")
        run = Run(folder, writer.arguments, preexec_fn=partial(of_size, most))
        code = run.ended()
        wrong = wrong_after(run, code, b"", whole, None)
        if code != 2 or not run.err.strip().splitlines()[-1].startswith("draftproof: "):
            wrong.append(f"{most} bytes, exit code {code}: {run.err[-300:]}")
        kept = rows_of(folder / "r")
        if not (
            writer.rows or writer.folder or turn == len(sizes) - 1
        ):  # nothing is kept: one run afterwards is enough
            yield wrong
            continue
        again = Run(folder, writer.arguments)
        again_code = again.ended()
        wrong += wrong_after(again, again_code, b"", whole, None)
        wrong += ["rows lost"] if any(rows_of(folder / "r")[key] != row for key, row in kept.items()) else []
        wrong += [f"afterwards: {again.err}"] if again_code not in VERDICTS else []
        wrong += ["remainders"] if remainders(folder) else []
        yield wrong


@pytest.mark.heavy
@pytest.mark.parametrize("name", chosen(lambda writer: not writer.lasts))
def test_a_full_disk_at_many_sizes(places, faults, random, name):
    # times in a file can make it a little shorter: at most nine tenths, of a picture of nothing else six
    most = 0.6 if name == "choose" else 0.9
    count = 1 if WRITERS[name].models or not WRITERS[name].rows else 4
    for wrong in full(places, name, sorted({0, 0.001, most, *(random.uniform(0, most) for _ in range(count))})):
        faults.tried("full disk (limit on files)", name, wrong)
    faults.settle()


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own; the test is skipped where none can be mounted."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no file system can be mounted here: the limit on files stands in for it")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["compare", "bound", "prove", "check", "compare, 2 processes"])
def test_a_full_file_system(places, faults, name):
    writer = WRITERS[name]
    whole, code, _ = whole_of(places, writer)
    least = len(writer.files) + 2  # pages with which the older results and the verifier of a file have room
    for pages in range(least, least + 5):
        with mounted(places.root / f"small {pages}", f"size={pages * os.sysconf('SC_PAGE_SIZE')}") as folder:
            places.fill(writer, folder)
            run = Run(folder, writer.arguments)
            ended = run.ended()
            wrong = wrong_after(run, ended, b"", whole, None)
            wrong += [f"exit code {ended}: {run.err[-300:]}"] if ended not in (code, 2) else []
            faults.tried("full file system", name, wrong)
    faults.settle()


#: Folders that nobody can write to, whoever runs this: one of the kernel's, one below a file, one that is not there.
CLOSED = ("/proc", "own/below", "nowhere")


@pytest.mark.parametrize("name", chosen(lambda _: True, quick=("bound", "list")))
def test_a_folder_that_cannot_be_written(places, draftproof, faults, monkeypatch, name):
    writer = WRITERS[name]
    monkeypatch.chdir(places.prepared(writer, "here"))
    # what the kernel refuses shows when all is done, which is not awaited of long work
    for closed, flag in product(CLOSED[writer.lasts :], writer.outputs):
        places.fill(writer, Path())
        Path("own").write_text("a file")
        arguments = writer.moved(flag, f"{closed}/a")
        if arguments[0] == "-m":
            made = Run(Path.cwd(), arguments)
            code, err = made.ended(), made.err
        else:
            ran = draftproof(*arguments)
            code, err = ran.code, ran.err
        if flag == "--out" and closed == "nowhere":  # it is made
            whole = Path("nowhere/a", {"train": "pair.json", "train-head": "head.json"}[name])
            wrong = [] if (code, whole.exists()) == (0, True) else [f"{code} {err}"]
            shutil.rmtree("nowhere")
        else:
            wrong = [] if code == 2 else [f"{flag} exit code {code}: {err}"]
            wrong += [] if err.strip().splitlines()[-1].startswith("draftproof: ") else [f"said {err}"]
            seen = closed != "/proc"  # of a folder of the kernel nobody knows before writing there
            wrong += [f"{each} was written" for each in writer.files if seen and Path(each).read_text() != OLD]
        faults.tried("folder that cannot be written", name, wrong)
    faults.settle()


#: Without a word about files: what a folder that is read-only must not disturb, and the exit code.
UNASKED = {
    "list": (("list",), 0),
    "check": (("check", "naive_from_target"), 1),
    "check FILE.py": (("check", "../own.py:Naive", "--K", "1", "--L2", "1"), 0),
    "compare": (("compare", "nss", "--vocab", "2", "--K", "1..2", "--jobs", "2"), 0),
    "compare --resume": (("compare", "nss", "--vocab", "2", "--resume", "r"), 2),
    "bound": (("bound", "--vocab", "2"), 0),
    "matrix": (("matrix", "naive", "--instances", "1"), 0),
    "precision": (("precision", "naive", "--vocab", "2", "--K", "1", "--L2", "1"), 0),
    "audit": (("audit", "../own.py:first"), 1),
    "prove": (("prove", "naive_from_target", "--K", "1", "--L2", "1"), 1),
}


@pytest.mark.heavy
def test_a_read_only_folder_to_work_in(tmp_path, faults):
    (tmp_path / "own.py").write_text(OWN)
    with mounted(tmp_path / "closed", "ro") as folder:
        for name, (command, code) in UNASKED.items():
            run = Run(folder, command)
            found = run.ended()
            wrong = wrong_after(run, 2, b"", {}, None)
            wrong += [] if found == code else [f"{command}: {found} {run.err}"]
            faults.tried("read-only folder", name, wrong)
    faults.settle()


@MODELS
@pytest.mark.heavy
def test_a_read_only_folder_for_models(places, faults):
    places.fill(WRITERS["validate"], places.root / "here")
    arguments = [each for each in WRITERS["validate"].arguments if each not in WRITERS["validate"].outputs.items()]
    short = arguments[: arguments.index("--resume")]
    with mounted(places.root / "closed", "ro") as folder:
        for name, command, code in (
            ("validate", short, 0),
            ("train", ("train", "--out", "new", "--text", "../text.txt", "--steps", "2", "--device", "cpu"), 2),
        ):
            run = Run(folder, command)
            found = run.ended()
            wrong = wrong_after(run, 2, b"", {}, None) + ([] if found == code else [f"{found} {run.err[-300:]}"])
            faults.tried("read-only folder", name, wrong)
    faults.settle()


def test_the_limit_stands_in_for_a_full_disk(tmp_path):
    code = "open('file', 'wb', buffering=0).write(b'0123456789'); open('file', 'ab', buffering=0).write(b'0')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, preexec_fn=partial(of_size, 10), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert os.strerror(errno.EFBIG).encode() in done.stderr
