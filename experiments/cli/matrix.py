"""`draftproof matrix`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import chosen_verifiers
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.errors import InvalidInput


@with_groups()
def matrix(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all.")] = None,
    *,
    given: Given,
    instances: Annotated[
        int | None, typer.Option(min=1, help="Random instances a case, beside the corner cases (default 8).")
    ] = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(help="Only this one, as NAME, NAME:key=value,.. or FILE.py:NAME; may be repeated (default: all)."),
    ] = None,
    max_runs: opt.MaxRuns = 2_000_000,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    json_target: opt.JsonTarget = None,
) -> int:
    """Every verifier on every draft scheme: lossless (proved on n instances), a witness, or not defined.

    With an instance, a text or models, on their rows; else on the conformance set.
    """
    from draftproof.experiments.cli import matrix_work as cells_of

    check_files(given.inputs, {"--json": json_target})
    if given != Given() and instances is not None:
        raise InvalidInput("--instances is for the conformance set; leave it out, or what says which rows to take")
    named = chosen_verifiers(chosen)
    columns, problem = cells_of.columns(scheme), None
    if given != Given():
        problem = choose_problem(given, small=True)  # every tree is enumerated
        columns = cells_of.on_rows(columns, problem)
    rows = cells_of.compute(named, columns, 8 if instances is None else instances, max_runs, problem, jobs)
    left_out = ("undefined", "strong_id", "seconds")
    cells = [{key: value for key, value in row.items() if key not in left_out} for row in rows]
    write_json(json_target, {"cells": cells})
    cells_of.show(console_for(json_target), columns, rows, problem)
    return 0
