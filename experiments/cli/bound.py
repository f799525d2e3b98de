"""`draftproof bound`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from draftproof.experiments.cli import bound_views
from draftproof.experiments.cli import bound_work as bounds
from draftproof.experiments.grid.bounds import Goal, bound_fields, expected_seconds
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.schemes import scheme_spec
from draftproof.experiments.inputs.sources import Problem
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import INTERRUPTED, console_for
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme


@with_groups()
def bound(
    given: Given,
    shape: opt.Shape,
    gap: Annotated[float, typer.Option(help="Certified gap to reach.", rich_help_panel="How to compute")] = 1e-6,
    seconds: Annotated[
        float | None,
        typer.Option(help="Stop each program after so long.", rich_help_panel="How to compute"),
    ] = None,
    method: Annotated[str, typer.Option(help="auto, levels or columns.", rich_help_panel="How to compute")] = "auto",
    certificate: Annotated[
        str | None, typer.Option(help="Write the certificate to this file.", rich_help_panel="Output")
    ] = None,
    plot: Annotated[str | None, typer.Option(help="PNG of the gap against time.", rich_help_panel="Output")] = None,
    verify: Annotated[
        str | None, typer.Option(help="Check this certificate, without a solver; nothing else is computed.")
    ] = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """The best block efficiency of any lossless verifier, with a certificate. Exit 1: --verify rejects the file."""
    outputs = {"--json": json_target, "--certificate": certificate, "--plot": plot}
    check_files((*given.inputs, verify), outputs)
    goal = Goal(gap, seconds, method)
    if verify is None:
        problem = choose_problem(given)
        scheme = _scheme(problem, shape)
        if not isinstance(scheme, Delayed):
            return _listed(problem, scheme, goal, outputs)
        return _bound(problem, scheme, goal, given.inputs, outputs)
    plain = replace(given, instance=None) == Given() and goal == Goal()
    if not plain or shape != opt.Shape() or certificate is not None or plot is not None:
        raise InvalidInput(
            "--verify checks one file; it takes only --instance (the rows it should be about) and --json"
        )
    return _verify(verify, given.instance, json_target)


def _scheme(problem: Problem, shape: opt.Shape) -> DraftScheme:
    """The tree to bound: a shape that is given goes before the draft scheme of an instance file, whatever that is."""
    name = shape.scheme or ("delayed" if shape.lengths else None)
    scheme = opt.choose_scheme(replace(shape, scheme=name), problem)
    if isinstance(scheme, Delayed) or shape.scheme is not None:
        return scheme
    raise InvalidInput(
        f"{problem} is meant for {scheme}, and certified bounds are for delayed trees; "
        f"give --K, --L1 or --L2 for one on its rows, or --scheme {scheme_spec(scheme)} for its own trees"
    )


def _listed(problem: Problem, scheme: DraftScheme, goal: Goal, outputs: dict[str, str | None]) -> int:
    """Any other scheme: its trees are listed and cut, in float64 and without a certificate."""
    if goal != Goal() or outputs["--certificate"] or outputs["--plot"]:
        raise InvalidInput(
            f"{scheme} is bounded by listing its trees, without a certificate; "
            "leave out --gap, --seconds, --method, --certificate and --plot"
        )
    roots = problem.roots(scheme.depth, RATIONAL)
    fields = {**bounds.listed_fields(roots, scheme), "cut": roots[0].above is not None, "source": problem.source}
    console = console_for(outputs["--json"])
    console.print(
        f"{problem}\n{scheme}: no lossless verifier exceeds {fields['upper_float']:.6f} tokens a block, one attains "
        "it (float64, trees listed, no certificate)"
    )
    if fields["cut"]:
        console.print("of these tables alone: a cut vocabulary is bounded from both sides with --scheme delayed")
    write_json(outputs["--json"], fields)
    return 0


def _bound(
    problem: Problem,
    scheme: Delayed,
    goal: Goal,
    inputs: tuple[str | None, ...],
    outputs: dict[str, str | None],
) -> int:
    """Bound every root and write what was asked for. inputs: paths; outputs: path by flag."""
    json_target, certificate, plot = (outputs[flag] for flag in ("--json", "--certificate", "--plot"))
    expected_seconds(problem.vocab_size, scheme)
    roots = problem.roots(scheme.depth, RATIONAL)
    names = bounds.certificate_names(certificate, roots) if certificate else []
    each = {f"--certificate, file {number}": name for number, name in enumerate(names, start=1)}
    check_files(inputs, {"--json": json_target, "--plot": plot, **each})
    found = bounds.bound_all(roots, scheme, goal)
    if not found:
        return INTERRUPTED
    files = bounds.save_certificates(found, scheme, names)
    fields = {**bound_fields(found, scheme, files), "source": problem.source}
    console = console_for(json_target)
    bound_views.show(console, fields, str(problem), goal.gap)
    if len(found) < len(roots):
        return INTERRUPTED
    write_json(json_target, fields)
    if plot:
        bound_views.draw(fields, str(problem), plot)
        console.print(f"picture: {plot}")
    return 0


def _verify(path: str, instance: str | None, json_target: str | None) -> int:
    """Check a certificate file: exit 0 if it holds, 1 if it is rejected."""
    if not Path(path).is_file():
        raise InvalidInput(f"no certificate {path}; draftproof bound --certificate FILE writes one")
    fields = bounds.verified(path, Instance.load(instance) if instance else None)
    write_json(json_target, fields)
    bound_views.show_verified(console_for(json_target), fields)
    return 0 if fields["valid"] else 1
