"""The matched comparison as sections: the tables of the paper cell by cell, every term, and the reported order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from draftproof.experiments.commands.report.figures import curves
from draftproof.experiments.commands.report.matched import ACCEPTANCE, DEPTH, OPTIMUM, TIME, TIMES, TOKENS
from draftproof.experiments.commands.report.places import CLOSE
from draftproof.experiments.commands.report.section import Cell, Section, count, number, percent, text
from draftproof.experiments.shared.progress import counted

Row = Mapping[str, Any]


def sections(summary: Mapping[str, Any]) -> Iterator[Section]:
    """All sections of the comparison; without rows where there is nothing to compare."""
    rows = summary["matched"]
    yield from cell_tables(rows)
    yield _terms(rows)
    yield _below(summary["pairs"])
    yield _order(summary["ordering"])
    yield _agreement(summary["agreement"])


def cell_tables(rows: Sequence[Row]) -> Iterator[Section]:
    """The layout of the paper: a line for each verifier, a column for each kind and temperature, the mean last.

    Of each vocabulary the acceptance of two branches, the drafted tokens and the depth of which there are most schemes,
    and the usual times.
    """
    for size in dict.fromkeys(row["vocab_size"] for row in rows):
        here = [row for row in rows if row["vocab_size"] == size]
        for term in (ACCEPTANCE, TOKENS, DEPTH, TIME):
            group = _told(here, term)
            if len(group) > 1 and len(group[0]["cells"]) > 1:
                yield _cells(term, size, group)


def _told(rows: Sequence[Row], term: str) -> list[Row]:
    """The rows of one value of a term, the one that says most: with the most schemes; of times the usual one."""
    known = {row["value"]: row["schemes"] for row in rows if row["term"] == term}
    if not known:
        return []
    if term == TIME:
        chosen = TIMES[1] if TIMES[1] in known else next(iter(known))
    else:
        chosen = 2 if term == ACCEPTANCE and 2 in known else max(known, key=lambda value: (known[value], value))
    return [row for row in rows if (row["term"], row["value"]) == (term, chosen)]


def _cells(term: str, size: int | None, group: Sequence[Row]) -> Section:
    value, columns = group[0]["value"], list(group[0]["cells"])
    title = {
        ACCEPTANCE: f"Acceptance rate of {value} branches, one step",
        TOKENS: f"Block efficiency at {value} drafted tokens",
        DEPTH: f"Block efficiency at depth {value}",
        TIME: f"Speed-up with {_shown(term, value)}",
    }[term]
    ranked = sorted(group, key=lambda row: (row["verifier"] != OPTIMUM, -row["mean"]))
    rows: list[list[Cell]] = [
        [text(row["verifier"]), *(number(row["cells"][column]) for column in columns), number(row["mean"]),
         number(row["median"]), percent(row["share"]), percent(row["wins"])]
        for row in ranked
    ]  # fmt: skip
    headings = ("verifier", *columns, "mean", "median", "share of optimum", "best of all")
    first = group[0]
    chosen = f"the best of {first['schemes']} schemes" if first["schemes"] > 1 else "one scheme"
    note = f"{counted(first['worlds'], 'world')}, each with {chosen} for the verifier. T: temperature."
    note += f" Times: {value}." if term == TIME else ""
    name = f"{term.partition(' ')[0]}-{size}"
    return Section(name, title + (f", V = {size}" if size else ""), headings, rows, note=note)


def _shown(term: str, value: int | str) -> str:
    """A value of a term; of times the first, which tells them apart."""
    return str(value).partition(",")[0] if term == TIME else str(value)


def _terms(rows: Sequence[Row]) -> Section:
    cells: list[list[Cell]] = [
        [text(row["term"]), text(_shown(row["term"], row["value"])),
         text("" if row["vocab_size"] is None else row["vocab_size"]), text(row["verifier"]), count(row["worlds"]),
         number(row["mean"]), number(row["median"]), percent(row["share"]), percent(row["wins"])]
        for row in rows
    ]  # fmt: skip
    headings = ("at equal", "value", "V", "verifier", "worlds", "mean", "median", "share of optimum", "best of all")
    note = (
        "Each world with the best of the schemes, for each verifier its own: at one step of so many branches, at equal "
        "drafted tokens, at equal depth, and by time, as the speed-up over decoding without drafts, where "
        f"{' or '.join(TIMES)}. A verifier stands in a comparison if it is lossless on all drafts of it."
    )
    return Section("matched", "On equal terms", headings, cells, note=note, figure=_shares(rows))


def _shares(rows: Sequence[Row]) -> Any:
    """The share of the optimum by drafted tokens, on the vocabulary with the most worlds."""
    tokens = [row for row in rows if row["term"] == TOKENS and row["share"] is not None and row["verifier"] != OPTIMUM]
    if not tokens:
        return curves({}, "matched", "", "", "")
    size = max(tokens, key=lambda row: row["worlds"])["vocab_size"]
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in tokens:
        if row["vocab_size"] == size:
            lines.setdefault(row["verifier"], []).append((row["value"], row["share"]))
    return curves(lines, "matched", "share of the optimum at equal drafted tokens", "drafted tokens", "share")


def _below(pairs: Sequence[Row]) -> Section:
    """Who falls below whom on the same drafts, as a square."""
    shares = {(row["verifier"], row["other"]): row["below"] / row["rows"] for row in pairs}
    names = sorted({name for name, _ in shares})
    never = {name: sum(not shares.get((name, other), 1) for other in names) for name in names}
    names.sort(key=lambda name: -never[name])
    cells = [
        [text(name), count(never[name]), *(percent(shares.get((name, other))) for other in names)] for name in names
    ]
    note = (
        "The share of the common drafts on which the verifier of the line brings less than that of the column; the "
        "commands of the largest differences are above."
    )
    return Section("below", "Below on the same drafts", ("verifier", "never below", *names), cells, note=note)


def _best(group: Sequence[Row]) -> str:
    """The verifiers with the largest mean, and how good that is."""
    best = max(group, key=lambda row: row["mean"])
    names = [row["verifier"] for row in group if row["mean"] >= best["mean"] - CLOSE]
    share = "" if best["share"] is None else f", {best['share']:.2%} of the optimum"
    often = f"best of {len(group)} in {best['wins']:.0%} of {counted(best['worlds'], 'world')}"
    level = f"{', '.join(names[:3])} and {len(names) - 3} more, level at" if len(names) > 4 else ", ".join(names)
    return f"{level} {best['mean']:.4f}{share}, {often}"


def findings(summary: Mapping[str, Any]) -> Iterator[str]:
    """The comparison in sentences: the best at equal terms of the largest group of worlds, and the reported order."""
    rows = [row for row in summary["matched"] if row["verifier"] != OPTIMUM]
    if rows:
        size = max(rows, key=lambda row: row["worlds"])["vocab_size"]
        for term, words in ((TOKENS, "{} drafted tokens"), (DEPTH, "depth {}"), (TIME, "equal time, {}")):
            group = _told([row for row in rows if row["vocab_size"] == size], term)
            if len(group) > 1:
                yield f"At {words.format(_shown(term, group[0]['value']))}, V = {size}: {_best(group)}."
    order = summary["ordering"]
    if order:
        counts = Counter(row["verdict"].partition(":")[0] for row in order)
        told = ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common())
        yield f"The order of averages that thomas2026dynamic reports, in {len(order)} pairs: {told}."


def _order(rows: Sequence[Row]) -> Section:
    cells: list[list[Cell]] = [
        [text(row["lower"]), text(row["higher"]), number(row["reported"]), count(row["drafts"]),
         count(row["as_reported"]), count(row["equal"]), count(row["reversed"]), number(row["mean"]),
         text(row["verdict"]), text(row["witness"])]
        for row in rows
    ]  # fmt: skip
    headings = (
        "reported lower", "reported higher", "by", "same drafts", "so", "equal", "reversed", "mean difference",
        "verdict", "the other way",
    )  # fmt: skip
    note = (
        "The averages that thomas2026dynamic reports, two by two, against exact block efficiencies on the same trees "
        "of several paths. Its models are others: an order of averages may differ there, one that no law has may not."
    )
    return Section("order", "The reported order", headings, cells, commands=9, note=note)


def _agreement(rows: Sequence[Row]) -> Section:
    cells: list[list[Cell]] = [
        [text(row["term"]), text(_shown(row["term"], row["value"])),
         text("" if row["vocab_size"] is None else row["vocab_size"]), count(row["pairs"]), count(row["as_reported"]),
         count(row["cells"]), (f"{row['cells_mean']:.1f}", row["cells_mean"]),
         text("" if row["block_below_naive"] is None else row["block_below_naive"]), text(row["order"]),
         text(", ".join(f"{name} {cells}" for name, cells in row["leaders"].items()))]
        for row in rows
    ]  # fmt: skip
    headings = (
        "at equal", "value", "V", "pairs", "in the reported order", "cells", "so in a cell, mean",
        "cells with block below naive", "order here", "best of these in cells",
    )  # fmt: skip
    return Section("agreement", "The order on equal terms", headings, cells)
