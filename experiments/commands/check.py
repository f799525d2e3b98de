"""`draftproof check`."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments import options as opt
from experiments.commands._common import console_for
from experiments.names import find_verifier
from experiments.output import check_files
from experiments.planned import Planned
from simulator.arithmetic import arithmetic_named
from simulator.errors import InvalidInput
from simulator.lossless import choose_engine


def check(
    verifier: Annotated[
        str, typer.Argument(help="A name from `list` (relaxed:w=1/2 sets a parameter), or FILE.py:NAME.")
    ],
    instance: opt.InstanceFile = None,
    text: opt.TextFile = None,
    family: opt.Family = None,
    vocab: opt.Vocab = None,
    seed: opt.Seed = 0,
    target_order: opt.TargetOrder = None,
    draft_order: opt.DraftOrder = None,
    root: opt.RootText = None,
    roots: opt.Roots = None,
    denominator: opt.Denominator = None,
    instances: Annotated[
        int | None, typer.Option(min=1, help="Check N random instances of the family; a failure is shrunk.")
    ] = None,
    exhaustive: Annotated[
        int | None, typer.Option(min=1, help="Check every instance whose probabilities are multiples of 1/D.")
    ] = None,
    scheme: opt.Scheme = None,
    tree: opt.Tree = None,
    confidence: opt.Confidence = None,
    K: Annotated[int | None, typer.Option("--K", help="Branches (default 2).", rich_help_panel="Scheme")] = None,
    L1: Annotated[int | None, typer.Option("--L1", help="Trunk length (default 0).", rich_help_panel="Scheme")] = None,
    L2: Annotated[int | None, typer.Option("--L2", help="Branch length (default 2).", rich_help_panel="Scheme")] = None,
    arithmetic: opt.ArithmeticName = "rational",
    engine: opt.Engine = "auto",
    backend: opt.Backend = "numpy",
    max_runs: opt.MaxRuns = 20_000_000,
    max_memory: opt.MaxMemory = 4.0,
    witness: Annotated[
        str | None, typer.Option(help="Where to save a witness (default: a name made from its content).")
    ] = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Is VERIFIER lossless? Exit 0: lossless on every instance; 1: refuted, with a witness; 2: bad input."""
    from experiments import checking, verdicts

    check_files((instance, text), {"--json": json_target, "--witness": witness or "witness.json"})
    named = find_verifier(verifier)
    problem = opt.choose_problem(
        instance=instance,
        text=text,
        family=family,
        vocab=vocab,
        seed=seed,
        target_order=target_order,
        draft_order=draft_order,
        root=root,
        roots=roots,
        denominator=20 if instances is not None and denominator is None else denominator,
    )
    shape = opt.choose_scheme(scheme, tree, confidence, problem, K=K, L1=L1, L2=L2)
    settings = opt.choose_settings(arithmetic, engine, max_runs, max_memory, backend)
    if not isinstance(named.verifier, Planned):
        choose_engine(named.verifier, shape, engine)
    if exhaustive is not None and (family or seed or denominator):
        raise InvalidInput(
            "--exhaustive takes every instance of its grid; leave out --family, --seed and --denominator"
        )
    stream = checking.choose_stream(problem, shape.depth, arithmetic_named(arithmetic), instances, exhaustive)
    source = {**problem.source, "instances": instances} if exhaustive is None else {"exhaustive": exhaustive}
    report = checking.Report(named, shape, settings, stream, source)
    checking.announce(report)
    checking.run(report)
    return verdicts.deliver(console_for(json_target), report, problem, witness, json_target)
