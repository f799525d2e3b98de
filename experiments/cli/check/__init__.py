"""`draftproof check`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import NamedVerifier, Planned, Settings, find_verifier
from draftproof.experiments.shared.code import PYTHON_FILE
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.errors import Fails, InvalidInput
from draftproof.simulator.verdicts.lossless import choose_engine


@with_groups()
def check(
    verifier: Annotated[
        str, typer.Argument(help="A name from `list` (ensemble:w=1/2 sets a parameter), or FILE.py:NAME.")
    ],
    given: Given,
    shape: opt.Shape,
    instances: Annotated[
        int | None, typer.Option(min=1, help="Check N random instances of the family; a failure is shrunk.")
    ] = None,
    exhaustive: Annotated[
        int | None,
        typer.Option(min=1, help="Check every instance in multiples of 1/D; the target rows at the leaves are fixed."),
    ] = None,
    arithmetic: opt.ArithmeticName = "rational",
    engine: opt.Engine = "auto",
    backend: opt.Backend = "numpy",
    max_runs: opt.MaxRuns = 20_000_000,
    max_memory: opt.MaxMemory = 4.0,
    witness: Annotated[
        str | None, typer.Option(help="Where to save a witness (default: a name made from its content).")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Seconds for the standard check (default 20).", rich_help_panel="Output")
    ] = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Is VERIFIER lossless? Exit 0: on every instance; 1: refuted; 2: bad input; 3: only by its structure, no proof.

    Without an instance and a scheme, on the standard set: every scheme that its card declares, many small shapes.
    Without an instance, on a scheme of yours: many small instances.
    """
    from draftproof.experiments.cli.check import views as verdicts

    check_files(given.inputs, {"--json": json_target, "--witness": witness})
    named = find_verifier(verifier)
    try:
        return _checked(
            named,
            given,
            shape,
            instances,
            exhaustive,
            lambda: opt.choose_settings(arithmetic, engine, max_runs, max_memory, backend),
            seconds,
            witness,
            json_target,
        )
    except Fails as failure:
        console = console_for(json_target)
        return verdicts.deliver_failure(console, named, arithmetic, failure, given.instance, witness, json_target)


def _checked(
    named: NamedVerifier,
    given: Given,
    shape: opt.Shape,
    instances: int | None,
    exhaustive: int | None,
    choose_settings: Callable[[], Settings],
    seconds: float | None,
    witness: str | None,
    json_target: str | None,
) -> int:
    """The exit code of a check; raises `Fails` for a verifier that fails on an instance."""
    from draftproof.experiments.cli.check import views as verdicts
    from draftproof.experiments.cli.check import work as checking
    from draftproof.experiments.cli.check.standard import check_standard

    user_scheme = shape.scheme is not None and PYTHON_FILE.search(shape.scheme) is not None
    same_scheme = opt.Shape(scheme=shape.scheme) if user_scheme else opt.Shape()
    if (instances, exhaustive) == (None, None) and (given, shape) == (Given(), same_scheme):
        settings = choose_settings()
        scheme = shape.build() if user_scheme else None
        return check_standard(named, settings, 20.0 if seconds is None else seconds, witness, json_target, scheme)
    if seconds is not None:
        raise InvalidInput("--seconds is the time of the standard check; leave it out, or the instance and the scheme")
    chosen_denominator = given.denominator
    if instances is not None and given.denominator is None and given.instance is None:
        given = replace(given, denominator=20)
    problem = choose_problem(given, told=True)
    scheme = opt.choose_scheme(shape, problem)
    settings = choose_settings()
    if not isinstance(named.verifier, Planned):
        choose_engine(named.verifier, scheme, settings.engine)
    if exhaustive is not None and (given.family or given.seed or chosen_denominator):
        raise InvalidInput(
            "--exhaustive takes every instance of its grid; leave out --family, --seed and --denominator"
        )
    if exhaustive is not None and not given.samplings.is_identity:
        raise InvalidInput(
            "--exhaustive takes every instance of its grid as it is; leave out --sampling, --draft-sampling and --told"
        )
    stream = checking.choose_stream(problem, scheme.depth, arithmetic_named(settings.arithmetic), instances, exhaustive)
    source = {**problem.source, "instances": instances} if exhaustive is None else {"exhaustive": exhaustive}
    report = checking.Report(named, scheme, settings, stream, source)
    checking.announce(report)
    checking.run(report)
    return verdicts.deliver(console_for(json_target), report, problem, witness, json_target)
