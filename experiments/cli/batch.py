"""`draftproof batch`: several requests that share the slots of one target pass, and cuts that choose among drafts."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table

from draftproof.experiments.inputs import options as opt
from draftproof.experiments.inputs.cuts import ALL_CUTS, USUAL, named_cuts, requests_of
from draftproof.experiments.inputs.given import Given, choose_problem, with_groups
from draftproof.experiments.inputs.sources import FamilyProblem, TextProblem
from draftproof.experiments.inputs.verifiers import Planned, find_verifier
from draftproof.experiments.shared.output import check_files, number_fields, short, write_json
from draftproof.experiments.shared.progress import bar, console_for, counted, duration, remark
from draftproof.simulator.batches.batch import Batch, BatchCheck, Size
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput

#: What each request drafts where neither options nor the instance file say it.
DEFAULT = Delayed(1, 0, 2)


def table(rows: Sequence[dict[str, Any]], title: str) -> Table:
    """One line a cut."""
    view = Table(title=title, title_justify="left", caption_justify="left")
    view.add_column("cut")
    several = rows[0]["batches"] > 1
    for heading in ("tokens a pass", "of the best", *(["at least"] if several else []), "slots used"):
        view.add_column(heading, justify="right")
    for heading in ("peeks", "lossless", "bias"):
        view.add_column(heading)
    for line in rows:
        shares = [line["share"], line["least_share"]] if several else [line["share"]]
        view.add_row(
            line["cut"],
            f"{line['tokens_float']:.6f}",
            *("" if share is None else f"{share:.2%}" for share in shares),
            short(line["used_float"], 3),
            "peeks" if line["peeks"] else "no",
            "lossless" if line["lossless"] else "REFUTED",
            "" if line["lossless"] else f"{line['total_variation_float']:.6f}",
        )
    view.caption = (
        "tokens a pass: of all requests together, exact. peeks: reads a drafted token that it does not keep.\n"
        "bias: total variation of the outputs of all requests from those of independent targets"
        + (", the largest." if several else ".")
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
    batches: Annotated[int, typer.Option(min=1, help="Batches of a family; the table has means over them.")] = 1,
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
    sources = [problem]
    if isinstance(problem, FamilyProblem):
        sources = [replace(problem, seed=problem.seed + number * requests) for number in range(batches)]
    elif batches > 1:
        raise InvalidInput(f"--batches {batches} is for families, whose seeds go on; leave it out with {problem.flag}")
    specs = list(dict.fromkeys(cuts or USUAL))
    remark(
        f"{_batches(batches)} of {size.drafts:,} drafts of {counted(requests, 'request')}, "
        f"{duration(size.seconds * len(specs) * batches)}"
    )
    checks: list[list[BatchCheck]] = []
    with bar("cuts", len(specs) * batches) as tick:
        for source in sources:
            made = Batch(requests_of(source, requests, scheme.depth), scheme, named.verifier, budget)
            checks.append([])
            for spec, cut in named_cuts(specs, made):
                checks[-1].append(made.check(cut, spec))
                tick(1)
    rows = rows_of(checks)
    write_json(json_target, {"source": problem.source, "rows": rows})
    console = console_for(json_target)
    about = problem.without_roots if isinstance(problem, TextProblem) and problem.root is None else str(problem)
    many = f"{_batches(batches)} of " if batches > 1 else ""
    title = f"{many}{counted(requests, 'request')}, {counted(budget, 'slot')}, {named.label} on {scheme}; {about}"
    console.print(table(rows, title))
    for line in rows:
        if line["peeks"]:
            console.print(f"{line['cut']} peeks: {line['peek_text']}", soft_wrap=True)
        if line["violation"] is not None:
            console.print(f"{line['cut']} is lossy: {_shortened(line['violation'])}", soft_wrap=True)
    return 0 if all(line["lossless"] for line in rows) else 1


def rows_of(checks: Sequence[Sequence[BatchCheck]]) -> list[dict[str, Any]]:
    """A row for each cut: means over the batches, and where the first of them fails. checks: by batch, then by cut."""
    best = [max((check.all_tokens for check in batch if check.lossless), default=None) for batch in checks]
    whole = sum(value for value in best if value is not None)
    rows = []
    for of_cut in zip(*checks, strict=True):
        count = len(of_cut)
        tokens = sum((check.all_tokens for check in of_cut), Fraction(0)) / count
        lossless = all(check.lossless for check in of_cut)
        peeking = next((check for check in of_cut if check.peek), None)
        failing = next((check for check in of_cut if not check.lossless), None)
        shares = [check.all_tokens / most for check, most in zip(of_cut, best, strict=True) if most] if lossless else []
        rows.append(
            {
                "cut": of_cut[0].cut,
                "verifier": of_cut[0].verifier,
                "scheme": str(of_cut[0].scheme),
                "requests": len(of_cut[0].tokens),
                "budget": of_cut[0].budget,
                "batches": count,
                **number_fields("tokens", tokens),
                "tokens_by_request": [str(mean) for mean in of_cut[0].tokens] if count == 1 else None,
                "share": float(tokens * count / whole) if shares else None,
                "least_share": float(min(shares)) if shares else None,
                **number_fields("used", sum((check.used for check in of_cut), Fraction(0)) / count),
                "peeks": peeking is not None,
                "peek": peeking.peek.to_dict() if peeking and peeking.peek else None,
                "peek_text": str(peeking.peek) if peeking else None,
                "lossless": lossless,
                **number_fields("total_variation", max(check.total_variation for check in of_cut)),
                "violation": failing.violation if failing else None,
            }
        )
    return rows


def _batches(count: int) -> str:
    return f"{count:,} batch{'es' * (count > 1)}"


def _shortened(text: str) -> str:
    """Long fractions as decimals."""
    words = [f"{float(Fraction(w)):.6f}" if len(w) > 12 and w.replace("/", "").isdecimal() else w for w in text.split()]
    return " ".join(words)
