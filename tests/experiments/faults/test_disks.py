"""Full disks, and folders that nobody can write to."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.experiments.faults.conftest import OLD, VERDICTS, Run, rows_of, size_of, wrong_after

if not sys.platform.startswith("linux"):
    pytest.skip("processes that are left are looked for in /proc", allow_module_level=True)

SMALL = ("--vocab", "2", "--K", "1..2", "--L2", "1..2", "--jobs", "1")
COMPARE = ("compare", "nss", "naive", *SMALL, "--resume", "r", "--csv", "a.csv", "--json", "a.json")
FILES = ("a.csv", "a.json")
#: Commands that write, and their files without a row file.
WRITERS = {
    "compare": (COMPARE, FILES),
    "check": (("check", "naive_from_target", "--witness", "w.json", "--json", "a.json"), ("w.json", "a.json")),
    "bound": (("bound", "--vocab", "2", "--certificate", "b.json", "--json", "a.json"), ("b.json", "a.json")),
    "prove": (
        ("prove", "block", "--K", "1", "--L2", "1", "--certificate", "c.json", "--json", "a.json"),
        ("c.json", "a.json"),
    ),
}


def of_size(most: int) -> None:
    """For this process and its children no file can grow beyond so many bytes: a full disk that needs no disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def prepared(folder: Path, files: tuple[str, ...]) -> Path:
    folder.mkdir(exist_ok=True)
    for name in files:
        (folder / name).write_text(OLD)
    return folder


def whole_of(place: Path, arguments: tuple[str, ...], files: tuple[str, ...]) -> tuple[dict[str, object], int]:
    folder = prepared(place / "whole", files)
    run = Run(folder, arguments)
    code = run.ended()
    assert code in VERDICTS, run.err
    return {name: size_of(folder / name) for name in files}, max(
        path.stat().st_size for path in folder.iterdir() if path.is_file()
    )


def full(place: Path, name: str, sizes: Callable[[int], list[int]]) -> Iterator[list[str]]:
    """What went wrong at each size of the largest file; a run with room then finishes from what was kept."""
    arguments, files = WRITERS[name]
    whole, largest = whole_of(place, arguments, files)
    for most in sizes(largest):
        folder = prepared(place / f"full {most}", files)
        run = Run(folder, arguments, preexec_fn=partial(of_size, most))
        code = run.ended()
        wrong = wrong_after(run, code, b"", whole, None)
        if code != 2 or not run.err.strip().splitlines()[-1].startswith("draftproof: "):
            wrong.append(f"exit code {code}: {run.err[-300:]}")
        kept = rows_of(folder / "r")
        again = Run(folder, arguments)
        again_code = again.ended()
        wrong += wrong_after(again, again_code, b"", whole, None)
        wrong += ["rows lost"] if any(rows_of(folder / "r")[key] != row for key, row in kept.items()) else []
        wrong += [f"afterwards: {again.err}"] if again_code not in VERDICTS else []
        wrong += ["remainders"] if [each for each in folder.iterdir() if each.suffix == ".part"] else []
        yield wrong


@pytest.mark.heavy
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_at_many_sizes(tmp_path, faults, random, name):
    def sizes(largest: int) -> list[int]:
        most = largest * 9 // 10  # times in a file can make it a little shorter
        return sorted({0, 1, most, *(random.randrange(most) for _ in range(6))})

    for wrong in full(tmp_path, name, sizes):
        faults.tried(f"full disk (limit on files): {name}", wrong)
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
def test_a_full_file_system(tmp_path, faults):
    whole, _ = whole_of(tmp_path, COMPARE, FILES)
    for pages in range(1, 7):
        with mounted(tmp_path / f"small {pages}", f"size={pages * 4}k") as folder:
            prepared(folder, FILES)
            run = Run(folder, COMPARE)
            code = run.ended()
            wrong = wrong_after(run, code, b"", whole, None)
            wrong += [f"exit code {code}: {run.err[-300:]}"] if code not in (0, 2) else []
            faults.tried("full file system: compare", wrong)
    faults.settle()


#: Folders that nobody can write to, whoever runs this: one of the kernel's, one below a file, one that is not there.
CLOSED = ("/proc", "own/below", "nowhere")


@pytest.mark.parametrize("name", ["compare", pytest.param("check", marks=pytest.mark.heavy), "bound", "prove"])
@pytest.mark.parametrize("closed", CLOSED)
def test_a_folder_that_cannot_be_written(draftproof, faults, name, closed):
    Path("own").write_text("a file")
    arguments, files = WRITERS[name]
    for flag in files if name != "compare" else (*files, "r"):
        run = draftproof(*(f"{closed}/{flag}" if each == flag else each for each in arguments))
        wrong = [] if run.code == 2 else [f"exit code {run.code}: {run.err}"]
        wrong += [] if run.err.strip().splitlines()[-1].startswith("draftproof: ") else [f"said {run.err}"]
        faults.tried(f"folder that cannot be written: {name}", wrong)
    faults.settle()


@pytest.mark.heavy
def test_a_read_only_folder_to_work_in(tmp_path, faults):
    lossy = "naive_from_target"
    with mounted(tmp_path / "closed", "ro") as folder:
        for command, code in (
            (("check", lossy), 1),
            (("check", "block", "--K", "1", "--L2", "1"), 0),
            (("prove", lossy, "--K", "1", "--L2", "1"), 1),
            (("bound", "--vocab", "2"), 0),
            (("compare", "nss", *SMALL), 0),
            (("compare", "nss", *SMALL, "--resume", "r"), 2),
        ):
            run = Run(folder, command)
            found = run.ended()
            wrong = wrong_after(run, 2, b"", {}, None)
            faults.tried("read-only folder", wrong + ([] if found == code else [f"{command}: {found} {run.err}"]))
    faults.settle()


def test_the_limit_stands_in_for_a_full_disk(tmp_path):
    code = "open('file', 'wb', buffering=0).write(b'0123456789'); open('file', 'ab', buffering=0).write(b'0')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, preexec_fn=partial(of_size, 10), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert os.strerror(errno.EFBIG).encode() in done.stderr
