"""`draftproof model validate`."""

import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from draftproof.experiments.inputs.latency import TimeModel
from draftproof.experiments.inputs.options import grouped
from draftproof.experiments.inputs.verifiers import chosen_verifiers
from draftproof.experiments.models import options as opt
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.protocol import DraftScheme

_HOW: Any = {"rich_help_panel": "How much"}

Replace = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=OTHER",
        help="Run OTHER (a name, or FILE.py:NAME) instead of NAME, with its predictions: a planted bias must be found.",
    ),
]
Roots = Annotated[
    int | None,
    typer.Option(min=1, help="Root contexts of the text (default 4), or prompts (default all, up to 16).", **_HOW),
]
Blocks = Annotated[int | None, typer.Option(min=1, help="Blocks a cell (default: standard error 0.015).", **_HOW)]
Lossy = Annotated[
    list[str] | None,
    typer.Option("--lossy", help="A verifier known to be lossy: its violations are no failure.", **_HOW),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", help="Choose the tree of every block: selector (of --pair), its file, or FILE.py:NAME."),
]
Dask = Annotated[
    str | None, typer.Option("--dask", help="A Dask scheduler that computes the cells, as tcp://HOST:PORT.", **_HOW)
]
Quick = Annotated[bool, typer.Option("--quick", help="Less training, fewer runs and roots.", **_HOW)]


@grouped(sampling=opt.SamplingOptions, pair=opt.PairOptions, shape=opt.SchemeOptions, files=opt.FileOptions)
def validate(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: eight of them.")] = None,
    *,
    replace: Replace = None,
    lossy: Lossy = None,
    sampling: opt.SamplingOptions,
    vectors: opt.Vectors = "numpy",
    seed: opt.Seed = 0,
    pair: opt.PairOptions,
    shape: opt.SchemeOptions,
    roots: Roots = None,
    blocks: Blocks = None,
    quick: Quick = False,
    policy: Policy = None,
    dask: Dask = None,
    files: opt.FileOptions,
) -> int:
    """Predicted against measured on real models, and is the loop lossless? Exit 0: as predicted; 1: not; 2: bad input.

    Without --pair or --target a small pair is trained first, on the text that ships with Python. A verifier runs on the
    schemes that its card declares; a tree that is planned, as Sequoia's, is planned on the roots. A verifier of a
    file is checked exactly on small instances first, for seconds.
    """
    started = time.perf_counter()
    files.check(pair.inputs)
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    if policy is not None:
        given = {"--replace": replace, "--lossy": lossy, "--quick": quick, "--dask": dask, **files.given()}
        return _of_policy(
            policy,
            {**given, "--scheme": shape.scheme, "--told": sampling.told},
            chosen or [],
            (sampling, pair, shape, files),
            (roots, blocks),
            seed,
            vectors,
        )
    from draftproof.experiments.cli.check.standard import exact_checks
    from draftproof.experiments.grid.machines import Machines
    from draftproof.experiments.models.measure.verifiers import measured_verifiers
    from draftproof.experiments.models.validate import run as work

    named = chosen_verifiers(chosen or list(work.VERIFIERS))
    schemes, replaced = shape.schemes(work.SHAPES), work.parse_replaced(replace or [])
    samplings, amount = sampling.samplings(), work.Amount(roots, blocks, quick)
    user_defined = {one.label: one.executed for one in measured_verifiers(named, replaced) if one.executed.from_file}
    console, machines = console_for(files.json_target), Machines(1, dask)
    try:
        checked = exact_checks(console, user_defined, schemes)
        with work.open_pair(pair.wanted(seed, quick)) as opened:
            validation = work.make_validation(opened, named, replaced, schemes, samplings, amount, seed, vectors)
            report = work.run(console, opened, validation, files.resume, started, lossy or (), checked, machines)
            times = _times(opened.pair, schemes) if files.times else None
    except KeyboardInterrupt:
        work.say_interrupted(files.resume)
        return INTERRUPTED
    if times:
        times.save(str(files.times))
        console.print(f"times: {files.times}, for compare --cost", soft_wrap=True)
    return work.deliver(console, report, files.json_target, files.markdown, files.plot)


def _of_policy(
    spec: str,
    other: dict[str, Any],
    chosen: list[str],
    groups: tuple[opt.SamplingOptions, opt.PairOptions, opt.SchemeOptions, opt.FileOptions],
    amount: tuple[int | None, int | None],
    seed: int,
    vectors: str,
) -> int:
    """Validate a policy. other: the options that do not apply to policies, by flag."""
    from draftproof.experiments.models.validate import policy as work

    work.check_options(other, chosen)
    sampling, pair, shape, files = groups
    (named,) = chosen_verifiers(chosen or ["specinfer"])
    console = console_for(files.json_target)
    try:
        report = work.validate_policy(spec, named, pair, shape, sampling.samplings(), amount, seed, vectors)
    except KeyboardInterrupt:
        remark("interrupted; nothing was written")
        return INTERRUPTED
    return work.deliver(console, report, files.json_target)


def _times(pair: Any, schemes: Sequence[DraftScheme]) -> TimeModel:
    """The times of passes after contexts as long as the roots."""
    from draftproof.experiments.models.measure.passes import measured_times
    from draftproof.experiments.models.pair.roots import CONTEXT_TOKENS

    remark("times of passes")
    return measured_times(pair, CONTEXT_TOKENS, schemes)
