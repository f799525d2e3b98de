"""`draftproof choose`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from draftproof.experiments.inputs.options import JsonTarget, grouped
from draftproof.experiments.inputs.text import text_files
from draftproof.experiments.inputs.verifiers import chosen_verifiers
from draftproof.experiments.models import options as opt
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import INTERRUPTED, console_for, remark
from draftproof.simulator.drafts import Delayed

_HOW: Any = {"rich_help_panel": "How much"}
_OUT: Any = {"rich_help_panel": "Output"}

VERIFIERS = ("naive", "specinfer", "block", "traversal", "path_transport", "layer_transport")
#: Single paths, branches at once and branches late, up to twelve drafted tokens.
SHAPES = tuple(
    Delayed(K, L1, L2)
    for K in (1, 2, 3, 4)
    for L1 in ((0, 1, 2) if K > 1 else (0,))
    for L2 in ((1, 2, 3) if K > 1 else (1, 2, 3, 4, 6))
    if L1 + K * L2 <= 12
)

Roots = Annotated[int, typer.Option(min=1, help="Root contexts of the text, the same for all candidates.", **_HOW)]
Tokens = Annotated[int, typer.Option(min=4, help="Tokens after each root in a measurement.", **_HOW)]
Rounds = Annotated[int, typer.Option(min=2, max=10, help="Rounds of the best against each other.", **_HOW)]
Plot = Annotated[str | None, typer.Option("--plot", help="PNG of the ranking.", **_OUT)]


@grouped(sampling=opt.SamplingOptions, pair=opt.PairOptions, shape=opt.SchemeOptions)
def choose(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[VERIFIER]...", help="Default: six of them.")] = None,
    *,
    sampling: opt.SamplingOptions,
    vectors: opt.Vectors = "numpy",
    clock: opt.Clock = "wall",
    seed: opt.Seed = 0,
    pair: opt.PairOptions,
    shape: opt.SchemeOptions,
    roots: Roots = 8,
    tokens: Tokens = 32,
    rounds: Rounds = 5,
    json_target: JsonTarget = None,
    plot: Plot = None,
) -> int:
    """Which tree and which verifier for this pair, on this machine? By tokens a second; lossless ones only.

    Tokens a second are those that are expected of a block, exact or estimated, over the measured seconds of a block.

    Candidates that could not be the fastest, even if every block were quick, are left out and said so. A verifier runs
    on the schemes that its card claims; a tree that is planned, as Sequoia's, is planned on the roots of the text.
    """
    check_files(text_files(pair.text), {"--json": json_target, "--plot": plot})
    from draftproof.experiments.models.pair.devices import libraries

    libraries()
    from draftproof.experiments.cli import choose_views as views
    from draftproof.experiments.models.measure import choose as work

    named = chosen_verifiers(chosen or list(VERIFIERS))
    schemes, warp = shape.schemes(SHAPES), sampling.warp()
    amount = work.Amount(roots, tokens, rounds)
    console = console_for(json_target)
    try:
        with work.open_pair(pair.wanted(seed)) as opened:
            found = work.choose(opened, named, schemes, warp, amount, seed, vectors, clock)
    except KeyboardInterrupt:
        remark("interrupted; nothing was written")
        return INTERRUPTED
    views.show(console, found)
    write_json(json_target, found)
    if plot:
        write_whole(plot, views.figure(found))
        console.print(f"picture: {plot}")
    return 0
