"""`draftproof batch`: several requests that share the slots of one target pass, and cuts that choose among drafts."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.cuts import ALL_CUTS, USUAL, named_cuts, requests_of
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.verifiers import Planned, find_verifier
from draftproof.experiments.shared.output import check_files, number_fields, short, write_json
from draftproof.experiments.shared.progress import bar, console_for, counted, duration, remark
from draftproof.simulator.batches.batch import Batch, BatchCheck, Size
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput

#: What each request drafts where neither options nor the instance file say it.
DEFAULT = Delayed(1, 0, 2)


def table(checks: Sequence[BatchCheck], title: str) -> Table:
    """One line a cut."""
    best = max((check.all_tokens for check in checks if check.lossless), default=None)
    view = Table(title=title, title_justify="left", caption_justify="left")
    view.add_column("cut")
    for heading in ("tokens a pass", "of the best", "slots used"):
        view.add_column(heading, justify="right")
    for heading in ("peeks", "lossless", "bias"):
        view.add_column(heading)
    for check in checks:
        share = f"{float(check.all_tokens / best):.2%}" if check.lossless and best else ""
        view.add_row(
            check.cut,
            f"{float(check.all_tokens):.6f}",
            share,
            short(float(check.used), 3),
            "peeks" if check.peek else "no",
            "lossless" if check.lossless else "REFUTED",
            "" if check.lossless else f"{float(check.total_variation):.6f}",
        )
    view.caption = (
        "tokens a pass: of all requests together, exact. peeks: reads a drafted token that it does not keep.\n"
        "bias: total variation of the outputs of all requests from those of independent targets."
    )
    return view


@with_groups()
def batch(
    cuts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CUT]...",
            help=f"{', '.join(ALL_CUTS)} or FILE.py:NAME, as NAME:key=value,..; default: {' '.join(USUAL)}.",
        ),
    ] = None,
    *,
    given: Given,
    shape: opt.Shape,
    requests: Annotated[int, typer.Option(min=1, help="Requests: seeds of a family, or roots of a text.")] = 2,
    budget: Annotated[int, typer.Option(help="Drafted tokens of all requests that one pass verifies.")] = 2,
    verifier: Annotated[str, typer.Option(help="Verifies what is kept of each request.")] = "naive",
    json_target: opt.JsonTarget = None,
) -> int:
    """Exact tokens of all requests under each cut, whether it peeks, and whether their outputs are lossless together.

    Exit 1: some cut is lossy.
    """
    check_files(given.inputs, {"--json": json_target})
    if given.models:
        raise InvalidInput("batches are of a family, a text or an instance file; give one of these in place of models")
    problem = choose_problem(given)
    unshaped = shape == opt.Shape() and given.instance is None
    scheme = DEFAULT if unshaped else opt.choose_scheme(shape, problem)
    if not isinstance(scheme, Delayed):
        raise InvalidInput(f"batches are of delayed trees, not of {scheme}; give --K, --L1 and --L2")
    named = find_verifier(verifier)
    if isinstance(named.verifier, Planned):
        raise InvalidInput(f"{verifier} is planned for one tree, and a cut keeps many; name another verifier")
    size = Size([problem.vocab_size] * requests, scheme)
    size.assert_small()
    made = Batch(requests_of(problem, requests, scheme.depth), scheme, named.verifier, budget)
    chosen = named_cuts(cuts or USUAL, made)
    remark(f"{size.drafts:,} drafts of {counted(requests, 'request')}, {duration(size.seconds * len(chosen))}")
    checks = []
    with bar("cuts", len(chosen)) as tick:
        for spec, cut in chosen:
            checks.append(made.check(cut, spec))
            tick(1)
    source = str(problem).partition(", 8 most frequent roots")[0]
    write_json(json_target, {"source": problem.source, "rows": [row(check) for check in checks]})
    console = console_for(json_target)
    title = f"{counted(requests, 'request')}, {counted(budget, 'slot')}, {named.label} on {scheme}; {source}"
    console.print(table(checks, title))
    for check in checks:
        if check.peek is not None:
            console.print(f"{check.cut} peeks: {check.peek}", soft_wrap=True)
        if check.violation is not None:
            console.print(f"{check.cut} is lossy: {_shortened(check.violation)}", soft_wrap=True)
    return 0 if all(check.lossless for check in checks) else 1


def row(check: BatchCheck) -> dict[str, Any]:
    """A cut as a row."""
    fields = check.to_dict()
    exact = ("tokens", "used", "total_variation")
    numbers = {key: value for name in exact for key, value in number_fields(name, fields.pop(name)).items()}
    by_request = [str(mean) for mean in fields.pop("tokens_by_request")]
    return {**fields, **numbers, "tokens_by_request": by_request, "peek_text": str(check.peek) if check.peek else None}


def _shortened(text: str) -> str:
    """Long fractions as decimals."""
    words = [f"{float(Fraction(w)):.6f}" if len(w) > 12 and w.replace("/", "").isdecimal() else w for w in text.split()]
    return " ".join(words)
