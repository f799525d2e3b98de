"""`draftproof gallery`."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from draftproof.experiments.cli.gallery import work
from draftproof.experiments.cli.gallery.entries import ENTRIES, Entry
from draftproof.experiments.cli.gallery.work import Outcome
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for

PAGE = Path(__file__).with_name("README.md")
WITNESSES = Path(__file__).with_name("witnesses")
_HEAD = """\
# The gallery

Verifiers of public projects, audited as they stand at the commit that is named, with adapters of ours (`adapters/`) and
nothing of theirs. `draftproof gallery NAME --checkout FOLDER` measures an entry again, from a checkout of yours.

A verdict holds for the instances of the audit and for this code. *lossy* says that the law of what is put out is not
the target's; the number is the largest imbalance, exact up to the rounding of floats.
"""


def table(outcomes: Mapping[str, Outcome]) -> str:
    """The table in Markdown, a line an entry."""
    lines = ["| entry | project, commit | what | verdict | largest imbalance | measured |", "|---|---|---|---|---|---|"]
    for entry in ENTRIES:
        outcome = outcomes.get(entry.name)
        cells = [entry.name, f"{entry.repository} {_version(entry, outcome)}", f"{entry.path}: {entry.what}"]
        if outcome is None:
            cells += ["not measured", "", ""]
        else:
            verdict = f"{outcome.verdict}, {outcome.instances} instances"
            verdict += f" ({outcome.refuted} refuted)" if outcome.refuted else ""
            cells += [verdict, f"{outcome.deviation:.3g}", outcome.day]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _version(entry: Entry, outcome: Outcome | None) -> str:
    if entry.is_installed:
        return outcome.source if outcome is not None else ""
    return entry.commit[:10]


def in_full(entry: Entry, outcome: Outcome | None) -> str:
    """An entry with its text for the project and the witness."""
    where = (
        entry.path
        if entry.is_installed
        else f"https://github.com/{entry.repository}, commit {entry.commit}, {entry.path}"
    )
    lines = [f"## {entry.name}", "", f"{entry.what} ({where})"]
    if outcome is not None:
        refuted = f"{outcome.refuted} of {outcome.instances} instances refuted"
        lines.append(f"Measured on {outcome.day} ({outcome.source}): {outcome.verdict}; {refuted}.")
        lines += [f"First imbalance: {outcome.place}"] if outcome.place else []
        lines += [f"Hypothesis: {outcome.hypothesis}."] if outcome.hypothesis else []
    if entry.text:
        source = (WITNESSES / entry.witness).read_text(encoding="utf-8").rstrip()
        lines += ["", entry.text, "", "```python", source, "```"]
    return "\n".join(lines)


def page(outcomes: Mapping[str, Outcome]) -> str:
    """The README of the gallery."""
    lossy = [in_full(entry, outcomes.get(entry.name)) for entry in ENTRIES if entry.text]
    return "\n".join([_HEAD, table(outcomes), "", *[f"{text}\n" for text in lossy]])


Name = Annotated[str | None, typer.Argument(help="An entry; all where it is left out.")]
Checkout = Annotated[Path | None, typer.Option(help="A checkout, or a folder of them.", show_default=False)]
Record = Annotated[bool, typer.Option("--record", help="Record the outcomes and write the page.")]


def gallery(
    name: Name = None,
    checkout: Checkout = None,
    record: Record = False,
    json_target: opt.JsonTarget = None,
) -> int:
    """Verifiers of public projects and their verdicts. Exit 0: as recorded; 1: measured otherwise; 2: bad input."""
    from draftproof.experiments.shared.progress import remark
    from draftproof.simulator.errors import InvalidInput

    check_files((), {"--json": json_target})
    entries = ENTRIES if name is None else (work.entry_named(name),)
    known, console = work.measured(), console_for(json_target)
    if checkout is None:
        if record:
            raise InvalidInput("--record needs a checkout to measure; give --checkout FOLDER")
        shown = table(known) if name is None else in_full(entries[0], known.get(entries[0].name))
        console.print(shown, soft_wrap=True, markup=False, highlight=False)
        write_json(json_target, {"entries": [asdict(known[entry.name]) for entry in entries if entry.name in known]})
        return 0
    outcomes, differing = {}, []
    today = datetime.now(UTC).date().isoformat()
    for entry in entries:
        folder = work.project_folder(entry, checkout)
        if folder is None:
            remark(f"{entry.name}: no {entry.path} of {entry.repository} below {checkout}")
            continue
        outcome = outcomes[entry.name] = work.run(entry, folder, today)
        before = known.get(entry.name)
        same = before is not None and outcome.agrees_with(before)
        comparison = (
            "as recorded" if same else "nothing was recorded" if before is None else f"recorded: {before.verdict}"
        )
        numbers = f"{outcome.refuted} of {outcome.instances} refuted, largest imbalance {outcome.deviation:.6g}"
        console.print(f"{entry.name}: {outcome.verdict}; {numbers} ({comparison})", soft_wrap=True, markup=False)
        differing += [] if same else [entry.name]
    if not outcomes:
        raise InvalidInput(
            f"{checkout} has no file of these entries; draftproof gallery NAME says which repository to check out"
        )
    if record:
        work.record(outcomes)
        PAGE.write_text(page(work.measured()), encoding="utf-8")
    write_json(json_target, {"entries": [asdict(outcome) for outcome in outcomes.values()], "differing": differing})
    return 0 if record or not differing else 1
