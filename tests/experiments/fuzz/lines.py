"""Command lines, each run in a fork of this process: quick, and whatever it does stays there."""

import gc
import importlib
import io
import os
import pkgutil
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from draftproof import lp_analysis, simulator
from draftproof.experiments import cli
from draftproof.experiments.grid import figures as drawing
from draftproof.experiments.shared import progress
from tests.experiments.fuzz.mutations import CHARACTERS, MEMORY, SECONDS

#: Valid lines, most of them quick. Files: an instance, a certificate, a store of rows, times, a text, a verifier.
LINES = tuple(
    line.split()
    for line in """
    list -o out.json
    check block --K 1 --L2 1 --world family:dirichlet,vocab=2,seeds=3,denominator=20
    check block --K 1 --L2 1 --arithmetic float64 --engine structured --backend numpy --max-memory 1
    check naive_from_target --K 1 --L2 1 --world family:dirichlet,vocab=2 --witness w.json --json
    check ensemble:w=1/2 --world given.json -o out.json
    check naive_from_target --seconds 5
    check own.py:Naive --K 2 --L2 1 --world family:dirichlet,vocab=2,denominator=20,seeds=0..1
    check naive --world grid:denominator=2,vocab=2 --K 1 --L2 1 --max-runs 100000
    check naive --world text:text.txt,vocab=3,target_order=2,draft_order=1,roots=2 --K 1 --L2 1
    check naive --world text:text.txt,vocab=3,root=the --K 1 --L2 1
    check naive_tree --scheme topology:tree=2-0-0 --world family:dirichlet,vocab=2
    check specinfer --scheme specinfer_config:widths=2 --world family:dirichlet,vocab=2
    check naive --scheme own.py:Own --world family:dirichlet,vocab=2
    compare nss naive --world family:dirichlet,vocab=2 --K 1..2 --L1 0..1 --L2 1 --jobs 1 --max-nodes 4
    compare nss block --world family:dirichlet,vocab=2 --K 2 --L2 1 --jobs 1 --resume rows.db -o out.csv -o out.md
    compare nss --world family:equal,vocab=2 --K 1 --L2 1..2 --jobs 1 --cost draft=1,branch=.1,target=10 --no-optimum
    compare nss --world family:equal,vocab=2,seeds=0..1 --K 1 --L2 1 --cost times.json --optimum --by root,depth
    compare naive --world text:text.txt,vocab=2 --K 1 --L2 1 --jobs 1 --by long-run
    compare naive --world text:text.txt,vocab=2 --K 1 --L2 0..1 --jobs 1 --no-optimum greedy ratio
    bound --world family:dirichlet --K 2 --L2 1 --gap 1e-6 --seconds 2 --method auto --certificate out.cert -o out.json
    verify certificate.json --instance given.json --json
    bound --world given.json --K 2 --L2 1 --bias 0 --plot out.png
    check slem block --world strings:drafted=1,letters=ab,vocab=3,draft_vocab=3,after=a --L2 1 --json
    check naive block --world conformance:instances=1 --scheme delayed
    report rows.db -o out.csv --json
    check naive --world family:dirichlet,vocab=2,denominator=64 --K 1 --L2 1 --precision float32,float16
    audit own.py:first --interface tree --cases context --L2 1 --K 1 --library numpy --witness w.json
    audit own.py:first --argument a=1 --world family:zeros --K 1 --L2 1 --processing temperature=1,top_k=2 --boundary
    prove block --K 1 --L2 1 --zeros --formula --json
    prove naive --K 1 --L2 1 --resume rows.db --certificate out.cert --max-trees 10
    prove naive --K 1 --L2 1 --equals block --vocab 2
    verify theorem.json
    --max-input 1 check block --world given.json
    --version
    """.strip().splitlines()
)
#: Seconds of the clock within which something is heard of every line.
MOST_WAITED = 6.0 * SECONDS
#: Lines that need models; they end before any of them is trained.
MODEL_LINES = tuple(
    line.split()
    for line in """
    model train --out pair.json --steps 2 --text text.txt --vocab 4 --tokenizer letters --device cpu --seed 1
    model validate naive block --world models:target=nowhere,draft=nowhere,roots=2 --blocks 5 --L2 1 --sampling top_p=1
    model validate naive --world models:rows.db --replace naive=ensemble --lossy naive --vectors torch --quick
    """.strip().splitlines()
)
OWN = """
from draftproof.simulator.drafts import Delayed
from draftproof.verifiers.naive import Naive

class Own:
    depth = nodes = 1
    def draw(self, draft, coin):
        return Delayed(1, 0, 1).draw(draft, coin)

def first(root, a=0):
    return root.children[:1], 0
"""


@dataclass(frozen=True)
class Ended:
    """How a line ended: the exit code, None where it was still at work; what is wrong with that, None for nothing."""

    code: int | None
    wrong: str | None


class Watcher:
    """Runs lines in forks. A fork that takes too long is ended: it is at work, or it hangs."""

    def __init__(self, folder: Path, more: Sequence[ModuleType] = ()) -> None:
        for room in (cli, simulator, lp_analysis, *more):  # once, not in every fork
            for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
                with suppress(ModuleNotFoundError):  # without torch
                    importlib.import_module(module.name)
        drawing.matplotlib_pyplot()
        self._program: Any = typer.main.get_command(
            cli.program()
        )  # once, too: most of the time of a line that is refused
        with redirect_stderr(io.StringIO()):
            self._ran(["check", "nobody", "--K", "1"])
        self._out, self._err = (os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("stdout", "stderr"))

    def run(self, line: Sequence[str], patience: float = 0.3) -> Ended:
        """One line, in a process of its own with a limit on memory. patience: seconds for work that has begun."""
        for descriptor in (self._out, self._err):
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
        begun, begin = os.pipe()
        gc.freeze()  # a fork copies what its collector touches
        process = os.fork()
        if process == 0:
            self._child(line, begin)
        os.close(begin)
        try:
            self._said_something(process, begun)
            at_work = bool(self._waited(begun, 0) and os.read(begun, 1))
            if self._waited(begun, patience if at_work else 0):  # at its end, when the fork is gone
                return self._judged(os.waitstatus_to_exitcode(os.wait4(process, 0)[1]))
            os.killpg(process, signal.SIGKILL)
            os.wait4(process, 0)
            return Ended(None, None if at_work else f"nothing came of it in {SECONDS} s of work or {MOST_WAITED:.0f} s")
        finally:
            os.close(begun)

    def _said_something(self, process: int, begun: int) -> None:
        """Waits for so many seconds of the processor, and not for ever: on a machine that is busy they take longer."""
        ticks, used, end = os.sysconf("SC_CLK_TCK"), 0.0, time.monotonic() + MOST_WAITED
        while used < SECONDS and time.monotonic() < end and not self._waited(begun, 1):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            used = (int(fields[11]) + int(fields[12])) / ticks

    @staticmethod
    def _waited(pipe: int, seconds: float) -> bool:
        """Whether something was written into a pipe within that time, or everybody who could write is gone."""
        return bool(select.select([pipe], [], [], seconds)[0])

    def _child(self, line: Sequence[str], begin: int) -> None:
        code = 99
        try:
            os.setsid()
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
            os.dup2(self._out, 1)
            os.dup2(self._err, 2)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
            sys.stdin = open(os.devnull)  # noqa: SIM115
            progress._lines = self._marked(progress._lines, begin)
            code = self._ran(line)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def _ran(self, line: Sequence[str]) -> int:
        sys.argv = ["draftproof", *line]
        return cli.run(self._program, "draftproof")

    @staticmethod
    def _marked(lines: Any, begin: int) -> Any:
        """Progress that says, once, that work has begun."""
        first = iter([b"1"])

        @contextmanager
        def marked(*given: Any) -> Iterator[Any]:
            os.write(begin, next(first, b""))
            with lines(*given) as tick:
                yield tick

        return marked

    def _judged(self, code: int) -> Ended:
        err = os.pread(self._err, 10**6, 0).decode(errors="replace")
        lines = err.strip().splitlines()
        if "Traceback" in err or code not in (0, 1, 2, 3):
            return Ended(code, f"exit code {code}: {err[-1500:]}")
        if code == 2:
            said = [each for each in lines if each.startswith("draftproof: ")]
            if len(said) != 1 or said != lines[-1:]:
                return Ended(code, f"not one line: {err[-600:]!r}")
        longest = max(map(len, lines), default=0)
        return Ended(code, None if longest <= CHARACTERS else f"{longest} characters: {err[:600]!r}")
