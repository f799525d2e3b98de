"""A mutation campaign: small changes of our own source, each run against the tests of its room.

`make mutants SAMPLE=300` takes a seeded sample, spread over the files by the number of places that can change, and
prints what survived. Mutants come from cosmic-ray's operators; every one runs in a forked process on a copy of the
repository, so nothing here is touched. Rows are kept outside the repository and a run goes on where another stopped:
killed mutants stay killed, survivors run again once the tests of their room have changed.
"""

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from places import Mutant, mutants_of
from rooms import ROOMS, tests_of

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.json")
#: Imported once, before the first fork; nothing of ours is among them.
HEAVY = ("pytest", "numpy", "scipy.optimize", "scipy.integrate", "scipy.sparse.linalg", "flint", "highspy")
MEMORY = 16 * 2**30  # bytes of address space for one mutant
SKIPPED = 77  # exit status of a run in which every test was skipped


def sampled(size: int, seed: int) -> list[Mutant]:
    """A seeded sample, stratified by file: at least one from each, the rest by the number of places.

    Fewer mutants than files come from as many files, drawn at random.
    """
    paths = sorted({path for room in ROOMS for path in sources(room)})
    if size < len(paths):
        paths = random.Random(seed).sample(paths, size)
    files = {path: mutants_of(ROOT, path) for path in paths}
    files = {path: found for path, found in files.items() if found}
    total = sum(len({m.place for m in found}) for found in files.values())
    chosen = []
    for path, found in sorted(files.items()):
        draw = random.Random(f"{seed} {path}")
        places = sorted({m.place for m in found})
        for place in draw.sample(places, min(len(places), max(1, round(size * len(places) / total)))):
            chosen.append(draw.choice([m for m in found if m.place == place]))
    return chosen


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


class MutantRows:
    """Rows of earlier runs, one JSON object a line, the last of each mutant counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self.found[row["key"]] = row

    def done(self, key: str, tests: str) -> bool:
        row = self.found.get(key)
        if row is None or row["outcome"] == "skipped":  # what is missing may have been installed
            return False
        return row["outcome"] != "survived" or row["tests"] == tests

    def add(self, row: dict[str, Any]) -> None:
        self.found[row["key"]] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def digest(folder: Path, tests: list[str]) -> str:
    """A hash of the files that hold the tests."""
    names = dict.fromkeys(name.split("::")[0] for name in tests)
    return hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest()[:16]


def campaign(chosen: list[Mutant], rows: MutantRows) -> None:
    """Run what has no row yet."""
    for name in HEAVY:
        importlib.import_module(name)
    with contextlib.suppress(ImportError):
        importlib.import_module("torch")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder)
        limits: dict[tuple[str, ...], int] = {}
        for number, mutant in enumerate(chosen, 1):
            tests = tests_of(mutant.path)
            key, state = mutant.key, digest(folder, tests)
            if rows.done(key, state):
                continue
            started = time.perf_counter()
            outcome = tried(folder, mutant, tests, limits)
            seconds = round(time.perf_counter() - started, 1)
            rows.add(mutant.row() | {"outcome": outcome, "tests": state, "seconds": seconds})
            print(
                f"{number}/{len(chosen)} {outcome:8} {seconds:5.1f} s  {mutant.path}:{mutant.place[0]}", file=sys.stderr
            )


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


def report(chosen: list[Mutant], rows: MutantRows) -> int:
    """Print survivors and figures; 1 if fewer than nine in ten of those that could be killed were."""
    argued = {tuple(each[name] for name in ("path", "before", "after")) for each in json.loads(EQUIVALENT.read_text())}
    counts: Counter[str] = Counter()
    for mutant in chosen:
        row = rows.found[mutant.key]
        survived = row["outcome"] == "survived"
        outcome = row["outcome"] if not survived else "equivalent" if mutant.identity in argued else "survived"
        counts[outcome] += 1
        if outcome in ("survived", "skipped"):
            why = " (every test of it is skipped here)" if outcome == "skipped" else ""
            print(f"{mutant.path}:{mutant.place[0]}{why}\n  - {mutant.before}\n  + {mutant.after}")
    killed = counts["killed"] + counts["timeout"]
    possible = len(chosen) - counts["equivalent"] - counts["skipped"]
    print(
        f"sampled {len(chosen)}, killed {killed} (of them {counts['timeout']} by the time limit), "
        f"equivalent {counts['equivalent']}, skipped {counts['skipped']}, survived {counts['survived']}: "
        f"{100 * killed / max(1, possible):.1f} % of the others killed"
    )
    return int(10 * killed < 9 * possible)


def main() -> int:
    """The command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants, about")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another sample")
    parser.add_argument("--only", default="", help="files whose path starts so")
    parser.add_argument("--rows", type=Path, default=Path(tempfile.gettempdir()) / "draftproof-mutants.jsonl")
    parser.add_argument("--list", action="store_true", help="print the sample and stop")
    options = parser.parse_args()
    chosen = [mutant for mutant in sampled(options.sample, options.seed) if mutant.path.startswith(options.only)]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.path}:{mutant.place[0]}\n  - {mutant.before}\n  + {mutant.after}")
        return 0
    rows = MutantRows(options.rows)
    campaign(chosen, rows)
    return report(chosen, rows)


if __name__ == "__main__":
    sys.exit(main())
