"""The entries of a package that comes from an index, audited in several of its versions.

Each version is installed in an environment of its own, which sees the packages of this one and replaces those that the
version needs otherwise. Only wheels are installed, so that nothing of the package runs before it is audited; the audits
run in processes of these environments.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from draftproof.experiments.cli.gallery.entries import ENTRIES, Entry
from draftproof.experiments.cli.gallery.work import Outcome
from draftproof.experiments.runtime import ended, temporary
from draftproof.experiments.shared.progress import bar, remark
from draftproof.simulator.errors import InvalidInput

#: A name and versions as indexes have them.
_WANTED = re.compile(r"([A-Za-z0-9][\w.-]*)==([\w.!+-]+(?:,[\w.!+-]+)*)")


@dataclass(frozen=True)
class Versions:
    """A package and its versions, in the order in which they are compared."""

    package: str
    numbers: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Versions:
        """From `PACKAGE==VERSION,VERSION`; raises `InvalidInput` for other text, and a package without entries."""
        match = _WANTED.fullmatch(text.strip())
        if match is None:
            raise InvalidInput(f"--versions {text}: write PACKAGE==VERSION,VERSION, such as transformers==4.50.0,5.0.0")
        if not entries_of(match[1]):
            known = ", ".join(sorted({_package(entry) for entry in ENTRIES if entry.is_installed}))
            raise InvalidInput(f"--versions {text}: no entry is a function of {match[1]}; choose {known}")
        return cls(match[1], tuple(dict.fromkeys(match[2].split(","))))


#: The outcome of an entry, or why there is none.
Cell = Outcome | str


def _package(entry: Entry) -> str:
    return entry.path.partition(".")[0]


def entries_of(package: str) -> list[Entry]:
    """The entries whose functions come from this package, as it is installed."""
    return [entry for entry in ENTRIES if entry.is_installed and _package(entry) == package]


def measure(wanted: Versions, entries: Sequence[Entry]) -> dict[str, dict[str, Cell]]:
    """The cells of every version by the names of the entries; a version that cannot be installed has reasons only."""
    remark(
        f"{len(wanted.numbers)} versions of {wanted.package} from the index, some 100 MB and half a minute each, then "
        f"{len(entries)} audits of each, half a minute each; they are removed afterwards"
    )
    cells: dict[str, dict[str, Cell]] = {}
    with bar(f"{wanted.package}: audits", len(wanted.numbers) * len(entries)) as tick:
        for number in wanted.numbers:
            with temporary(Path(tempfile.gettempdir()), f"{wanted.package}-{number}", folder=True) as folder:
                wrong = _install(folder, f"{wanted.package}=={number}")
                cells[number] = {}
                for entry in entries:
                    cells[number][entry.name] = wrong or _audited(folder, entry)
                    tick(1)
    return cells


def _install(folder: Path, requirement: str) -> str:
    """Make the environment; why it cannot be made, "" if it can."""
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "outer.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"]
    code, _, errors = _run([str(folder / "bin" / "python"), "-m", "pip", *install, requirement])
    return "" if code == 0 else f"not installed: {_last(errors, 'ERROR: ')}"


def _audited(folder: Path, entry: Entry) -> Cell:
    """The outcome of an entry in an environment."""
    audit = ["-P", "-m", "draftproof", "gallery", entry.name, "--checkout", str(folder), "--json", "-"]
    code, printed, errors = _run([str(folder / "bin" / "python"), *audit], folder)
    if code not in (0, 1):
        return f"not judged: {_last(errors, 'draftproof: ')}"
    [fields] = json.loads(printed)["entries"]
    return Outcome(**fields)


def _run(command: Sequence[str], folder: Path | None = None) -> tuple[int, str, str]:
    """Exit code and output of a process, which ends with this one's interruption."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        printed, errors = process.communicate()
    except BaseException:
        ended(process)
        raise
    return process.returncode, printed.decode(errors="replace"), errors.decode(errors="replace")


def _last(errors: str, start: str) -> str:
    """The last line that begins so, without its beginning; else the last one."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()] or ["it said nothing"]
    said = [line.removeprefix(start) for line in lines if line.startswith(start)]
    return (said or lines)[-1]


def lossless(cell: Cell) -> bool | None:
    """Whether a function is lossless; None where it was not judged."""
    return cell.verdict.startswith("lossless") if isinstance(cell, Outcome) else None


def changes(cells: Mapping[str, Mapping[str, Cell]]) -> list[str]:
    """Which version changed the verdict of what, against the one before it in which that was judged."""
    lines = []
    for name in next(iter(cells.values())):
        before = ""
        for number, of_version in cells.items():
            cell = of_version[name]
            if not isinstance(cell, Outcome):
                continue
            if before and lossless(cell) != lossless(cells[before][name]):
                kind = "mended" if lossless(cell) else "broken"
                place = f": {cell.place}" if cell.place else ""
                lines.append(f"{name} is {kind} in {number}, against {before}: {cell.verdict}{place}")
            before = number
    return lines


def show(console: Console, cells: Mapping[str, Mapping[str, Cell]]) -> None:
    """Print the table of versions and functions, and what changed."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("version", *next(iter(cells.values()))):
        table.add_column(heading)
    for number, of_version in cells.items():
        table.add_row(number, *map(_words, of_version.values()))
    console.print(table)
    for line in changes(cells) or ["no version changes a verdict"]:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _words(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    return f"{cell.verdict}, {cell.instances} instances" + (f", {cell.refuted} refuted" if cell.refuted else "")


def exit_code(cells: Mapping[str, Mapping[str, Cell]]) -> int:
    """0 where everything is lossless, 1 where something is not, else 2: something was not judged."""
    verdicts = [lossless(cell) for of_version in cells.values() for cell in of_version.values()]
    return 1 if False in verdicts else 2 if None in verdicts else 0
