"""`draftproof matrix`."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.shared import options as opt
from experiments.shared.consoles import chosen_verifiers, console_for
from experiments.shared.output import check_files, write_json
from simulator.drafts import SCHEMES


def matrix(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all.")] = None,
    instances: Annotated[int, typer.Option(min=1, help="Random instances a case, beside the corner cases.")] = 8,
    json_target: opt.JsonTarget = None,
) -> int:
    """Every verifier on every draft scheme: lossless (proved on n instances), a witness, or not defined."""
    from experiments.commands.matrix import work as cells_of

    check_files((), {"--json": json_target})
    named = chosen_verifiers(chosen)
    cells = cells_of.compute(named, instances)
    rows = [each for each in named for _ in SCHEMES]
    write_json(json_target, {"cells": [cells_of.cell_fields(cell, row) for cell, row in zip(cells, rows, strict=True)]})
    cells_of.show(console_for(json_target), named, cells)
    return 0
