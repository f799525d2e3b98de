"""What information is worth to a verifier: the rows on its own path, on its whole tree, everywhere.

`python -m experiments.studies.information`

Families of instances that share their rows at the root and differ below it: every row there is one of a few options.
A program gives the best mean block efficiency of any verifier that sees everything, the rows of its tree, or those of
one path (`lp_analysis.reference.information`); with everything seen it is the mean of the certified optima.
`--search N` looks for families of two instances on which seeing the tree alone costs something, and shrinks the worst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import mean
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from experiments.shared.output import check_files, write_json
from experiments.shared.progress import bar
from lp_analysis import optimum
from lp_analysis.reference.information import information_bound
from simulator.arithmetic import RATIONAL
from simulator.drafts import Delayed
from simulator.instances.families import FAMILIES
from simulator.instances.processes import TableProcess
from simulator.verdicts.lossless import check
from verifiers import make

Pair = tuple[TableProcess, TableProcess]

#: (V, K, L1, L2, options a row, instances of a family). One branch first: there off-path rows are worth nothing.
SHAPES = (
    *((2, 1, 0, 2, 2, 4), (2, 1, 0, 3, 2, 4), (3, 1, 0, 2, 2, 4)),
    *((2, 2, 0, 2, 2, 4), (2, 2, 0, 2, 3, 4), (2, 2, 0, 2, 2, 8), (2, 3, 0, 2, 2, 4), (3, 2, 0, 2, 2, 4)),
    *((2, 2, 1, 2, 2, 4), (2, 2, 0, 3, 2, 2), (2, 2, 0, 3, 2, 4), (2, 3, 0, 3, 2, 2)),
)
#: All probabilities are multiples of one over this.
DENOMINATOR = 20
#: A share below one by less than this is the solver's.
SOLVED = 1e-6
#: Denominators that a witness is rounded to, the coarsest first.
COARSE = (2, 3, 4, 5, 6, 8, 10)


def family(seed: int, size: int, depth: int, options: int, count: int) -> list[Pair]:
    """`count` instances with the same rows at the root; any row below it is one of `options`, chosen anew."""
    generator = np.random.default_rng((seed, size, depth, options, count))
    known = [FAMILIES["dirichlet"].instance(size, depth, generator, DENOMINATOR, RATIONAL) for _ in range(options)]
    made = []
    for _ in range(count):
        sides = []
        for side in ("target", "draft"):
            tables = [getattr(option, side).tables for option in known]
            chosen = [tables[0][0]]
            for d in range(1, len(tables[0])):
                picks = generator.integers(0, options, len(tables[0][d]))
                chosen.append(np.array([tables[o][d][c] for c, o in enumerate(picks)], dtype=object))
            sides.append(TableProcess(chosen))
        made.append((sides[0], sides[1]))
    return made


def measured(shape: tuple[int, ...], seed: int) -> dict[str, float]:
    """The values of one family: by what is seen, of two verifiers, and of the certified optimum."""
    size, K, L1, L2, options, count = shape
    scheme = Delayed(K, L1, L2)
    pairs = family(seed, size, scheme.depth, options, count)
    values = {seen: information_bound(pairs, scheme, seen) for seen in ("everything", "tree", "path")}
    for name in ("layer_transport", "path_transport"):
        verdicts = (check(make(name), target, draft, scheme, "float64") for target, draft in pairs)
        values[name] = mean(float(verdict.block_efficiency) for verdict in verdicts)
    values["certified"] = mean(float(optimum(target, draft, scheme, gap=1e-7).upper) for target, draft in pairs)
    return values


def row_of(shape: tuple[int, ...], families: int, tick: Any) -> dict[str, Any]:
    """Mean and worst shares over some families."""
    found = []
    for seed in range(families):
        found.append(measured(shape, seed))
        tick(1)
    row: dict[str, Any] = dict(zip(("V", "K", "L1", "L2", "options", "instances"), shape, strict=True))
    for name in ("tree", "path", "layer_transport", "path_transport"):
        shares = [values[name] / values["everything"] for values in found]
        row[name], row[f"{name} worst"] = mean(shares), min(shares)
    row["off"] = max(abs(values["everything"] - values["certified"]) for values in found)
    return row


def costs(pairs: Sequence[Pair], scheme: Delayed) -> float:
    """What seeing the tree alone costs, of the optimum with everything seen."""
    everything, tree = (information_bound(pairs, scheme, seen) for seen in ("everything", "tree"))
    return 1 - tree / everything


def shrunk(pairs: list[Pair], scheme: Delayed) -> list[Pair]:
    """The same with coarser probabilities, and equal rows wherever the difference does not matter."""
    for denominator in COARSE:
        coarse = [tuple(_rounded(side, denominator) for side in pair) for pair in pairs]
        if costs(coarse, scheme) > SOLVED:  # type: ignore[arg-type]
            pairs = coarse  # type: ignore[assignment]
            break
    for simpler in _simpler(pairs):
        if costs(simpler, scheme) > SOLVED:
            return shrunk_rows(simpler, scheme)
    return pairs


def shrunk_rows(pairs: list[Pair], scheme: Delayed) -> list[Pair]:
    """Equal rows one by one, as long as the cost remains."""
    for simpler in _simpler(pairs):
        if costs(simpler, scheme) > SOLVED:
            return shrunk_rows(simpler, scheme)
    return pairs


def _simpler(pairs: list[Pair]) -> Iterator[list[Pair]]:
    """One row of the second instance made that of the first."""
    for side in (0, 1):
        for depth, table in enumerate(pairs[0][side].tables):
            for context in range(len(table)):
                tables = [each.copy() for each in pairs[1][side].tables]
                if (tables[depth][context] == table[context]).all():
                    continue
                tables[depth][context] = table[context]
                second = [pairs[1][0], pairs[1][1]]
                second[side] = TableProcess(tables)
                yield [pairs[0], (second[0], second[1])]


def _rounded(side: TableProcess, denominator: int) -> TableProcess:
    """Multiples of one over `denominator`; what is left goes to the largest entry."""
    tables = []
    for table in side.tables:
        rows = []
        for row in table:
            parts = [round(Fraction(str(value)) * denominator) for value in row]
            parts[parts.index(max(parts))] += denominator - sum(parts)
            rows.append([RATIONAL.number(f"{part}/{denominator}") for part in parts])
        tables.append(np.array(rows, dtype=object))
    return TableProcess(tables)


def witness() -> list[Pair]:
    """Two instances, equal but for `q(.|0)`, on which seeing the tree alone costs one part in 101 at K = 2, L = 3.

    After 0 the target goes on 1, 0 and after 1 likewise, for sure; drafts after 0 go on with 1, or with 0.
    """
    certain, other, even = (1, 0), (0, 1), ("1/2", "1/2")
    target = [[("3/4", "1/4")], [other, other], [certain] * 4, [certain] * 8]
    drafts = [[[even], [after, even], [certain] * 4] for after in (other, certain)]
    return [(_process(target), _process(draft)) for draft in drafts]


def _process(tables: Sequence[Any]) -> TableProcess:
    return TableProcess(
        [np.array([[RATIONAL.number(entry) for entry in row] for row in rows], dtype=object) for rows in tables]
    )


def searched(scheme: Delayed, size: int, seeds: int, tick: Any) -> tuple[float, list[Pair], int]:
    """The family of two instances with the largest cost, and on how many there is one."""
    worst, kept, above = 0.0, family(0, size, scheme.depth, 2, 2), 0
    for seed in range(seeds):
        pairs = family(seed, size, scheme.depth, 2, 2)
        cost = costs(pairs, scheme)
        above += cost > SOLVED
        if cost > worst:
            worst, kept = cost, pairs
        tick(1)
    return worst, kept, above


def table(rows: Sequence[dict[str, Any]], families: int) -> Table:
    """One line a shape."""
    view = Table(title=f"share of the optimum, mean (worst) of {families} families a shape", title_justify="left")
    for heading in ("V, K, L1, L2", "options", "instances", "tree", "own path", "layer_transport", "path_transport"):
        view.add_column(heading, justify="right")
    view.add_column("off the certified", justify="right")
    for row in rows:
        shares = [
            f"{row[name]:.4f} ({row[f'{name} worst']:.4f})"
            for name in ("tree", "path", "layer_transport", "path_transport")
        ]
        shape = ", ".join(str(row[key]) for key in ("V", "K", "L1", "L2"))
        view.add_row(shape, str(row["options"]), str(row["instances"]), *shares, f"{row['off']:.0e}")
    return view


def described(pairs: Sequence[Pair]) -> str:
    """The rows of two instances, those of the second only where they differ."""
    lines = []
    for name, side in (("p", 0), ("q", 1)):
        for depth, rows in enumerate(pairs[0][side].tables):
            for context, row in enumerate(rows):
                digits = np.base_repr(context, pairs[0][side].vocab_size).zfill(depth) if depth else ""
                other = pairs[1][side].tables[depth][context]
                differs = "" if (row == other).all() else f"   or ({', '.join(map(str, other))})"
                lines.append(f"  {name}(.|{digits}) = ({', '.join(map(str, row))}){differs}")
    return "\n".join(lines)


def main(
    families: Annotated[int, typer.Option(min=1, help="Families of every shape.")] = 6,
    shapes: Annotated[int, typer.Option(min=0, max=len(SHAPES), help="How many of the shapes.")] = len(SHAPES),
    search: Annotated[int, typer.Option(min=0, help="Families that are searched at V = 2, K = 2, L = 2 and 3.")] = 0,
    json_target: Annotated[str | None, typer.Option("--json", help="JSON to a file, or - for stdout.")] = None,
) -> int:
    """What seeing fewer rows costs the best verifier."""
    from experiments.shared.consoles import console_for

    check_files((), {"--json": json_target})
    console = console_for(json_target)
    with bar("families", families * shapes + 2 * search) as tick:
        rows = [row_of(shape, families, tick) for shape in SHAPES[:shapes]]
        found = {depth: searched(Delayed(2, 0, depth), 2, search, tick) for depth in (2, 3) if search}
    if rows:
        console.print(table(rows, families))
    known = {seen: information_bound(witness(), Delayed(2, 0, 3), seen) for seen in ("everything", "tree", "path")}
    values = ", ".join(f"{seen} {value:.5f}" for seen, value in known.items())
    console.print(f"where the tree is not enough, V = 2, K = 2, L = 3: {values}\n{described(witness())}")
    write_json(
        json_target, {"rows": rows, "witness": known, "search": {depth: part[0] for depth, part in found.items()}}
    )
    for depth, (worst, pairs, above) in found.items():
        console.print(f"V = 2, K = 2, L = {depth}: a cost on {above} of {search} families, at most {worst:.2e}")
        if worst > SOLVED:
            small = shrunk(pairs, Delayed(2, 0, depth))
            console.print(f"shrunk, cost {costs(small, Delayed(2, 0, depth)):.2e}:\n{described(small)}")
    return 0


if __name__ == "__main__":
    from experiments.cli import run_command

    run_command(main)
