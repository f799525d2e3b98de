"""How much of what a bias can bring `budgeted` and `budgeted_tree` bring: their gains over those of the frontier.

`python -m draftproof.experiments.studies.bias_shares --markdown runs/bias_shares.md`

The gain of a verifier is what it has above the lossless one that it is at `eps = 0`, that of the frontier what its
upper bound has above the upper bound at 0. Instances on which the frontier gains less than 1e-4 tokens are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import typer

from draftproof.experiments.claims.measures import roots
from draftproof.experiments.grid.report.section import Section, lines_of, percent, text
from draftproof.experiments.shared.output import check_files, write_json, write_whole
from draftproof.experiments.shared.progress import bar, console_for
from draftproof.lp_analysis import frontier
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers import make

BUDGETS = tuple(Fraction(part, 100) for part in (1, 2, 5, 10))
#: V and scheme, by the verifier that spends the bias.
SHAPES = {
    "budgeted": ((4, Delayed(1, 0, 2)), (3, Delayed(1, 0, 3)), (3, Delayed(1, 0, 4))),
    "budgeted_tree": (
        *((3, Delayed(2, 0, 2)), (3, Delayed(2, 1, 1)), (2, Delayed(2, 0, 3))),
        *((2, Delayed(2, 1, 2)), (2, Delayed(3, 0, 2))),
    ),
}
FAMILY_NAMES = ("dirichlet", "perturbed", "temperature")
TEXT = "text"
#: A smaller gain of the frontier is not shared out.
LEAST = 1e-4


def pairs(source: str, V: int, depth: int, count: int) -> Iterator[tuple[Any, Any]]:
    """Target and draft of so many instances of a family, or of the most frequent roots of the text."""
    if source == TEXT:
        for root in roots(count, V):
            rows = root.rows(depth)
            yield rows.target, rows.draft
    else:
        for seed in range(count):
            found = FAMILIES[source].instance(V, depth, np.random.default_rng((seed, V, depth)), 2**12, RATIONAL)
            yield found.target, found.draft


def measured(name: str, target: Any, draft: Any, scheme: Delayed) -> list[dict[str, float]]:
    """The gains at each budget: `own` and `most`, in tokens a block; `bias` over the budget."""
    start, *points = frontier(target, draft, scheme, [0, *BUDGETS])
    least = float(Evaluator(make(name, eps=0), "float64").check(target, draft, scheme).block_efficiency)
    found = []
    for eps, point in zip(BUDGETS, points, strict=True):
        own = Evaluator(make(name, eps=eps), "float64").check(target, draft, scheme)
        assert own.total_variation is not None
        gains = {"own": float(own.block_efficiency) - least, "most": float(point.upper - start.upper)}
        found.append({**gains, "eps": float(eps), "spent": float(own.total_variation) / float(eps)})
    return found


def main(
    count: Annotated[int, typer.Option(min=1, help="Instances of each source and shape.")] = 12,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
    markdown: Annotated[str | None, typer.Option("--markdown", help="Markdown tables.")] = None,
) -> int:
    """How much of what a bias can bring `budgeted` and `budgeted_tree` bring."""
    check_files((), {"--json": json_target, "--markdown": markdown})
    rows: list[dict[str, Any]] = []
    cells = [(name, V, s, kind) for name, shapes in SHAPES.items() for V, s in shapes for kind in (*FAMILY_NAMES, TEXT)]
    with bar("shares", len(cells)) as tick:
        for name, V, scheme, source in cells:
            shape = f"{V}; {scheme.K}, {scheme.L1}, {scheme.L2}"
            for target, draft in pairs(source, V, scheme.depth, count):
                for found in measured(name, target, draft, scheme):
                    rows.append({"verifier": name, "shape": shape, "source": source, **found})
            tick(1)
    lines = [line for section in sections(rows) for line in lines_of(section)]
    console_for(json_target).print("\n".join(lines), markup=False)
    write_json(json_target, rows)
    if markdown:
        write_whole(markdown, "\n".join(lines) + "\n")
    return 0


def sections(rows: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    """A table for each verifier: the shares of all instances, by source, shape and budget."""
    for name in dict.fromkeys(row["verifier"] for row in rows):
        own = [row for row in rows if row["verifier"] == name and row["most"] >= LEAST]
        lines = []
        for key, shown in (("source", "{}"), ("shape", "V; K, L1, L2 = {}"), ("eps", "eps = {}")):
            for value in dict.fromkeys(row[key] for row in own):
                lines.append(line(shown.format(value), [row for row in own if row[key] == value]))
        headings = ("", "instances and budgets", "mean", "worst", "of all gains", "of the budget")
        yield Section(name, f"Shares: {name}", headings, [*lines, line("all", own)])


def line(label: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Mean and least share, the share of own gains together in all gains, and how much of the budget is spent."""
    shares = [row["own"] / row["most"] for row in rows]
    together = sum(row["own"] for row in rows) / sum(row["most"] for row in rows)
    spent = fmean(row["spent"] for row in rows)
    return [text(label), text(len(rows)), *map(percent, (fmean(shares), min(shares), together, spent))]


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
