"""The tables of a comparison, made from its rows; nothing is computed here but gaps and means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from draftproof.experiments.cli.compare.planning import Cell, Plan
from draftproof.experiments.cli.compare.work import FAILURE
from draftproof.experiments.grid.groups import group_columns, mean_by_group
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.schemes import shape_name
from draftproof.experiments.result import Column, Table, hidden
from draftproof.experiments.shared.output import short
from draftproof.experiments.shared.progress import counted
from draftproof.simulator.drafts import Delayed

#: More rows than so many are for programs only.
MOST_SHOWN = 150
#: How many of the shapes that a policy uses are named.
MAX_NAMED_SHAPES = 3
#: In floats, a gap to the optimum of less than this is rounding.
ROUNDING = 1e-12
_WHERE = ("world", "sampling")
_OPTIMUM = (Column("optimum", "exact"), Column("at_most", "exact", "at most"), Column("gap", "exact"))
_SPEED = (
    Column("steady_state", "exact", "long run"),
    Column("time", "exact", "time T"),
    Column("speedup", "exact"),
)
_LENGTHS = (
    Column("variance", "exact", shown=False),
    Column("depth_distribution", "shares", "P(tau=0, 1, ..) %"),
)
#: For programs only.
_UNSEEN = (
    *hidden("scheme", "K", "L1", "L2", "nodes", "spec", "control", "lossless"),
    *hidden("assumed", "rounding_decides", "arithmetic", "engine", "error"),
    *hidden("max_deviation", "total_variation", "optimum_upper", kind="exact"),
    *hidden("tokens_per_time", "seconds", "source", "strong_id"),
)


def columns_of(rows: Sequence[Row], *others: Column) -> list[Column]:
    """The columns that say whose row it is, and others. The world is named where there are several."""
    several = len({tuple(row[name] for name in _WHERE) for row in rows}) > 1
    delayed = all(isinstance(row["scheme_object"], Delayed) for row in rows)
    where = [Column(name, shown=several) for name in _WHERE]
    return [*where, Column("shape", title="K, L1, L2" if delayed else "scheme"), Column("verifier"), *others]


def table_rows(plan: Plan, cells: Sequence[Cell], stored: Mapping[str, Row], costs: TimeModel | None) -> list[Row]:
    """A row for each verifier, world and scheme: by world and scheme, then lossless verifiers by what they bring.

    Each has the optimum of its world and scheme; a lossless one its gap too, the most by which it can be below that.
    """
    bounds = {(cell.place, cell.scheme): stored[cell.strong_id] for cell in cells if cell.verifier is None}
    groups: dict[tuple[int, Any], list[Row]] = {}
    for cell in cells:
        if cell.verifier is not None:
            place = plan.places[cell.place]
            about = {key: cell.scheme.as_dict().get(key) for key in ("K", "L1", "L2")}
            about |= {"verifier": cell.verifier.label, "spec": cell.verifier.spec, "nodes": cell.scheme.nodes}
            about |= {"shape": shape_name(cell.scheme), "control": cell.verifier.verifier.card.control}
            law = stored[cell.strong_id] | about
            row = law | {"world": place.label, "sampling": place.sampling, "place": cell.place, "law": law}
            row |= {"scheme": str(cell.scheme), "scheme_object": cell.scheme}
            if law["kind"] != FAILURE:
                row["depth_distribution"] = law.get("depth_distribution_exact", law["depth_distribution"])
                row |= _optimum(law, bounds.get((cell.place, cell.scheme)))
                row |= costs.row_fields(law) if costs else {}
            groups.setdefault((cell.place, cell.scheme), []).append(row | {"verdict": _verdict(row)})
    return [row for group in groups.values() for row in sorted(group, key=_rank)]


def _optimum(law: Row, bound: Row | None) -> Row:
    if bound is None:
        return {}
    fields = {"optimum": bound["lower"], "optimum_upper": bound["upper"], "optimum_upper_float": bound["upper_float"]}
    if bound["cut"]:  # the bounds of a cut vocabulary differ by more than the gap of the solver
        fields["at_most"] = bound["upper"]
    if law["lossless"] and law["arithmetic"] == "rational":
        fields["gap"] = Fraction(bound["upper"]) - Fraction(law["block_efficiency"])
    elif law["lossless"]:
        gap = bound["upper_float"] - law["block_efficiency_float"]
        fields["gap"] = gap if abs(gap) > ROUNDING else 0.0
    return fields


def _verdict(row: Row) -> str:
    """`PROVED`, `to rounding`, `rounding decides`, `REFUTED` and how far.

    `by its structure` where the law was computed from what the verifier declares, not from what it does.
    """
    if not row["lossless"]:
        far = row.get("max_deviation_float")
        return "REFUTED" if far is None else f"REFUTED {short(far, 4)}"
    if row["assumed"]:
        return "by its structure"
    if row["rounding_decides"]:
        return "rounding decides"
    return "PROVED" if row["arithmetic"] == "rational" else "to rounding"


def _rank(row: Row) -> tuple[bool, bool, float]:
    """Sorts rows: lossless verifiers by what they bring, then negative controls, then what is refuted."""
    return not row["lossless"], row["control"], -round(row.get("block_efficiency_float", 0.0), 9)


def comparison(rows: Sequence[Row]) -> Table:
    """The main table, a line for each verifier, scheme and world."""
    mean = Column("block_efficiency", "exact", "E[tau+1]")
    verdict = Column("verdict", "verdict", "lossless")
    long_run = Column("steady_state", "exact", shown=False)  # it has a table of its own
    columns = columns_of(rows, mean, *_OPTIMUM, *_SPEED[1:], verdict, *_LENGTHS, *_UNSEEN, long_run)
    return Table.of(columns, rows, shown=len(rows) <= MOST_SHOWN)


def roots(rows: Sequence[Row]) -> Table:
    """The laws after each root context, for programs."""
    columns = columns_of(rows, Column("root"), Column("weight", "exact"), Column("block_efficiency", "exact"))
    columns += [*_LENGTHS, Column("lossless"), Column("max_deviation", "exact"), Column("total_variation", "exact")]
    listed = [{**row, **root} for row in rows for root in laws_of(row)]
    return Table.of([*columns, Column("instance")], listed, name="roots", shown=False)


def laws_of(row: Row) -> Sequence[Row]:
    """What is stored for each root context of a row."""
    laws: Sequence[Row] = row["law"].get("roots", ())
    return laws


def by_root(rows: Sequence[Row]) -> Iterator[Table]:
    """Block efficiency for every root context, a column for each; a table for each world."""
    places = list(dict.fromkeys(row["place"] for row in rows))
    for place in places:
        here = [row for row in rows if row["place"] == place and laws_of(row)]
        titles = [f"{root['root']!r} {100 * root['weight_float']:.1f} %" for root in laws_of(here[0])] if here else []
        means = [Column(f"root {at}", "exact", title) for at, title in enumerate(titles)]
        columns = columns_of(here, *means, Column("block_efficiency", "exact", "average"))
        lines = [row | {f"root {at}": root["block_efficiency"] for at, root in enumerate(laws_of(row))} for row in here]
        title, name = "E[tau+1] by root context", "by_root"
        if len(places) > 1 and here:
            title, name = f"{title}, {here[0]['world']}", f"{name}_{place}"
        yield Table.of(columns, lines, title=title, name=name)


def best(rows: Sequence[Row]) -> Table:
    """For each verifier the shape that brings most: by speedup where times are known, else tokens a target pass.

    Without times the longest path brings most of all shapes: it is left out where there are trees.
    """
    known = [row for row in rows if row.get("block_efficiency") is not None]
    timed = any("speedup" in row for row in known)
    trees = [row for row in known if row["K"] != 1] if not timed else []

    def measure(row: Row) -> float:
        return float(row["speedup"] if timed else row.get("steady_state_float") or row["block_efficiency_float"])

    best_rows: dict[str, Row] = {}
    for row in trees or known:
        if row["verifier"] not in best_rows or measure(row) > measure(best_rows[row["verifier"]]):
            best_rows[row["verifier"]] = row
    ranked = sorted(best_rows.values(), key=lambda row: (*_rank(row)[:2], -round(measure(row), 9)))
    drafted, mean = Column("nodes", "count", "drafted"), Column("block_efficiency", "exact", "E[tau+1]")
    columns = columns_of(known, drafted, mean, *_OPTIMUM, *_SPEED, Column("verdict", "verdict", "lossless"))
    title = f"best {'tree' if trees else 'shape'} of each verifier"
    if trees and len(trees) < len(known):
        title += "; the longest single path brings more tokens a pass, and costs more drafts"
    return Table.of(columns, ranked, title=title, name="best")


def by_group(rows: Sequence[Row], groups: Sequence[str]) -> Table:
    """Block efficiency by group of prompts. groups: that of each prompt."""
    means = [mean_by_group(groups, [root["block_efficiency_float"] for root in laws_of(row)]) for row in rows]
    listed = [row | group for row, row_means in zip(rows, means, strict=True) for group in row_means]
    return Table.of(
        columns_of(rows, *group_columns("E[tau+1]")), listed, title="E[tau+1] by group of prompts", name="groups"
    )


def policies(rows: Sequence[Row]) -> Table:
    """One line for each policy and verifier."""
    columns = [
        Column("policy"),
        Column("verifier"),
        Column("block_efficiency", "exact", "tokens a block"),
        *_SPEED[1:],
        Column("over_static", "percent", "over static"),
        Column("regret", "percent"),
        Column("used", "count", "shapes"),
        Column("most", title="most used, % of the blocks"),
        *hidden("tokens_per_time", kind="exact"),
        *hidden("actions"),
    ]
    shown = [
        row
        | {"most": "; ".join(f"{shape}: {share:.0%}" for shape, share in [*row["actions"].items()][:MAX_NAMED_SHAPES])}
        for row in rows
    ]
    return Table.of(columns, shown, title="a shape for every block, means over the roots", name="policies")


def picture(rows: Sequence[Row], title: str) -> bytes:
    """The delay curve of delayed trees as a PNG; empty where nothing can be drawn."""
    from draftproof.experiments.grid.figures import delay_figure

    laws = [row for row in rows if row["kind"] == "law"]
    return delay_figure([row["law"] | {"optimum_upper_float": row.get("optimum_upper_float")} for row in laws], title)


def notes(rows: Sequence[Row]) -> Iterator[str]:
    """What people must know to read the tables."""
    if len(rows) > MOST_SHOWN:
        yield f"{len(rows):,} rows are too many to show; -o FILE.csv or FILE.json has them all."
    counts = Counter(row["engine"] for row in rows if "engine" in row)
    engines = [f"{name} ({counted(count, 'row')})" for name, count in counts.items()]
    yield f"engine: {', '.join(engines)}"
    if any(not row["lossless"] for row in rows):
        yield "REFUTED: the largest violation of the balance equation. E[tau+1] of a lossy verifier is not comparable."
    if controls := dict.fromkeys(row["verifier"] for row in rows if row["control"]):
        yield f"controls, which are wrong on purpose: {', '.join(controls)}"
    if any(row.get("rounding_decides") for row in rows):
        yield (
            "rounding decides: E[tau+1] depends on how rounding ranks tokens with (nearly) the same p/q; rational "
            "arithmetic ranks them exactly."
        )
    if any("at_most" in row for row in rows):
        yield (
            "optimum, at most: bounds on the best lossless verifier on the whole vocabulary; E[tau+1] is exact on "
            "the vocabulary that is left after the cut."
        )
    if any("speedup" in row for row in rows):
        yield "speedup: tokens a pass over its time T, against one token for a target pass without drafts."
    for row in rows:
        if row["kind"] == FAILURE:
            yield f"REFUTED, no row: {row['error']}"
