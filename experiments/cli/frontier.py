"""`draftproof frontier`: the most tokens a block at a given bias, and how near lossy verifiers come to it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table

from draftproof.experiments.grid.bounds import bound_roots
from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.rows import mixture
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import NamedVerifier, chosen_verifiers, evaluator, find_verifier
from draftproof.experiments.shared.output import check_files, number_fields, write_json, write_whole
from draftproof.experiments.shared.progress import bar, console_for, named_errors
from draftproof.lp_analysis import FrontierPoint
from draftproof.lp_analysis import frontier as trace
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import printable
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftScheme

#: The lossless verifier that lossy ones are held against.
LOSSLESS = "block"


def point_fields(weights: Sequence[Fraction], points: Sequence[FrontierPoint]) -> dict[str, Any]:
    """One point of the curve, the mean over the roots, each of which has this bias."""
    means = {key: mixture(list(weights), [point.to_dict()[key] for point in points]) for key in points[0].to_dict()}
    return {key: value for name, mean in means.items() for key, value in number_fields(name, mean).items()}


def curve(roots: Sequence[Case], scheme: DraftScheme, biases: Sequence[Fraction]) -> list[dict[str, Any]]:
    """The points of the curve, with a bar over the roots."""
    found = []
    with bar("curve", len(roots)) as tick:
        for root in roots:
            rows = root.rows(scheme.depth)
            found.append(trace(rows.target, rows.draft, scheme, biases))
            tick(1)
    weights = [Fraction(root.weight) for root in roots]
    return [point_fields(weights, at) for at in zip(*found, strict=True)]


def verifier_fields(named: NamedVerifier, roots: Sequence[Case], scheme: DraftScheme) -> dict[str, Any]:
    """The bias and the tokens of a verifier, and the curve at its bias at each root, as means over the roots."""
    exact: list[list[Fraction | float]] = []
    lossless = True
    made = evaluator(named.verifier, "rational", "auto")
    for root in roots:
        rows = root.rows(scheme.depth)
        with named_errors(named.label):
            verdict = made.check(rows.target, rows.draft, scheme)
        if verdict.total_variation is None:
            raise InvalidInput(f"{named.label}: its law is too large for an exact bias; use a smaller tree")
        (most,) = trace(rows.target, rows.draft, scheme, [verdict.total_variation])
        lossless &= verdict.lossless
        exact.append([verdict.total_variation, verdict.block_efficiency, most.upper])
    weights = [Fraction(root.weight) for root in roots]
    bias, tokens, upper = (mixture(weights, list(values)) for values in zip(*exact, strict=True))
    return {
        "verifier": named.label,
        "lossless": lossless,
        **number_fields("bias", bias),
        **number_fields("tokens", tokens),
        **number_fields("upper", upper),
        **number_fields("distance", upper - tokens),
    }


def mark_beaten(rows: Sequence[dict[str, Any]], base: dict[str, Any] | None, attained: str) -> None:
    """Set `beaten_by`: `block`, or some lossless verifier, where that has at least the tokens of a lossy one."""
    for row in rows:
        tokens, beaten = Fraction(row["tokens"]), None
        if not row["lossless"] and base and base["lossless"] and Fraction(base["tokens"]) >= tokens:
            beaten = LOSSLESS
        elif not row["lossless"] and Fraction(attained) >= tokens:
            beaten = "a lossless one"
        row["beaten_by"] = beaten


def curve_table(points: Sequence[dict[str, Any]], title: str) -> Table:
    """One line a bias."""
    view = Table(title=title, title_justify="left", caption_justify="left")
    for heading in ("bias", "attained", "at most", "more than lossless", "price"):
        view.add_column(heading, justify="right")
    first = points[0]["lower_float"]
    for point in points:
        gain = point["lower_float"] / first - 1
        view.add_row(
            f"{point['bias_float']:g}",
            *(f"{point[key]:.7f}" for key in ("lower_float", "upper_float")),
            f"{gain:+.2%}",
            f"{point['price_float']:.3f}",
        )
    view.caption = (
        "bias: total variation of the first L + 1 tokens of a block. Both bounds are exact.\n"
        "price: tokens that a unit of more bias brings at most."
    )
    return view


def verifier_table(rows: Sequence[dict[str, Any]]) -> Table:
    """One line a verifier."""
    view = Table(title="verifiers", title_justify="left", caption_justify="left")
    view.add_column("verifier")
    for heading in ("bias", "tokens a block", "at most", "distance"):
        view.add_column(heading, justify="right")
    view.add_column("no better than")
    for row in rows:
        numbers = (f"{row[f'{key}_float']:.6f}" for key in ("bias", "tokens", "upper", "distance"))
        view.add_row(row["verifier"], *numbers, row["beaten_by"] or "")
    view.caption = (
        "at most: the curve at this bias (of several roots, at the bias at each).\n"
        "no better than: a lossless verifier with at least as many tokens."
    )
    return view


def picture(points: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], title: str) -> bytes:
    """A PNG: the curve, and each verifier as a named point."""
    figure, axes = matplotlib_pyplot().subplots(figsize=(7.6, 4.4), layout="constrained")
    drawn = sorted((point["bias_float"], point["lower_float"]) for point in points)
    axes.plot(*zip(*drawn, strict=True), color="0.35", linewidth=1.6, label="most at this bias")
    axes.axhline(points[0]["lower_float"], color="0.6", linewidth=0.9, linestyle=":", label="best lossless")
    for number, row in enumerate(rows):
        style = {**line_style(number), "linestyle": "none"}
        axes.plot(row["bias_float"], row["tokens_float"], **style, label=row["verifier"])
    axes.set_xlabel("bias: total variation of a block from the target")
    axes.set_ylabel("tokens a block")
    style_axes(axes)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set_title(title, loc="left", fontsize=9, wrap=True)
    return as_png(figure, 160)


@with_groups()
def frontier(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Lossy or lossless; their points.")
    ] = None,
    *,
    given: Given,
    shape: opt.Shape,
    bias: Annotated[str, typer.Option(help="Total variations of a block, in 0..1.")] = "0,.005,.01,.02,.05,.1",
    json_target: opt.JsonTarget = None,
    plot_file: Annotated[
        str | None, typer.Option("--plot", help="PNG: the curve and the verifiers.", rich_help_panel="Output")
    ] = None,
) -> int:
    """The most tokens a block of any verifier at each bias, exact from both sides, and what lossy verifiers attain."""
    check_files(given.inputs, {"--json": json_target, "--plot": plot_file})
    biases = sorted({Fraction(0), *map(_number, bias.split(","))})
    named = chosen_verifiers(chosen) if chosen else []
    problem = choose_problem(given)
    scheme = opt.choose_scheme(shape, problem)
    roots = bound_roots(problem, scheme)
    points = curve(roots, scheme, biases)
    with bar("verifiers", len(named)) as tick:
        lines = []
        for one in named:
            lines.append(verifier_fields(one, roots, scheme))
            tick(1)
    base = find_verifier(LOSSLESS)
    usable = lines and scheme.name in lossless_for(base.verifier.card)
    mark_beaten(lines, verifier_fields(base, roots, scheme) if usable else None, points[0]["lower"])
    cut = any(root.above is not None for root in problem.roots(scheme.depth, RATIONAL))
    console = console_for(json_target)
    console.print(curve_table(points, f"{problem}, {scheme}"))
    if cut:
        console.print("the rows are cut to the tokens kept, and the curve is about these; --vocab keeps more")
    if lines:
        console.print(verifier_table(lines))
    fields = {"scheme": scheme.as_dict(), "source": problem.source, "cut": cut}
    write_json(json_target, {**fields, "points": points, "verifiers": lines})
    if plot_file is not None:
        last = max([biases[-1], *(Fraction(row["bias"]) for row in lines)])
        if last > biases[-1]:  # as far as the verifiers go
            step = (last - biases[-1]) / 8
            points += curve(roots, scheme, [biases[-1] + step * (i + 1) for i in range(8)])
        write_whole(plot_file, picture(points, lines, f"{problem}, {scheme}"))
        console.print(f"picture: {printable(plot_file)}")
    return 0


def _number(text: str) -> Fraction:
    """One value of --bias."""
    from draftproof.lp_analysis.frontier_points import biased

    return biased(text.strip())
