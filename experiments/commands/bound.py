"""`draftproof bound`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiments import options as opt
from experiments.commands._common import console_for
from experiments.output import check_files, number_fields, write_json
from experiments.progress import INTERRUPTED
from simulator.arithmetic import RATIONAL
from simulator.errors import InvalidInput


@opt.with_instance()
def bound(
    given: opt.Given,
    K: opt.Branches = None,
    L1: opt.Trunk = None,
    L2: opt.Branch = None,
    gap: Annotated[float, typer.Option(help="Certified gap to reach.", rich_help_panel="How to compute")] = 1e-6,
    seconds: Annotated[
        float | None, typer.Option(help="Stop each program after so long.", rich_help_panel="How to compute")
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
    from experiments import bounds

    check_files(
        (given.instance, given.text, verify), {"--json": json_target, "--certificate": certificate, "--plot": plot}
    )
    console = console_for(json_target)
    if verify is not None:
        others = (K, L1, L2, seconds, certificate, plot)
        plain = replace(given, instance=None) == opt.Given() and (gap, method) == (1e-6, "auto")
        if not plain or any(value is not None for value in others):
            raise InvalidInput(
                "--verify checks one file; it takes only --instance (the rows it should be about) and --json"
            )
        return _verify(verify, given.instance, json_target)
    problem = opt.choose_problem(given)
    scheme = bounds.delayed_only(opt.choose_scheme(None, None, None, problem, K=K, L1=L1, L2=L2))
    goal = bounds.Goal(gap, seconds, method)
    bounds.expected_seconds(problem.vocab_size, scheme)
    every = problem.roots(scheme.depth, RATIONAL)
    names = bounds.certificate_names(certificate, len(every)) if certificate else []
    outputs = {
        "--json": json_target,
        "--plot": plot,
        **{f"--certificate, root {n}": name for n, name in enumerate(names, 1)},
    }
    check_files((given.instance, given.text), outputs)
    found = bounds.bound_all(every, scheme, goal)
    if not found:
        return INTERRUPTED
    files = bounds.save_certificates(found, scheme, names)
    fields = {**bounds.bound_fields(found, scheme, files), "source": problem.source}
    from experiments import bound_views

    bound_views.show(console, fields, str(problem), gap)
    if len(found) < len(every):
        return INTERRUPTED
    write_json(json_target, fields)
    if plot:
        bound_views.draw(fields, str(problem), plot)
        console.print(f"picture: {plot}")
    return 0


def _verify(path: str, instance: str | None, json_target: str | None) -> int:
    from lp_analysis import check_file
    from simulator.instance import Instance

    if not Path(path).is_file():
        raise InvalidInput(f"no certificate {path}; draftproof bound --certificate FILE writes one")
    about = Instance.load(instance) if instance else None
    console = console_for(json_target)
    try:
        lower, upper = check_file(path, about)
    except InvalidInput as error:
        write_json(json_target, {"certificate": path, "valid": False, "reason": str(error)})
        console.print(f"{path}: REJECTED\n  {error}", soft_wrap=True)
        return 1
    fields = {**number_fields("lower", lower), **number_fields("upper", upper), **number_fields("gap", upper - lower)}
    write_json(json_target, {"certificate": path, "valid": True, **fields})
    console.print(f"{path}: VALID, recomputed in rationals without a solver")
    console.print(
        f"  some lossless verifier has block efficiency {float(lower):.9f}, none has more than {float(upper):.9f}"
    )
    console.print(f"  gap {float(upper - lower):.1e}" if upper > lower else "  gap 0")
    return 0
