"""`draftproof bound --bias .. --measure`: the most tokens a block at budgets of other measures of bias."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from rich.table import Table

from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.shared.output import write_json
from draftproof.experiments.shared.progress import bar, console_for, named_errors
from draftproof.lp_analysis import measure, measured_bound
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.verdicts.lossless import block_law

#: The most paths `V**L`: the program has a row for each pair of a path and a node.
MOST_PATHS = 256
#: What the numbers are, by the name of the measure before a colon.
WORDS = {
    "first": "total variation of the first tokens of a block",
    "token": "largest total variation of one token, whatever the tokens before",
    "per_token": "total variation of a block over its tokens",
    "entropy_per_token": "Kullback-Leibler divergence from the target, in nats, over the tokens of a block",
}


def check_measure(name: str, *others: object) -> None:
    """Raises `InvalidInput` for unknown names, and for options that only the measure `block` has."""
    if name.partition(":")[0] not in ("block", *WORDS):
        raise InvalidInput(f"measure {name!r} is not known; known: block, first:N, {', '.join([*WORDS][1:])}")
    if name != "block" and any(other is not None for other in others):
        raise InvalidInput(f"--measure {name} has no --certificate, --plot or --seconds; leave them out")


def show_measured(
    name: str,
    roots: Sequence[Case],
    scheme: DraftScheme,
    budgets: Sequence[Fraction],
    named: Sequence[NamedVerifier],
    title: str,
    json_target: str | None,
) -> int:
    """Print the curve and the points of the verifiers, as means over the roots; returns the exit code.

    name: as `draftproof.lp_analysis.measure` takes it. Raises `TooLarge` above 256 paths.
    """
    paths = roots[0].rows(scheme.depth).target.vocab_size ** scheme.depth
    if paths > MOST_PATHS:
        raise TooLarge(f"{paths:,} paths; other measures than block are for at most {MOST_PATHS}: a smaller tree")
    points = [0.0] * len(budgets)
    lines: list[tuple[str, list[float]]] = []
    with bar("roots", len(roots) * (1 + len(named))) as tick:
        for root in roots:
            rows = root.rows(scheme.depth)
            for place, most in enumerate(measured_bound(rows.target, rows.draft, scheme, name, budgets)):
                points[place] += float(root.weight) * most
            tick(1)
        for one in named:
            sums = [0.0] * 3
            for root in roots:
                rows = root.rows(scheme.depth)
                with named_errors(one.label):
                    law = block_law(one.verifier, rows.target, rows.draft, scheme)
                own = float(measure(name, law, tabulate(rows.target, scheme.depth, RATIONAL, "target").tables))
                most = measured_bound(rows.target, rows.draft, scheme, name, [own])[0]
                for place, value in enumerate((own, float(law.block_efficiency), most)):
                    sums[place] += float(root.weight) * value
                tick(1)
            lines.append((one.label, sums))
    whole = sum(float(root.weight) for root in roots)
    view = Table(title=title, title_justify="left", caption_justify="left", caption=WORDS[name.partition(":")[0]])
    for heading in ("verifier", name, "tokens a block", "at most"):
        view.add_column(heading, justify="left" if heading == "verifier" else "right")
    points = [value / whole for value in points]
    for budget, most in zip(budgets, points, strict=True):
        view.add_row("", f"{float(budget):g}", "", f"{most:.6f}")
    found: list[dict[str, Any]] = []
    for label, numbers in lines:
        own, tokens, most = (value / whole for value in numbers)
        view.add_row(label, f"{own:.6f}", f"{tokens:.6f}", f"{most:.6f}")
        found.append({"verifier": label, name: own, "tokens": tokens, "upper": most})
    console_for(json_target).print(view)
    curve = [{"budget": float(budget), "upper": most} for budget, most in zip(budgets, points, strict=True)]
    write_json(json_target, {"measure": name, "points": curve, "verifiers": found})
    return 0
