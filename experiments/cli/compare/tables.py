"""Tables of rows for the terminal, for pages and for spreadsheets. Functions of rows; nothing is computed here."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from draftproof.experiments.grid.groups import group_columns, interval_text
from draftproof.experiments.shared.output import csv_cell, markdown_name, short

_FIRST_COLUMNS = ("verifier", "K", "L1", "L2", "nodes", "block_efficiency", "block_efficiency_float", "variance_float")
_LAST_COLUMNS = (
    "lossless",
    "max_deviation_float",
    "total_variation_float",
    "arithmetic",
    "engine",
    "seconds",
    "strong_id",
)


#: A table with more rows is not printed.
MAX_ROWS = 150
#: How many of the shapes that a policy uses are named.
MAX_NAMED_SHAPES = 3
#: Fields that only some rows have, with their headings.
_EXTRA = {
    "optimum_float": "optimum",
    "at_most_float": "at most",
    "gap_float": "gap",
    "steady_state_float": "long run",
    "time": "time T",
    "speedup": "speedup",
}


def _extra(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    return {name: heading for name, heading in _EXTRA.items() if any(row.get(name) is not None for row in rows)}


def verdict_text(row: dict[str, Any]) -> Text:
    """`proved`, `to rounding`, `rounding decides` or `NO` and how far; `by its structure` if `verify` was not run."""
    if not row["lossless"]:
        far = row.get("max_deviation_float")
        return Text("NO" if far is None else f"NO, {short(far, 4)}", style="bold red")
    if row.get("assumed"):
        return Text("by its structure", style="yellow")
    if row.get("rounding_decides"):
        return Text("rounding decides", style="bold yellow")
    return Text("proved", style="green") if row["arithmetic"] == "rational" else Text("to rounding", style="green")


def depths(row: dict[str, Any]) -> str:
    """The distribution of the accepted length `tau`, as two-digit percentages from `tau = 0` on."""
    return " ".join(f"{100 * mass:4.1f}" for mass in row["depth_distribution"])


def compare_table(rows: Sequence[dict[str, Any]]) -> Table:
    """A section for each shape: its optimum, the lossless verifiers by block efficiency, then the refuted ones."""
    table = Table(caption_justify="left")
    table.add_column("K, L1, L2, verifier")
    table.add_column("E[tau+1]", justify="right")
    extra = {name: heading for name, heading in _extra(rows).items() if name != "optimum_float"}
    for heading in extra.values():
        table.add_column(heading, justify="right")
    table.add_column("lossless")
    table.add_column("P(tau = 0, 1, ..) in %")
    for shape in dict.fromkeys(row["shape"] for row in rows):
        here = [row for row in rows if row["shape"] == shape]
        optimum = here[0].get("optimum_float")
        table.add_section()
        table.add_row(
            Text(shape, style="bold"), "" if optimum is None else short(optimum), "" if optimum is None else "optimum"
        )
        for row in sorted(here, key=_place):
            table.add_row(
                "  " + row["verifier"] + (" (control)" if row["control"] else ""),
                short(row["block_efficiency_float"]),
                *(_cell(row.get(name)) for name in extra),
                verdict_text(row),
                depths(row),
            )
    table.caption = (
        "NO: the largest violation of the balance equation. E[tau+1] of a lossy verifier is not comparable.\n"
        f"engine: {engines(rows)}"
    )
    if any(row.get("rounding_decides") for row in rows):
        table.caption += (
            "\nrounding decides: E[tau+1] depends on how rounding ranks tokens with (nearly) the same p/q; "
            "--arithmetic rational ranks them exactly."
        )
    if "at_most_float" in extra:
        table.caption += (
            "\noptimum, at most: bounds on the best lossless verifier on the whole vocabulary; E[tau+1] is exact on "
            "the vocabulary that is left after the cut."
        )
    return table


def _place(row: dict[str, Any], measure: str = "block_efficiency_float") -> tuple[bool, bool, float]:
    """Sorts rows: lossless verifiers by what they bring, then negative controls, then what is refuted."""
    return not row["lossless"], row["control"], -round(row[measure], 9)  # equal but for rounding: in their order


def policies_table(rows: Sequence[dict[str, Any]]) -> Table:
    """One line for each policy and verifier."""
    table = Table(title="a shape for every block", title_justify="left", caption_justify="left")
    table.add_column("policy")
    table.add_column("verifier")
    extra = {"time": "time T", "speedup": "speedup"} if "speedup" in rows[0] else {}
    for heading in ("tokens a block", *extra.values(), "over static", "regret", "shapes"):
        table.add_column(heading, justify="right")
    table.add_column("most used, % of the blocks")
    for number, row in enumerate(rows):
        begins = number == 0 or rows[number - 1]["policy"] != row["policy"]
        if begins and number:
            table.add_section()
        gains = f"{row['over_static']:+.2%}", f"{row['regret']:.3%}", str(row["used"])
        most = "; ".join(f"{shape}: {share:.0%}" for shape, share in list(row["actions"].items())[:MAX_NAMED_SHAPES])
        numbers = short(row["block_efficiency_float"]), *(_cell(row[key]) for key in extra)
        table.add_row(row["policy"] if begins else "", row["verifier"], *numbers, *gains, most)
    table.caption = (
        "means over the roots; over static: against the best static shape of the verifier; regret: share lost to the "
        "best of all\npolicies."
    )
    return table


def _cell(value: float | None) -> str:
    """A number of a row; `-` where there is none, 0 for one as small as rounding."""
    if value is None:
        return "-"
    return "0" if abs(value) < 1e-12 else short(value, 4)


def engines(rows: Sequence[dict[str, Any]]) -> str:
    """Which engine computed how many of the rows."""
    counts = Counter(row["engine"] for row in rows if "engine" in row)
    return ", ".join(f"{engine} ({number:,} row{'s' * (number > 1)})" for engine, number in counts.items())


def best_table(rows: Sequence[dict[str, Any]]) -> Table:
    """For each verifier the shape that brings most: by speedup where times are known, else tokens a target pass.

    Without times the longest path brings most of all shapes: it is left out where there are trees.
    """
    measure = next((name for name in ("speedup", "steady_state_float") if name in rows[0]), "block_efficiency_float")
    trees = [row for row in rows if row["K"] != 1] if measure != "speedup" else []
    best: dict[str, dict[str, Any]] = {}
    for row in trees or rows:
        if row["verifier"] not in best or row[measure] > best[row["verifier"]][measure]:
            best[row["verifier"]] = row
    extra = _extra(rows)
    title = "best tree of each verifier" if trees else "best shape of each verifier"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.add_column("verifier")
    for heading in ("K, L1, L2", "drafted", "E[tau+1]", *extra.values()):
        table.add_column(heading, justify="right")
    table.add_column("lossless")
    for row in sorted(best.values(), key=lambda row: _place(row, measure)):
        cells = row["shape"], str(row["nodes"]), short(row["block_efficiency_float"])
        name = row["verifier"] + (" (control)" if row["control"] else "")
        table.add_row(name, *cells, *(_cell(row.get(key)) for key in extra), verdict_text(row))
    table.caption = f"engine: {engines(rows)}"
    if len(trees) < len(rows) and trees:
        table.caption += "\nSingle paths are left out: the longest brings most tokens a pass, and costs most drafts."
    if "speedup" in extra:
        table.caption += "\nspeedup: tokens a pass over its time T, against one token for a target pass without drafts."
    return table


def roots_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Block efficiency for every root context, one column a root."""
    table = Table(title="E[tau+1] by root context", title_justify="left")
    if not rows:
        return table
    table.add_column("K, L1, L2")
    table.add_column("verifier")
    for root in rows[0]["roots"]:
        table.add_column(f"{root['root']!r}\n{100 * root['weight_float']:.1f} %", justify="right")
    table.add_column("average", justify="right")
    for row in rows:
        cells = [short(root["block_efficiency_float"], 4) for root in row["roots"]]
        table.add_row(row["shape"], row["verifier"], *cells, short(row["block_efficiency_float"], 4))
    return table


def root_efficiencies(row: dict[str, Any]) -> list[float]:
    """Block efficiency after each root."""
    return [root["block_efficiency_float"] for root in row["roots"]]


def groups_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Block efficiency by group of prompts, one column a group; of policies with times tokens per time."""
    what, heading = "E[tau+1]", "K, L1, L2"
    if "policy" in rows[0]:
        what, heading = "tokens per time" if "speedup" in rows[0] else "tokens a block", "policy"
    table = Table(title=f"{what} by group of prompts", title_justify="left", caption_justify="left")
    table.add_column(heading)
    table.add_column("verifier")
    group_columns(table, rows[0]["groups"])
    for row in rows:
        table.add_row(row["shape"], row["verifier"], *map(interval_text, row["groups"]))
    return table


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """A line a row; the depth distribution takes one column a depth."""
    deepest = max((len(row["depth_distribution"]) for row in rows), default=0)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    extra = list(_extra(rows))
    writer.writerow([*_FIRST_COLUMNS, *_LAST_COLUMNS, *extra, *(f"P(tau={depth})" for depth in range(deepest))])
    for row in rows:
        masses = row["depth_distribution"]
        padding = [""] * (deepest - len(masses))
        cells = [csv_cell(row.get(name)) for name in (*_FIRST_COLUMNS, *_LAST_COLUMNS, *extra)]
        writer.writerow([*cells, *masses, *padding])
    return buffer.getvalue()


def _grid(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Shapes, and for each verifier its name and a cell for every shape: block efficiency, marked where refuted."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    cells = {(row["verifier"], row["shape"]): row for row in rows}
    lines = []
    controls = {row["verifier"] for row in rows if row["control"]}
    for name in dict.fromkeys(row["verifier"] for row in rows):
        cell_rows = [cells.get((name, shape)) for shape in shapes]
        texts = [
            f"{row['block_efficiency_float']:.4f}{'' if row['lossless'] else ' ✗'}" if row else "--"
            for row in cell_rows
        ]
        lines.append([name, " (control)" if name in controls else "", *texts])
    return shapes, lines


def _shape_markdown(shape: str) -> str:
    is_other_scheme = set(shape) - set("0123456789, ") != set()  # not K, L1, L2
    return markdown_name(shape) if is_other_scheme else shape


def _optimum_cells(rows: Sequence[dict[str, Any]], shapes: Sequence[str]) -> list[str]:
    """The optimum of every shape as text; empty if no row has one.

    The upper bound, so that no cell of a lossless verifier is larger, also after rounding.
    """
    known = {row["shape"]: row["optimum_upper_float"] for row in rows if row.get("optimum_upper_float") is not None}
    return [f"{known[shape]:.4f}" if shape in known else "--" for shape in shapes] if known else []


def as_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Verifiers down, shapes across, block efficiency in the cells; a cross marks what was refuted.

    Where the optimum is known, it is the last line.
    """
    from tabulate import tabulate

    shapes, lines = _grid(rows)
    body = [[markdown_name(name) + mark, *cells] for name, mark, *cells in lines]
    if optimum := _optimum_cells(rows, shapes):
        body.append(["**optimum**", *optimum])
    table: str = tabulate(body, ["K, L1, L2", *map(_shape_markdown, shapes)], tablefmt="github", disable_numparse=True)
    return table + "\n"
