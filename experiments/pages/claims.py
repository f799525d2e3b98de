"""The page of claims; instances that refute stand beside it."""

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from draftproof.experiments.claims import work
from draftproof.experiments.claims.ledger import INSTANCES, ledger, papers
from draftproof.experiments.claims.verdicts import verdict
from draftproof.experiments.cli.claims import command_of, kept_file, summary
from draftproof.experiments.grid.machines import Machines
from draftproof.experiments.grid.run import run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.pages.transcripts import broken, with_table
from draftproof.experiments.shared.code import ROOT
from draftproof.experiments.shared.output import write_whole

PAGE = ROOT / "docs" / "results" / "claims.md"


def write(given: Namespace) -> int:
    """Test the claims that the store does not have and write the page; returns 1 if a verdict is not the recorded one.

    given: `store`, a file or None.
    """
    store = Store(given.store)
    run(work.questions_of(list(ledger())), store, work.compute, machines=Machines(os.cpu_count() or 1))
    verdicts = [verdict(claim, [store[part.strong_id] for part in work.parts_of(claim)]) for claim in ledger()]
    INSTANCES.mkdir(exist_ok=True)
    for old in INSTANCES.glob("*.json"):
        old.unlink()
    rows = []
    os.chdir(ROOT)
    for judged in verdicts:
        if judged["refuting"] is not None:
            write_whole(INSTANCES / f"{judged['id']}.json", judged["refuting"].dumps())
        file = kept_file(judged)
        rows.append(judged | {"instance": file, "command": command_of(judged, file)})
    write_whole(PAGE, with_table(PAGE.read_text(encoding="utf-8"), "claims", "\n".join(lines(rows)) + "\n"))
    return 0 if all(judged["as_expected"] for judged in verdicts) else 1


def lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lines of the page that are computed."""
    yield f"\n{summary(rows)}."
    for key in dict.fromkeys(claim.key for claim in ledger()):
        yield f"\n## {key}\n\n{papers()[key]}\n\n| claim | statement | verdict | evidence |\n|---|---|---|---|"
        yield from (line(row) for row in rows if row["source"].startswith(f"{key},"))
    yield "\n## The refutations from the shell\n\n```sh"
    yield from (broken(row["command"]) for row in rows if row["instance"])
    yield "```\n"


def line(row: dict[str, Any]) -> str:
    """The line of a claim."""
    place = row["source"].partition(", ")[2]
    cells = (f"`{row['id']}`", f"{row['statement']} ({place})", row["status"], row["evidence"])
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"
