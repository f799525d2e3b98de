"""The page of claims; instances that refute stand beside it."""

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from draftproof.experiments.claims.ledger import INSTANCES, ledger, papers
from draftproof.experiments.cli.claims import claims, summary
from draftproof.experiments.pages.transcripts import broken, with_table
from draftproof.experiments.shared.code import ROOT
from draftproof.experiments.shared.output import write_whole

PAGE = ROOT / "docs" / "results" / "claims.md"


def write(given: Namespace) -> int:
    """Test the claims that the store does not have and write the page; returns 1 if a verdict is not the recorded one.

    given: `store`, a file; "claims.db" where it is None.
    """
    store = os.path.abspath(given.store or "claims.db")
    os.chdir(ROOT)
    for name, content in claims(resume=store, jobs=os.cpu_count() or 1).files.items():
        write_whole(INSTANCES / name.removeprefix("claim-"), content)
    result = claims(resume=store)  # now its refuting instances are those that come along
    write_whole(PAGE, with_table(PAGE.read_text(encoding="utf-8"), "claims", "\n".join(lines(result.rows)) + "\n"))
    return result.verdict


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
