"""The matched comparison, verifiers at equal budgets: a sweep over its grids, then tables of the rows.

`python -m draftproof.experiments.studies.matched --store runs/matched.db --markdown runs/matched.md`

The grids are files in the folder `matched`; `draftproof sweep FILE --store STORE` (or `--dask`) can compute each of
them too. An interrupted run goes on where it stopped.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from draftproof.experiments.cli.sweep import sweep_file, work
from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.report import equal_terms
from draftproof.experiments.grid.report.matched import (
    ACCEPTANCE,
    CLOSE,
    DEPTH,
    OPTIMUM,
    TOKENS,
    WorldOnScheme,
    kind,
    worlds_on_schemes,
)
from draftproof.experiments.grid.report.section import Section, lines_of, percent, text
from draftproof.experiments.grid.report.summary import REPORTED, by_kind, ordering, summarise
from draftproof.experiments.grid.run import Executor, run
from draftproof.experiments.grid.store import Store
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import console_for, cut_short
from draftproof.simulator.errors import InvalidInput

#: The folder of the grids.
HERE = Path(__file__).with_suffix("")
#: Files of grids: the usual one; the same with more worlds; all shapes to depth 8 on one world of each kind; the
#: temperatures and nuclei of papers; delays to 8 under nuclei, on text and on pairs.
CELLS, LARGE, DEEP, NUCLEUS = "cells.toml", "large.toml", "deep.toml", "nucleus.toml"
DELAYS = ("delays.toml", "delays_pairs.toml")
_PAIR = """
[[worlds]]
pair = {folder!r}
vocab = 3
roots = 1
sampling = ["temperature=0.25", "temperature=0.5", "temperature=1", "temperature=2"]
"""


def main(
    store: Annotated[str, typer.Option(help="Where rows are kept as they come, and found again.")] = "matched.db",
    large: Annotated[bool, typer.Option("--large", help="A hundred worlds of each family and temperature.")] = False,
    pair: Annotated[str | None, typer.Option(help="Folder that train made: four cells more.")] = None,
    deep: Annotated[bool, typer.Option("--deep/--no-deep", help="Shapes to depth 8, too.")] = True,
    nucleus: Annotated[
        bool, typer.Option("--nucleus", help="Instead: nucleus.toml, on text and two pairs that train made.")
    ] = False,
    delays: Annotated[
        bool, typer.Option("--delays", help="Instead: delays.toml and delays_pairs.toml, on the same sources.")
    ] = False,
    plot: Annotated[str | None, typer.Option(help="With --delays: PNG of the gain by delay.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    markdown: Annotated[str | None, typer.Option(help="The tables, as Markdown.")] = None,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Compute what is missing of the matched comparison, and print its tables."""
    check_files((), {"--store": store, "--markdown": markdown, "--json": json_target, "--plot": plot})
    if nucleus and delays:
        raise InvalidInput("--nucleus and --delays are two studies; leave one out")
    if plot is not None and not delays:
        raise InvalidInput("--plot is the picture of --delays; add it, or leave out --plot")
    if nucleus or delays:
        grids = [grid(name) for name in (DELAYS if delays else (NUCLEUS,))]
    else:
        grids = [grid(LARGE if large else CELLS, pair), *([grid(DEEP)] if deep else ())]
    tasks, kept = [task for each in grids for task in work.plan(each).tasks], Store(store)
    names = sorted({name for task in tasks for name in task.ids})
    if not run(tasks, kept, Executor(work.compute, jobs)):
        return cut_short(sum(name in kept for name in names), len(names), "rows", store)
    rows = by_kind(kept[name] for name in names)
    kept.close()
    summary = summarise(rows)
    folders = {str(world.source.get("pair")): world.given.pair for each in grids for world in each.worlds}
    pairs = worlds_on_schemes([*rows["law"], *rows["bound"]]) if nucleus or delays else []
    sections = by_sampling(pairs, folders) if nucleus else by_delay(pairs, folders) if delays else ()
    shown = markdown_of(summary) + "".join(f"{line}\n" for section in sections for line in lines_of(section))
    console_for(json_target).print(shown, soft_wrap=True, markup=False, highlight=False)
    if markdown is not None:
        write_whole(markdown, shown)
    write_json(json_target, summary)
    if plot is not None:
        write_whole(plot, draw_delays(pairs, folders))
    return 0


def grid(name: str, pair: str | None = None) -> sweep_file.Sweep:
    """A grid; pair: the folder of a trained pair, for a world at each temperature of the grids."""
    if pair is None:
        return sweep_file.read(str(HERE / name))
    more = _PAIR.format(folder=os.path.abspath(pair))
    with TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text((HERE / name).read_text(encoding="utf-8") + more, encoding="utf-8")
        return sweep_file.read(str(file))


Row = Mapping[str, Any]
#: Tables by verifier have the terms with at least this many schemes to choose from.
CHOICE = 5


def markdown_of(summary: Mapping[str, Any]) -> str:
    """The findings, then the tables."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"- {text}" for text in (*summary["findings"], *equal_terms.findings(summary)))
    chosen = {key: [row for row in summary[key] if _is_choice(row)] for key in ("matched", "agreement")}
    for section in equal_terms.sections({**summary, "agreement": chosen["agreement"]}):
        if section.name == "matched":
            for size in dict.fromkeys(row["vocab_size"] for row in chosen["matched"]):
                rows = [row for row in chosen["matched"] if row["vocab_size"] == size]
                suffix = f" on equal terms, V = {size}"
                yield from lines_of(side_by_side(rows, "share", "Mean share of the optimum" + suffix))
                yield from lines_of(side_by_side(rows, "wins", "Worlds where it is best of all" + suffix))
        elif section.rows:
            yield from lines_of(section)


def _is_choice(row: Row) -> bool:
    """Whether a term has enough schemes to choose from, or is about several branches of one step."""
    return bool(row["schemes"] >= CHOICE or (row["term"] == ACCEPTANCE and row["value"] > 1))


#: Marks for the verdicts on a reported order, by their first words.
MARKS = {
    "holds on all drafts": "+", "holds on average": "~", "equal here": "=", "the other way round on average": "-",
    "the other way round on all drafts": "x", "impossible": "x",
}  # fmt: skip


def by_sampling(pairs: Sequence[WorldOnScheme], folders: Mapping[str, str | None]) -> Iterator[Section]:
    """The reported order by source, nucleus and temperature: the pairs that have it, and each pair on its own.

    folders: of the pairs of models, by their digest.
    """
    groups = _groups(pairs, folders)
    marked: dict[tuple[str, str], list[str]] = {}
    counts = []
    columns = sorted(groups, key=lambda group: (group[0], -group[1]))
    for name, top_p in columns:
        warmths = groups[name, top_p]
        orders = {warmth: ordering(warmths[warmth]) for warmth in sorted(warmths)}
        for rows in zip(*orders.values(), strict=True):
            marks = "".join(_mark(row) for row in rows)
            marked.setdefault((rows[0]["lower"], rows[0]["higher"]), []).append(marks)
        counts += [_counted((name, f"{top_p:g}", f"{warmth:g}"), warmths[warmth]) for warmth in orders]
    headings = ("source", "top-p", "T", *COUNTED)
    yield Section("counts", "Pairs of the reported order by sampling", headings, counts)
    note = (
        "A mark for each temperature from the lowest to the highest: + the reported order on all drafts, ~ on average, "
        "= equal, - reversed on average, x reversed on all drafts or impossible by the card."
    )
    paired = ("lower", "higher", *(f"{name}, {top_p:g}" for name, top_p in columns))
    lines = [[text(low), text(high), *map(text, marks)] for (low, high), marks in marked.items()]
    yield Section("marks", "The reported order, pair by pair", paired, lines, note)


def by_delay(pairs: Sequence[WorldOnScheme], folders: Mapping[str, str | None]) -> Iterator[Section]:
    """The reported order by source, nucleus and delay, all temperatures together. folders: as for `by_sampling`."""
    counts = []
    for (name, top_p), warmths in sorted(
        _groups(pairs, folders).items(), key=lambda group: (group[0][0], -group[0][1])
    ):
        met = [pair for warmth in warmths.values() for pair in warmth]
        for delay in sorted({pair.row["scheme"]["L1"] for pair in met}):
            there = [pair for pair in met if pair.row["scheme"]["L1"] == delay]
            counts.append(_counted((name, f"{top_p:g}", str(delay)), there))
    headings = ("source", "top-p", "delay", *COUNTED)
    yield Section("delays", "Pairs of the reported order by delay", headings, counts)


def draw_delays(pairs: Sequence[WorldOnScheme], folders: Mapping[str, str | None]) -> bytes:
    """A PNG: what two verifiers of several paths bring more than block verification, by delay; a panel for each source.

    Means over the roots at the highest temperature, with two branches; a line for each verifier and nucleus.
    """
    groups = _groups(pairs, folders)
    names = sorted({name for name, _ in groups})
    figure, panels = matplotlib_pyplot().subplots(
        1, len(names), figsize=(3.6 * len(names), 3.6), sharey=True, squeeze=False, layout="constrained"
    )
    for axes, name in zip(panels[0], names, strict=True):
        nuclei = sorted((top_p for source, top_p in groups if source == name), reverse=True)
        for verifier, dash in (("traversal", "-"), ("khisti", "--")):
            for number, top_p in enumerate(nuclei):
                warmths = groups[name, top_p]
                gains: dict[int, list[float]] = {}
                for pair in warmths[max(warmths)]:
                    if pair.row["scheme"]["K"] == 2 and {verifier, "block"} <= {*pair.values}:
                        more = pair.values[verifier] - pair.values["block"]
                        gains.setdefault(pair.row["scheme"]["L1"], []).append(more)
                delays = sorted(gains)
                style = {**line_style(number), "linestyle": dash, "label": f"{verifier}, top-p {top_p:g}"}
                axes.plot(delays, [fmean(gains[delay]) for delay in delays], **style)
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_xlabel("delay: drafted tokens before the fork")
        style_axes(axes)
    panels[0][0].set_ylabel("tokens a block more than block verification")
    panels[0][-1].legend(frameon=False, fontsize=8)
    return as_png(figure, 160)


#: Headings of what `_counted` gives after the name of the setting.
COUNTED = ("on all drafts", "on average", "equal", "reversed on average", "reversed on all", "means on the same drafts")


def _counted(setting: Sequence[str], pairs: Sequence[WorldOnScheme]) -> list[Any]:
    """A row of a table: how many pairs of the reported order have each verdict, and the means."""
    met = Counter(map(_mark, ordering(pairs)))
    return [*map(text, (*setting, *(str(met[mark]) for mark in "+~=-x"), _ranked(pairs)))]


def _groups(
    pairs: Sequence[WorldOnScheme], folders: Mapping[str, str | None]
) -> dict[tuple[str, float], dict[float, list[WorldOnScheme]]]:
    """By source and top-p, then by temperature."""
    groups: dict[tuple[str, float], dict[float, list[WorldOnScheme]]] = {}
    for pair in pairs:
        source = pair.row["source"]
        warp = source.get("sampling") or source.get("warp") or {}
        name = Path(folders[source["pair"]] or "").name if "pair" in source else kind(source)
        warmths = groups.setdefault((name, float(warp.get("top_p") or 1)), {})
        warmths.setdefault(float(warp.get("temperature", 1.0)), []).append(pair)
    return groups


def _mark(row: Row) -> str:
    return MARKS[row["verdict"].partition(":")[0]]


def _ranked(pairs: Sequence[WorldOnScheme]) -> str:
    """The means of the reported verifiers over the trees of several paths that all of them have, lowest first."""
    there = [
        pair.values for pair in pairs if (pair.row["scheme"].get("K") or 1) > 1 and set(REPORTED) <= {*pair.values}
    ]
    means = {name: fmean(values[name] for values in there) for name in REPORTED} if there else {}
    shown, before = "", 0.0
    for name, mean in sorted(means.items(), key=lambda item: item[1]):
        sign = "" if not shown else " = " if mean - before <= CLOSE else " < "
        shown, before = f"{shown}{sign}{name} {mean:.3f}", mean
    return shown


def side_by_side(rows: Sequence[Row], key: str, title: str) -> Section:
    """One figure of every verifier, a column for each term; empty where the verifier was not compared."""
    terms = list(dict.fromkeys((row["term"], row["value"]) for row in rows))
    known = {(row["verifier"], row["term"], row["value"]): row[key] for row in rows}
    names = [name for name in dict.fromkeys(row["verifier"] for row in rows) if name != OPTIMUM]
    by_name = {name: [value for term in terms if (value := known.get((name, *term))) is not None] for name in names}
    names.sort(key=lambda name: (-len(by_name[name]), -sum(by_name[name])))
    cells = [[text(name), *(percent(known.get((name, *term))) for term in terms)] for name in names]
    headings = ["verifier", *(_short(term, value) for term, value in terms)]
    return Section(key, title, headings, cells)


def _short(term: str, value: Any) -> str:
    """A term in a few letters: K branches of one step, N drafted tokens, depth L, or times."""
    letter = {ACCEPTANCE: "K", TOKENS: "N", DEPTH: "L"}.get(term)
    return f"{letter} = {value}" if letter else str(value).partition(",")[0]


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
