"""The whole validation of a pair: what must be the same, what must have the target's law, what was predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from math import log
from typing import Any

from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.predicted.tables import root_case
from draftproof.experiments.models.predicted.truncated import Truncated
from draftproof.experiments.models.validation import checks
from draftproof.experiments.models.validation.cells import (
    Budget,
    agreement_of,
    cell_key,
    measure_exact,
    measure_sampled,
    truncated_of,
)
from draftproof.experiments.models.validation.comparison import LEVEL, ChiSquare, table_chi_square
from draftproof.experiments.models.validation.contest import Contestant, Setting
from draftproof.experiments.models.validation.planning import planned_scheme
from draftproof.experiments.models.validation.text_law import law_key, law_row, power_fields
from draftproof.experiments.shared.progress import bar, named_errors
from draftproof.experiments.shared.rows import RowFile
from draftproof.experiments.shared.schemes import shape_name
from draftproof.experiments.shared.sharing import share
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import table_entries
from draftproof.simulator.protocol import DraftScheme

#: Tables of more numbers are not made: from there on predictions come from sampled trees.
MOST_ENTRIES = 1_000_000
#: Trees whose logits are compared, and blocks after which caches are.
TREES, BLOCKS = 24, 200
#: Tokens that the law test looks at: tables of deeper trees would take its power too long to find.
LONGEST = 4


@dataclass(frozen=True)
class Contest:
    """What is validated, and how long: every verifier on the schemes that it is for.

    law_runs: runs of the law test from all roots together; greedy: tokens. Raises `InvalidInput` where no verifier is
    for any scheme.
    """

    setting: Setting
    contestants: tuple[Contestant, ...]
    schemes: tuple[DraftScheme, ...]
    budget: Budget = field(default_factory=Budget)
    law_runs: int = 2_500
    greedy: int = 200

    def __post_init__(self) -> None:
        if not self.pairs:
            names, schemes = ", ".join(each.label for each in self.contestants), ", ".join(map(str, self.schemes))
            raise InvalidInput(f"the cards of {names} claim none of {schemes}; `draftproof matrix` shows who does")

    @property
    def pairs(self) -> list[tuple[Contestant, DraftScheme]]:
        """The cells, scheme by scheme."""
        return [(each, scheme) for scheme in self.schemes for each in self.contestants if each.plays_on(scheme)]

    @property
    def left_out(self) -> list[tuple[Contestant, DraftScheme]]:
        """Verifiers and schemes that are no cells: the verifier's card does not claim the scheme."""
        return [(each, scheme) for scheme in self.schemes for each in self.contestants if not each.plays_on(scheme)]

    @property
    def players(self) -> list[tuple[Contestant, list[DraftScheme]]]:
        """Each verifier that has a cell, with its schemes."""
        found = [(each, [scheme for scheme in self.schemes if each.plays_on(scheme)]) for each in self.contestants]
        return [(each, schemes) for each, schemes in found if schemes]

    @property
    def depth(self) -> int:
        """Of the tables: as deep as the deepest tree whose tables are small enough; 0 where there is none."""
        return max((max(scheme.depth, 1) for scheme in self.schemes if self.exact(scheme)), default=0)

    def exact(self, scheme: DraftScheme) -> bool:
        """Whether the tables for trees of a scheme are small enough."""
        return table_entries(self.setting.pair.vocab_size, max(scheme.depth, 1)) <= MOST_ENTRIES

    @property
    def law_level(self) -> float:
        """Probability with which a lossless verifier is refuted by the law test; all of them together: `LEVEL`."""
        return LEVEL / len(self.contestants)

    @property
    def root_runs(self) -> int:
        """Runs of the law test from each root."""
        return -(-self.law_runs // len(self.setting.roots))


def tables_of(contest: Contest) -> list[Case]:
    """The exact tables after each root; for large vocabularies those of the roots alone."""
    setting, made = contest.setting, []
    with bar("tables", len(setting.roots)) as tick:
        for root in setting.roots:
            made.append(root_case(setting.pair, setting.warp, root, contest.depth))
            tick(1)
    return made


def planned_contest(contest: Contest, tables: Sequence[Case]) -> tuple[Contest, list[str]]:
    """The contest with a tree for every scheme that is planned from a measurement, and in words from which."""
    made = [
        planned_scheme(scheme, contest.setting, tables if contest.exact(scheme) else None) for scheme in contest.schemes
    ]
    return replace(contest, schemes=tuple(scheme for scheme, _ in made)), [said for _, said in made if said]


def same_anyway(contest: Contest) -> dict[str, Any]:
    """Tree attention, caches and greedy text; rows of plain data, each with `passed`."""
    setting, prompt = contest.setting, contest.setting.roots[0]
    trees, caches, widest = [], [], _widest(contest)
    for each, scheme in widest:
        loop = Loop(setting.pair, each.played.verifier, scheme, setting.warp, setting.vectors)
        with named_errors(each.played.label):
            trees.append(checks.tree_attention(loop, prompt, TREES, setting.seed))
            caches.append(checks.caches(loop, prompt, BLOCKS, setting.seed))
    tree, cache, names = (
        checks.worst(trees),
        checks.worst(caches),
        "; ".join(shape_name(scheme) for _, scheme in widest),
    )
    found = {
        "tree_attention": {**asdict(tree), "passed": tree.passed, "shape": names, "trees": TREES * len(trees)},
        "caches": {**asdict(cache), "passed": cache.passed, "shape": names, "blocks": BLOCKS * len(caches)},
    }
    if contest.greedy:
        found["greedy"] = greedy_fields(contest, prompt)
    return found


def _widest(contest: Contest) -> list[tuple[Contestant, DraftScheme]]:
    """Of each kind of scheme the largest, with the first verifier that plays on it."""
    found: dict[str, tuple[Contestant, DraftScheme]] = {}
    for each, scheme in contest.pairs:
        best = found.get(scheme.name)
        if best is None or (scheme.nodes, scheme.depth) > (best[1].nodes, best[1].depth):
            found[scheme.name] = each, scheme
    return list(found.values())


def greedy_fields(contest: Contest, prompt: Sequence[int]) -> dict[str, Any]:
    """Every cell at temperature 0 against `generate(do_sample=False)`."""
    pair = contest.setting.pair
    text = checks.greedy_text(pair, prompt, contest.greedy)
    differ = []
    with bar("greedy", len(contest.pairs)) as tick:
        for each, scheme in contest.pairs:
            with named_errors(each.played.label):
                place = checks.first_difference(pair, each.played.verifier, scheme, prompt, text)
            if place is not None:
                differ.append({"verifier": each.label, "shape": shape_name(scheme), "token": place})
            tick(1)
    return {"tokens": len(text), "runs": len(contest.pairs), "differ": differ, "passed": not differ}


def law_rows(contest: Contest, tables: Sequence[Case], kept: RowFile) -> list[dict[str, Any]]:
    """The law test of every verifier; rows that are kept already are not run again."""
    setting, length = contest.setting, law_length(contest)
    runs, level = contest.root_runs, contest.law_level
    with bar("law (runs)", runs * len(tables) * len(contest.players)) as tick:
        work = {
            law_key(setting, each, schemes, length, runs, level): partial(
                law_row, setting, each, schemes, tables, length, runs, level, tick
            )
            for each, schemes in contest.players
        }
        share(work, kept)
    return [kept.rows[key] for key in work]


def law_length(contest: Contest) -> int:
    """How many tokens the law test looks at: as many as there are tables, up to `LONGEST`."""
    return min(contest.depth + 1, LONGEST)


def law_power(contest: Contest, tables: Sequence[Case]) -> dict[str, Any]:
    """What the law test can find with the runs that it has."""
    return {
        "found": power_fields(tables, law_length(contest), contest.root_runs, contest.law_level),
        "level": contest.law_level,
        "log10_needed": -log(contest.law_level) / log(10),
    }


def cell_rows(contest: Contest, tables: Sequence[Case], kept: RowFile) -> list[dict[str, Any]]:
    """Every cell, scheme by scheme; rows that are kept already are not run again."""
    truncated = cache(partial(truncated_of, contest.setting))
    work = {
        cell_key(contest.setting, each, scheme, contest.budget): partial(
            _cell, contest, each, scheme, tables, truncated
        )
        for each, scheme in contest.pairs
    }
    with bar("cells", len(work)) as tick:
        share(work, kept, tick)
    return [kept.rows[key] for key in work]


def _cell(
    contest: Contest,
    each: Contestant,
    scheme: DraftScheme,
    tables: Sequence[Case],
    truncated: Callable[[int], list[Truncated]],
) -> dict[str, Any]:
    if contest.exact(scheme):
        try:
            return measure_exact(contest.setting, each, scheme, tables, contest.budget)
        except TooLarge:  # of one verifier without a structured engine: its mean can be had from sampled trees
            return measure_sampled(contest.setting, each, scheme, contest.budget, [])
    cut = truncated(scheme.depth) if isinstance(scheme, Delayed) else []  # other trees are too many to be listed there
    return measure_sampled(contest.setting, each, scheme, contest.budget, cut)


def table_fields(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The table as a whole: the sum of `z**2`, that of all outcomes, and whether every cell is as predicted."""
    cells = [agreement_of(row) for row in rows]
    means, outcomes = table_chi_square(cells), ChiSquare.total([cell.outcomes for cell in cells])
    failed = [row for row, cell in zip(rows, cells, strict=True) if not cell.agrees(len(cells))]
    return {
        "cells": len(cells),
        "means": {**asdict(means), "probability": means.probability},
        "outcomes": {**asdict(outcomes), "probability": outcomes.probability},
        "largest_z": max((abs(cell.z) for cell in cells), default=0.0),
        "largest_error": max((cell.standard_error for cell in cells), default=0.0),
        "failed": [{"verifier": row["verifier"], "shape": row["shape"]} for row in failed],
        "passed": not failed and means.probability >= LEVEL and outcomes.probability >= LEVEL,
    }
