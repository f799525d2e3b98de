"""`draftproof gallery`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for

Name = Annotated[str | None, typer.Argument(help="An entry; all where it is left out.")]
Checkout = Annotated[Path | None, typer.Option(help="A checkout, or a folder of them.", show_default=False)]
Record = Annotated[bool, typer.Option("--record", help="Keep what was measured, and write the page.")]


def gallery(
    name: Name = None,
    checkout: Checkout = None,
    record: Record = False,
    json_target: opt.JsonTarget = None,
) -> int:
    """Verifiers of public projects and their verdicts. Exit 0: as recorded; 1: measured otherwise; 2: bad input."""
    from dataclasses import asdict

    from draftproof.experiments.cli.gallery import views, work
    from draftproof.experiments.cli.gallery.entries import ENTRIES
    from draftproof.experiments.shared.progress import remark
    from draftproof.simulator.errors import InvalidInput

    check_files((), {"--json": json_target})
    entries = ENTRIES if name is None else (work.entry_named(name),)
    known, console = work.measured(), console_for(json_target)
    if checkout is None:
        if record:
            raise InvalidInput("nothing is measured without a checkout; give --checkout FOLDER")
        shown = views.table(known) if name is None else views.in_full(entries[0], known.get(entries[0].name))
        console.print(shown, soft_wrap=True, markup=False, highlight=False)
        write_json(json_target, {"entries": [asdict(known[each.name]) for each in entries if each.name in known]})
        return 0
    found, differing = {}, []
    today = datetime.now(UTC).date().isoformat()
    for entry in entries:
        folder = work.place_of(entry, checkout)
        if folder is None:
            remark(f"{entry.name}: no {entry.path} of {entry.repository} below {checkout}")
            continue
        outcome = found[entry.name] = work.run(entry, folder, today)
        before = known.get(entry.name)
        same = before is not None and outcome.says_the_same(before)
        told = "as recorded" if same else "nothing was recorded" if before is None else f"recorded: {before.verdict}"
        numbers = f"{outcome.refuted} of {outcome.instances} refuted, largest imbalance {outcome.deviation:.6g}"
        console.print(f"{entry.name}: {outcome.verdict}; {numbers} ({told})", soft_wrap=True, markup=False)
        differing += [] if same else [entry.name]
    if not found:
        raise InvalidInput(f"{checkout} holds none of these; each entry names its repository: draftproof gallery NAME")
    if record:
        work.record(found)
        views.PAGE.write_text(views.page(work.measured()), encoding="utf-8")
    write_json(json_target, {"entries": [asdict(each) for each in found.values()], "differing": differing})
    return 0 if record or not differing else 1
