"""Faults x commands: nothing that was kept is lost, nothing is left half written, and no unfinished run has a verdict.

`pytest -m "" tests/experiments/test_faults.py` tries every fault on every command that writes, and counts them.
"""

import csv
import errno
import io
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from importlib.util import find_spec
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import typer

from draftproof.experiments import cli
from draftproof.experiments.models.pair.head_kinds import HEADS
from draftproof.experiments.runtime import VERDICTS
from draftproof.lp_analysis.checker import check_certificate, read_certificate
from draftproof.simulator import FAMILIES
from tests.experiments.parsers import parsers
from tests.quick import quick

if not sys.platform.startswith("linux"):
    pytest.skip("processes that are left are looked for in /proc", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
#: Small work is spread over processes, too: what is tried here is what becomes of them.
PROGRAM = (
    "import sys; sys.argv[0] = 'draftproof'; from draftproof.experiments.grid import run; "
    "run.PARALLEL_FROM_SECONDS = 0.0; from draftproof.experiments.cli import main; main()"
)
MARK = "DRAFTPROOF_FAULT_TEST"
#: Seconds within which every process of a killed run is gone.
GONE = 30.0
#: Seconds within which a command that is never awaited is killed.
LASTING = 15.0
#: What stood in a file before the run.
OLD = "an older result\n"
OWN = """
from draftproof.verifiers.naive import Naive

def first(root):
    "Takes the first draft, whatever it is."
    return root.children[:1], 0
"""
WORLDS = """
verifiers = ["naive"]
world = "family:dirichlet,vocab=2"
scheme = "delayed:K=1,L2=1..2"
"""
OUTPUTS = (*("--plot", "--certificate", "--witness", "--resume", "--times", "-o", "--out"),)
STORES = ("--resume",)
WORLD = "--world family:dirichlet,vocab=2 --K 1 --L2 1"
SHAPES = "--world family:dirichlet --K 2 --L1 0..1 --L2 1..2 --engine enumerate"
TABLES = "--plot a.png -o a.json"
MODELS_WORLD = "--world models:../pair,text=../text.txt,device=cpu"
PAIR = f"{MODELS_WORLD},roots=2 --K 1 --L2 1"
#: Every command that writes, with all of its options that name a file.
COMMANDS = {
    "list": "list -o a.json",
    "check": "check naive_from_target --world family:dirichlet,vocab=2 --L2 1 --witness w.json --resume r -o a.json",
    "check FILE.py": "check own.py:Naive --world family:dirichlet,denominator=20,seeds=0..39 -o a.json",
    "compare": f"compare nss naive {SHAPES} --jobs 1 --resume r {TABLES}",
    "compare, 2 processes": f"compare nss naive specinfer traversal spectr block_by_weights {SHAPES} --jobs 2 "
    "--resume r -o a.json",
    "compare FILE.toml": "compare small.toml --jobs 1 --resume r -o a.csv",
    "bound": "bound --certificate b.json --resume r -o a.json",
    "bound --bias": f"bound block {WORLD} --bias 0,.1 --certificate c.json --plot b.png -o a.json",
    "check, two tokenizers": "check slem --world strings:drafted=2,after=a -o a.json",
    "check, low precision": "check naive --world family:dirichlet,vocab=2 --K 1 --L2 1 --precision float16 -o a.json",
    "audit": "audit own.py:first --witness w.json --resume r -o a.json",
    "vectors": "vectors --cases short -o a.json",
    "prove": "prove block --K 1 --L2 2 --resume r --certificate c.json -o a.json",
    "prove, refuted": "prove naive_from_target --K 1 --L2 1 --witness w.json -o a.json",
    "list gallery": "list gallery -o a.json",
    "claims": "claims actions gbv-one-path-is-block --jobs 1 --resume r -o a.json",
    "verify": "verify made.json -o a.json",
    "report, a table": "report made.db -o a.csv",
    "report": "report made.db -o a.html",
    "model train": "model train --out new --steps 2 --text ../text.txt --device cpu -o a.json",
    **{
        f"model train, {kind}": f"model train --kind {kind} {MODELS_WORLD} --out new --steps 2 -o a.json"
        for kind in HEADS
    },
    "model validate": f"model validate naive block {PAIR} --blocks 60 --resume r -o a.md --plot a.png --times t.json",
    "model choose": f"model choose naive {PAIR} --tokens 4 --rounds 2 --resume r --plot a.png -o a.json",
    "model train, selector": f"model train --kind selector naive {MODELS_WORLD},roots=10 "
    "--K 1 --L1 0 --L2 0..1 --cost draft=1,target=4 --out sel --resume r -o a.json",
}
MODELS = tuple(name for name in COMMANDS if name.startswith("model "))
#: Which candidates it measures hangs on times: its lists have other lengths in every run.
MEASURED = ("model choose",)
#: Never awaited, only killed.
LAST = ("model train, selector",)


def outputs(name: str) -> dict[str, str]:
    """What a command writes, by option."""
    return {flag: file for flag, file in pairwise(COMMANDS[name].split()) if flag in OUTPUTS}


def files(name: str) -> list[str]:
    """What it writes whole."""
    return [file for flag, file in outputs(name).items() if flag not in (*STORES, "--out")]


def chosen(*left_out: str, soon: Sequence[str] = ()) -> list[Any]:
    """The commands, as parameters of a test; all but the quick ones are heavy."""
    torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; MODELS=yes brings it")
    return [
        pytest.param(name, marks=[*([torch] * (name in MODELS)), *([pytest.mark.heavy] * (name not in soon))])
        for name in COMMANDS
        if name not in left_out
    ]


class Run:
    """One run of a command in a folder, as a process that can be hurt."""

    def __init__(self, folder: Path, arguments: Sequence[str], **more: Any) -> None:
        self.folder, self._mark = folder, f"{MARK}={uuid.uuid4().hex}"
        own = dict([self._mark.split("=")], PYTHONPATH=str(ROOT), MPLBACKEND="agg", OMP_NUM_THREADS="1")
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=folder,
            start_new_session=True,
            env={**os.environ, **own, "TMPDIR": str(folder / "tmp")},
            **streams,
        )
        self.out = self.err = ""

    def ended(self) -> int:
        """The exit code, once it has ended."""
        out, err = self.process.communicate(timeout=600)
        self.out, self.err = (out or b"").decode(), (err or b"").decode()
        return int(self.process.returncode)

    def hurt(self, number: int, after: float) -> int:
        """The exit code after a signal at that many seconds, or before it."""
        end = time.monotonic() + after
        while time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.01)
        self.process.send_signal(number)
        return self.ended()

    def left(self) -> list[int]:
        """Processes that outlive it; they are ended, so that they disturb nothing."""
        end = time.monotonic() + GONE
        while (alive := [int(path.name) for path in Path("/proc").iterdir() if self._marked(path)]) and (
            time.monotonic() < end
        ):
            time.sleep(0.1)
        for process in alive:
            os.kill(process, signal.SIGKILL)
        return alive

    def _marked(self, entry: Path) -> bool:
        try:
            return entry.name.isdigit() and self._mark.encode() in (entry / "environ").read_bytes()
        except OSError:
            return False


def size_of(path: Path, measured: bool = False) -> object:
    """Equal for two files of one command exactly when both are whole; raises `ValueError` for one that is not.

    measured: whether the lengths of lists hang on times.
    """
    data = path.read_bytes()
    if path.suffix == ".json":
        return shape_of(json.loads(data), measured)
    if path.suffix == ".png":
        if not (data.startswith(b"\x89PNG") and data.endswith(b"IEND\xaeB`\x82")):
            raise ValueError(path.name)
        return "picture"
    if path.suffix == ".csv":
        widths = [len(line) for line in csv.reader(io.StringIO(data.decode()))]
        return set(widths) if measured else widths
    return data.count(b"\n"), data.endswith(b"\n")


def shape_of(value: object, measured: bool = False) -> object:
    """Names and lengths of JSON, not its numbers: times differ from run to run."""
    if isinstance(value, dict):
        return {key: shape_of(each, measured) for key, each in value.items() if key != "history"}
    return len(value) if isinstance(value, list) and not measured else None


def stored(folder: Path, name: str) -> dict[str, tuple[str, str]]:
    """The rows of the command's store: kind and text by `strong_id`; none where there is no store yet."""
    path = next((folder / file for flag, file in outputs(name).items() if flag in STORES), None)
    if path is None or not path.is_file():
        return {}
    with closing(sqlite3.connect(path)) as file:
        if not file.execute("select 1 from sqlite_master where name = 'rows'").fetchone():
            return {}  # killed before the table was made
        return {key: (kind, row) for key, kind, row in file.execute("select strong_id, kind, row from rows")}


def remainders(folder: Path) -> set[str]:
    """Temporary files and folders that were left, also where temporary ones belong."""
    return {path.name for path in (*folder.iterdir(), *(folder / "tmp").glob(".*")) if path.name.endswith(".part")}


def within(path: Path) -> list[Path]:
    """This file, or those of a folder."""
    return [each for each in (path, *path.rglob("*")) if each.is_file()]


def parts_of(folder: Path) -> set[str]:
    """The files of a folder that is written whole; none where it is not there."""
    return {str(each.relative_to(folder)) for each in folder.rglob("*")}


class Case:
    """A command with a folder for every run of it."""

    def __init__(self, root: Path, name: str, pair: Callable[[], Path]) -> None:
        self.root, self.name, self._pair = root, name, pair
        self.arguments = COMMANDS[name].split()
        self.turns, self.code, self.seconds, self.first = 0, 0, LASTING, root
        self.sizes: dict[str, object] = {}
        self.kinds: set[str] = set()

    def folder(self) -> Path:
        """A new folder with what the command reads, and an older result in every file that it writes whole."""
        folder = self.root / str(self.turns)
        self.turns += 1
        self.fill(folder)
        return folder

    def fill(self, folder: Path) -> None:
        if self.name in MODELS and not (self.root / "pair").exists():
            shutil.copy(self._pair().parent / "text.txt", self.root / "text.txt")
            (self.root / "pair").symlink_to(self._pair())
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        (folder / "own.py").write_text(OWN)
        (folder / "small.toml").write_text(WORLDS)
        if self.name.startswith("report"):
            run = Run(folder, ["compare", "small.toml", "--jobs", "1", "--resume", "made.db"])
            assert run.ended() == 0, run.err
        if self.name == "verify":
            run = Run(folder, ["bound", *WORLD.split(), "--certificate", "made.json"])
            assert run.ended() == 0, run.err
        for file in files(self.name):
            (folder / file).write_text(OLD)

    def whole(self) -> None:
        """A run that nobody hurts: what it writes, its exit code and its seconds."""
        self.first, started = self.folder(), time.monotonic()
        run = Run(self.first, self.arguments)
        self.code = run.ended()
        self.seconds = time.monotonic() - started
        assert self.code in VERDICTS, run.err
        self.sizes = {file: self._size(self.first / file) for file in files(self.name)}
        self.kinds = {kind for kind, _ in stored(self.first, self.name).values()}

    def _size(self, path: Path) -> object:
        return size_of(path, self.name in MEASURED)

    def wrong_after(self, run: Run, code: int) -> list[str]:
        """Everything that a fault may never do, of those that it did."""
        wrong = [f"{len(left)} processes left"] if (left := run.left()) else []
        wrong += [f"a traceback: {run.err.strip()[-400:]}"] if "Traceback" in run.err else []
        for file, size in self.sizes.items():
            path = run.folder / file
            if code not in VERDICTS and (not path.exists() or path.read_bytes() == OLD.encode()):
                continue
            if code not in VERDICTS and (self.name, file) == ("bound", "b.json"):
                # a search that is interrupted keeps a certificate of the gap that it had
                check_certificate(read_certificate(path))
                continue
            try:
                wrong += (
                    [] if self._size(path) == size else [f"{file} is not what a whole run writes, exit code {code}"]
                )
            except (ValueError, OSError) as error:
                wrong.append(f"{file} is half written: {error}, exit code {code}")
        if "--out" in outputs(self.name) and parts_of(run.folder / "new") not in (set(), parts_of(self.first / "new")):
            wrong.append("half a folder")
        return wrong

    def finished(self, folder: Path) -> list[str]:
        """What is wrong with a run that goes on from what was kept in this folder."""
        before = stored(folder, self.name)
        run = Run(folder, self.arguments)
        code = run.ended()
        wrong = self.wrong_after(run, code) + ([] if code == self.code else [f"afterwards {code}: {run.err[-300:]}"])
        after = stored(folder, self.name)
        wrong += [f"row {key} was kept and is another" for key, row in before.items() if after.get(key) != row]
        wrong += [f"no row of the kind {kind}" for kind in self.kinds - {kind for kind, _ in after.values()}]
        return wrong


@pytest.fixture
def tried(record_property: Callable[[str, object], None]) -> Callable[[str, list[str]], None]:
    """Counts one more of this fault, which fails the test where anything was wrong."""

    def count(fault: str, wrong: list[str]) -> None:
        record_property("tried", (f"fault: {fault}", 1))
        assert not wrong, fault

    return count


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """The folder of a small pair, trained when it is first asked for, with its text beside it."""

    def made() -> Path:
        folder = tmp_path_factory.getbasetemp() / "models" / "pair"
        if not folder.exists():
            from draftproof.experiments.inputs.text import EMBEDDED, read_text

            (folder.parent / "tmp").mkdir(parents=True)
            (folder.parent / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
            run = Run(
                folder.parent,
                ["model", "train", "--out", "pair", "--steps", "20", "--text", "text.txt", "--device", "cpu"],
            )
            assert run.ended() == 0, run.err
        return folder

    return made


@pytest.fixture
def case(tmp_path: Path, pair: Callable[[], Path]) -> Callable[[str], Case]:
    return lambda name: Case(tmp_path, name, pair)


@pytest.fixture
def random(request: pytest.FixtureRequest) -> Random:
    """The same moments in every run, other ones in every test."""
    return Random(request.node.name)


@pytest.mark.parametrize("name", chosen())
def test_killed_at_random(case, tried, random, name):
    """kill -9 and SIGTERM again and again; each run goes on where the one before ended, and the last one finishes."""
    it = case(name)
    if name not in LAST:
        it.whole()
    folder = it.folder()
    for turn in range(4):
        number = (signal.SIGKILL, signal.SIGTERM)[turn % 2]
        if name in LAST:
            it.fill(folder)
        before, there = stored(folder, name), remainders(folder)
        run = Run(folder, it.arguments)
        code = run.hurt(number, random.uniform(0, it.seconds))
        wrong = it.wrong_after(run, code)
        wrong += [] if code in (-number, 128 + number, it.code) else [f"exit code {code}: {run.err[-200:]}"]
        wrong += [f"left {left}"] if code == 128 + number and (left := remainders(folder) - there) else []
        wrong += [f"rows lost: {gone}"] if (gone := before.keys() - stored(folder, name).keys()) else []
        tried(signal.Signals(number).name, wrong)
        if code == it.code:  # it was quicker: from the beginning
            folder = it.folder()
    if name not in LAST:
        tried("finished afterwards", it.finished(folder))


def of_size(most: int) -> None:
    """For this process and its children no file can grow beyond so many bytes: a full disk that needs no disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.parametrize("name", chosen(*LAST))
def test_a_full_disk(case, tried, random, name):
    """A limit on every file below the largest one; a run with room then finishes from what was kept."""
    it = case(name)
    it.whole()
    largest = max(path.stat().st_size for file in outputs(name).values() for path in within(it.first / file))
    most = 0.6 if name == "model choose" else 0.9  # times in a file can make it a little shorter
    for share in (0, random.uniform(0, most), most):
        run = Run(it.folder(), it.arguments, preexec_fn=partial(of_size, int(largest * share)))
        code = run.ended()
        wrong = it.wrong_after(run, code)
        said = code == 2 and run.err.strip().splitlines()[-1].startswith("draftproof: ")
        wrong += [] if said else [f"{share:.0%} of {largest} bytes, exit code {code}: {run.err[-300:]}"]
        tried("full disk", wrong + it.finished(run.folder))


def test_the_limit_stands_in_for_a_full_disk(tmp_path):
    code = "open('file', 'wb', buffering=0).write(b'0123456789'); open('file', 'ab', buffering=0).write(b'0')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, preexec_fn=partial(of_size, 10), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert os.strerror(errno.EFBIG).encode() in done.stderr


@pytest.mark.parametrize("name", chosen(*LAST))
def test_two_runs_at_once(case, tried, random, name):
    """On the same files; then with one of them killed in the middle."""
    it = case(name)
    it.whole()
    for kill in (False, True):
        folder = it.folder()
        runs = [Run(folder, it.arguments) for _ in range(2)]
        code = runs[0].hurt(signal.SIGKILL, random.uniform(0, it.seconds)) if kill else runs[0].ended()
        other = runs[1].ended()
        wrong = [] if code in (it.code, -signal.SIGKILL) else [f"exit code {code}: {runs[0].err[-300:]}"]
        wrong += [] if other == it.code else [f"the other: {other} {runs[1].err[-300:]}"]
        wrong += [each for run in runs for each in it.wrong_after(run, it.code)]
        tried("two runs at once", wrong + it.finished(folder))


class Pipe(io.RawIOBase):
    """Takes so many bytes, then nobody reads any more."""

    def __init__(self, most: int) -> None:
        self.most, self.taken, self.refused = most, 0, False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.taken == self.most and len(data):
            self.refused = True
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        count = min(len(data), self.most - self.taken)
        self.taken += count
        return count


#: Commands whose pipe closes after so many bytes, in this process.
PIPED = {
    "check": "check block --world family:dirichlet,vocab=2 --K 1 --L2 1",
    "check, refuted": "check naive_from_target --world given.json --witness w.json",
    "list": "list",
    "compare": f"compare nss naive --jobs 1 {WORLD}",
    "bound": f"bound {WORLD}",
    "check, two tokenizers": "check slem --world strings:drafted=2,after=a",
    "check of many": "check naive nss --world conformance:instances=1 --scheme delayed --scheme top_k",
    "check, low precision": "check naive --world family:dirichlet,vocab=2 --K 1 --L2 1 --precision float16",
    "audit": "audit own.py:first --cases context --L2 1 --shrink-seconds 0",
    "prove": "prove block --K 1 --L2 1",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", quick(PIPED, ("check", "check, refuted")))
def test_a_pipe_that_closes(monkeypatch, tmp_path, tried, random, name):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    FAMILIES["dirichlet"].instance(2, 1, np.random.default_rng(0), 20).save(Path("given.json"))
    program: Any = typer.main.get_command(cli.program(cli.needed_commands(PIPED[name].split())))

    def piped(most: int) -> tuple[int, Pipe]:
        pipe = Pipe(most)
        with monkeypatch.context() as patch:
            out = io.TextIOWrapper(io.BufferedWriter(pipe, 16), encoding="utf-8")
            patch.setattr(sys, "stdout", out)
            code = cli.run(program, "draftproof")
            with suppress(OSError):  # what is left is not written when `out` is freed, in a later test
                out.close()
            return code, pipe

    for more in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["draftproof", *PIPED[name].split(), *more])
        code, pipe = piped(10**6)
        assert code in VERDICTS
        for most in sorted({0, 1, pipe.taken - 1, *(random.randrange(pipe.taken) for _ in range(4))}):
            ended, pipe = piped(most)  # a time can be shorter: then all arrived
            tried("closed pipe", [] if ended == (141 if pipe.refused else code) else [f"{most} bytes: {ended}"])


#: Folders that nobody can write to, whoever runs this: one of the kernel's, one below a file, one that is not there.
CLOSED = ("/proc", "own/below", "nowhere")


@pytest.mark.parametrize("name", chosen(soon=("bound", "list")))
def test_a_folder_that_cannot_be_written(case, tried, draftproof, monkeypatch, name):
    it = case(name)
    monkeypatch.chdir(it.folder())
    # what the kernel refuses shows when all is done, which is not awaited of long work
    for closed, flag in product(CLOSED[name in LAST :], outputs(name)):
        it.fill(Path())
        Path("own").write_text("a file")
        arguments = [f"{closed}/a" if last == flag else each for last, each in pairwise(("", *it.arguments))]
        if arguments[0] == "-m":
            run = Run(Path.cwd(), arguments)
            code, err = run.ended(), run.err
        else:
            ran = draftproof(*arguments)
            code, err = ran.code, ran.err
        if flag == "--out" and closed == "nowhere":  # it is made
            wrong = [] if code == 0 and parts_of(Path("nowhere/a")) else [f"{code} {err}"]
            shutil.rmtree("nowhere")
        else:
            refuted = code == 1 and "was not saved" in err  # a verdict is said even if its witness cannot be kept
            wrong = [] if code == 2 or refuted else [f"{flag} {closed}, exit code {code}: {err}"]
            wrong += [] if refuted or err.strip().splitlines()[-1].startswith("draftproof: ") else [f"said {err}"]
            seen = closed != "/proc"  # of a folder of the kernel nobody knows before writing there
            wrong += [f"{each} was written" for each in files(name) if seen and Path(each).read_text() != OLD]
        tried("folder that cannot be written", wrong)


#: What a working folder that is read-only does not disturb, and the exit code.
UNASKED = {
    "list": 0,
    "check naive_from_target": 1,
    "compare nss --world family:dirichlet,vocab=2 --K 1..2 --jobs 1": 0,
    "compare nss --world family:dirichlet,vocab=2 --resume r": 2,
    "bound": 0,
    "check naive --world conformance:instances=1 --scheme delayed": 0,
    "prove naive_from_target --K 1 --L2 1": 1,
}


@pytest.mark.parametrize(
    "command", quick(UNASKED, ("check naive_from_target", "compare nss --world family:dirichlet,vocab=2 --resume r"))
)
def test_a_read_only_folder_to_work_in(tried, draftproof, monkeypatch, command):
    monkeypatch.chdir("/proc")
    ran = draftproof(*command.split())
    tried("read-only folder", [] if ran.code == UNASKED[command] else [f"exit code {ran.code}: {ran.err}"])


def test_every_command_that_writes_is_tried_with_every_option_for_a_file():
    for name, command in parsers().items():
        opts = [each.opts[0] for each in command.params if not getattr(each, "is_flag", False)]
        written = {"-o" if flag == "--output" else flag for flag in opts} & {*OUTPUTS}
        assert {flag for each in COMMANDS if COMMANDS[each].startswith(f"{name} ") for flag in outputs(each)} == written
