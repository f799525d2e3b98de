"""`draftproof model choose`: the ranking on the terminal and as a picture."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from draftproof.experiments.cli.check.standard import QUICK, exact_checks
from draftproof.experiments.grid.figures import as_png, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.groups import FEWEST, few_text
from draftproof.experiments.grid.store import check_store
from draftproof.experiments.inputs.options import JsonTarget, Resume, grouped
from draftproof.experiments.inputs.schemes import scheme_spec, shape_name
from draftproof.experiments.inputs.verifiers import NamedVerifier, chosen_verifiers
from draftproof.experiments.models import options as opt
from draftproof.experiments.shared.output import check_files, csv_cell, write_json, write_whole
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.drafts import Delayed, Stratified, lossless_for, scheme_from_dict
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme

#: Rows of the table, and bars of the picture.
SHOWN = 12


def show(console: Console, result: Mapping[str, Any]) -> None:
    """Print the notes, the table and the recommendation."""
    about = f"V = {result['V']}, {result['sampling']}, {result['device']}, {result['clock']} clock"
    where = f"after {result['after']}"
    table = Table(title=f"target {result['target']}, draft {result['draft']}, {about}\n{where}", title_justify="left")
    for heading in (
        "verifier",
        _tree_heading(result["rows"]),
        "tokens/s",
        "tokens\na block",
        "\nexact",
        "times generate\n95 %",
        "times the first\n95 %",
        "texts",
    ):
        left, wraps = heading == "verifier", heading == "scheme"
        table.add_column(heading, justify="left" if left else "right", no_wrap=not wraps)
    for row in result["rows"][:SHOWN]:
        expected = row["expected_block_efficiency"]
        table.add_row(
            row["verifier"],
            _shape(row),
            f"{row['tokens_per_second']:.0f}",
            f"{row['measured_block_efficiency']:.2f}",
            "-" if expected is None else f"{expected:.2f}",
            _interval(row, "speedup"),
            "" if row is result["rows"][0] else _interval(row, "of_first") + ("" if row["distinguishable"] else " ?"),
            str(row["texts"]),
        )
    for line in result["notes"]:
        console.print(line, soft_wrap=True)
    console.print(f"baseline: {result['baseline']}", soft_wrap=True)
    console.print(table)
    console.print(
        "texts: each beside one of generate; ?: may be as fast as the first; exact: at a context within each text",
        soft_wrap=True,
    )
    console.print(passes_line(result), soft_wrap=True)
    more = len(result["rows"]) - SHOWN
    if more > 0:
        console.print(f"{more} more were measured; --json and --csv have them")
    if result["roots"] < FEWEST:
        console.print(few_text("roots"))
    assisted = result["assisted"]
    also = f"; assisted generation: {_interval(assisted, 'speedup')} times as many" if assisted else ""
    console.print(f"generate: {result['generate_tokens_per_second']:.0f} tokens/s{also}", soft_wrap=True)
    console.print(f"{result['seconds']:.0f} s", soft_wrap=True)
    console.print(
        f"the speed-up below is from {result['confirmed']['texts']} further texts of the best: above, the best of "
        "several estimates reads high",
        soft_wrap=True,
    )
    console.print(f"use {result['recommendation']}", soft_wrap=True)
    console.print(result["paste"], soft_wrap=True)


def passes_line(result: Mapping[str, Any]) -> str:
    """How long passes of the target take, and from how many tokens a block on the first candidate pays."""
    (_, one), *more = result["target_passes"].items()
    longer = "".join(f", {seconds / one:.2f} times as long over {size}" for size, seconds in more)
    return (
        f"a pass of the target takes {1e3 * one:.1f} ms over one token{longer}; a block of the first takes as long as "
        f"{result['rows'][0]['break_even']:.2f} tokens of generate"
    )


def with_stratified(schemes: Sequence[DraftScheme]) -> tuple[DraftScheme, ...]:
    """The schemes, then stratified branches of the same shapes: they cost the same passes."""
    branching = [scheme for scheme in schemes if isinstance(scheme, Delayed) and scheme.K > 1]
    return *schemes, *(Stratified(scheme.K, scheme.L1, scheme.L2) for scheme in branching)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """All measured rows, the fastest first; schemes as on the command line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        cells = {**row, "scheme": scheme_spec(scheme_from_dict(row["scheme"]))}
        writer.writerow([csv_cell(value) for value in cells.values()])
    return buffer.getvalue()


def _tree_heading(rows: Sequence[Mapping[str, Any]]) -> str:
    return "K, L1, L2" if all(row["scheme"]["name"] == "delayed" for row in rows) else "scheme"


def _shape(row: Mapping[str, Any]) -> str:
    return shape_name(scheme_from_dict(row["scheme"]))


def _interval(row: Mapping[str, Any], name: str) -> str:
    return f"{row[name]:.2f} ({row[f'{name}_low']:.2f} to {row[f'{name}_high']:.2f})"


def figure(result: Mapping[str, Any]) -> bytes:
    """Tokens a second, fastest on top, and a line for `generate`."""
    rows = result["rows"][:SHOWN][::-1]
    picture, axes = matplotlib_pyplot().subplots(figsize=(7.2, 1.2 + 0.32 * len(rows)))
    for height, row in enumerate(rows):
        final = row["last_stage"]
        axes.barh(height, row["tokens_per_second"], height=0.62, color="#0072B2" if final else "#56B4E9")
        plain = result["generate_tokens_per_second"]
        low, high = row["speedup_low"] * plain, row["speedup_high"] * plain
        axes.plot([low, high], [height, height], color="black", linewidth=1.4, solid_capstyle="butt")
    axes.axvline(
        result["generate_tokens_per_second"],
        color="0.35",
        linestyle="--",
        linewidth=1,
        label="generate of transformers",
    )
    names = [f"{row['verifier']}  {_shape(row)}" for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.set_xlabel("tokens a second (line: 95 %; dark: until the last stage)", fontsize=8)
    style_axes(axes)
    axes.grid(axis="y", visible=False)
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    picture.tight_layout()
    return as_png(picture, 150)


_HOW: Any = {"rich_help_panel": "How much"}
_OUT: Any = {"rich_help_panel": "Output"}

#: The share of --seconds in which verifiers of files are checked.
OWN_SHARE = 0.1
VERIFIERS = ("naive", "specinfer", "block", "traversal", "path_transport", "layer_transport")
#: Single paths, branches from the root and delayed branches, up to twelve drafted tokens.
SHAPES = tuple(
    Delayed(K, L1, L2)
    for K in (1, 2, 3, 4)
    for L1 in ((0, 1, 2) if K > 1 else (0,))
    for L2 in ((1, 2, 3) if K > 1 else (1, 2, 3, 4, 6))
    if L1 + K * L2 <= 12
)


def check_own(
    console: Console, named: Sequence[NamedVerifier], schemes: Sequence[DraftScheme], seconds: float | None
) -> None:
    """Check the verifiers of files exactly on small instances; raises `InvalidInput` unless they are lossless there.

    A verifier that cannot be checked counts as what its card declares.
    """
    own = {each.label: each for each in named if each.from_file}
    most = QUICK if seconds is None else min(QUICK, OWN_SHARE * seconds)
    for row in exact_checks(console, own, schemes, most):
        declared = row["lossless"] is None and lossless_for(own[row["verifier"]].verifier.card)
        if not (row["lossless"] or declared):
            why = f"not checked exactly: {row['reason']}" if row["lossless"] is None else "not lossless"
            raise InvalidInput(f"{row['verifier']}: {why}; choose among verifiers that keep the target's distribution")


Roots = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Contexts of the text (default 8) or prompts (default all, up to 16), the same for all candidates.",
        **_HOW,
    ),
]
Tokens = Annotated[int, typer.Option(min=4, help="Tokens of a text, as far as the models have positions.", **_HOW)]
Rounds = Annotated[int, typer.Option(min=2, max=10, help="Texts of the last candidates after each root.", **_HOW)]
Seconds = Annotated[float | None, typer.Option(min=1, help="Time limit, training apart.", **_HOW)]
Csv = Annotated[str | None, typer.Option("--csv", help="CSV of all measured candidates.", **_OUT)]
Plot = Annotated[str | None, typer.Option("--plot", help="PNG of the ranking.", **_OUT)]


@grouped(sampling=opt.SamplingOptions, pair=opt.PairOptions, shape=opt.SchemeOptions)
def choose(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: six of them.")] = None,
    *,
    sampling: opt.SamplingOptions,
    vectors: opt.Vectors = "numpy",
    clock: opt.Clock = "wall",
    seed: opt.Seed = 0,
    pair: opt.PairOptions,
    shape: opt.SchemeOptions,
    roots: Roots = None,
    tokens: Tokens = 32,
    rounds: Rounds = 5,
    seconds: Seconds = None,
    resume: Resume = None,
    json_target: JsonTarget = None,
    csv_file: Csv = None,
    plot: Plot = None,
) -> int:
    """Rank lossless verifiers and draft schemes by tokens a second, for these models on this machine.

    The baseline is `generate` of transformers, timed from call to return.

    Candidates are delayed trees and stratified branches of the same shapes, or those of --scheme. The slower half of
    them is dropped again and again. A verifier runs on the schemes that its card declares; a tree that is planned, as
    Sequoia's, is planned on the roots. A verifier of a file is checked exactly on small instances first.
    """
    started = perf_counter()
    check_files(pair.inputs, {"--json": json_target, "--plot": plot, "--csv": csv_file, "--resume": resume})
    if resume is not None:
        check_store(resume)
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.models.measure import choose as work
    from draftproof.experiments.models.measure.writers import sampling_of

    named = chosen_verifiers(chosen or list(VERIFIERS))
    schemes, samplings = shape.schemes(SHAPES), sampling.samplings()
    if not shape.scheme and not any(each.from_file for each in named):  # which say that they take any scheme
        schemes = with_stratified(schemes)
    if samplings.told is not None:
        raise InvalidInput("--told makes verifiers lossy, so that there is none to choose; validate and check take it")
    sampling_of(samplings)  # refuses what the baseline cannot do before models are read
    console = console_for(json_target)
    check_own(console, named, schemes, seconds)
    try:
        wanted = pair.wanted(seed)
        trained = wanted.target is None and not (wanted.folder and Path(wanted.folder).exists())
        with work.open_pair(wanted) as opened:
            started = perf_counter() if trained else started
            count = len(opened.roots(roots, work.Amount.roots).contexts)
            amount = work.Amount(count, tokens, rounds, seconds)
            result = work.choose(opened, named, schemes, samplings, amount, seed, vectors, clock, resume, started)
    except KeyboardInterrupt:
        kept = f"; the texts are in {resume}" if resume else "; with --resume FILE the texts are saved"
        remark(f"interrupted{kept}; no other file was written")
        return INTERRUPTED
    show(console, result)
    write_json(json_target, result)
    if csv_file:
        write_whole(csv_file, as_csv(result["rows"]))
    if plot:
        write_whole(plot, figure(result))
        console.print(f"picture: {plot}")
    return 0
