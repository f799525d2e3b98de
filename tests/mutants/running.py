"""Runs the tests of a room against one small change of its source, in a forked process on a copy of the repository."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from places import Mutant

ROOT = Path(__file__).resolve().parents[2]
#: Imported once, before the first fork; nothing of ours is among them.
HEAVY = ("pytest", "numpy", "scipy.optimize", "scipy.integrate", "scipy.sparse.linalg", "flint", "highspy")
MEMORY = 16 * 2**30  # bytes of address space for one mutant
SKIPPED = 77  # exit status of a run in which every test was skipped


def sources(room: str) -> list[str]:
    """The files of a room, which may be one file, as paths from the root."""
    found = [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in found]


def copied(folder: Path) -> None:
    """The files that git knows, as they are now."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)


def run(folder: Path, tests: list[str], seconds: int, cache: bool = False) -> str:
    """What a forked pytest says: "killed", "survived", "timeout", or "skipped" if it skipped every test.

    seconds: of the processor, so that a busy machine kills no mutant; ten times as many on the clock.
    """
    child = os.fork()
    if child == 0:
        _child(folder, tests, seconds, cache)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "timeout" if os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU) else "killed"
    return {0: "survived", SKIPPED: "skipped"}.get(os.WEXITSTATUS(status), "killed")


def _child(folder: Path, tests: list[str], seconds: int, cache: bool) -> None:
    import pytest

    guard = os.getpid()
    if (watched := os.fork()) == 0:  # the guard outlives every loop and every handler of the tests
        time.sleep(10 * seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(guard, signal.SIGKILL)
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.dont_write_bytecode = not cache
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    ours = {ROOT, Path(__file__).resolve().parent}
    sys.path[:] = [str(folder), *(each for each in sys.path if Path(each or ".").resolve() not in ours)]
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    code, ran = 1, Ran()
    try:
        code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *tests], plugins=[ran]))
        if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not ran.passed:
            code = SKIPPED
    finally:
        os.kill(watched, signal.SIGKILL)
        os._exit(code)


class Ran:
    """A plugin of pytest that counts the tests that passed."""

    def __init__(self) -> None:
        self.passed = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed += report.when == "call" and report.passed


def tried(folder: Path, mutant: Mutant, tests: list[str], limits: dict[tuple[str, ...], int]) -> str:
    """What the tests say of a mutant in a copy of the repository, which is as before afterwards; see `run`."""
    if tuple(tests) not in limits:
        limits[tuple(tests)] = _limit(folder, tests)
    target = folder / mutant.path
    source, stat = target.read_text(), target.stat()
    target.write_text(mutant.mutated)
    outcome = run(folder, tests, limits[tuple(tests)])
    target.write_text(source)
    os.utime(target, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return outcome


def _limit(folder: Path, tests: list[str]) -> int:
    """Processor seconds for one mutant: five times what the unchanged source takes, which must pass."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run(folder, tests, 600, cache=True) not in ("survived", "skipped"):
        sys.exit(f"the unchanged source fails {' '.join(tests)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 20 + int(5 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime))
