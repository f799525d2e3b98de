"""The most tokens a block at budgets of other measures of bias than the total variation of a block."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from draftproof.experiments.cli.bound.curve import HELD, POINTS, VERIFIERS
from draftproof.experiments.cli.bound.programs import Programs
from draftproof.experiments.grid.rows import versions
from draftproof.experiments.inputs.verifiers import NamedVerifier
from draftproof.experiments.result import Result, Table
from draftproof.experiments.shared.progress import Tick, bar, named_errors
from draftproof.lp_analysis import measure, measured_bound
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.processes import tabulate
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
        raise InvalidInput(f"measure {name} has no certificate, plot, seconds or dask; leave them out")


def measured_result(
    name: str, programs: Sequence[Programs], budgets: Sequence[Fraction], named: Sequence[NamedVerifier]
) -> Result:
    """The curve of each world on its scheme and the points of the verifiers, as means over the roots, in float64.

    name: as `draftproof.lp_analysis.measure` takes it. Raises `TooLarge` above 256 paths.
    """
    for each in programs:
        paths = each.roots[0].rows(each.scheme.depth).target.vocab_size ** each.scheme.depth
        if paths > MOST_PATHS:
            raise TooLarge(f"{paths:,} paths; other measures than block are for at most {MOST_PATHS}: a smaller tree")
    points: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    with bar("roots", sum(len(each.roots) for each in programs) * (1 + len(named))) as tick:
        for each in programs:
            most = _curve(name, each, budgets, tick)
            about = {"measure": name, "cut": each.cut, "source": each.world.source, "versions": versions()}
            rows = [{"bias": budget, "upper": upper} for budget, upper in zip(budgets, most, strict=True)]
            points += [{**each.place, **about, **row} for row in rows]
            lines += [{**each.place, **_verifier_row(name, each, one, tick)} for one in named]
    tables = [Table.of(POINTS, points)]
    if lines:
        tables.append(Table.of(VERIFIERS, lines, title="verifiers", name="verifiers"))
    notes = [f"bias: {WORDS[name.partition(':')[0]]}. In float64.", *([HELD] if lines else [])]
    return Result("the most tokens a block at each bias", tables, notes)


def _curve(name: str, programs: Programs, budgets: Sequence[Fraction], tick: Tick) -> list[float]:
    sums = [0.0] * len(budgets)
    for root in programs.roots:
        rows = root.rows(programs.scheme.depth)
        for place, most in enumerate(measured_bound(rows.target, rows.draft, programs.scheme, name, budgets)):
            sums[place] += float(root.weight) * most
        tick(1)
    return [value / _whole(programs) for value in sums]


def _verifier_row(name: str, programs: Programs, one: NamedVerifier, tick: Tick) -> dict[str, Any]:
    sums = [0.0] * 3
    for root in programs.roots:
        rows = root.rows(programs.scheme.depth)
        with named_errors(one.label):
            law = block_law(one.verifier, rows.target, rows.draft, programs.scheme)
        own = float(measure(name, law, tabulate(rows.target, programs.scheme.depth, RATIONAL, "target").tables))
        most = measured_bound(rows.target, rows.draft, programs.scheme, name, [own])[0]
        for place, value in enumerate((own, float(law.block_efficiency), most)):
            sums[place] += float(root.weight) * value
        tick(1)
    own, tokens, upper = (value / _whole(programs) for value in sums)
    return {"verifier": one.label, "bias": own, "tokens": tokens, "upper": upper, "distance": upper - tokens}


def _whole(programs: Programs) -> float:
    return sum(float(root.weight) for root in programs.roots)
