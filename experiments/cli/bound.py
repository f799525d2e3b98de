"""`draftproof bound`: the optimum over all lossless verifiers, and with `--bias` over all at each bias."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from draftproof.experiments.cli.bound_biases import Limits, bound_biases, certificate_names
from draftproof.experiments.grid.bounds import (
    STEPS,
    Bound,
    BoundInterrupted,
    Goal,
    bound_fields,
    bound_root,
    bound_roots,
    expected_seconds,
)
from draftproof.experiments.grid.figures import as_png, matplotlib_pyplot
from draftproof.experiments.grid.groups import group_columns, interval_text, mean_by_group
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import chosen_verifiers
from draftproof.experiments.inputs.worlds import World
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import INTERRUPTED, bar, console_for, duration, remark
from draftproof.lp_analysis import certificate, dumps
from draftproof.lp_analysis.problem import assert_size
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import UserScheme
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.protocol import DraftScheme


def bound_all(roots: Sequence[Case], scheme: DraftScheme, goal: Goal) -> tuple[list[Bound], bool]:
    """The bounds at all roots, with a bar; after Ctrl-C those at hand, the last with the gap it had, and True."""
    draft = roots[0].draft
    paths = context_count(draft.vocab_size, scheme.depth)
    remark(
        f"{len(roots)} program{'s' if len(roots) > 1 else ''} over {paths:,.0f} paths, "
        f"{duration(expected_seconds(draft.vocab_size, scheme, draft, goal.gap) * len(roots))}"
        + (f", at most {goal.seconds:g} s each" if goal.seconds else "")
    )
    bounds: list[Bound] = []
    interrupted = False
    with bar("bounds", STEPS * len(roots)) as tick:
        try:
            for root in roots:
                bounds.append(bound_root(root, scheme, goal, tick))
        except BoundInterrupted as stop:
            interrupted = True
            bounds.append(stop.at_hand)
            remark(f"interrupted at root {len(bounds)} of {len(roots)}, with the gap that it had")
        except KeyboardInterrupt:
            interrupted = True
            remark(f"interrupted after {len(bounds)} of {len(roots)} roots")
    return bounds, interrupted


def save_certificates(bounds: Sequence[Bound], scheme: DraftScheme, names: Sequence[str]) -> Sequence[str]:
    """Write the certificate of every root, and the one of its upper bound if that is another; returns the files.

    names: the files of all roots, then those of the upper bounds.
    """
    certified = [(bound.root, bound.found, name) for bound, name in zip(bounds, names, strict=False)]
    upper_names = names[len(names) // 2 :]
    certified += [
        (bound.root.above, bound.above, name)
        for bound, name in zip(bounds, upper_names, strict=False)
        if bound.above and bound.root.above
    ]
    for case, optimum, name in certified:
        instance = case.rows(scheme.depth)
        write_whole(name, dumps(certificate(instance.target, instance.draft, optimum)))
    return [name for _, _, name in certified]


def show(console: Console, fields: dict[str, Any], problem: str, goal: float) -> None:
    """Print the mean bounds and the bounds of each root."""
    console.print(f"the optimum over all lossless verifiers, {shape_text(fields['scheme'])}")
    console.print(f"  {problem}")
    console.print(
        f"  attained {fields['lower_float']:.9f}, at most {fields['upper_float']:.9f}, "
        f"gap {gap_text(fields['gap_float'])} (exact arithmetic on both sides, {fields['method']})"
    )
    if fields["cut"] and fields["scheme"]["name"] != "delayed":
        console.print("  this bounds the cut tables only; --scheme delayed bounds the whole vocabulary from both sides")
    elif fields["cut"]:
        console.print(
            "  both hold on the whole vocabulary: the lower bound is attained by a verifier that ends a block at a cut "
            "token, the upper\n  bound counts all tokens after one as accepted; --vocab keeps more tokens"
        )
    if any(root["solver_gap_float"] > goal for root in fields["roots"]):
        console.print(f"  the gap is above {goal:g}: {_why(fields['roots'], goal)}")
    files = [root[key] for key in ("certificate", "certificate_above") for root in fields["roots"] if root.get(key)]
    if files:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        console.print(f"  certificate: {files[0]}{more}; check it: draftproof verify {files[0]}", soft_wrap=True)
    if "groups" in fields:
        console.print(groups_table(fields["groups"]))
    if len(fields["roots"]) == 1:
        return
    table = Table(title="by root context", title_justify="left")
    table.add_column("root")
    for heading in ("weight", "attained", "at most", "gap", "orders", "seconds"):
        table.add_column(heading, justify="right")
    for root in fields["roots"]:
        table.add_row(
            repr(root["root"]),
            f"{root['weight_float']:.4f}",
            f"{root['lower_float']:.7f}",
            f"{root['upper_float']:.7f}",
            gap_text(root["gap_float"]),
            str(root["orders"]),
            f"{root['seconds']:.1f}",
        )
    console.print(table)


def groups_table(sides: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """The bounds by group of prompts; sides: means by name of the bound."""
    table = Table(title="by group of prompts", title_justify="left", caption_justify="left")
    table.add_column("the best lossless verifier")
    group_columns(table, sides["upper"])
    for name, means in sides.items():
        table.add_row({"lower": "attained", "upper": "at most"}[name], *map(interval_text, means))
    return table


def _groups(problem: World, roots: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The bounds of the roots by group of prompts, where roots are prompts."""
    groups = getattr(problem, "groups", ())[: len(roots)]
    if not groups:
        return {}
    return {
        "groups": {
            side: mean_by_group(groups, [root[f"{side}_float"] for root in roots]) for side in ("lower", "upper")
        }
    }


def _why(roots: list[dict[str, Any]], goal: float) -> str:
    """Why a gap stayed above the goal, and the way out."""
    wide = [root for root in roots if root["solver_gap_float"] > goal]
    if any(root["timed_out"] for root in wide):
        return "it stopped early; give it more --seconds or a smaller tree"
    return "float64 goes no further; ask for a wider --gap or a smaller tree"


def shape_text(scheme: Mapping[str, Any]) -> str:
    """A scheme in words: delayed trees by their numbers, those of a file by their name."""
    if "file" in scheme:
        return str(scheme["name"])
    numbers = ", ".join(f"{key} = {value}" for key, value in scheme.items() if key != "name")
    return numbers if scheme["name"] == "delayed" else f"{scheme['name']} ({numbers})"


def gap_text(value: float) -> str:
    """A gap in two digits."""
    return f"{value:.1e}" if value else "0"


def draw(fields: dict[str, Any], caption: str, path: str) -> None:
    """A PNG of the gap against time, one line a root."""
    figure, axes = matplotlib_pyplot().subplots(figsize=(6.4, 4.0), layout="constrained")
    for root in fields["roots"]:
        points = [(seconds, upper - lower) for seconds, lower, upper in root["history"] if upper > lower]
        if points:
            axes.step(*zip(*points, strict=True), where="post", marker=".", linewidth=1.2, label=repr(root["root"]))
    axes.set_yscale("log")
    axes.set_xlabel("seconds")
    axes.set_ylabel("upper bound - lower bound")
    axes.grid(color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if len(fields["roots"]) > 1 and axes.lines:
        axes.legend(frameon=False, fontsize=8, title="root")
    axes.set_title(
        f"Gap of the bounds, {shape_text(fields['scheme'])}\n{caption}",
        loc="left",
        fontsize=9,
        wrap=True,
    )
    write_whole(path, as_png(figure, 160))


@with_groups()
def bound(
    chosen: Annotated[
        list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="With --bias: lossy or lossless; their points.")
    ] = None,
    *,
    given: Given,
    shape: opt.Shape,
    bias: Annotated[
        str | None, typer.Option(help="The most tokens a block at these total variations of a block, as 0,.01,.05.")
    ] = None,
    measure: Annotated[
        str,
        typer.Option(help="Of --bias: block, first:N, token, per_token or entropy_per_token; float64 but block."),
    ] = "block",
    gap: Annotated[float, typer.Option(help="Certified gap to reach.", rich_help_panel="How to compute")] = 1e-6,
    seconds: Annotated[
        float | None,
        typer.Option(help="Stop the solver at each root after so many seconds.", rich_help_panel="How to compute"),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, levels or columns.", rich_help_panel="How to compute")] = "auto",
    certificate: Annotated[
        str | None, typer.Option(help="Write the certificate to this file.", rich_help_panel="Output")
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(help="PNG of the gap against time, or of the curve and the verifiers.", rich_help_panel="Output"),
    ] = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """The best block efficiency of any lossless verifier, with a certificate; with --bias, of any at each bias."""
    outputs = {"--json": json_target, "--certificate": certificate, "--plot": plot}
    check_files(given.inputs, outputs)
    if bias is None and (chosen or measure != "block"):
        raise InvalidInput("verifiers and --measure are for --bias; add it, as in --bias 0,.01,.05")
    if bias is not None and method != "auto":
        raise InvalidInput("--bias has one method; leave out --method")
    problem = choose_problem(given)
    scheme = _scheme(problem, shape)
    if certificate and isinstance(scheme, UserScheme):
        raise InvalidInput(
            f"a certificate holds its scheme, and {scheme} is defined elsewhere; leave out --certificate"
        )
    if bias is not None:
        named = chosen_verifiers(chosen) if chosen else []
        return bound_biases(named, problem, scheme, bias, measure, Limits(gap, seconds), given.inputs, outputs)
    return _bound(problem, scheme, Goal(gap, seconds, method), given.inputs, outputs)


def _scheme(problem: World, shape: opt.Shape) -> DraftScheme:
    """The scheme to bound: that of the options, else that of the instance file."""
    name = shape.scheme or ("delayed" if shape.lengths else None)
    return opt.choose_scheme(replace(shape, scheme=name), problem)


def _bound(
    problem: World,
    scheme: DraftScheme,
    goal: Goal,
    inputs: tuple[str | None, ...],
    outputs: dict[str, str | None],
) -> int:
    """Bound every root and write the outputs. inputs: paths; outputs: path by flag."""
    json_target, certificate, plot = (outputs[flag] for flag in ("--json", "--certificate", "--plot"))
    assert_size(problem.vocab_size, scheme)
    roots = bound_roots(problem, scheme)
    names = certificate_names(certificate, roots) if certificate else []
    files_by_flag = {f"--certificate, file {number}": name for number, name in enumerate(names, start=1)}
    check_files(inputs, {"--json": json_target, "--plot": plot, **files_by_flag})
    bounds, interrupted = bound_all(roots, scheme, goal)
    if not bounds:
        return INTERRUPTED
    files = save_certificates(bounds, scheme, names)
    fields = {**bound_fields(bounds, scheme, files), "source": problem.source}
    fields["cut"] |= problem.cases(scheme.depth, RATIONAL)[0].above is not None
    fields |= _groups(problem, fields["roots"])
    console = console_for(json_target)
    show(console, fields, str(problem), goal.gap)
    if len(bounds) < len(roots) or interrupted:
        return INTERRUPTED
    write_json(json_target, fields)
    if plot:
        draw(fields, str(problem), plot)
        console.print(f"picture: {plot}")
    return 0
