"""`draftproof model validate`: tree attention, caches, greedy text, and predictions by verifier and scheme."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from shlex import quote
from typing import Any

from draftproof.experiments.grid import run as grid
from draftproof.experiments.grid.machines import HERE, Machines
from draftproof.experiments.grid.run import Question
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.models.expect.expected import VALIDATE_BUDGET, planned_scheme
from draftproof.experiments.models.loop.loop import Loop, check_pair
from draftproof.experiments.models.loop.supported import check_roots
from draftproof.experiments.models.measure.setting import Setting
from draftproof.experiments.models.measure.verifiers import MeasuredVerifier, claims
from draftproof.experiments.models.validate import checks
from draftproof.experiments.models.validate.agreement import LEVEL, ChiSquare, agreement_of, table_chi_square
from draftproof.experiments.models.validate.cells import Effort, cell_key, declared_lossy, measure
from draftproof.experiments.shared.progress import bar, named_errors, remark
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme

#: How many trees have their logits compared, the number of blocks before caches are compared, and of greedy tokens.
TREES, BLOCKS, GREEDY = 24, 200, 200


@dataclass(frozen=True)
class Validation:
    """What is validated, and how much is run: every verifier on the schemes that its card declares.

    Raises `InvalidInput` for models that cannot be read as trees, for a root without room for one, and
    where no verifier is for any scheme.
    """

    setting: Setting
    verifiers: tuple[MeasuredVerifier, ...]
    schemes: tuple[DraftScheme, ...]
    effort: Effort = field(default_factory=Effort)

    def __post_init__(self) -> None:
        pair, roots = self.setting.pair, self.setting.root_set
        check_pair(pair)
        check_roots(pair, roots, max(scheme.depth for scheme in self.schemes))
        if not self.cells:
            names, schemes = ", ".join(verifier.label for verifier in self.verifiers), ", ".join(map(str, self.schemes))
            raise InvalidInput(
                f"the cards of {names} claim none of {schemes}; check all --world conformance shows who does"
            )

    @property
    def cells(self) -> list[tuple[MeasuredVerifier, DraftScheme]]:
        return [
            (tested, scheme) for scheme in self.schemes for tested in self.verifiers if claims(tested.predicted, scheme)
        ]


def model_checks(validation: Validation) -> dict[str, Any]:
    """Tree attention, caches and greedy text; rows of plain data, each with `passed`."""
    setting, prompt = validation.setting, validation.setting.roots[0]
    trees, caches, largest = [], [], _largest_trees(validation)
    loop = Loop(setting.pair, setting.sampling, setting.vectors)
    for verifier, scheme in largest:
        way = verifier.executed.verifier, scheme
        with named_errors(verifier.executed.label):
            trees.append(checks.tree_attention(loop, *way, prompt, TREES, setting.seed))
            caches.append(checks.caches(loop, *way, prompt, BLOCKS, setting.seed))
    tree, cache, names = (
        checks.worst(trees),
        checks.worst(caches),
        "; ".join(shape_name(scheme) for _, scheme in largest),
    )
    return {
        "tree_attention": {**asdict(tree), "passed": tree.passed, "shape": names, "trees": TREES * len(trees)},
        "caches": {**asdict(cache), "passed": cache.passed, "shape": names, "blocks": BLOCKS * len(caches)},
        "greedy": greedy_fields(validation, prompt),
    }


def _largest_trees(validation: Validation) -> list[tuple[MeasuredVerifier, DraftScheme]]:
    """The largest tree of each kind of scheme, with the first verifier that runs on it."""
    largest: dict[str, tuple[MeasuredVerifier, DraftScheme]] = {}
    for verifier, scheme in validation.cells:
        best = largest.get(scheme.name)
        if best is None or (scheme.nodes, scheme.depth) > (best[1].nodes, best[1].depth):
            largest[scheme.name] = verifier, scheme
    return list(largest.values())


def greedy_fields(validation: Validation, prompt: Sequence[int]) -> dict[str, Any]:
    """Every cell at temperature 0 against `generate(do_sample=False)`."""
    pair = validation.setting.pair
    deepest = max(scheme.depth for _, scheme in validation.cells)
    text = checks.greedy_text(pair, prompt, pair.room(len(prompt) + deepest, GREEDY))
    differ = []
    with bar("greedy", len(validation.cells)) as tick:
        for verifier, scheme in validation.cells:
            with named_errors(verifier.executed.label):
                place = checks.first_difference(pair, verifier.executed.verifier, scheme, prompt, text)
            if place is not None:
                differ.append({"verifier": verifier.label, "shape": shape_name(scheme), "token": place})
            tick(1)
    return {"tokens": len(text), "runs": len(validation.cells), "differ": differ, "passed": not differ}


def cell_rows(validation: Validation, store: Store, machines: Machines = HERE) -> list[dict[str, Any]]:
    """Every cell, scheme by scheme; rows in the store are not run again."""
    setting, effort = validation.setting, validation.effort
    keys = [cell_key(setting, *cell, effort) for cell in validation.cells]
    cells = [Question(key, (key, *cell)) for key, cell in zip(keys, validation.cells, strict=True)]
    return grid.run(cells, store, measure, setting, effort, machines=machines, noun="cell", message=None)


def table_fields(rows: Sequence[dict[str, Any]], lossy: Collection[str] = ()) -> dict[str, Any]:
    """Chi-square tests of all means and of all outcomes in the table, and whether every cell is as predicted.

    lossy: verifiers that are known to be lossy. Their cells, and those found lossy, are labelled lossy and do not count
    as failed.
    """
    cells = [agreement_of(row) for row in rows]
    means, outcomes = table_chi_square(cells), ChiSquare.total([cell.outcomes for cell in cells])
    failed = [row for row, cell in zip(rows, cells, strict=True) if not cell.agrees(len(cells))]
    return {
        "cells": len(cells),
        "means": means.fields(),
        "outcomes": outcomes.fields(),
        "largest_z": max((abs(cell.z) for cell in cells), default=0.0),
        "largest_error": max((cell.standard_error for cell in cells), default=0.0),
        "failed": [{"verifier": row["verifier"], "shape": row["shape"]} for row in failed],
        "lossy": [
            {"verifier": row["verifier"], "shape": row["shape"]}
            for row in rows
            if row["lossless"] is False or (row["lossless"] is None and row["verifier"] in lossy)
        ],
        "passed": not failed and means.p_value >= LEVEL and outcomes.p_value >= LEVEL,
    }


VERIFIERS = ("nss", "naive", "specinfer", "spectr", "block", "traversal", "gbv", "path_transport")
#: One path, branches at once, branches late, and a delayed tree.
SHAPES = (Delayed(1, 0, 3), Delayed(2, 0, 2), Delayed(3, 1, 1), Delayed(2, 1, 2))


@dataclass(frozen=True)
class Report:
    """What a validation found. known: verifiers known to be lossy. checked: rows of `exact_checks`."""

    validation: Validation
    planned: Sequence[str]
    checked: Sequence[dict[str, Any]]
    known: Sequence[str]
    same: dict[str, Any]
    rows: Sequence[dict[str, Any]]
    table: dict[str, Any]

    @property
    def failures(self) -> list[str]:
        """The failures, in words; a verifier that is known to be lossy does not fail for being lossy."""
        names = {"tree_attention": "tree attention", "caches": "caches"}
        failed = [label for name, label in names.items() if not self.same[name]["passed"]]
        if any(difference["verifier"] not in self.known for difference in self.same["greedy"]["differ"]):
            failed.append("greedy text")
        failed += [f"{cell['verifier']} on ({cell['shape']})" for cell in self.table["failed"]]
        lossy = {
            row["verifier"]: "is declared lossy" if row["verdict"] == "declared" else "is not lossless on the tables"
            for row in self.rows
            if row["lossless"] is False
        }
        lossy |= {row["verifier"]: "is refuted by the exact check" for row in self.checked if row["lossless"] is False}
        failed += [
            f"{name} {why} (--lossy {quote(name)} says it is known)"
            for name, why in lossy.items()
            if name not in self.known
        ]
        if not self.table["passed"] and not self.table["failed"]:
            failed.append("the table as a whole")
        return failed


def run(
    validation: Validation,
    resume: str | None,
    known: Sequence[str],
    checked: Sequence[dict[str, Any]],
    machines: Machines = HERE,
) -> Report:
    """Everything. known: verifiers known to be lossy. checked: what `exact_checks` found. machines: for the cells."""
    store = Store(resume)
    lossless = {verifier.label: not declared_lossy(verifier) for verifier in validation.verifiers}
    lossless |= {row["verifier"]: row["lossless"] for row in checked if row["lossless"] is not None}
    lossy = {*known, *(name for name, holds in lossless.items() if not holds)}
    roots, size = len(validation.setting.roots), validation.setting.pair.vocab_size
    remark(f"tables of p and q after {roots} roots")
    depths = [max(scheme.depth, 1) for scheme in validation.schemes if VALIDATE_BUDGET.tables(size, scheme.depth)]
    if depths:
        with bar("tables", roots) as tick:
            validation.setting.contexts.cases(max(depths), progress=tick)
    made = [planned_scheme(scheme, validation.setting.contexts) for scheme in validation.schemes]
    validation = replace(validation, schemes=tuple(scheme for scheme, _ in made))
    planned = [note for _, note in made if note]
    remark("tree attention, caches, greedy text")
    same = model_checks(validation)
    remark(f"predicted against measured, {len(validation.cells)} cells")
    rows = cell_rows(validation, store, machines)
    return Report(validation, planned, checked, known, same, rows, table_fields(rows, lossy))
