"""Tables by depth, of `draftproof depths` and `draftproof compare --by depth`."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from rich.table import Table

from draftproof.experiments.cli.compare import planning, work
from draftproof.experiments.cli.compare.tables import verdict_text
from draftproof.experiments.grid.depths import depth_rows, mean_distances, trees
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.verifiers import NamedVerifier, Settings
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.shared.output import short
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.protocol import DraftScheme

#: Both `mean_distances`, over all contexts and over accepted ones, for trees of a depth.
Means = Callable[[int], list[list[Any]]]


def means_of(problem: World, settings: Settings) -> Means:
    """The means of a problem, computed once for each depth that is asked for."""
    numbers = arithmetic_named(settings.arithmetic)

    @cache
    def means(depth: int) -> list[list[Any]]:
        roots = [root.converted(numbers, depth) for root in problem.cases(depth, numbers)]
        return [mean_distances(roots, depth, accepted) for accepted in (False, True)]

    return means


def computed(
    problem: World,
    chosen: Sequence[NamedVerifier],
    fewer: Sequence[DraftScheme],
    more: Sequence[DraftScheme],
    settings: Settings,
    kept: Store,
    options: Sequence[str],
    means: Means,
    trunk: int = 0,
) -> list[dict[str, Any]] | tuple[int, int]:
    """The rows of one problem; how many laws there are, of how many, where Ctrl-C ended it early.

    fewer, more, trunk: see `depth_rows`. means: those of the problem.
    """
    schemes = list(dict.fromkeys([*fewer, *more]))
    cells = planning.law_cells(problem, chosen, schemes, settings)
    if not work.compute_all(problem, cells, settings, kept, options):
        return sum(cell.strong_id in kept for cell in cells), len(cells)
    laws = {(cell.verifier.spec, cell.scheme): kept[cell.strong_id] for cell in cells if cell.verifier is not None}
    rows, (distances, met) = [], means(more[0].depth)
    for named in chosen:
        one, other = ([laws[named.spec, scheme] for scheme in side] for side in (fewer, more))
        rows += depth_rows(one, other, distances, met, trunk)
    return rows


def of_shapes(
    problem: World,
    rows: Sequence[Mapping[str, Any]],
    chosen: Sequence[NamedVerifier],
    schemes: Sequence[DraftScheme],
    settings: Settings,
    kept: Store,
    options: Sequence[str],
) -> list[tuple[DraftScheme, list[dict[str, Any]]]] | None:
    """Each scheme that drafts anything with its rows by depth, None where Ctrl-C ended it early.

    rows: those of the comparison, which say who is on which scheme.
    """
    of_schemes, means = [], means_of(problem, settings)
    for scheme in schemes:
        there = {row["spec"] for row in rows if row["scheme"] == scheme.as_dict()}
        named = [each for each in chosen if each.spec in there]
        if not scheme.depth or not named:
            continue
        fewer: Sequence[DraftScheme] = []
        more: Sequence[DraftScheme] = [scheme]
        trunk = 0
        if isinstance(scheme, Delayed) and scheme.K > 1:
            (fewer, more), trunk = trees(scheme.K, scheme.depth), scheme.L1
        found = computed(problem, named, fewer, more, settings, kept, options, means, trunk)
        if isinstance(found, tuple):
            return None
        of_schemes.append((scheme, [{"scheme": scheme.as_dict(), **row} for row in found]))
    return of_schemes


def table(rows: Sequence[dict[str, Any]], title: str, trunk: int = 0) -> Table:
    """One line a verifier and depth; trunk: as in `depth_rows`."""
    branches = rows[0]["K"]
    several = branches is not None and branches > 1
    view = Table(title=title, title_justify="left", caption_justify="left")
    for heading in ("verifier", "lossless"):
        view.add_column(heading)
    columns = {"depth": "depth d", "distance": "L1(p, q)\ndrafted", "distance_accepted": "\naccepted"}
    if several:
        columns |= {
            "accepted_fewer": f"accepted\nK = {branches - 1}",
            "accepted": f"\nK = {branches}",
            "reached_fewer": f"P(tau ≥ d)\nK = {branches - 1}",
            "reached": f"\nK = {branches}",
            "gain": "gain",
            "gain_per_token": "gain\na token",
        }
    else:
        columns |= {"accepted": "accepted", "reached": "P(tau ≥ d)"}
    for heading in columns.values():
        view.add_column(heading, justify="right")
    for row in rows:
        first = row["depth"] == 1
        if first and row is not rows[0]:
            view.add_section()
        numbers = (row[f"{name}_float"] for name in list(columns)[1:])
        view.add_row(
            row["verifier"] + " (control)" * row["control"] if first else "",
            verdict_text(row) if first else "",
            str(row["depth"]),
            *("-" if number is None else short(number, 4) for number in numbers),
        )
    view.caption = (
        "L1(p, q): mean of sum |p - q| for the token of depth d, over contexts drawn from the draft, and over those\n"
        "of them that token-by-token verification of one path accepts.\n"
        "accepted: P(tau ≥ d | tau ≥ d - 1)"
    )
    if several:
        where = f"after a trunk of {trunk}" if trunk else "at the root"
        view.caption += (
            f" on K paths that branch {where}.\n"
            f"gain: E[tau+1] of K = {branches} minus that of K = {branches - 1}, both with a trunk of d - 1 tokens; "
            "a token: per added token."
        )
    return view
