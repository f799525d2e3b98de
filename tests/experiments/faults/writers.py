"""Every command that writes, with all of its options that name a file: what faults are put upon."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from draftproof.experiments.commands.sweep.store import Store

#: Options that name what is written.
OUTPUTS = (
    "--json",
    "--csv",
    "--latex",
    "--markdown",
    "--plot",
    "--certificate",
    "--witness",
    "--resume",
    "--times",
    "--out",
    "--export",
    "--page",
)
#: What stood in a file before the run.
OLD = "an older result\n"
OWN = """
from draftproof.verifiers.naive import Naive

def first(root):
    "Takes the first draft, whatever it is."
    return root.children[:1], 0
"""
#: A sweep of a few rows, and a row such as it keeps.
SWEEP = """
[sweep]
verifiers = ["naive"]
[[worlds]]
family = "dirichlet"
vocab = 2
[[schemes]]
K = 1
L2 = "1..2"
"""
ROW = {
    "strong_id": "1" * 24, "question": "check", "verifier": "naive", "shape": "delayed:K=1,L1=0,L2=1", "nodes": 1,
    "scheme": {"name": "delayed", "K": 1, "L1": 0, "L2": 1},
    "source": {"family": "dirichlet", "vocab_size": 2, "seed": 0, "denominator": 20}, "arithmetic": "float64",
    "lossless": True, "block_efficiency_float": 1.5, "seconds": 0.0,
}  # fmt: skip
TABLES = ("--csv", "a.csv", "--markdown", "a.md", "--latex", "a.tex", "--plot", "a.png", "--json", "a.json")
SHAPES = ("--vocab", "3", "--K", "2", "--L1", "0..1", "--L2", "1..2", "--engine", "enumerate")
SMALL = ("--vocab", "2", "--K", "1", "--L2", "1")
REPORTS = ("--resume", "r", "--markdown", "a.md", "--plot", "a.png", "--times", "t.json", "--json", "a.json")
PAIR = ("--pair", "../pair", "--text", "../text.txt", "--device", "cpu", "--K", "1", "--L2", "1", "--roots", "2")


@dataclass(frozen=True)
class Writer:
    """A command. models: it runs models. lasts: it is never awaited, only killed. workers: processes it works with."""

    arguments: tuple[str, ...]
    models: bool = False
    lasts: bool = False
    workers: int = 0

    @property
    def outputs(self) -> dict[str, str]:
        """What it writes, by option."""
        return {flag: name for flag, name in pairwise(self.arguments) if flag in OUTPUTS}

    @property
    def files(self) -> list[str]:
        """The files that are written whole."""
        return [name for flag, name in self.outputs.items() if flag not in ("--resume", "--out")]

    @property
    def rows(self) -> str | None:
        """Its file of rows."""
        return self.outputs.get("--resume")

    @property
    def folder(self) -> str | None:
        """The folder that it writes whole."""
        return self.outputs.get("--out")

    def moved(self, flag: str, place: str) -> tuple[str, ...]:
        """The arguments with another place for one output."""
        before = ("", *self.arguments)
        return tuple(place if last == flag else each for last, each in zip(before, self.arguments, strict=False))


COMPARED = ("nss", "naive", "specinfer", "traversal", "spectr", "block_by_weights")
WRITERS = {
    "list": Writer(("list", "--json", "a.json")),
    "check": Writer(
        ("check", "naive_from_target", "--vocab", "2", "--L2", "1", "--witness", "w.json", "--json", "a.json")
    ),
    "check FILE.py": Writer(("check", "own.py:Naive", "--instances", "40", "--json", "a.json")),
    "compare": Writer(("compare", "nss", "naive", *SHAPES, "--jobs", "1", "--resume", "r", *TABLES)),
    "compare, 2 processes": Writer(
        ("compare", *COMPARED, *SHAPES, "--jobs", "2", "--resume", "r", "--json", "a.json"), workers=2
    ),
    "bound": Writer(("bound", "--certificate", "b.json", "--plot", "b.png", "--json", "a.json")),
    "policies": Writer(("policies", "naive", "--policy", "best", "--vocab", "2", "--K", "1", "--json", "a.json")),
    "matrix": Writer(("matrix", "naive", "--instances", "1", "--json", "a.json")),
    "precision": Writer(("precision", "naive", *SMALL, "--json", "a.json")),
    "audit": Writer(("audit", "own.py:first", "--witness", "w.json", "--json", "a.json")),
    "prove": Writer(
        ("prove", "block", "--K", "1", "--L2", "2", "--resume", "r", "--certificate", "c.json", "--json", "a.json")
    ),
    "prove, refuted": Writer(
        ("prove", "naive_from_target", "--K", "1", "--L2", "1", "--witness", "w.json", "--json", "a.json")
    ),
    "train": Writer(
        ("train", "--out", "new", "--steps", "2", "--text", "../text.txt", "--device", "cpu", "--json", "a.json"),
        models=True,
    ),
    "train-head": Writer(
        (
            *("train-head", "--pair", "../pair", "--text", "../text.txt", "--device", "cpu"),
            *("--out", "new", "--steps", "2", "--json", "a.json"),
        ),
        models=True,
    ),
    "validate": Writer(
        ("validate", "naive", "block", *PAIR, "--blocks", "60", "--law-runs", "40", *REPORTS), models=True
    ),
    "choose": Writer(
        ("choose", "naive", *PAIR, "--tokens", "4", "--rounds", "2", "--plot", "a.png", "--json", "a.json"), models=True
    ),
    "train-selector": Writer(
        (
            *("train-selector", "naive", "--pair", "../pair", "--text", "../text.txt", "--device", "cpu"),
            *("--K", "1", "--L1", "0", "--L2", "0..1", "--roots", "10", "--cost", "draft=1,target=4"),
            *("--resume", "r", "--json", "a.json"),
        ),
        models=True,
        lasts=True,
    ),
    "gallery": Writer(("gallery", "--json", "a.json")),
    "claims": Writer(
        ("claims", "actions", "gbv-one-path-is-block", "--jobs", "1", "--resume", "r", "--json", "a.json")
    ),
    "sweep": Writer(("sweep", "small.toml", "--jobs", "1", "--export", "a.csv", "--json", "a.json")),
    "report": Writer(("report", "made.db", "--page", "a.html", "--json", "a.json")),
    "study map_of_trees": Writer(
        (
            *("-m", "draftproof.experiments.studies.map_of_trees", "--quick", "--jobs", "1", "--resume", "r"),
            *("--plot", "a.png", "--markdown", "a.md", "--json", "a.json"),
        )
    ),
    "study matched": Writer(
        (
            "-m",
            "draftproof.experiments.studies.matched",
            "--no-deep",
            "--jobs",
            "1",
            "--markdown",
            "a.md",
            "--json",
            "a.json",
        ),
        lasts=True,
    ),
    "study policies": Writer(
        (
            *("-m", "draftproof.experiments.studies.policies", "--first", "2", "--resume", "r"),
            *("--markdown", "a.md", "--plot", "a.png", "--json", "a.json"),
        ),
        lasts=True,
    ),
    "study real_models": Writer(
        (
            "-m",
            "draftproof.experiments.studies.real_models",
            "naive",
            *PAIR,
            "--tokens",
            "4",
            "--sampling",
            "temperature=1",
            *REPORTS,
        ),
        models=True,
    ),
    "study share_of_optimum, 2 processes": Writer(
        (
            *("-m", "draftproof.experiments.studies.share_of_optimum", "--seeds", "1", "--jobs", "2", "--resume", "r"),
            *("--plot", "a.png", "--markdown", "a.md", "--json", "a.json"),
        ),
        lasts=True,
        workers=2,
    ),
    "study speed": Writer(("-m", "draftproof.experiments.studies.speed", "--quick", "--json", "a.json"), lasts=True),
}
MODELS = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; MODELS=yes brings it")


def chosen(wanted: Callable[[Writer], bool], quick: tuple[str, ...] = ()) -> list[object]:
    """Names of the commands that are wanted, as parameters of a test; all but the quick ones are heavy."""
    return [
        pytest.param(name, marks=[*([MODELS] * writer.models), *([pytest.mark.heavy] * (name not in quick))])
        for name, writer in WRITERS.items()
        if wanted(writer)
    ]


@dataclass
class Places:
    """Folders to run commands in, beside what they read."""

    root: Path
    pair: Callable[[], Path]

    def prepared(self, writer: Writer, name: str) -> Path:
        """A new folder with an older result in every file that the command writes whole."""
        folder = self.root / name
        self.fill(writer, folder)
        return folder

    def fill(self, writer: Writer, folder: Path) -> None:
        """The same in this folder."""
        if writer.models and not (self.root / "text.txt").exists():
            shutil.copy(self.pair().parent / "text.txt", self.root / "text.txt")
            (self.root / "pair").symlink_to(self.pair())
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        (folder / "own.py").write_text(OWN)
        (folder / "small.toml").write_text(SWEEP)
        if writer.arguments[0] == "report":
            store = Store(str(folder / "made.db"))
            store.add([ROW])
            store.close()
        for name in writer.files:
            (folder / name).write_text(OLD)
