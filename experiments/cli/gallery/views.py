"""The table of the gallery, one entry in full, and the page that holds both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from draftproof.experiments.cli.gallery.entries import ENTRIES, Entry
from draftproof.experiments.cli.gallery.work import Outcome

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
        found = outcomes.get(entry.name)
        cells = [entry.name, f"{entry.repository} {_version(entry, found)}", f"{entry.path}: {entry.what}"]
        if found is None:
            cells += ["not measured", "", ""]
        else:
            judged = f"{found.verdict}, {found.instances} instances"
            judged += f" ({found.refuted} refuted)" if found.refuted else ""
            cells += [judged, f"{found.deviation:.3g}", found.day]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _version(entry: Entry, found: Outcome | None) -> str:
    if entry.is_installed:
        return found.source if found is not None else ""
    return entry.commit[:10]


def in_full(entry: Entry, found: Outcome | None) -> str:
    """An entry with what could be sent upstream and the witness."""
    where = (
        entry.path
        if entry.is_installed
        else f"https://github.com/{entry.repository}, commit {entry.commit}, {entry.path}"
    )
    lines = [f"## {entry.name}", "", f"{entry.what} ({where})"]
    if found is not None:
        refuted = f"{found.refuted} of {found.instances} instances refuted"
        lines.append(f"Measured on {found.day} ({found.source}): {found.verdict}; {refuted}.")
        lines += [f"First imbalance: {found.place}"] if found.place else []
        lines += [f"Hypothesis: {found.hypothesis}."] if found.hypothesis else []
    if entry.text:
        source = (WITNESSES / entry.witness).read_text(encoding="utf-8").rstrip()
        lines += ["", entry.text, "", "```python", source, "```"]
    return "\n".join(lines)


def page(outcomes: Mapping[str, Outcome]) -> str:
    """The whole README."""
    lossy = [in_full(entry, outcomes.get(entry.name)) for entry in ENTRIES if entry.text]
    return "\n".join([_HEAD, table(outcomes), "", *[f"{each}\n" for each in lossy]])
