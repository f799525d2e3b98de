"""Speed and acceptance on real models: `python -m draftproof.experiments.studies.real_models --resume runs/real.db`.

For each verifier, delayed tree and temperature: block efficiency, tokens a second against plain generation, the
time of each part of a block, acceptance and the L1 distance of p and q by depth, with predictions by the simulator and
by a latency model `T(x, a)` fitted on this machine. One row a setting; a second run computes only what is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.run import computed_rows
from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.options import Samplings, grouped
from draftproof.experiments.inputs.verifiers import NamedVerifier, chosen_verifiers
from draftproof.experiments.models import options as opt
from draftproof.experiments.shared.output import write_json, write_whole
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.drafts import Delayed

Row = Mapping[str, Any]

#: The parts of the time of a block, with their colours in the figure.
PARTS = {"draft": "#56B4E9", "target": "#0072B2", "verify": "#E69F00", "cache": "#009E73", "other": "0.75"}


def of_kind(rows: Sequence[Row], kind: str) -> list[Row]:
    """The rows of one kind: latency, plain or speculative."""
    return [row for row in rows if row["kind"] == kind]


def columns() -> dict[str, Any]:
    """Headings and cells of the main table; a bar in a heading is where its line may break."""
    return {
        "K, L1, L2": lambda row: row["shape"],
        "verifier": lambda row: row["verifier"],
        "E[tau+1]|predicted": lambda row: _with_error(row["predicted_efficiency"], row["predicted_efficiency_error"]),
        "E[tau+1]|measured": lambda row: _with_error(row["block_efficiency"], row["block_efficiency_error"]),
        "tokens/s|predicted": lambda row: f"{row['predicted_tokens_per_second']:.0f}",
        "tokens/s|measured": lambda row: f"{row['tokens_per_second']:.0f}",
        "speedup": lambda row: f"{row['speedup']:.2f}",
        **{f"{part}|%": partial(_percent, part) for part in PARTS},
    }


def _with_error(value: float, error: float) -> str:
    """A number and its standard error."""
    return f"{value:.3f}±{error:.3f}"


def _percent(part: str, row: Row) -> str:
    """The share of this part in the time after the prompt."""
    return f"{100 * row['seconds_by_part'][part] / row['seconds_by_part']['all']:.0f}"


def show(console: Console, rows: Sequence[Row]) -> None:
    """Print all tables."""
    first = rows[0]
    console.print(f"V = {first['V']}, {first['dtype']} on {first['device']}, text sha256 {first['text_hash']}")
    for line in latency_lines(of_kind(rows, "latency")[0]):
        console.print(line, soft_wrap=True)
    for row in of_kind(rows, "plain"):
        console.print(
            f"one token a pass, {row['sampling']}: {row['tokens_per_second']:.0f} tokens/s, "
            f"predicted {row['predicted_tokens_per_second']:.0f}"
        )
    for sampling in dict.fromkeys(row["sampling"] for row in of_kind(rows, "speculative")):
        chosen = [row for row in of_kind(rows, "speculative") if row["sampling"] == sampling]
        console.print(main_table(chosen))
        console.print(depth_table(chosen))


def main_table(rows: Sequence[Row]) -> Table:
    """Efficiency, speed and time of rows with the same sampling."""
    cells = columns()
    view = Table(title=f"{rows[0]['sampling']}: predicted and measured", title_justify="left")
    for heading in cells:
        view.add_column(heading.replace("|", "\n"), justify="left" if heading == "verifier" else "right")
    for before, row in zip([None, *rows], rows, strict=False):
        if before and before["shape"] != row["shape"]:
            view.add_section()
        view.add_row(*(cell(row) for cell in cells.values()))
    return view


def latency_lines(row: Row) -> list[str]:
    """The fitted pass times, in words."""
    lines = ["T(x, a), the time of a pass over `a` tokens after x cached ones, fitted on a warm-up:"]
    for name in ("draft", "target"):
        start, by_context, by_token, by_both = (1e6 * each for each in row[name]["coefficients"])
        lines.append(
            f"  {name}: T(x, a) = {start:.0f} {by_context:+.2f} x {by_token:+.1f} a {by_both:+.4f} x a microseconds, "
            f"root mean square error {100 * row[name]['error']:.1f} % of the mean, "
            f"worst {100 * row[name]['worst']:.0f} %"
        )
    return lines


def depth_table(rows: Sequence[Row]) -> Table:
    """Acceptance and L1 distance by depth, for the deepest shapes."""
    deepest = max(len(row["depths"]) for row in rows)
    title = f"{rows[0]['sampling']}: accepted at each depth reached, L1 distance"
    view = Table(title=title, title_justify="left")
    for heading in ("K, L1, L2", "verifier"):
        view.add_column(heading)
    for depth in range(deepest):
        view.add_column(f"{depth}", justify="right")
    for row in deep_rows(rows):
        cells = [f"{each['accepted']:.2f}, {each['distance']:.2f}" for each in row["depths"]]
        view.add_row(row["shape"], row["verifier"], *cells)
    return view


def deep_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of the deepest trees."""
    depth = max(row["scheme"]["L1"] + row["scheme"]["L2"] for row in rows)
    return [row for row in rows if row["scheme"]["L1"] + row["scheme"]["L2"] == depth]


def markdown(rows: Sequence[Row]) -> str:
    """The main table and the latency model, as Markdown."""
    from tabulate import tabulate

    cells = columns()
    body = [[row["sampling"], *(cell(row) for cell in cells.values())] for row in of_kind(rows, "speculative")]
    headings = ["sampling", *(heading.replace("|", " ").strip() for heading in cells)]
    text: str = tabulate(body, headings, tablefmt="github", disable_numparse=True)
    return text + "\n\n" + "\n".join(f"{line}  " for line in latency_lines(of_kind(rows, "latency")[0])) + "\n"


def figure(rows: Sequence[Row]) -> bytes:
    """A PNG for the last temperature: efficiency, speed, parts of the time, acceptance and distance by depth."""
    sampling = rows[-1]["sampling"]
    chosen = [row for row in of_kind(rows, "speculative") if row["sampling"] == sampling]
    drawing, panels = matplotlib_pyplot().subplots(2, 2, figsize=(13, 9), layout="constrained")
    shapes = list(dict.fromkeys(row["shape"] for row in chosen))
    names = list(dict.fromkeys(row["verifier"] for row in chosen))
    styles = {name: {**line_style(number), "markersize": 6, "linewidth": 1.2} for number, name in enumerate(names)}
    for number, name in enumerate(names):
        own_rows = [row for row in chosen if row["verifier"] == name]
        shift = 0.1 * (number - (len(names) - 1) / 2)
        places = [shapes.index(row["shape"]) + shift for row in own_rows]
        style = {**styles[name], "linestyle": "none"}
        errors = [2 * row["block_efficiency_error"] for row in own_rows]
        measured = [row["block_efficiency"] for row in own_rows]
        panels[0][0].errorbar(places, measured, yerr=errors, **style, label=name, elinewidth=1)
        predicted = [row["predicted_efficiency"] for row in own_rows]
        panels[0][0].plot(places, predicted, "_", color=style["color"], markersize=9, markeredgewidth=2)
        panels[0][1].plot(places, [row["speedup"] for row in own_rows], **style)
    panels[0][0].set_ylabel("tokens a block: measured ± 2 s.e., predicted _")
    panels[0][0].legend(frameon=False, fontsize=9)
    panels[0][1].axhline(1, color="0.6", linewidth=3)
    panels[0][1].set_ylabel("tokens a second over one token a pass")
    for axes in panels[0]:
        axes.set_xticks(range(len(shapes)), shapes, fontsize=9)
        axes.set_xlabel("K, L1, L2")
        style_axes(axes)
    _draw_time(panels[1][0], chosen, shapes, names)
    _draw_depths(panels[1][1], deep_rows(chosen), styles)
    first = rows[0]
    title = (
        f"Real models, V = {first['V']}, {sampling}, {first['dtype']} on {first['device']}, text {first['text_hash']}"
    )
    drawing.suptitle(title, x=0.01, ha="left", fontsize=10)
    return as_png(drawing, 150)


def _draw_time(axes: Any, rows: Sequence[Row], shapes: Sequence[str], names: Sequence[str]) -> None:
    """Milliseconds of a block by part: a bar for each tree and verifier, and a line at the predicted model passes."""
    width = 0.8 / len(names)
    for row in rows:
        place = shapes.index(row["shape"]) + width * (names.index(row["verifier"]) - (len(names) - 1) / 2)
        bottom = 0.0
        for part, colour in PARTS.items():
            height = 1e3 * row["seconds_by_part"][part] / row["blocks"]
            label = part if row is rows[0] else None
            axes.bar(place, height, 0.9 * width, bottom=bottom, color=colour, label=label)
            bottom += height
    for number, shape in enumerate(shapes):
        predicted = 1e3 * next(row["predicted_passes"] for row in rows if row["shape"] == shape)
        label = "T(x, a) of both models" if number == 0 else None
        axes.plot([number - 0.45, number + 0.45], [predicted] * 2, "k", linewidth=2, label=label)
    axes.set_xticks(range(len(shapes)), shapes, fontsize=9)
    axes.set_xlabel("K, L1, L2; bars: verifiers in the order of the legend above")
    axes.set_ylabel("milliseconds a block")
    axes.legend(frameon=False, fontsize=9)
    style_axes(axes)


def _draw_depths(axes: Any, rows: Sequence[Row], styles: Mapping[str, Any]) -> None:
    """Acceptance by verifier and the L1 distance of p and q, by depth, on the first of the deepest trees."""
    shape = rows[0]["shape"]
    shape_rows = [row for row in rows if row["shape"] == shape]
    for row in shape_rows:
        depths = [each["depth"] for each in row["depths"]]
        axes.plot(
            depths, [each["accepted"] for each in row["depths"]], **styles[row["verifier"]], label=row["verifier"]
        )
    deepest = max(len(row["depths"]) for row in shape_rows)
    distances = [
        np.mean([row["depths"][depth]["distance"] for row in shape_rows if len(row["depths"]) > depth])
        for depth in range(deepest)
    ]
    axes.plot(range(deepest), distances, color="0.6", linewidth=5, zorder=1, label="L1 distance of p and q")
    axes.set_ylim(0, None)
    axes.set_xticks(range(deepest))
    axes.set_xlabel(f"depth, trees {shape}")
    axes.set_ylabel("accepted, given that it was reached; L1 distance")
    axes.legend(frameon=False, fontsize=9)
    style_axes(axes)


VERIFIERS = ("naive", "specinfer", "block", "traversal", "path_transport")
#: Single paths, and trees with early, late and delayed branches.
SHAPES = tuple(
    Delayed(*shape) for shape in ((1, 0, 2), (1, 0, 4), (2, 0, 2), (2, 1, 2), (2, 2, 2), (4, 2, 1), (4, 0, 2))
)
#: Shares of the longest text at which passes are measured.
CONTEXT_SHARES = (0.1, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class Study:
    """What is measured: settings (one a temperature), verifiers, delayed trees, and the length of texts."""

    settings: tuple[Any, ...]
    verifiers: tuple[NamedVerifier, ...]
    schemes: tuple[Delayed, ...]
    length: Any

    @property
    def root_tokens(self) -> int:
        """Tokens of a root."""
        return len(self.settings[0].roots[0])

    @property
    def cached_tokens(self) -> list[int]:
        """Numbers of tokens in the cache at which passes are measured."""
        longest = self.root_tokens + self.length.tokens
        return sorted({max(1, round(share * longest)) for share in CONTEXT_SHARES})

    @property
    def counts(self) -> list[int]:
        """Numbers of tokens in a pass of the target at which passes are measured."""
        return sorted({1, 2, 4, 8, *(scheme.nodes + 1 for scheme in self.schemes)})


def run(study: Study, store: Store) -> list[dict[str, Any]]:
    """All rows: the latency model, then for each temperature plain generation and every verifier on every tree."""
    from draftproof.experiments.models.measure import texts as measure

    first = study.settings[0]
    key = measure.latency_key(first, study.cached_tokens, study.counts)
    if key not in store:
        remark("warming up and measuring passes")
        computed_rows({key: partial(measure.latency_row, first, study.cached_tokens, study.counts)}, store)
    latency, work = measure.latency_of(store[key]), {}
    for setting in study.settings:
        plain = measure.plain_key(setting, study.length)
        work[plain] = partial(measure.plain_row, setting, study.length, latency)
        for scheme in study.schemes:
            for named in study.verifiers:
                speculative = measure.speculative_key(setting, named, scheme, study.length)
                work[speculative] = partial(measure.speculative_row, setting, named, scheme, study.length, latency)
    computed_rows(work, store)
    return [store[each] for each in (key, *work)]


def choose_study(
    opened: Any,
    chosen: Sequence[NamedVerifier],
    shapes: Sequence[Delayed],
    warps: Sequence[Any],
    roots: int,
    length: Any,
    seed: int,
    vectors: str,
) -> Study:
    """The study of a pair; raises `InvalidInput` for models that cannot be read as trees."""
    from draftproof.experiments.models.loop.setting import setting
    from draftproof.experiments.models.loop.supported import check_pair

    check_pair(opened.pair)
    first = setting(opened.pair, warps[0], opened.roots(roots, roots), seed, vectors)
    settings = tuple(replace(first, warp=warp) for warp in warps)
    return Study(settings, tuple(chosen), tuple(shapes), length)


@grouped(pair=opt.PairOptions, shape=opt.ShapeOptions, files=opt.FileOptions)
def main(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: five of them.")] = None,
    *,
    sampling: Samplings = None,
    vectors: opt.Vectors = "numpy",
    seed: opt.Seed = 0,
    roots: Annotated[int, typer.Option(min=1, help="Texts: root contexts that are continued.")] = 4,
    tokens: Annotated[int, typer.Option(min=4, help="Tokens of each text.")] = 150,
    pair: opt.PairOptions,
    shape: opt.ShapeOptions,
    files: opt.FileOptions,
) -> int:
    """Block efficiency, tokens a second, time split and acceptance by depth on real models, predicted and measured."""
    files.check(pair.inputs)
    from draftproof.experiments.models.measure.texts import Length, latency_of
    from draftproof.experiments.models.pair.opened import open_pair
    from draftproof.simulator.instances.sampling import Sampling

    named, shapes = chosen_verifiers(chosen or list(VERIFIERS)), shape.shapes(SHAPES)
    warps = [Sampling.parse(text, "--sampling") for text in sampling or ("temperature=.5", "temperature=1")]
    console, store = console_for(files.json_target), Store(files.resume)
    try:
        with open_pair(pair.wanted(seed)) as opened:
            study = choose_study(opened, named, shapes, warps, roots, Length(tokens), seed, vectors)
            rows = run(study, store)
    except KeyboardInterrupt:
        where = f"; rows so far are kept in {files.resume}" if files.resume else "; --resume FILE would keep rows"
        remark(f"interrupted{where}")
        return INTERRUPTED
    show(console, rows)
    if files.times:
        latency_of(rows[0]).times(study.root_tokens + tokens // 2).save(files.times)
        console.print(f"times: {files.times}, for draftproof compare --cost", soft_wrap=True)
    write_json(files.json_target, {"rows": rows})
    if files.markdown:
        write_whole(files.markdown, markdown(rows))
    if files.plot:
        write_whole(files.plot, figure(rows))
        console.print(f"picture: {files.plot}")
    return 0


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
