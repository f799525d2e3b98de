"""`draftproof prove`."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.shared import options as opt
from experiments.shared.consoles import console_for
from experiments.shared.names import find_verifier
from experiments.shared.output import check_files

_ABOUT = "What the theorem is about"

Vocab = Annotated[int, typer.Option(help="Vocabulary size V.", rich_help_panel=_ABOUT)]
Zeros = Annotated[bool, typer.Option("--zeros", help="Also p and q with probabilities 0.", rich_help_panel=_ABOUT)]
MaxTrees = Annotated[int, typer.Option(min=1, help="Refuse more draft trees.", rich_help_panel="How to compute")]
WitnessFile = Annotated[
    str | None, typer.Option(help="Where to save a refuting instance (default: a name made from its content).")
]


def prove(
    verifier: Annotated[
        str, typer.Argument(help="A name from `list` (relaxed:w=1/2 sets a parameter), or FILE.py:NAME.")
    ],
    vocab: Vocab = 2,
    zeros: Zeros = False,
    scheme: opt.Scheme = None,
    tree: opt.Tree = None,
    confidence: opt.Confidence = None,
    K: opt.Branches = None,
    L1: opt.Trunk = None,
    L2: opt.Branch = None,
    max_trees: MaxTrees = 1_000,
    witness: WitnessFile = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Is VERIFIER lossless for every p and q? Exit 0: proved; 1: refuted; 2: bad input; 3: not all cells are known."""
    from experiments.commands.prove import views, work

    check_files((), {"--json": json_target, "--witness": witness or "witness.json"})
    given = {"K": K, "L1": L1, "L2": L2}
    shape_of = opt.build_scheme(
        scheme or "delayed", tree, confidence, **{key: value for key, value in given.items() if value is not None}
    )
    request = work.Request(find_verifier(verifier), vocab, shape_of, zeros, max_trees)
    return views.deliver(console_for(json_target), work.conduct(request), witness, json_target)
