"""`draftproof check --precision`: the exact bias of verifiers that compute in low precision, as total variation.

Draft trees and coins are exact: the errors are those of the rounded rows and of the rounded arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from draftproof.experiments.cli.answers import answers
from draftproof.experiments.grid.cost import check_runs
from draftproof.experiments.grid.rows import largest, row_id, versions
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings
from draftproof.experiments.inputs.world_grammar import USUAL
from draftproof.experiments.inputs.worlds import World, told_note
from draftproof.experiments.result import Column, Result, Table, number_of
from draftproof.experiments.shared.output import number_fields
from draftproof.experiments.shared.progress import Tick, bar, named_errors, remark
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.laws.precision import (
    EXACT_DENOMINATOR,
    Breakdown,
    Precision,
    estimate_precision_size,
    low_precision_law,
    precision_named,
    rows_bias,
)
from draftproof.simulator.protocol import DraftScheme

#: The world where none is given: its rows are exact in every precision.
EXACT = f"{USUAL},denominator={EXACT_DENOMINATOR}"
_NOTES = (
    "bias: exact total variation of the first L + 1 tokens from the target, continued by the target after the block",
    "deviation: largest violation of the balance equation; both are the largest over all roots",
    "rounded rows alone: L + 1 tokens drawn from the rounded target; where that is 0, all bias is of the arithmetic",
)
_NAMES = (Column("verifier"), Column("scheme"), Column("precision"))
_BIAS = (Column("total_variation", "exact", "bias"), Column("max_deviation", "exact", "deviation"), Column("breaks"))
_ROWS = (*_NAMES, *_BIAS, Column("source", shown=False), Column("versions", shown=False))
_ROOTS = (*_NAMES, Column("root"), Column("weight", "exact"), *_BIAS, Column("tree"), Column("probability", "exact"))
_ALONE = (
    Column("scheme"),
    Column("precision"),
    Column("significant_bits", "count"),
    Column("rows_exact"),
    Column("rows_bias", "exact", "bias"),
)
#: Draft trees on which the cost of a row is estimated.
_SAMPLES = 6


def precision_result(
    names: str,
    verifiers: Sequence[NamedVerifier],
    schemes: Sequence[DraftScheme],
    worlds: Sequence[World],
    settings: Settings,
    resume: str | None,
) -> Result:
    """The bias of every verifier on every scheme in every precision. names: as `"float32,float16"`."""
    precisions = _precisions(names)
    if any(told_note(world) for world in worlds):
        raise InvalidInput("low precision is measured with the q that drafts come from; leave out what tells another q")
    roots = {scheme: _roots(worlds, scheme) for scheme in schemes}
    cells = [(named, scheme, precision) for named in verifiers for scheme in schemes for precision in precisions]
    trees = _planned(cells, roots, settings)
    sources = [world.source for world in worlds]

    def name(cell: tuple[NamedVerifier, DraftScheme, Precision]) -> str:
        return row_id("precision", sources, cell[1], cell[0].identity, precision=cell[2].name)

    with bar("draft trees", trees) as tick:
        shared = roots, sources, tick
        done = answers(cells, _measured, *shared, kind="precision", name=name, resume=resume)
    rows = [row for _, row in done.rows]
    alone = [_alone(scheme, precision, roots[scheme]) for scheme in schemes for precision in precisions]
    tables = [
        Table.of(_ROWS, rows, title=str(worlds[0])),
        Table.of(_ALONE, alone, title="rounded rows alone", name="precisions"),
        Table.of(_ROOTS, [row | root for row in rows for root in row["roots"]], name="roots", shown=False),
    ]
    return done.result(Result("bias in low precision", tables, _NOTES))


_KEYS = ("total_variation", "max_deviation")


def _precisions(text: str) -> list[Precision]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InvalidInput(f"precision {text!r} names none; write one or more, as float32,float16")
    return [precision_named(name) for name in dict.fromkeys(names)]


def _roots(worlds: Sequence[World], scheme: DraftScheme) -> list[Case]:
    roots = [root.on(scheme) for world in worlds for root in world.cases(scheme.depth, RATIONAL)]
    for root in roots:
        _ = root.instance  # too large ones are refused here
    return roots


def _planned(
    cells: Sequence[tuple[NamedVerifier, DraftScheme, Precision]],
    roots: dict[DraftScheme, list[Case]],
    settings: Settings,
) -> int:
    """How many draft trees there are; tells the cost, and raises `TooLarge` for a verifier that has too many runs."""
    trees, all_runs = 0, 0.0
    for named, scheme, precision in cells:
        instance = roots[scheme][0].instance
        with named_errors(f"{named.label} on {scheme}"):
            size = estimate_precision_size(
                named.verifier,
                instance.target,
                instance.draft,
                scheme,
                precision,
                np.random.default_rng(0),
                _SAMPLES,
            )
        runs = size.runs * len(roots[scheme])
        check_runs(
            named, scheme, settings, runs * sum(cell[:2] == (named, scheme) for cell in cells), instance.vocab_size
        )
        trees, all_runs = trees + size.trees * len(roots[scheme]), all_runs + runs
    remark(f"{len(cells):,} rows: about {all_runs:,.0f} runs")
    return trees


def _measured(
    about: tuple[NamedVerifier, DraftScheme, Precision],
    roots: Mapping[DraftScheme, Sequence[Case]],
    sources: Sequence[Any],
    tick: Tick,
) -> Row:
    """The row of a verifier: the largest bias of the roots, or where it breaks first."""
    named, scheme, precision = about
    roots_of = [_at_root(named, scheme, precision, case, tick) for case in roots[scheme]]
    breaks = next((root["breaks"] for root in roots_of if root["breaks"]), None)
    row = {"kind": "precision", "verifier": named.label, "scheme": str(scheme), "precision": precision.name}
    for key in _KEYS if not breaks else ():
        row |= number_fields(key, largest([number_of(root[key]) for root in roots_of]))
    torch = {"torch": version("torch")} if precision.of_torch else {}
    return row | {"breaks": breaks, "roots": roots_of, "source": list(sources), "versions": {**versions(), **torch}}


def _at_root(named: NamedVerifier, scheme: DraftScheme, precision: Precision, case: Case, tick: Tick) -> dict[str, Any]:
    """What one root gives: the bias, or where the verifier breaks."""
    target, draft = case.instance.target, case.instance.draft
    row: dict[str, Any] = {"root": case.name, **number_fields("weight", case.weight), "breaks": None}
    with named_errors(f"{named.label} at {precision.name} on {scheme}, root {case.name!r}"):
        try:
            law = low_precision_law(named.verifier, target, draft, scheme, precision, tick)
        except Breakdown as broken:
            tree = {",".join(map(str, context)): list(tokens) for context, tokens in broken.tree.items()}
            drafted = "; ".join(f"after ({context}) {tokens}" for context, tokens in tree.items())
            row["breaks"] = (
                f"root {case.name!r}, on draft trees of probability {float(broken.probability):.2g}; "
                f"the first: {drafted or 'empty'}; {broken.reason}"
            )
            return row | {"tree": tree} | number_fields("probability", broken.probability)
        row |= number_fields("total_variation", law.total_variation(target))
        return row | number_fields("max_deviation", law.max_deviation(target))


def _alone(scheme: DraftScheme, precision: Precision, roots: Sequence[Case]) -> dict[str, Any]:
    """Whether a precision represents the rows exactly, and the bias of rounding the rows alone."""
    return {
        "scheme": str(scheme),
        "precision": precision.name,
        "significant_bits": precision.bits,
        "rows_exact": all(
            precision.holds(process) for case in roots for process in (case.instance.target, case.instance.draft)
        ),
        "rows_bias": max(rows_bias(case.instance.target, precision) for case in roots),
    }
