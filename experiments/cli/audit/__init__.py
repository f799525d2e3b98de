"""`draftproof audit`."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import Given, with_groups
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.audit.interfaces import INTERFACES
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.sampling import Sampling

_HOW = "How the function is called"
_PROCESSING = "Processing inside the function"

Interface = Annotated[str, typer.Option(help=f"One of {', '.join(INTERFACES)}.", rich_help_panel=_HOW)]
Library = Annotated[
    str | None,
    typer.Option(help="Rows as python lists, numpy or torch (default: the interface's).", rich_help_panel=_HOW),
]
Logits = Annotated[bool, typer.Option("--logits", help="Pass rows as natural logarithms.", rich_help_panel=_HOW)]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--argument",
        help="Another argument, NAME=VALUE, or what the code reads, self.NAME=VALUE, global.NAME=VALUE.",
        rich_help_panel=_HOW,
    ),
]
Batch = Annotated[int, typer.Option(min=1, help="Requests in one call.", rich_help_panel=_HOW)]
Kind = Annotated[
    str, typer.Option("--arithmetic", help="Rows in float64, float32 or rational.", rich_help_panel="How to compute")
]
Cases = Annotated[
    str | None, typer.Option(help="Only these default instances: context,zeros,..", rich_help_panel="Instance")
]
Also = Annotated[
    str | None,
    typer.Option(
        help="Instances to add: masked (tokens of probability zero, as logits -inf).",
        rich_help_panel="Instance",
    ),
]
Processing = Annotated[
    str | None,
    typer.Option(
        help="How the function itself processes rows, written as for --sampling.", rich_help_panel=_PROCESSING
    ),
]
Instances = Annotated[
    int | None, typer.Option(min=1, help="Audit N random instances of the family.", rich_help_panel="Instance")
]
Lengths = Annotated[
    str | None,
    typer.Option(help="Paths of these lengths: 2,1; in a batch one for each request.", rich_help_panel="Drafts"),
]
Boundary = Annotated[
    bool,
    typer.Option(
        "--boundary", help="Also try random numbers at the ends of their range.", rich_help_panel="How to compute"
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refute any bias beyond the rounding of the rows, as --tolerance 0 does.",
        rich_help_panel="How to compute",
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(
        help="The largest bias that is lossless, an exact total variation; 1e-2 for an engine of 16 bits.",
        rich_help_panel="How to compute",
    ),
]
Shrink = Annotated[
    bool, typer.Option(help="Search for the smallest witness of a refutation.", rich_help_panel="How to compute")
]
Sample = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Where no exact answer is possible: up to N calls with real random numbers; never a proof.",
        rich_help_panel="How to compute",
    ),
]
Level = Annotated[
    float,
    typer.Option(
        help="With --sample: the largest probability that a lossless function is refuted.",
        rich_help_panel="How to compute",
    ),
]
ShrinkSeconds = Annotated[
    float,
    typer.Option(
        min=0, help="Seconds of that search; then the smallest one so far is kept.", rich_help_panel="How to compute"
    ),
]
Gallery = Annotated[
    str | None,
    typer.Option(
        metavar="CHECKOUT",
        help="Audit a public project again from its checkout, or all in a folder of checkouts: FUNCTION is then an "
        "entry of `list gallery`, or nothing for all. Exit 1: not as recorded.",
        rich_help_panel=_HOW,
    ),
]
WitnessFile = Annotated[str | None, typer.Option("--witness", help="Where to save a witness.")]


@with_groups()
def audit(
    call: typer.Context,
    function: Annotated[
        str | None, typer.Argument(metavar="FILE.py:FUNCTION", help="Or an installed MODULE:FUNCTION.")
    ] = None,
    *,
    given: Given,
    shape: opt.Shape,
    interface: Interface = "tree",
    library: Library = None,
    logits: Logits = False,
    argument: Arguments = None,
    batch: Batch = 1,
    processing: Processing = None,
    cases: Cases = None,
    also: Also = None,
    instances: Instances = None,
    lengths: Lengths = None,
    arithmetic: Kind = "float64",
    boundary: Boundary = False,
    strict: Strict = False,
    tolerance: Tolerance = 1e-6,
    max_runs: opt.MaxRuns = 2_000_000,
    shrink: Shrink = True,
    shrink_seconds: ShrinkSeconds = 60,
    sample: Sample = None,
    level: Level = 1e-6,
    gallery: Gallery = None,
    witness: WitnessFile = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Is FUNCTION, somebody else's verifier, lossless? Exit 0: on every instance; 1: refuted; 2: not judged.

    With --sample a refusal is followed by a test on real random numbers. Exit 1: refuted at --level, or it fails in
    some calls; 2: no bias found.
    """
    from draftproof.experiments.cli.audit import plan as audit_plan
    from draftproof.experiments.cli.audit import views as audit_views
    from draftproof.experiments.cli.audit.work import run_audit
    from draftproof.simulator.audit.verdict import NOT_JUDGED, Request

    check_files(given.inputs, {"--json": json_target, "--witness": witness})
    if not 0 < level < 1:
        raise InvalidInput(f"--level {level}: give the largest probability of a false alarm, such as 1e-6")
    if gallery is not None:
        from draftproof.experiments.gallery.measuring import measure

        _refuse_others(call, ("function", "gallery", "json_target"))
        return measure(function, Path(gallery), json_target)
    if function is None:
        raise InvalidInput("no function is named; write FILE.py:FUNCTION or MODULE:FUNCTION")
    options: dict[str, Any] = {"interface": interface, "library": library, "logits": logits, "batch": batch}
    chain = Sampling.parse(processing or "", "--processing")
    chain.assert_row_wise()
    options |= {"arithmetic": arithmetic, "processing": chain.text, "tolerance": 0 if strict else tolerance}
    audited = audit_plan.load_audit(function, argument or [], **options)
    planned = audit_plan.chosen_cases(audited, given, shape, lengths, cases, instances)
    added = audit_plan.names_of(also)
    planned += audit_plan.added_cases(audited, given, shape, lengths, added, planned)
    request = Request(function, audited, planned, boundary, max_runs, given.samplings)
    try:
        report = run_audit(request, shrink, shrink_seconds)
    except NOT_JUDGED as error:
        if sample is None:
            raise
        from draftproof.experiments.cli.audit import sampled

        found = sampled.sample(request, str(error), sample, level, given.seed)
        return sampled.deliver(console_for(json_target), found, json_target)
    return audit_views.deliver(console_for(json_target), report, witness, json_target)


def _refuse_others(call: typer.Context, allowed: Collection[str]) -> None:
    """Raises `InvalidInput` for an option that is given beside `--gallery`."""
    for option in call.command.params:
        source = call.get_parameter_source(str(option.name))
        if option.name not in allowed and source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(f"--gallery audits an entry as it was recorded; leave out {option.opts[0]}")
