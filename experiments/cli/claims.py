"""`draftproof claims`: the ledger as a table, as a card, as fields for programs, and as a page."""

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

from draftproof.experiments.claims.claim import FILE, HERE, Command
from draftproof.experiments.claims.verdicts import CLAIMS, INSTANCES, Verdict
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

#: What the bibliography does not have.
FURTHER: Mapping[str, str] = MappingProxyType(
    {
        "thomas2026dynamic": (
            "Thomas, Kitanovski, Goldblum, Pal. Dynamic delayed tree expansion for improved multi-path speculative "
            "decoding. 2026, arXiv:2602.16994."
        ),
        "draftproof": "This project: what its own pages say.",
        "arxiv2026optimal": "arXiv:2604.25925, 2026; known here from what others say about it.",
    }
)
PAPERS: Mapping[str, str] = MappingProxyType({**BIBLIOGRAPHY, **FURTHER})


#: A path from here or, where that would go up, from the root.
ROOT = CLAIMS.parents[1]


def nearest(path: Path) -> str:
    """A path as people type it where they are."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def kept_instance(found: Verdict, folder: str | None) -> str | None:
    """The file of the refuting instance: the one that comes along if it is that, else one written to the folder.

    Raises `InvalidInput` where it cannot be written.
    """
    if found.instance is None:
        return None
    path = INSTANCES / f"{found.claim.id}.json"
    if path.is_file() and path.read_text(encoding="utf-8") == found.instance.dumps():
        return nearest(path)
    path = Path(folder or ".") / f"claim-{found.claim.id}.json"
    write_whole(path, found.instance.dumps())
    return str(path)


def spoken(command: Command, file: str | None, here: str) -> str:
    """A command as it is typed."""
    return "draftproof " + shlex.join(word.replace(FILE, file or "").replace(HERE, here) for word in command)


def command_of(found: Verdict, file: str | None, here: str) -> str:
    """What shows the verdict from the shell: the refutation itself, else the claim asked again."""
    lines = [spoken(command, file, here) for command in found.commands]
    return " && ".join(lines) if lines else f"draftproof claims {found.claim.id}"


def fields(found: Verdict, file: str | None) -> dict[str, Any]:
    """A verdict as programs read it."""
    source = found.claim.source
    return {
        "id": found.claim.id,
        "source": f"{source.key}, {source.place}",
        "statement": found.claim.words,
        "status": found.status,
        "evidence": found.evidence,
        "command": command_of(found, file, nearest(CLAIMS)),
        "instances": found.instances,
        "families": list(found.families),
        "shapes": list(found.shapes),
        "instance": file,
        "false_variant": found.false_variant,
        "true_variant": found.true_variant,
        "defects": list(found.defects),
        "as_expected": found.as_expected,
        "seconds": found.seconds,
    }


def show(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """The whole ledger: a table, then the commands of the refutations, then what is not as expected."""
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
            console.print(f"{row['id']}: {'; '.join(row['defects']) or 'not the status that it is known to have'}")


def show_one(console: Console, row: dict[str, Any]) -> None:
    """A claim in full."""
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
    """How many claims have which status."""
    counts = Counter(row["status"] for row in rows)
    asked = sum(row["instances"] for row in rows)
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(rows)} claims: {told} ({asked:,} instances)"


def _status(row: dict[str, Any]) -> str:
    return str(row["status"]) + ("" if row["as_expected"] else " (not as expected)")


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The README of the statements."""
    return "\n".join(_page(rows)) + "\n"


def _page(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "# What papers claim\n"
    yield "Made by `python -m draftproof.experiments.pages.claims`; `draftproof claims` computes it again.\n"
    yield (
        f"{summary(rows)}.\n"
        "*Holds*: on all exact instances that were asked, in rationals. *Refuted*: by an instance, shrunk\n"
        "unless that takes long, as the command shows. *Measured*: the figures. Each test refutes a false variant\n"
        "of its claim, and those of refuted claims let a true one pass; both stand in `draftproof claims NAME`.\n"
        "The numbers are of small vocabularies and trees: a refutation is final, a claim that holds may fail\n"
        "elsewhere (`draftproof claims --deep` asks twenty times as many instances, and larger ones).\n"
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
    """What the page was made from, by claim; nothing where it was not made yet."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return {row["id"]: row for row in rows}


_CORES = os.cpu_count() or 1
Names = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims; all where none is named.")]
Deep = Annotated[bool, typer.Option("--deep", help="Twenty times the instances, larger trees too; hours.")]
Resume = Annotated[str | None, typer.Option(help="Store of rows: kept as they come, reused next time.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes.")]
Folder = Annotated[
    str | None, typer.Option("--folder", help="For instances that refute and do not come along (default: here).")
]


def claims(
    names: Names = None,
    deep: Deep = False,
    resume: Resume = None,
    jobs: Jobs = _CORES,
    folder: Folder = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """What papers claim, tested. Exit 0: each has the status it is known to have; 1: not so; 2: bad input."""
    from draftproof.experiments.claims import work
    from draftproof.experiments.claims.verdicts import RECORDED, verdict
    from draftproof.experiments.claims.work import ledger
    from draftproof.experiments.grid.run import Executor, rows_of, run
    from draftproof.experiments.grid.store import Store
    from draftproof.experiments.shared.progress import cut_short
    from draftproof.simulator.errors import InvalidInput

    check_files((), {"--json": json_target, "--resume": resume})
    if folder is not None and not Path(folder).is_dir():
        raise InvalidInput(f"--folder {folder} is no folder; make it first")
    chosen = [work.claim_named(name) for name in dict.fromkeys(names)] if names else list(ledger())
    kept = Store(resume)
    tasks = work.tasks_of(chosen, recorded(RECORDED), deep)
    if not run(tasks, kept, Executor(work.compute, jobs), about=f"{len(chosen)} claim{'s' * (len(chosen) > 1)}"):
        return cut_short(len(rows_of(tasks, kept)), len(tasks), "rows", resume)
    found = [verdict(claim, [kept[part.strong_id] for part in work.parts_of(claim, deep)]) for claim in chosen]
    rows: list[dict[str, Any]] = [fields(each, kept_instance(each, folder)) for each in found]
    write_json(json_target, {"claims": rows})
    console = console_for(json_target)
    if names and len(rows) == 1:
        show_one(console, rows[0])
    else:
        show(console, rows)
    return 0 if all(each.as_expected for each in found) else 1
