"""The comparison at equal budgets (`matched`) as sections: tables as in the paper, every term, the reported order."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from draftproof.experiments.grid.report import section as made
from draftproof.experiments.grid.report.matched import ACCEPTANCE, CLOSE, DEPTH, OPTIMUM, TIME, TIMES, TOKENS
from draftproof.experiments.grid.report.section import Section
from draftproof.experiments.shared.progress import counted

Row = Mapping[str, Any]
_TERMS = {ACCEPTANCE: "one step, K = {}", TOKENS: "{} drafted tokens", DEPTH: "depth {}", TIME: "equal time, {}"}


def sections(summary: Mapping[str, Any]) -> Iterator[Section]:
    """All sections of the comparison; they have no rows where there is nothing to compare."""
    rows, names = summary["matched"], [row["verifier"] for row in summary["verifiers"]]
    yield from cell_tables(rows)
    yield _terms(rows, names)
    yield _below(summary["pairs"], names)
    yield _order(summary["ordering"])


def cell_tables(rows: Sequence[Row]) -> Iterator[Section]:
    """Tables as in [thomas2026dynamic]: a line for each verifier, a column for each kind and temperature, and the mean.

    For each vocabulary size one table at two branches of one step, one at the number of drafted tokens and one at the
    depth that most schemes have, and one at the usual times.
    """
    for size in dict.fromkeys(row["vocab_size"] for row in rows):
        here = [row for row in rows if row["vocab_size"] == size]
        for term in (ACCEPTANCE, TOKENS, DEPTH, TIME):
            group = _representative(here, term)
            if len(group) > 1 and len(group[0]["cells"]) > 1:
                yield _cells(term, size, group)


def _representative(rows: Sequence[Row], term: str) -> list[Row]:
    """The rows of one value of a term: the one with the most schemes; two branches; the usual times."""
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
    about = {ACCEPTANCE: "Acceptance rate of {} branches, one step", TIME: "Speed-up with {}"}
    title = about.get(term, f"Block efficiency at {_TERMS[term]}").format(_shown(term, value))
    ranked = sorted(group, key=lambda row: (row["verifier"] != OPTIMUM, -row["mean"]))
    rows = [
        [made.name(row["verifier"]), *(made.number(row["cells"][column]) for column in columns),
         made.number(row["mean"]), made.number(row["median"]), made.percent(row["share"]), made.percent(row["wins"])]
        for row in ranked
    ]  # fmt: skip
    headings = ("verifier", *columns, "mean", "median", "share of optimum", "best of all")
    first = group[0]
    chosen = f"the best of {first['schemes']} schemes" if first["schemes"] > 1 else "one scheme"
    note = f"{counted(first['worlds'], 'world')}, each with {chosen} for the verifier. T: temperature."
    note += f" Times: {value}." if term == TIME else ""
    label = f"{term.partition(' ')[0]}-{size}"
    return Section(label, title + (f", V = {size}" if size else ""), headings, rows, note, folded=True)


def _shown(term: str, value: int | str) -> str:
    """A value of a term; of times only that of the draft, in which they differ."""
    return str(value).partition(",")[0] if term == TIME else str(value)


def _terms(rows: Sequence[Row], names: Sequence[str]) -> Section:
    """A line for each term: percent of each verifier below the optimum, or below the best verifier without optimum."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["term"], row["value"], row["vocab_size"]].append(row)
    cells: list[list[made.Cell]] = []
    for (term, value, size), group in groups.items():
        top = max(row["mean"] for row in group)
        shares = {}
        for row in group:
            share = row["mean"] / (top or 1) if row["share"] is None else row["share"]
            if row["verifier"] != OPTIMUM:
                shares[row["verifier"]] = 1 - share, f"{row['mean']:.4f}, best in {row['wins']:.0%}"
        about = [made.text(_TERMS[term].format(_shown(term, value))), made.text(size), made.number(top)]
        cells.append([*about, *made.shaded(shares, names), made.count(group[0]["worlds"])])
    note = (
        "A line is a comparison: each world has the best of the schemes, for each verifier its own, at one "
        "step of so many branches, at equal drafted tokens, at equal depth, or by time, as the speed-up over decoding "
        f"without drafts where {' or '.join(TIMES)}. Numbers are percent below the best possible: the optimum, or the "
        "best verifier where that is not known."
    )
    headings = ["at equal", "V", "best possible", *names, "worlds"]
    return Section("matched", "On equal terms", headings, cells, note, verifier_columns=True)


def _below(pairs: Sequence[Row], names: Sequence[str]) -> Section:
    """How often a verifier brings fewer tokens than another on the same drafts."""
    cells = []
    for verifier in names:
        others = {row["other"]: row for row in pairs if row["verifier"] == verifier}
        if others:
            worst = max(others.values(), key=lambda row: row["largest"])
            shares = {
                other: (row["below"] / row["rows"], f"{row['below']} of {row['rows']}") for other, row in others.items()
            }
            never = sum(not row["below"] for row in others.values())
            where = f"{worst['largest']:.4f} to {worst['other']}" if worst["below"] else ""
            line = [made.name(verifier), made.count(never), *made.shaded(shares, names, False)]
            cells.append([*line, made.text(where), made.command(worst["command"])])
    note = (
        "Percent of the common drafts on which the verifier of the row brings fewer tokens than that of the column, "
        "and the largest difference in tokens a block."
    )
    headings = ["verifier", "never below", *names, "largest difference", "command"]
    return Section("below", "Below on the same drafts", headings, cells, note, verifier_columns=True)


def _best(group: Sequence[Row]) -> str:
    """The verifiers with the largest mean, that mean, and its share of the optimum, in words."""
    best = max(group, key=lambda row: row["mean"])
    names = [row["verifier"] for row in group if row["mean"] >= best["mean"] - CLOSE]
    share = "" if best["share"] is None else f", {best['share']:.2%} of the optimum"
    often = f"best of {len(group)} in {best['wins']:.0%} of {counted(best['worlds'], 'world')}"
    level = f"{', '.join(names[:3])} and {len(names) - 3} more, level at" if len(names) > 4 else ", ".join(names)
    return f"{level} {best['mean']:.4f}{share}, {often}"


def findings(summary: Mapping[str, Any]) -> Iterator[str]:
    """The comparison in sentences: the best verifiers at each term in the most worlds, and the reported order."""
    rows = [row for row in summary["matched"] if row["verifier"] != OPTIMUM]
    if rows:
        size = max(rows, key=lambda row: row["worlds"])["vocab_size"]
        for term in (TOKENS, DEPTH, TIME):
            group = _representative([row for row in rows if row["vocab_size"] == size], term)
            if len(group) > 1:
                yield f"At {_TERMS[term].format(_shown(term, group[0]['value']))}, V = {size}: {_best(group)}."
    order = summary["ordering"]
    if order:
        counts = Counter(row["verdict"].partition(":")[0] for row in order)
        listed = ", ".join(f"{verdict} {count}" for verdict, count in counts.most_common())
        yield f"The order of averages that thomas2026dynamic reports, in {len(order)} pairs: {listed}."


def _order(rows: Sequence[Row]) -> Section:
    columns: dict[str, tuple[str, made.Maker]] = {
        "reported lower": ("lower", made.name), "reported higher": ("higher", made.name),
        "by": ("reported", made.number), "same drafts": ("drafts", made.count), "so": ("as_reported", made.count),
        "equal": ("equal", made.count), "reversed": ("reversed", made.count), "mean difference": ("mean", made.number),
        "verdict": ("verdict", made.text), "the other way": ("witness", made.command),
    }  # fmt: skip
    note = (
        "The averages that thomas2026dynamic reports, two by two, against exact block efficiencies on the same trees "
        "of several paths. It measures other models, so the order of averages may differ; an order that is impossible "
        "for every pair of models cannot hold there either."
    )
    return made.listing("order", "The reported order", rows, columns, note=note, folded=True)
