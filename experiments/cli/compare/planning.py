"""The rows of a comparison and their expected costs: every verifier on every valid shape, and the bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from draftproof.experiments.grid.bounds import QUICK_PATHS, Goal, bound_roots, expected_seconds, is_quick
from draftproof.experiments.grid.cost import ExpectedCost, check_runs, expected_cost
from draftproof.experiments.grid.rows import strong_id, versions
from draftproof.experiments.grid.run import Task
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings, chosen_verifiers
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.shared.progress import remark
from draftproof.lp_analysis.problem import assert_size
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import SCHEMES, UserScheme, lossless_for
from draftproof.simulator.errors import Fails, InvalidInput, UnsupportedTree
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.protocol import Card, DraftScheme

#: Most shapes in one comparison.
MOST_SHAPES = 100_000
#: The certified gap at which the solver of a bound stops.
GOAL = Goal()
#: By default the quick bounds are computed if all together take at most this long.
QUICK_SECONDS = 120.0


@dataclass(frozen=True)
class Cell:
    """One row and its expected cost: a verifier on a scheme, or without a verifier its optimum."""

    verifier: NamedVerifier | None
    scheme: DraftScheme
    strong_id: str
    cost: ExpectedCost

    def task(self) -> Task[Cell]:
        """This row as a task of a grid."""
        from_file = self.verifier is not None and self.verifier.from_file
        user_defined = from_file or isinstance(self.scheme, UserScheme)
        return Task((self.strong_id,), self, self.cost.seconds, frozenset(() if user_defined else (self.strong_id,)))


def shapes(
    build: Callable[..., DraftScheme], ranges: Mapping[str, Sequence[int]], budget: int | None, most: int | None = None
) -> list[DraftScheme]:
    """The valid shapes of the ranges, those of exactly `budget` and at most `most` drafted tokens if given.

    At K = 1 every split into L1 and L2 is the same tree: the one with the longest trunk stands for all.
    build: makes a scheme from K, L1 and L2; ranges: the values of those of the three that are given.
    """
    size = prod(map(len, ranges.values()))
    if size > MOST_SHAPES:
        raise InvalidInput(f"{size:,} shapes are more than {MOST_SHAPES:,}; make the ranges of K, L1 and L2 smaller")
    shapes = (dict(zip(ranges, values, strict=True)) for values in product(*ranges.values()))
    built = (build(**shape) for shape in shapes if size == 1 or shape.get("K", 2) <= 1 or shape.get("L2", 1) > 0)
    kept = [scheme for scheme in built if budget in (None, scheme.nodes) and (most is None or scheme.nodes <= most)]
    paths = {scheme.nodes: scheme for scheme in kept if scheme.as_dict().get("K") == 1}
    kept = [scheme for scheme in kept if scheme.as_dict().get("K") != 1 or scheme is paths[scheme.nodes]]
    if not kept:
        reason = (
            "is valid (L2 = 0 needs K = 1)" if budget is None else f"has exactly {budget} drafted tokens (--budget)"
        )
        raise InvalidInput(f"no shape in the ranges {reason}; widen --K, --L1 or --L2")
    return kept


def shape_label(scheme: DraftScheme) -> str:
    """A short name within one kind of scheme: "2, 0, 2" for K, L1, L2, else the tree."""
    fields = scheme.as_dict()
    return ", ".join(str(fields[key]) for key in ("K", "L1", "L2")) if "K" in fields else str(scheme)


def all_cells(
    problem: World,
    chosen: Sequence[NamedVerifier] | None,
    schemes: Sequence[DraftScheme],
    settings: Settings,
    bounds: bool | None,
) -> list[Cell]:
    """Every row and every bound to compute; bounds: as for `bound_cells`, chosen: None for the whole registry."""
    return [*law_cells(problem, chosen, schemes, settings), *bound_cells(problem, schemes, bounds)]


def law_cells(
    problem: World, chosen: Sequence[NamedVerifier] | None, schemes: Sequence[DraftScheme], settings: Settings
) -> list[Cell]:
    """Every row to compute with its estimated cost; raises `TooLarge` for one that does not fit.

    chosen: None for the whole registry, without the verifiers that declare other schemes or refuse the trees of this
    one; a message names them.
    """
    arithmetic = arithmetic_named(settings.arithmetic)
    cells = []
    known: dict[str, dict[Any, float]] = {}
    refused: dict[str, list[DraftScheme]] = {}
    roots_of = lru_cache(lambda depth: problem.cases(depth, arithmetic))
    for scheme in schemes:
        roots = roots_of(scheme.depth)
        identity = _identity(problem, roots, scheme)
        for named in chosen if chosen is not None else chosen_verifiers(None):
            if chosen is None and declares_other_schemes(named.verifier.card, scheme):
                refused.setdefault(named.label, []).append(scheme)
                continue
            try:
                cost = expected_cost(named, scheme, settings, [(roots[0].target, roots[0].draft)], known)
            except Fails:  # the row says so
                cost = ExpectedCost("enumerate", "", 1, 0.0)
            except UnsupportedTree:
                if chosen is not None:
                    raise
                refused.setdefault(named.label, []).append(scheme)
                continue
            if cost.engine == "enumerate":
                check_runs(named, scheme, settings, cost.steps * len(roots), problem.vocab_size)
            fields = {
                "roots": identity,
                "version": versions()["draftproof"],
                "verifier": named.identity,
                "scheme": scheme.as_dict(),
                "arithmetic": settings.arithmetic,
                "engine": cost.engine,
                **({"steady": True} if settings.steady else {}),
                **({"device": settings.device} if settings.device else {}),
            }
            total = replace(cost, steps=cost.steps * len(roots), seconds=cost.seconds * len(roots))
            cells.append(Cell(named, scheme, strong_id(fields), total))
    for label, left_out in refused.items():
        others = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        remark(f"{label} is not for trees of {left_out[0]}{others}: left out")
    return cells


def declares_other_schemes(card: Card, scheme: DraftScheme) -> bool:
    """Whether its card declares other schemes and not this one; negative controls are never left out."""
    registered = not isinstance(scheme, UserScheme) and scheme.name in SCHEMES
    return registered and not card.control and bool(lossless_for(card)) and scheme.name not in lossless_for(card)


def bound_cells(problem: World, schemes: Sequence[DraftScheme], wanted: bool | None) -> list[Cell]:
    """The optimum of every shape; wanted: None for those that are quick, False for none."""
    cells = []
    for scheme in schemes if wanted is not False else ():
        if wanted is None and context_count(problem.vocab_size, scheme.depth) > QUICK_PATHS:
            continue
        assert_size(problem.vocab_size, scheme)
        roots = bound_roots(problem, scheme)
        if wanted is None and not is_quick(roots[0].draft, scheme):
            continue
        expected = expected_seconds(problem.vocab_size, scheme, roots[0].draft)
        fields = {
            "roots": _identity(problem, roots, scheme),
            "version": versions()["draftproof"],
            "bound": scheme.as_dict(),
            "gap": GOAL.gap,
        }
        seconds = expected * len(roots)
        cells.append(Cell(None, scheme, strong_id(fields), ExpectedCost("bound", "", len(roots), seconds)))
    if wanted is None and sum(cell.cost.seconds for cell in cells) > QUICK_SECONDS:
        remark(f"the optimum of {len(cells)} shapes is left out; --optimum computes it")
        return []
    return cells


def _identity(problem: World, roots: Sequence[Case], scheme: DraftScheme) -> list[Any]:
    """The roots in a `strong_id`: their rows, or their source if those are too many."""
    return [root.identity(scheme.depth, problem.source) for root in roots]
