"""`draftproof matrix`."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.shared import options as opt
from experiments.shared.consoles import chosen_verifiers, console_for
from experiments.shared.output import check_files, write_json


def matrix(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all.")] = None,
    instances: Annotated[int, typer.Option(min=1, help="Random instances a case, beside the corner cases.")] = 8,
    scheme: Annotated[
        list[str] | None,
        typer.Option(help="Only this one, as NAME, NAME:key=value,.. or FILE.py:NAME; may be repeated (default: all)."),
    ] = None,
    max_runs: opt.MaxRuns = 2_000_000,
    json_target: opt.JsonTarget = None,
) -> int:
    """Every verifier on every draft scheme: lossless (proved on n instances), a witness, or not defined."""
    from experiments.commands.matrix import work as cells_of

    check_files((), {"--json": json_target})
    named = chosen_verifiers(chosen)
    columns = cells_of.columns(scheme)
    cells = cells_of.compute(named, columns, instances, max_runs)
    write_json(json_target, {"cells": [cells_of.cell_fields(cell, each) for each, row in cells for cell in row]})
    cells_of.show(console_for(json_target), columns, cells)
    return 0
