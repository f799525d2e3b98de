"""`draftproof claims`: tests the claims of papers; prints them, writes them as JSON and as a page."""

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from draftproof.experiments.claims.claim import HERE, INSTANCE, Command
from draftproof.experiments.claims.verdicts import CLAIMS, INSTANCES, Verdict
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

#: Sources that are not in the bibliography of the verifiers.
FURTHER: Mapping[str, str] = MappingProxyType(
    {
        "thomas2026dynamic": (
            "Thomas, Kitanovski, Goldblum, Pal. Dynamic delayed tree expansion for improved multi-path speculative "
            "decoding. 2026, arXiv:2602.16994."
        ),
        "yin2024theoretical": (
            "Yin, Chen, Huang, Wang. A theoretical perspective for speculative decoding algorithm. NeurIPS 2024, "
            "arXiv:2411.00841."
        ),
        "hu2025griffin": (
            "Hu, Li, Xie, Lu, Toh, Zhou. GRIFFIN: effective token alignment for faster speculative decoding. 2025, "
            "arXiv:2502.11018."
        ),
        "li2025eagle3": (
            "Li, Wei, Zhang, Zhang. EAGLE-3: scaling up inference acceleration of large language models via "
            "training-time test. 2025, arXiv:2503.01840."
        ),
        "draftproof": "The pages of this project.",
        "arxiv2026optimal": "arXiv:2604.25925, 2026; known from citations only.",
    }
)
PAPERS: Mapping[str, str] = MappingProxyType({**BIBLIOGRAPHY, **FURTHER})


#: The root of the repository.
ROOT = CLAIMS.parents[1]


def relative_path(path: Path) -> str:
    """The path relative to the current folder if it is below it, else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def instance_file(judged: Verdict, folder: str | None) -> str | None:
    """The file of the refuting instance: the one in the repository if equal, else one written to the folder.

    Raises `InvalidInput` where it cannot be written.
    """
    if judged.instance is None:
        return None
    path = INSTANCES / f"{judged.claim.id}.json"
    if path.is_file() and path.read_text(encoding="utf-8") == judged.instance.dumps():
        return relative_path(path)
    path = Path(folder or ".") / f"claim-{judged.claim.id}.json"
    write_whole(path, judged.instance.dumps())
    return str(path)


def command_text(command: Command, file: str | None, folder: str) -> str:
    """A command as text for the shell. folder: of the claims."""
    return "draftproof " + shlex.join(word.replace(INSTANCE, file or "").replace(HERE, folder) for word in command)


def command_of(judged: Verdict, file: str | None, folder: str) -> str:
    """Shell commands that show the verdict: the refutation, or else the test of the claim."""
    lines = [command_text(command, file, folder) for command in judged.commands]
    return " && ".join(lines) if lines else f"draftproof claims {judged.claim.id}"


def fields(judged: Verdict, file: str | None) -> dict[str, Any]:
    """A verdict as fields for JSON."""
    source = judged.claim.source
    return {
        "id": judged.claim.id,
        "source": f"{source.key}, {source.place}",
        "statement": judged.claim.words,
        "status": judged.status,
        "evidence": judged.evidence,
        "command": command_of(judged, file, relative_path(CLAIMS)),
        "instances": judged.instances,
        "families": list(judged.families),
        "shapes": list(judged.shapes),
        "instance": file,
        "false_variant": judged.false_variant,
        "true_variant": judged.true_variant,
        "defects": list(judged.defects),
        "as_expected": judged.as_expected,
        "seconds": judged.seconds,
    }


def show(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table of the claims, the commands of the refutations, and the claims that are not as expected."""
    table = Table(title=summary(rows), title_justify="left", show_lines=True)
    for heading in ("claim", "status", "statement", "evidence"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(row["id"], _status(row), f"{row['statement']} ({row['source']})", row["evidence"])
    console.print(table)
    refuted = [row for row in rows if row["instance"]]
    if refuted:
        console.print("\nEach refutation from the shell:")
        for row in refuted:
            console.print(f"  {row['command']}", soft_wrap=True)
    for row in rows:
        if not row["as_expected"]:
            console.print(f"{row['id']}: {'; '.join(row['defects']) or 'not its recorded status'}")


def show_one(console: Console, row: dict[str, Any]) -> None:
    """Print everything about one claim."""
    key = row["source"].partition(",")[0]
    for label, text in (
        (row["id"], _status(row)),
        ("statement", row["statement"]),
        ("source", f"{row['source']}: {PAPERS[key]}"),
        ("evidence", row["evidence"]),
        ("false variant", row["false_variant"]),
        ("true variant", row["true_variant"]),
        ("command", row["command"]),
        ("defects", "; ".join(row["defects"])),
    ):
        if text:
            console.print(f"{label}: {text}", soft_wrap=True)


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """The number of claims by status."""
    counts = Counter(row["status"] for row in rows)
    instances = sum(row["instances"] for row in rows)
    statuses = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(rows)} claims: {statuses} ({instances:,} instances)"


def _status(row: dict[str, Any]) -> str:
    return str(row["status"]) + ("" if row["as_expected"] else " (not as expected)")


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page of claims."""
    return "\n".join(_page(rows)) + "\n"


def _page(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "# What papers claim\n"
    yield "Made by `python -m draftproof.experiments.pages.claims`; `draftproof claims` computes it again.\n"
    yield (
        f"{summary(rows)}.\n"
        "*Holds*: on all exact instances that were tested, in rationals. *Refuted*: by an instance, which the command\n"
        "shows, shrunk unless that takes long. *Measured*: numbers over instances. Each test refutes a false variant\n"
        "of its claim; that of a refuted claim passes a true variant. `draftproof claims NAME` shows both.\n"
        "The numbers are of small vocabularies and trees: a refutation is final, a claim that holds may fail\n"
        "on others (`draftproof claims --deep` tests twenty times as many instances, and larger ones).\n"
        "A verifier *brings more* than another if its block efficiency is larger.\n"
    )
    for key in dict.fromkeys(row["source"].partition(",")[0] for row in rows):
        yield f"\n## {key}\n\n{PAPERS[key]}\n\n| claim | statement | verdict | evidence |\n|---|---|---|---|"
        for row in rows:
            if row["source"].startswith(f"{key},"):
                cells = (f"`{row['id']}`", f"{row['statement']} ({row['source'].partition(', ')[2]})", row["status"])
                yield "| " + " | ".join(_cell(text) for text in (*cells, row["evidence"])) + " |"
    yield "\n## The refutations from the shell\n\n```sh"
    yield from (row["command"] for row in rows if row["instance"])
    yield "```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    """The recorded rows of the page, by claim; none if the page does not exist."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return {row["id"]: row for row in rows}


_CORES = os.cpu_count() or 1
Names = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims (default: all).")]
Deep = Annotated[bool, typer.Option("--deep", help="Test twenty times the instances, and larger trees; takes hours.")]
Resume = Annotated[str | None, typer.Option(help="Store: rows are saved one by one and reused next time.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes.")]
Folder = Annotated[
    str | None,
    typer.Option("--folder", help="Folder for refuting instances that are not in the repository (default: here)."),
]


def claims(
    names: Names = None,
    deep: Deep = False,
    resume: Resume = None,
    jobs: Jobs = _CORES,
    folder: Folder = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Test the claims of papers. Exit 0: each has its recorded status; 1: some have another; 2: bad input."""
    from draftproof.experiments.claims import work
    from draftproof.experiments.claims.verdicts import RECORDED, verdict
    from draftproof.experiments.claims.work import ledger
    from draftproof.experiments.grid.run import Executor, rows_of, run
    from draftproof.experiments.grid.store import Store
    from draftproof.experiments.shared.progress import cut_short
    from draftproof.simulator.errors import InvalidInput

    check_files((), {"--json": json_target, "--resume": resume})
    if folder is not None and not Path(folder).is_dir():
        raise InvalidInput(f"--folder {folder} is not a folder; make it first")
    chosen = [work.claim_named(name) for name in dict.fromkeys(names)] if names else list(ledger())
    store = Store(resume)
    tasks = work.tasks_of(chosen, recorded(RECORDED), deep)
    if not run(tasks, store, Executor(work.compute, jobs), message=f"{len(chosen)} claim{'s' * (len(chosen) > 1)}"):
        return cut_short(len(rows_of(tasks, store)), len(tasks), "rows", resume)
    verdicts = [verdict(claim, [store[part.strong_id] for part in work.parts_of(claim, deep)]) for claim in chosen]
    rows: list[dict[str, Any]] = [fields(judged, instance_file(judged, folder)) for judged in verdicts]
    write_json(json_target, {"claims": rows})
    console = console_for(json_target)
    if names and len(rows) == 1:
        show_one(console, rows[0])
    else:
        show(console, rows)
    return 0 if all(judged.as_expected for judged in verdicts) else 1
