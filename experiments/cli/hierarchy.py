"""`draftproof hierarchy`: is a chain of three models better than the pair of the largest with one of the others?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from draftproof.experiments.grid.figures import as_png, matplotlib_pyplot
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.sources import TextProblem
from draftproof.experiments.inputs.verifiers import NamedVerifier, chosen_verifiers, parse_assignments, parse_range
from draftproof.experiments.shared.output import check_files, number_fields, short, write_json, write_whole
from draftproof.experiments.shared.progress import bar, console_for, counted, duration, remark
from draftproof.simulator.arithmetic import arithmetic_named, parse_fraction
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import printable
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.policies.hierarchy import Alone, Blocks, LongRun, Stage, Tokens, long_run

#: The models, the smallest first: the keys of `--cost`.
MODELS = ("small", "middle", "target")
#: Who drafts for the target, and what it is called in tables.
KINDS = {
    "small": "the small model",
    "middle": "the middle model",
    "tokens": "both, so many tokens",
    "blocks": "both, whole blocks",
}
_COLOURS = {"none": "#DDDDDD", "small": "#56B4E9", "middle": "#0072B2", "tokens": "#E69F00", "blocks": "#D55E00"}
#: Ways whose drafted texts are more are left out.
MOST_STRINGS = 5_000
#: What a text of one state takes.
STRING_SECONDS = 1.2e-4
#: The picture: times of one pass as shares of a target pass.
_MIDDLE, _SMALL = np.logspace(-2.5, 0, 121), np.logspace(-3.5, 0, 121)


@dataclass(frozen=True)
class Hierarchy:
    """Who drafts for the target, how much, and with what result.

    length: tokens that the small model drafts for a pass above it, or the middle model alone; None where it has none.
    handed: tokens or blocks that the middle model hands on. passes: of small, middle and target.
    """

    kind: str
    length: int
    handed: int | None
    found: LongRun

    @property
    def passes(self) -> tuple[Any, Any, Any]:
        """Mean passes of the small, the middle and the target model in a block."""
        counts = self.found.passes
        if self.kind == "small":
            return counts[0], 0, counts[1]
        return (0, *counts) if self.kind == "middle" else counts  # type: ignore[return-value]

    def rate(self, times: Sequence[Any]) -> Any:
        """Tokens per unit of time. times: of one pass of small, middle and target."""
        return self.found.tokens / sum(count * time for count, time in zip(self.passes, times, strict=True))

    def fields(self, times: Sequence[Any]) -> dict[str, Any]:
        """The row of results."""
        numbers = zip((f"{name}_passes" for name in MODELS), self.passes, strict=True)
        return {
            "drafted_by": self.kind,
            "length": self.length,
            "handed": self.handed,
            **number_fields("tokens", self.found.tokens),
            **{key: value for name, number in numbers for key, value in number_fields(name, number).items()},
            **number_fields("tokens_per_time", self.rate(times)),
            "lossless": self.found.lossless,
            "violation": None if self.found.violation is None else str(self.found.violation),
        }


@with_groups()
def hierarchy(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]", help="Verifier of the target (default block).")
    ] = None,
    *,
    given: Given,
    small_order: Annotated[
        int, typer.Option(min=0, help="Order of the small model; the middle one has --draft-order.")
    ] = 0,
    middle: Annotated[str, typer.Option("--middle", help="Verifier of the middle model.")] = "block",
    lengths: Annotated[
        str, typer.Option("--length", help="Tokens that the small model drafts at a time, as 3 or 1..3.")
    ] = ("1..3"),
    handed: Annotated[str, typer.Option(help="Tokens that the middle model hands on, from its blocks.")] = "2..6",
    blocks: Annotated[str, typer.Option(help="Whole blocks that the middle model hands on.")] = "1..2",
    cost: Annotated[str, typer.Option(help="Times of one pass of each model.")] = "small=.02,middle=.2,target=1",
    told_handed: Annotated[
        bool, typer.Option("--told-handed", help="The target's verifier gets the law of what is handed on as q.")
    ] = False,
    arithmetic: opt.ArithmeticName = "float64",
    json_target: opt.JsonTarget = None,
    plot_file: Annotated[
        str | None, typer.Option("--plot", help="PNG: who should draft, by the times of both drafts.")
    ] = None,
) -> int:
    """Exact tokens per time where a small model drafts for a middle one, and that for the target; against pairs.

    Each stage verifies what the stage below hands on. Three n-gram models of a text, in the long run.
    """
    check_files(given.inputs, {"--json": json_target, "--plot": plot_file})
    named = chosen_verifiers(chosen or ["block"])
    if len(named) > 1:
        raise InvalidInput(
            f"{named[1].label}: one verifier of the target at a time; --middle is that of the middle one"
        )
    (below,) = chosen_verifiers([middle])
    problem = choose_problem(given)
    if not isinstance(problem, TextProblem):
        raise InvalidInput(f"a hierarchy needs three models: use --text in place of {problem.flag}")
    if given.root is not None or given.roots is not None:
        raise InvalidInput("--root and --roots have no effect on the long run of a hierarchy; leave them out")
    models = models_of(problem, small_order, arithmetic)
    seconds = pass_times(cost)
    planned = list(_planned(named[0], below, models, lengths, handed, blocks, told_handed))
    size, order = models[2].vocab_size, max(model.order for model in models)
    sizes = [strings(way, size) for way in planned]
    if left := sum(count > MOST_STRINGS for count in sizes):
        remark(f"{counted(left, 'way')} to draft left out: blocks of more than {MOST_STRINGS:,} different texts")
    kept = [(way, count) for way, count in zip(planned, sizes, strict=True) if count <= MOST_STRINGS]
    drafting = {kind for (kind, *_), _ in kept}
    if missing := [words for kind, words in KINDS.items() if kind not in drafting]:
        raise InvalidInput(f"nothing is left that is drafted by {missing[0]}; lower --length, --blocks or --vocab")
    total = size**order * sum(count for _, count in kept)
    remark(f"{len(kept)} ways to draft, each from {size**order:,} states, {duration(STRING_SECONDS * total)}")
    rows = []
    with bar("texts", total) as tick:
        for (kind, length, count, stage), texts in kept:
            rows.append(Hierarchy(kind, length, count, long_run(stage)))
            tick(size**order * texts)
    best = {kind: max((row for row in rows if row.kind == kind), key=lambda row: row.rate(seconds)) for kind in KINDS}
    write_json(
        json_target,
        {
            "source": problem.source,
            "small_order": small_order,
            "times": dict(zip(MODELS, map(str, seconds), strict=True)),
            "rows": [row.fields(seconds) for row in rows],
            "best": {kind: rows.index(row) for kind, row in best.items()},
        },
    )
    console = console_for(json_target)
    console.print(_table(best, seconds, f"{named[0].label} for the target, {below.label} for the middle model"))
    console.print(f"{problem.without_roots}, order-{small_order} small model, {arithmetic}", soft_wrap=True)
    console.print(_answer(best, seconds))
    refuted = [row for row in rows if not row.found.lossless]
    if refuted:
        worst = refuted[0]
        console.print(f"REFUTED: drafted by {KINDS[worst.kind]}, {worst.found.violation}", soft_wrap=True)
    if plot_file is not None:
        write_whole(
            plot_file, picture(rows, f"{problem.without_roots}, verified by {named[0].label} and {below.label}")
        )
        console.print(f"picture: {printable(plot_file)}")
    return 1 if refuted else 0


def models_of(problem: TextProblem, small_order: int, arithmetic: str) -> tuple[MarkovProcess, ...]:
    """The small, the middle and the target model of a text."""
    pair, numbers = problem.pair, arithmetic_named(arithmetic)
    if not problem.samplings.is_identity:
        raise InvalidInput("a hierarchy takes its models as they are; leave out --sampling and --draft-sampling")
    if small_order > pair.draft_order:
        raise InvalidInput(
            f"--small-order {small_order} is above the order of the middle model, {pair.draft_order}; "
            "lower it, or raise --draft-order"
        )
    target, middle = pair.processes((0,) * pair.target_order)
    small = MarkovProcess(pair.model(small_order), (0,) * small_order, MODELS[0])
    return small.converted(numbers), middle.converted(numbers), target.converted(numbers)


def pass_times(text: str) -> tuple[Any, ...]:
    """The times of `small=.02,middle=.2,target=1`, exact; raises `InvalidInput`."""
    given = parse_assignments(text, "--cost", f"--cost {text}")
    if set(given) != set(MODELS):
        raise InvalidInput(f"--cost {text}: give {', '.join(MODELS)}, as small=.02,middle=.2,target=1")
    numbers = tuple(parse_fraction(given[name]) for name in MODELS)
    if min(numbers) < 0 or not numbers[2]:
        raise InvalidInput(f"--cost {text}: times are not negative, and that of the target is above 0")
    return numbers


def _planned(
    verifier: NamedVerifier,
    below: NamedVerifier,
    models: Sequence[MarkovProcess],
    lengths: str,
    handed: str,
    blocks: str,
    told_handed: bool,
) -> Iterator[tuple[str, int, int | None, Stage]]:
    """Every way to draft: its kind, its length, what is handed on, and the stage of the target."""
    small, middle, target = models
    by_themselves, counts, of_blocks = (
        parse_range(text, flag) for text, flag in ((lengths, "--length"), (handed, "--handed"), (blocks, "--blocks"))
    )
    longest = max(by_themselves[-1], counts[-1], (by_themselves[-1] + 1) * of_blocks[-1])
    for length in range(by_themselves[0], longest + 1):  # pairs may draft as much as both models together
        yield "small", length, None, Stage(target, verifier.verifier, Alone(small, length))
        yield "middle", length, None, Stage(target, verifier.verifier, Alone(middle, length))
    for length in by_themselves:
        stage = Stage(middle, below.verifier, Alone(small, length))
        for count in counts:
            yield "tokens", length, count, Stage(target, verifier.verifier, Tokens(stage, count), told_handed)
        for count in of_blocks:
            yield "blocks", length, count, Stage(target, verifier.verifier, Blocks(stage, count), told_handed)


def strings(way: tuple[str, int, int | None, Stage], vocab_size: int) -> int:
    """The texts that are drafted for the target, of the longest length."""
    kind, length, count, _ = way
    longest = (length + 1) * (count or 1) if kind == "blocks" else count or length
    return int(vocab_size**longest)


def _table(best: Mapping[str, Hierarchy], times: Sequence[Any], title: str) -> Table:
    """The best of each kind."""
    view = Table(title=title, title_justify="left", caption_justify="left")
    for heading in ("drafted by", "drafts", "handed on"):
        view.add_column(heading)
    for heading in ("tokens a block", "small passes", "middle passes", "tokens per time"):
        view.add_column(heading, justify="right")
    view.add_column("lossless")
    for kind, row in best.items():
        noun = {"tokens": "tokens", "blocks": "block" if row.handed == 1 else "blocks"}.get(kind)
        view.add_row(
            KINDS[kind],
            str(row.length),
            f"{row.handed} {noun}" if noun else "",
            short(float(row.found.tokens)),
            *(short(float(count)) for count in row.passes[:2]),
            f"{float(row.rate(times)):.4f}",
            "yes" if row.found.lossless else "NO",
        )
    shown = ", ".join(f"{name} {float(time):g}" for name, time in zip(MODELS, times, strict=True))
    view.caption = f"the best lengths of each kind; times of one pass: {shown}"
    return view


def _answer(best: Mapping[str, Hierarchy], times: Sequence[Any]) -> str:
    """Whether three models are better than two, in a line."""
    rates = {kind: float(row.rate(times)) for kind, row in best.items() if row.found.lossless}
    pairs, chains = ([kind for kind in kinds if kind in rates] for kinds in (("small", "middle"), ("tokens", "blocks")))
    if not (pairs and chains):
        lossy = "three" if pairs else "two"
        return f"Two models are not compared with three: those of {lossy} are lossy, and so have not the target's law."
    pair, chain = (max(kinds, key=rates.__getitem__) for kinds in (pairs, chains))
    gain = rates[chain] / rates[pair] - 1
    which = f"{KINDS[chain]} ({best[chain].length}, {best[chain].handed})"
    if gain > 0:
        return f"Three models are better here: {which}, {gain:+.2%} against {KINDS[pair]} alone."
    return f"Two models are better here: {KINDS[pair]} alone; the best of three, {which}, is {-gain:.2%} slower."


def picture(rows: Sequence[Hierarchy], caption: str) -> bytes:
    """A PNG: who should draft for the target, by the times of one pass of the small and the middle model."""
    pyplot = matplotlib_pyplot()
    small, middle = _SMALL[:, None], _MIDDLE[None, :]
    rates: dict[str, Any] = {"none": np.ones((len(_SMALL), len(_MIDDLE)))}
    for row in rows:
        counts = [float(count) for count in row.passes]
        rate = float(row.found.tokens) / (counts[0] * small + counts[1] * middle + counts[2])
        rates[row.kind] = np.maximum(rates.get(row.kind, 0), rate)
    names = [name for name in _COLOURS if name in rates]
    table = np.stack([np.broadcast_to(rates[name], rates["none"].shape) for name in names])
    gain = np.maximum.reduce(table[[names.index(n) for n in ("tokens", "blocks")]]) / np.maximum.reduce(
        table[[names.index(n) for n in ("none", "small", "middle")]]
    )
    figure, axes = pyplot.subplots(figsize=(7, 5.2), layout="constrained")
    axes.set(xscale="log", yscale="log")  # before the labels, which are placed on the screen
    colours = pyplot.matplotlib.colors.ListedColormap([_COLOURS[name] for name in names])
    axes.pcolormesh(_MIDDLE, _SMALL, table.argmax(0), cmap=colours, vmin=-0.5, vmax=len(names) - 0.5, rasterized=True)
    lines = axes.contour(_MIDDLE, _SMALL, 100 * (gain - 1), levels=[2, 5, 10, 20, 40], colors="black", linewidths=0.8)
    axes.clabel(lines, fmt="+%g %%", fontsize=8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("time of a pass of the middle model, target 1")
    axes.set_ylabel("time of a pass of the small model, target 1")
    labels = {"none": "nobody", **KINDS}
    patches = [pyplot.matplotlib.patches.Patch(color=_COLOURS[name], label=labels[name]) for name in names]
    figure.legend(handles=patches, loc="outside lower center", ncols=3, fontsize=8, title="who drafts")
    title = [*wrap(caption, 90), "lines: the gain of three models over the best pair"]
    axes.set_title("\n".join(title), fontsize=8, loc="left")
    return as_png(figure, 120)
