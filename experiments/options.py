"""The options that commands share, and what they mean."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from experiments.names import family_spec
from experiments.problem import FamilyProblem, FileProblem, Problem, TextProblem
from experiments.text import EMBEDDED, read_text
from simulator.errors import InvalidInput
from simulator.families import FAMILIES, family_named
from simulator.instance import Instance
from simulator.ngram import TextPair
from simulator.schemes import SCHEMES, Delayed

_WHERE = "Instance"
_SHAPE = "Scheme"
_HOW = "How to compute"
_OUT = "Output"

InstanceFile = Annotated[str | None, typer.Option("--instance", help="An instance file.", rich_help_panel=_WHERE)]
TextFile = Annotated[
    str | None,
    typer.Option(
        "--text", help=f"n-gram pair from a UTF-8 file, or from {EMBEDDED} (embedded).", rich_help_panel=_WHERE
    ),
]
Family = Annotated[
    str | None,
    typer.Option(help=f"Synthetic: {', '.join(FAMILIES)}; parameters as perturbed:s=1.", rich_help_panel=_WHERE),
]
Vocab = Annotated[int | None, typer.Option(help="Vocabulary size V (default 3).", rich_help_panel=_WHERE)]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the family.", rich_help_panel=_WHERE)]
TargetOrder = Annotated[int | None, typer.Option(help="Order m of the target (default 3).", rich_help_panel=_WHERE)]
DraftOrder = Annotated[int | None, typer.Option(help="Order n of the draft (default 1).", rich_help_panel=_WHERE)]
RootText = Annotated[
    str | None,
    typer.Option(
        "--root", help="Text before the root (default: the 8 most frequent contexts).", rich_help_panel=_WHERE
    ),
]
Roots = Annotated[
    int | None,
    typer.Option(
        "--roots", min=1, help="Number of most frequent root contexts of a text (default 8).", rich_help_panel=_WHERE
    ),
]
Denominator = Annotated[
    int | None,
    typer.Option(
        help="Common denominator of all probabilities (default 65536; 20 with --instances).", rich_help_panel=_WHERE
    ),
]
Scheme = Annotated[str | None, typer.Option(help="Draft scheme: delayed.", rich_help_panel=_SHAPE)]
ArithmeticName = Annotated[str, typer.Option("--arithmetic", help="rational or float64.", rich_help_panel=_HOW)]
Engine = Annotated[str, typer.Option(help="auto, enumerate or structured.", rich_help_panel=_HOW)]
MaxRuns = Annotated[int, typer.Option(min=1, help="Refuse work of more runs of the verifier.", rich_help_panel=_HOW)]
JsonTarget = Annotated[
    str | None, typer.Option("--json", help="JSON to a file, or - for stdout.", rich_help_panel=_OUT)
]


def choose_problem(
    *,
    instance: str | None,
    text: str | None,
    family: str | None,
    vocab: int | None,
    seed: int,
    target_order: int | None,
    draft_order: int | None,
    root: str | None,
    roots: int | None,
    denominator: int | None,
) -> Problem:
    """The problem that the options describe; raises `InvalidInput` for options that contradict each other."""
    given = [name for name, value in (("--instance", instance), ("--text", text), ("--family", family)) if value]
    if len(given) > 1:
        raise InvalidInput(f"{given[0]} and {given[1]} both say where the instance comes from; give one of them")
    orders = {"--target-order": target_order, "--draft-order": draft_order, "--root": root, "--roots": roots}
    for flag, value in orders.items():
        if value is not None and text is None:
            raise InvalidInput(f"{flag} belongs to a text; add --text FILE or --text {EMBEDDED}")
    if instance is not None:
        for flag, number in (("--vocab", vocab), ("--denominator", denominator)):
            if number is not None:
                raise InvalidInput(f"{flag} has no effect on --instance {instance}; leave it out")
        return FileProblem(instance, Instance.load(instance))
    size = 3 if vocab is None else vocab
    grain = 2**16 if denominator is None else denominator
    if text is not None:
        order = 3 if target_order is None else target_order
        draft = min(1, order) if draft_order is None else draft_order
        pair = TextPair(read_text(text), size, order, draft, grain)
        if root is None:
            return TextProblem(text, pair, count=8 if roots is None else roots)
        if roots is not None:
            raise InvalidInput("--root gives one context, --roots a number of them; give one of the two")
        pair.root_of(root)
        return TextProblem(text, pair, root)
    name, parameters = family_spec(family or "dirichlet")
    family_named(name).instance(
        size, 0, np.random.default_rng(seed), grain, **parameters
    )  # fails now rather than later
    return FamilyProblem(name, size, seed, grain, parameters)


def check_scheme_name(name: str | None) -> None:
    """Raises `InvalidInput` for a scheme that does not exist."""
    if name is not None and name not in SCHEMES:
        raise InvalidInput(f"unknown scheme {name!r}; known: {', '.join(SCHEMES)}")


def choose_scheme(name: str | None, K: int | None, L1: int | None, L2: int | None, problem: Problem) -> Delayed:
    """The scheme that the flags give; what they leave out comes from the instance file, then from the defaults."""
    check_scheme_name(name)
    base = Delayed()
    if isinstance(problem, FileProblem):
        if isinstance(problem.instance.scheme, Delayed):
            base = problem.instance.scheme
        elif problem.instance.depth < base.depth:
            base = Delayed(2, 0, problem.instance.depth) if problem.instance.depth else Delayed(1, 0, 0)
    return Delayed(base.K if K is None else K, base.L1 if L1 is None else L1, base.L2 if L2 is None else L2)
