"""`draftproof train-selector`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.latency import time_model
from draftproof.experiments.inputs.options import JsonTarget
from draftproof.experiments.inputs.policies import shapes_of
from draftproof.experiments.inputs.text import EMBEDDED, text_files
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.models import options as opt
from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.errors import InvalidInput

_SHAPE: Any = {"rich_help_panel": "Shapes to choose from"}
_HOW: Any = {"rich_help_panel": "How much"}

Folder = Annotated[str | None, typer.Option("--pair", help="Folder of `train`; the selector is kept in it.")]
Out = Annotated[str | None, typer.Option("--out", help="Folder of the selector, where it is not that of --pair.")]
BranchRange = Annotated[str, typer.Option("--K", help="Branches, as 2 or 1..4.", **_SHAPE)]
TrunkRange = Annotated[str, typer.Option("--L1", help="Trunk lengths.", **_SHAPE)]
LengthRange = Annotated[str, typer.Option("--L2", help="Branch lengths.", **_SHAPE)]
MaxNodes = Annotated[int | None, typer.Option(min=1, help="Only shapes of at most N drafted tokens.", **_SHAPE)]
Times = Annotated[
    str | None, typer.Option("--cost", help="Times as draft=1,branch=.1,target=10,node=.1 or a file; else measured.")
]
Roots = Annotated[int, typer.Option(min=1, help="Root contexts of the held-out text, a fifth held out.", **_HOW)]
Trees = Annotated[int, typer.Option(min=2, help="Trees a label, where labels are not exact.", **_HOW)]
Exact = Annotated[
    bool | None,
    typer.Option(
        "--exact/--sampled", help="Labels; by default exact where that takes milliseconds.", show_default=False, **_HOW
    ),
]


def train_selector(
    chosen: Annotated[str, typer.Argument(metavar="[VERIFIER]")] = "specinfer",
    *,
    folder: Folder = None,
    target: opt.Target = None,
    draft: opt.Draft = None,
    out: Out = None,
    K: BranchRange = "1..4",
    L1: TrunkRange = "0..2",
    L2: LengthRange = "0..2",
    max_nodes: MaxNodes = None,
    sampling: opt.Samplings = None,
    cost: Times = None,
    text: opt.TextName = EMBEDDED,
    device: opt.Device = "auto",
    roots: Roots = 400,
    trees: Trees = 16,
    exact: Exact = None,
    seed: opt.Seed = 0,
    resume: opt.Resume = None,
    json_target: JsonTarget = None,
) -> int:
    """Train a network that chooses the tree of every block for one verifier on a pair, and say what it is worth.

    Labels are exact where the verifier goes from the top down and tables are small, else means over sampled trees.
    """
    check_files(text_files(text), {"--resume": resume, "--json": json_target})
    kept = Store(resume)
    if folder is None and target is None:
        raise InvalidInput(
            "no pair is named; give the folder of one that draftproof trained, --pair, or --target and --draft"
        )
    if (kept_in := out or folder) is None:
        raise InvalidInput("--out is missing: the folder that the selector of these models is kept in")
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.cli import train_selector_views as views
    from draftproof.experiments.models.pair.opened import Wanted
    from draftproof.experiments.models.pair.warp import parse_warp
    from draftproof.experiments.models.selector.making import train

    wanted, named = Wanted(folder, target, draft, device, text=text), find_verifier(chosen)
    actions = shapes_of(K, L1, L2, max_nodes)
    warps = list(dict.fromkeys(map(parse_warp, sampling or [""])))
    if any(warp.top_k is not None for warp in warps):
        raise InvalidInput("--sampling: networks know temperature and top_p; leave out top_k")
    times = None if cost is None else time_model(cost)
    if times is not None:
        times.check(actions)
    console = console_for(json_target)
    try:
        report = train(wanted, kept_in, named, actions, warps, times, (roots, trees, seed), exact, kept)
    except KeyboardInterrupt:
        where = f"; labels so far are kept in {resume}" if resume else "; --resume FILE would keep labels"
        remark(f"interrupted{where}; no other file was written")
        return INTERRUPTED
    views.show(console, report)
    write_json(json_target, report)
    return 0
