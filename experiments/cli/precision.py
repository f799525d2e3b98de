"""`draftproof precision`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import chosen_verifiers
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput

#: Rows over the default are exact in every precision.
GRAIN = Annotated[
    int | None,
    typer.Option(
        help="Common denominator of all probabilities (default 256: exact in every precision).",
        rich_help_panel="Instance",
    ),
]


@with_groups(GRAIN)
def precision(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: all that are lossless on the scheme.")
    ] = None,
    *,
    given: Given,
    shape: opt.Shape,
    kinds: Annotated[
        str,
        typer.Option(
            "--precision", help="Of float64, float32, float16, bfloat16 (torch).", rich_help_panel="How to compute"
        ),
    ] = "float64,float32,float16",
    max_runs: opt.MaxRuns = 20_000_000,
    json_target: opt.JsonTarget = None,
) -> int:
    """What verifiers lose by computing in low precision: their exact bias, with exact drafts and exact coins."""
    from draftproof.experiments.cli import precision_work as audit
    from draftproof.simulator.laws.precision import EXACT_DENOMINATOR

    check_files(given.inputs, {"--json": json_target})
    precisions = audit.parse_precisions(kinds)
    if given.denominator is None and given.instance is None:
        given = replace(given, denominator=EXACT_DENOMINATOR)
    problem = choose_problem(given)
    scheme = opt.choose_scheme(shape, problem)
    named = [each for each in chosen_verifiers(chosen) if chosen or scheme.name in lossless_for(each.verifier.card)]
    if not named:
        raise InvalidInput(f"no verifier of the registry is lossless on {scheme}; name the ones you mean")
    settings = opt.choose_settings("rational", "enumerate", max_runs, 4.0, "numpy", 1)
    found = audit.cases(problem, scheme)
    cells = audit.row_cells(problem, found, named, scheme, precisions, settings)
    rows, complete = audit.compute_all(problem, found, scheme, cells)
    fields = audit.precision_fields(found, precisions)
    audit.show(console_for(json_target), f"{problem}, {scheme}", fields, rows)
    if not complete:
        remark(f"interrupted after {len(rows)} of {len(cells)} rows; no other file was written")
        return INTERRUPTED
    write_json(json_target, {"precisions": fields, "rows": rows})
    return 0
