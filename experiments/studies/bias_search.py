"""A search for an instance on which `budgeted` or `budgeted_tree` has a bias above `eps`, in rationals.

`python -m draftproof.experiments.studies.bias_search`

Random instances with zeros, ties and point masses among their rows, then climbs: one row of the target or the draft is
replaced at a time, and the change is kept where it does not lower the bias. Exits with 1 if a bias above `eps` is
found.
"""

from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import typer

from draftproof.experiments.shared.output import check_files, write_json
from draftproof.experiments.shared.progress import bar, console_for
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.processes import TableProcess
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers import make

BUDGETS = tuple(map(Fraction, ("1/100", "1/20", "1/10", "1/2")))
SHAPES = {
    "budgeted": ((2, Delayed(1, 0, 2)), (3, Delayed(1, 0, 1)), (2, Delayed(1, 0, 3)), (3, Delayed(1, 0, 2))),
    "budgeted_tree": (
        *((2, Delayed(2, 0, 1)), (2, Delayed(2, 1, 1)), (3, Delayed(2, 0, 1))),
        *((2, Delayed(2, 0, 2)), (2, Delayed(3, 0, 1))),
    ),
}
#: Rows are multiples of one in so many.
PARTS = 24
Tables = list[list[list[Fraction]]]


def random_row(V: int, generator: np.random.Generator) -> list[Fraction]:
    """A row, often with zeros, ties or one token of all the mass."""
    if generator.random() < 0.1:
        place = int(generator.integers(V))
        return [Fraction(int(token == place)) for token in range(V)]
    concentration = float(generator.choice([0.3, 1.0, 5.0]))
    counts = generator.multinomial(PARTS, generator.dirichlet(np.full(V, concentration)))
    return [Fraction(int(count), PARTS) for count in counts]


def random_tables(V: int, depth: int, generator: np.random.Generator) -> Tables:
    """Rows of all contexts, level by level."""
    return [[random_row(V, generator) for _ in range(V**level)] for level in range(depth)]


def bias_of(name: str, eps: Fraction, scheme: Delayed, target: Tables, draft: Tables) -> Fraction:
    """The total variation of the first `L + 1` tokens of a block, exact."""
    V = len(target[0][0])
    last = [[Fraction(1, V)] * V for _ in range(V**scheme.depth)]  # rows after the last token change no bias
    found = check(make(name, eps=eps), TableProcess([*target, last], "p"), TableProcess(draft, "q"), scheme)
    assert found.total_variation is not None
    return Fraction(found.total_variation)


def climbed(name: str, eps: Fraction, V: int, scheme: Delayed, steps: int, seed: int) -> Fraction:
    """The largest bias on the way."""
    generator = np.random.default_rng((seed, 1))
    tables = [random_tables(V, scheme.depth, generator) for _ in range(2)]
    best = bias_of(name, eps, scheme, *tables)
    for _ in range(steps):
        level = tables[generator.integers(2)][generator.integers(scheme.depth)]
        place = generator.integers(len(level))
        kept, level[place] = level[place], random_row(V, generator)
        bias = bias_of(name, eps, scheme, *tables)
        if bias >= best:
            best = bias
        else:
            level[place] = kept
    return best


def main(
    instances: Annotated[int, typer.Option(min=0, help="Random instances for each verifier.")] = 10_000,
    climbs: Annotated[int, typer.Option(min=0, help="Climbs for each verifier.")] = 40,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a climb.")] = 50,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """Search for a bias above the budget, in rationals."""
    check_files((), {"--json": json_target})
    rows: list[dict[str, Any]] = []
    with bar("instances", len(SHAPES) * (instances + climbs)) as tick:
        for name, shapes in SHAPES.items():
            for number in range(instances + climbs):
                (V, scheme), eps = shapes[number % len(shapes)], BUDGETS[number // len(shapes) % len(BUDGETS)]
                if number < instances:
                    generator = np.random.default_rng((number, 0))
                    tables = [random_tables(V, scheme.depth, generator) for _ in range(2)]
                    bias = bias_of(name, eps, scheme, *tables)
                else:
                    bias = climbed(name, eps, V, scheme, steps, number)
                rows.append({"verifier": name, "climb": number >= instances, "share": bias / eps})
                tick(1)
    console = console_for(json_target)
    summary = []
    for name in SHAPES:
        for climb, noun in ((False, "random instances"), (True, f"climbs of {steps} steps")):
            shares = [row["share"] for row in rows if row["verifier"] == name and row["climb"] == climb]
            if shares:
                worst, above = max(shares), sum(share > 1 for share in shares)
                console.print(
                    f"{name}, {len(shares):,} {noun}: largest bias {worst} eps, "
                    f"at eps on {sum(share == 1 for share in shares):,}, above it on {above}"
                )
                summary.append({"verifier": name, "search": noun, "worst": str(worst), "above": above})
    write_json(json_target, summary)
    return int(any(row["above"] for row in summary))


if __name__ == "__main__":
    from draftproof.experiments.cli import run_command

    run_command(main)
