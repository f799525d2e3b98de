"""`draftproof bound --bias`: the most tokens a block at a given bias, and how near lossy verifiers come to it."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table

from draftproof.experiments.cli.bound_measures import check_measure, show_measured
from draftproof.experiments.grid.bounds import STEPS, bound_roots, hundredths
from draftproof.experiments.grid.figures import as_png, line_style, matplotlib_pyplot, style_axes
from draftproof.experiments.grid.rows import mixture
from draftproof.experiments.inputs.verifiers import NamedVerifier, evaluator, find_verifier
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.shared.output import check_files, number_fields, write_json, write_whole
from draftproof.experiments.shared.progress import (
    INTERRUPTED,
    Tick,
    bar,
    console_for,
    counted,
    duration,
    named_errors,
    remark,
)
from draftproof.lp_analysis import (
    FrontierInterrupted,
    FrontierPoint,
    dumps,
    frontier_certificate,
)
from draftproof.lp_analysis import frontier as trace
from draftproof.lp_analysis.problem import is_one_path
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.files import printable
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.protocol import DraftScheme

#: The lossless verifier that lossy ones are held against.
LOSSLESS = "block"
#: The gap at which the time of a point is measured beforehand, and what each further digit has multiplied it by.
COARSE, DIGIT = 1e-3, 1.3


@dataclass(frozen=True)
class Limits:
    """When the solver stops at each root: at this gap, or after so many seconds."""

    gap: float = 1e-6
    seconds: float | None = None


def traced(root: Case, scheme: DraftScheme, biases: Sequence[Fraction], limits: Limits, tick: Tick) -> Any:
    """The points at one root; of the bar `STEPS` for each point, as its gap closes."""
    rows, done = root.rows(scheme.depth), 0

    def near(_: float, lower: float, upper: float) -> None:
        nonlocal done
        now = hundredths(upper - lower, limits.gap)
        tick(max(now - done, 0))
        done = max(done, now)

    def next_point(_: FrontierPoint) -> None:
        nonlocal done
        tick(STEPS - done)
        done = 0

    settings: Any = {"gap": limits.gap, "seconds": limits.seconds, "clock": time.perf_counter}
    return trace(rows.target, rows.draft, scheme, biases, **settings, report=next_point, on_bounds=near)


def expected_seconds(root: Case, scheme: DraftScheme, biases: Sequence[Fraction], limits: Limits) -> float:
    """The time for the points at one root: of one path by its size, of branches by one point at a wide gap."""
    paths = context_count(root.draft.vocab_size, scheme.depth)
    if is_one_path(scheme):
        return 0.01 + len(biases) * 0.8 * math.pow(paths / 4096, 1.66)
    rows, begun = root.rows(scheme.depth), time.perf_counter()
    most = None if limits.seconds is None else 0.1 * limits.seconds
    settings: Any = {"gap": max(COARSE, limits.gap), "seconds": most, "clock": time.perf_counter}
    trace(rows.target, rows.draft, scheme, [sorted(biases)[len(biases) // 2]], **settings)
    measured = time.perf_counter() - begun
    return measured * len(biases) * float(DIGIT ** max(0.0, math.log10(COARSE / limits.gap)))


def point_fields(weights: Sequence[Fraction], points: Sequence[FrontierPoint]) -> dict[str, Any]:
    """One point of the curve, the mean over the roots, each of which has this bias."""
    means = {key: mixture(list(weights), [point.to_dict()[key] for point in points]) for key in points[0].to_dict()}
    return {key: value for name, mean in means.items() for key, value in number_fields(name, mean).items()}


def curve(
    roots: Sequence[Case], scheme: DraftScheme, biases: Sequence[Fraction], limits: Limits
) -> tuple[list[list[FrontierPoint]], bool]:
    """The points at each root, with a bar; after Ctrl-C those of the roots that are done, or of the first, and True."""
    paths = context_count(roots[0].draft.vocab_size, scheme.depth)
    remark(
        f"{counted(len(roots), 'program')} over {paths:,.0f} paths, {len(biases)} biases each, "
        f"{duration(expected_seconds(roots[0], scheme, biases, limits) * len(roots))}"
        + (f", at most {limits.seconds:g} s each" if limits.seconds else "")
    )
    found: list[list[FrontierPoint]] = []
    with bar("curve", len(roots) * len(biases) * STEPS) as tick:
        try:
            for root in roots:
                found.append(traced(root, scheme, biases, limits, tick))
        except KeyboardInterrupt as stop:
            if not found and isinstance(stop, FrontierInterrupted):
                found.append(stop.points)
                remark(f"interrupted at bias {len(stop.points)} of {len(biases)}, with the gap that it had")
            else:
                remark(f"interrupted after {len(found)} of {len(roots)} roots")
            return found, True
    return found, False


def means(roots: Sequence[Case], found: Sequence[Sequence[FrontierPoint]]) -> list[dict[str, Any]]:
    """The points of the curve as means over the roots that are done."""
    weights = shares([root.weight for root in roots[: len(found)]])
    return [point_fields(weights, at) for at in zip(*found, strict=True)]


def shares(weights: Sequence[Any]) -> list[Fraction]:
    """Weights of sum 1."""
    exact = [Fraction(weight) for weight in weights]
    return [weight / sum(exact) for weight in exact]


def verifier_rows(
    named: Sequence[NamedVerifier], roots: Sequence[Case], scheme: DraftScheme, limits: Limits
) -> list[dict[str, Any]]:
    """The bias and tokens of each verifier, and the curve at its bias at each root, as means over the roots."""
    verdicts: list[list[Any]] = [[] for _ in named]
    limit: list[list[FrontierPoint]] = []
    with bar("verifiers", len(roots) * (1 + STEPS) * len(named)) as tick:
        for root in roots:
            rows = root.rows(scheme.depth)
            for one, own in zip(named, verdicts, strict=True):
                with named_errors(one.label):
                    own.append(evaluator(one.verifier, "rational", "auto").check(rows.target, rows.draft, scheme))
                if own[-1].total_variation is None:
                    raise InvalidInput(f"{one.label}: its law is too large for an exact bias; use a smaller tree")
                tick(1)
            limit.append(traced(root, scheme, [own[-1].total_variation for own in verdicts], limits, tick))
    weights = shares([root.weight for root in roots])
    return [
        verifier_fields(one.label, weights, own, [points[number] for points in limit])
        for number, (one, own) in enumerate(zip(named, verdicts, strict=True))
    ]


def verifier_fields(
    label: str, weights: list[Fraction], verdicts: Sequence[Any], points: Sequence[FrontierPoint]
) -> dict[str, Any]:
    """One verifier: means over the roots, given its verdict and the point of the curve at its bias at each."""
    columns = (
        [verdict.total_variation for verdict in verdicts],
        [verdict.block_efficiency for verdict in verdicts],
        [point.upper for point in points],
    )
    bias, tokens, upper = (mixture(weights, list(values)) for values in columns)
    return {
        "verifier": label,
        "lossless": all(verdict.lossless for verdict in verdicts),
        **number_fields("bias", bias),
        **number_fields("tokens", tokens),
        **number_fields("upper", upper),
        **number_fields("distance", upper - tokens),
    }


def certificate_names(path: str, roots: Sequence[Case]) -> list[str]:
    """One file a root: `path` itself for a single root, numbered before the suffix for several.

    For roots of a cut vocabulary there is a second file each, `-above`, for the upper bound.
    """
    target, count = Path(path), len(roots)
    ends = ["", "-above"] if roots[0].above else [""]
    numbers = [""] if count == 1 else [f"-{number}" for number in range(1, count + 1)]
    names = [str(target.with_name(f"{target.stem}{end}{number}{target.suffix}")) for end in ends for number in numbers]
    return [path, *names[1:]] if count == 1 else names


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


def bound_biases(
    named: Sequence[NamedVerifier],
    problem: World,
    scheme: DraftScheme,
    bias: str,
    measure: str,
    limits: Limits,
    inputs: Sequence[str | None],
    outputs: Mapping[str, str | None],
) -> int:
    """Trace the curve at every root, place the verifiers, and write the outputs; returns the exit code.

    bias: total variations of a block in 0..1, between commas; 0 is added. inputs: paths; outputs: path by flag.
    """
    json_target, certificate, plot = (outputs[flag] for flag in ("--json", "--certificate", "--plot"))
    check_measure(measure, certificate, plot, limits.seconds)
    biases = sorted({Fraction(0), *map(_number, bias.split(","))})
    roots = [replace(root, above=None) for root in bound_roots(problem, scheme)]
    if measure != "block":
        return show_measured(measure, roots, scheme, biases, named, f"{problem}, {scheme}", json_target)
    names = certificate_names(certificate, roots) if certificate else []
    check_files(inputs, {**outputs, **{f"--certificate, file {i + 1}": name for i, name in enumerate(names[1:])}})
    found, interrupted = curve(roots, scheme, biases, limits)
    if not found:
        return INTERRUPTED
    points = means(roots, found)
    for root, own, name in zip(roots, found, names, strict=False):
        rows = root.rows(scheme.depth)
        write_whole(name, dumps(frontier_certificate(rows.target, rows.draft, scheme, own)))
    lines = [] if interrupted else verifier_lines(named, roots, scheme, limits, points[0]["lower"])
    cut = any(root.above is not None for root in problem.cases(scheme.depth, RATIONAL))
    console = console_for(json_target)
    console.print(curve_table(points, f"{problem}, {scheme}"))
    if names:
        count = f" and {len(names) - 1} more" if len(names) > 1 else ""
        console.print(f"certificate: {names[0]}{count}; check it: draftproof verify {names[0]}")
    if interrupted:
        return INTERRUPTED
    if cut:
        console.print("the rows are cut to the tokens kept, and the curve is about these; --vocab keeps more")
    if lines:
        console.print(verifier_table(lines))
    fields = {"scheme": scheme.as_dict(), "source": problem.source, "cut": cut}
    write_json(json_target, {**fields, "points": points, "verifiers": lines})
    if plot is not None:
        interrupted = draw(plot, points, lines, roots, scheme, limits, f"{problem}, {scheme}")
        console.print("no picture" if interrupted else f"picture: {printable(plot)}")
    return INTERRUPTED if interrupted else 0


def verifier_lines(
    named: Sequence[NamedVerifier], roots: Sequence[Case], scheme: DraftScheme, limits: Limits, attained: str
) -> list[dict[str, Any]]:
    """`verifier_rows` with what beats each; attained: the best of lossless verifiers."""
    if not named:
        return []
    base = find_verifier(LOSSLESS)
    held = [base] if scheme.name in lossless_for(base.verifier.card) else []
    lines = verifier_rows([*named, *held], roots, scheme, limits)
    mark_beaten(lines, lines[-1] if held else None, attained)
    return lines[: len(named)]


def draw(
    path: str,
    points: list[dict[str, Any]],
    lines: Sequence[dict[str, Any]],
    roots: Sequence[Case],
    scheme: DraftScheme,
    limits: Limits,
    title: str,
) -> bool:
    """Write the picture of the curve, as far as the verifiers go; whether Ctrl-C prevented that."""
    end = Fraction(points[-1]["bias"])
    last = max([end, *(Fraction(row["bias"]) for row in lines)])
    if last > end:
        more, interrupted = curve(roots, scheme, [end + (last - end) / 8 * (i + 1) for i in range(8)], limits)
        if interrupted:
            return True
        points = [*points, *means(roots, more)]
    write_whole(path, picture(points, lines, title))
    return False


def _number(text: str) -> Fraction:
    """One value of --bias."""
    from draftproof.lp_analysis.frontier_points import biased

    return biased(text.strip())
