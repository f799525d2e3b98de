"""`draftproof prove`."""

import os
from dataclasses import replace
from typing import Annotated

import typer

from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.given import with_groups
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.shared.output import check_files
from draftproof.experiments.shared.progress import console_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS

_CORES = os.cpu_count() or 1
#: Without --vocab the balance is also checked at random points of this vocabulary size: some bugs need a third token.
LARGER_VOCABULARY = 3
_ABOUT = "What the theorem is about"

Vocab = Annotated[
    str | None,
    typer.Option(
        help="Vocabulary size V (default 2; random points at V = 3 are checked, too), or `any` for every size at once.",
        rich_help_panel=_ABOUT,
    ),
]
Zeros = Annotated[
    bool, typer.Option("--zeros", help="Also for p and q with zero probabilities.", rich_help_panel=_ABOUT)
]
Free = Annotated[
    list[str] | None,
    typer.Option(
        help="Prove it for every value of this parameter (may be repeated), for every result of its `solver`, or for "
        "all `weights`. Not with --vocab any.",
        rich_help_panel=_ABOUT,
    ),
]
Equals = Annotated[
    str | None,
    typer.Option(
        help="Prove that its block efficiency equals this verifier's (with --vocab any: the law of verdicts).",
        rich_help_panel=_ABOUT,
    ),
]
Dominates = Annotated[
    str | None,
    typer.Option(
        help="Prove that its block efficiency is never below this verifier's (with --vocab any: that every drafted "
        "prefix is kept at least as often).",
        rich_help_panel=_ABOUT,
    ),
]
EveryLength = Annotated[
    bool,
    typer.Option(
        "--every-length",
        help="With --vocab any: prove what an induction needs for trees of every depth, too.",
        rich_help_panel=_ABOUT,
    ),
]
Formula = Annotated[
    bool, typer.Option("--formula", help="Block efficiency and acceptance on each cell. Not with --vocab any.")
]
Certificate = Annotated[str | None, typer.Option(help="Write the certificate to this file.", rich_help_panel="Output")]
Resume = Annotated[
    str | None,
    typer.Option(help="Store of rows: a stored theorem, or step of one, is not proved again. Not with --vocab any."),
]
MaxTrees = Annotated[
    int,
    typer.Option(
        min=1,
        help="Refuse shapes with more draft trees; with --vocab any only for a witness.",
        rich_help_panel="How to compute",
    ),
]
Jobs = Annotated[
    int, typer.Option(min=1, help="Number of processes (--vocab any: one).", rich_help_panel="How to compute")
]
WitnessFile = Annotated[
    str | None, typer.Option(help="Where to save a refuting instance (default: a name made from its content).")
]


@with_groups()
def prove(
    verifier: Annotated[
        str, typer.Argument(help="A name from `list` (ensemble:w=1/2 sets a parameter), or FILE.py:NAME.")
    ],
    shape: opt.Shape,
    vocab: Vocab = None,
    zeros: Zeros = False,
    free: Free = None,
    equals: Equals = None,
    dominates: Dominates = None,
    every_length: EveryLength = False,
    formula: Formula = False,
    jobs: Jobs = _CORES,
    max_trees: MaxTrees = 1_000,
    certificate: Certificate = None,
    resume: Resume = None,
    witness: WitnessFile = None,
    json_target: opt.JsonTarget = None,
) -> int:
    """Is VERIFIER lossless for all p and q of full support? Exit 0: proved; 1: refuted; 2: bad input; 3: open.

    Open: neither proved nor refuted, as the solver left some cells undecided or, with --vocab any, as a sum over the
    drafts cannot be computed, or is not shown to be as claimed.
    """
    from draftproof.experiments.cli.prove import any_vocabulary, relating, views, work

    outputs = {"--json": json_target, "--witness": witness, "--certificate": certificate}
    check_files((), {**outputs, "--resume": resume})
    named, size = find_verifier(verifier), _size(vocab)
    request = work.Request(named, size or 2, shape.build(), zeros, tuple(free or ()), max_trees)
    console = console_for(json_target)
    if equals is not None and dominates is not None:
        raise InvalidInput("--equals and --dominates are theorems of their own; give one of them")
    kind, other = (DOMINATES, dominates) if equals is None else (EQUALS, equals)
    relation = None if other is None else (kind, find_verifier(other))
    if size is None:
        if zeros or free or resume:
            raise InvalidInput("--vocab any takes no --zeros, --free or --resume")
        if formula:
            raise InvalidInput("--formula is for one vocabulary size; leave --vocab any out, or take --vocab 2")
        if every_length and relation is not None:
            raise InvalidInput("--every-length is about losslessness; leave --equals and --dominates out")
        asked = any_vocabulary.Asked(request, relation, every_length, certificate, witness, json_target)
        return any_vocabulary.answer(console, asked)
    if every_length:
        raise InvalidInput("--every-length goes with --vocab any")
    store = Store(resume, work.KINDS)
    if relation is not None:
        if formula or free:
            raise InvalidInput("--equals and --dominates are theorems of their own; leave --formula and --free out")
        related = relating.relate_two(request, *relation, certificate, jobs, store)
        return views.show_relation(console, related, witness, json_target)
    larger = work.try_points(request, LARGER_VOCABULARY) if vocab is None and not free else None
    if larger is not None and not larger.holds:
        request = replace(request, vocab_size=LARGER_VOCABULARY)
    known = work.known_row(request, store)
    if known is not None and certificate is None:
        return views.show_stored(console, known, json_target, larger)
    report = work.run_proof(request, formula, certificate, jobs, store)
    work.store_row(report, store)
    return views.show_report(console, replace(report, larger=larger), witness, json_target)


def _size(vocab: str | None) -> int | None:
    """The vocabulary size, None for every size."""
    if vocab is None:
        return 2
    if vocab == "any":
        return None
    try:
        return int(vocab)
    except ValueError:
        raise InvalidInput(f"--vocab {vocab!r} is neither a whole number nor `any`") from None
