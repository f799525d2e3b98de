"""The table and the page of the gallery, from what was measured."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

from draftproof.experiments.gallery.entries import ENTRIES, Entry
from draftproof.experiments.gallery.measuring import Outcome, measured, record
from draftproof.experiments.shared.code import ROOT
from draftproof.experiments.shared.output import write_whole

PAGE = ROOT / "docs" / "results" / "gallery.md"
WITNESSES = Path(__file__).with_name("witnesses")
_HEAD = """\
# Verifiers of public projects

Verifiers of public projects, audited as they stand at the commit that is named, with adapters of ours (`adapters/`) and
nothing of theirs. `draftproof audit NAME --gallery FOLDER` measures an entry again, from a checkout of yours. The lossy
ones have a program that shows the bug with nothing but Python.

A verdict holds for the instances of the audit and for this code. *lossy* says that the output does not have the
target's distribution. The number is the largest imbalance: the largest violation of the
[balance equation](../concept.md#when-a-verifier-is-lossless), exact up to the rounding of floats.
"""


def lines(outcomes: Mapping[str, Outcome]) -> Iterator[list[str]]:
    """The cells of the table, a line an entry: entry, project and commit, what, verdict, largest imbalance, day."""
    for entry in ENTRIES:
        outcome = outcomes.get(entry.name)
        cells = [entry.name, f"{entry.repository} {_version(entry, outcome)}", f"{entry.path}: {entry.what}"]
        if outcome is None:
            cells += ["not measured", "", ""]
        else:
            verdict = f"{outcome.verdict}, {outcome.instances} instances"
            verdict += f" ({outcome.refuted} refuted)" if outcome.refuted else ""
            cells += [verdict, f"{outcome.deviation:.3g}", outcome.day]
        yield cells


def table(outcomes: Mapping[str, Outcome]) -> str:
    """The table in Markdown."""
    head = ["| entry | project, commit | what | verdict | largest imbalance | measured |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *("| " + " | ".join(cells) + " |" for cells in lines(outcomes))])


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
    text = [f"## {entry.name}", "", f"{entry.what} ({where})"]
    if outcome is not None:
        refuted = f"{outcome.refuted} of {outcome.instances} instances refuted"
        text.append(f"Measured on {outcome.day} ({outcome.source}): {outcome.verdict}; {refuted}.")
        text += [f"First imbalance: {outcome.place}"] if outcome.place else []
        text += [f"Hypothesis: {outcome.hypothesis}."] if outcome.hypothesis else []
    if entry.text:
        source = (WITNESSES / entry.witness).read_text(encoding="utf-8").rstrip()
        text += ["", entry.text, "", "```python", source, "```"]
    return "\n".join(text)


def page(outcomes: Mapping[str, Outcome]) -> str:
    """The page of the gallery."""
    lossy = [in_full(entry, outcomes.get(entry.name)) for entry in ENTRIES if entry.text]
    return "\n".join([_HEAD, table(outcomes), "", *[f"{text}\n" for text in lossy]])


def write(given: Namespace) -> int:
    """Write the page, after recording `given.outcomes` where there are such; returns 0."""
    if given.outcomes:
        record(Path(given.outcomes))
    write_whole(PAGE, page(measured()))
    return 0
