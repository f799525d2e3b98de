"""Looking for violations: exhaustive grids, and Hypothesis to shrink what was found to a minimal witness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice, pairwise, product
from math import comb, log10
from pathlib import Path
from random import Random
from tempfile import gettempdir
from typing import Any, TypeAlias

import hypothesis.strategies as st
from flint import fmpq
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import NoSuchExample

from simulator.arithmetic import RATIONAL
from simulator.errors import DraftproofError, InvalidInput, TooLarge
from simulator.instances.instance import Instance
from simulator.instances.processes import MAX_TABLE_ENTRIES, TableProcess, rationalise, table_entries
from simulator.laws.law import Violation
from simulator.protocol import DraftScheme, Verifier
from simulator.shown import fields_html, rows_html
from simulator.verdicts.lossless import Check, check

#: Denominators that shrinking draws from; 20 keeps exact sums short.
SEARCH_DENOMINATOR = 20
#: Random examples tried on each shape smaller than that of the known violation.
SEARCH_EXAMPLES = 200
#: Rows over one denominator that a grid lists.
MOST_ROWS = 200_000
#: Shapes of at most so many draft trees are enumerated, larger ones judged by whatever engine there is.
ENUMERATED = 20_000


@dataclass(frozen=True, repr=False)
class Witness:
    """An instance, with its scheme, on which a verifier is not lossless, and the place where."""

    verifier: str
    instance: Instance
    violation: Violation
    shrunk: bool

    @classmethod
    def of(cls, instance: Instance, found: Check, shrunk: bool) -> Witness:
        """The witness that a failed check of `instance` holds."""
        assert found.violation is not None
        place = found.violation
        about = {
            "refutes": found.verifier,
            "context": list(place.context),
            "token": place.token,
            "target asks for": str(place.expected),
            "block has": str(place.found),
        }
        return cls(found.verifier, replace(instance, scheme=found.scheme, about=about), place, shrunk)

    def to_dict(self) -> dict[str, Any]:
        """The place and the instance as its file has it."""
        fields = {"verifier": self.verifier, "shrunk": self.shrunk, **self.violation.to_dict()}
        return {**fields, "scheme": str(self.instance.scheme), "instance": self.instance.as_dict()}

    def __repr__(self) -> str:
        size = f"V = {self.instance.vocab_size}, {self.instance.scheme}"
        return f"Witness({self.verifier} on {size}: {self.violation})"

    def _repr_html_(self) -> str:
        rows, drafts = self.instance.as_dict()["target"], self.instance.as_dict()["draft"]
        table = [
            {"context": f"({c})", "target p": " ".join(row), "draft q": " ".join(drafts.get(c, ()))}
            for c, row in rows.items()
        ]
        place = {**self.violation.to_dict(), "scheme": self.instance.scheme}
        return fields_html(f"{self.verifier} is not lossless", place) + rows_html(table)


#: What checks one exact instance on a scheme.
Judge: TypeAlias = Callable[[Instance, DraftScheme], Check]
#: Whether something is false of an exact instance and a scheme.
Fails: TypeAlias = Callable[[Instance, DraftScheme], bool]


def shrink(
    verifier: Verifier,
    known: Instance,
    scheme: DraftScheme,
    examples: int = SEARCH_EXAMPLES,
    judge: Judge | None = None,
) -> Witness:
    """The smallest witness found for a verifier that is known to fail on an exact instance.

    Shapes are tried from the smallest up (fewest tokens, then shallowest tree, then fewest drafted
    tokens); on the first shape with a violation Hypothesis shrinks the fractions. The same verifier and
    shape give the same witness every time, whatever instance failed first; only where no shape shows a violation
    at random are the rows of `known` simplified instead. Small shapes are enumerated, so that a witness does not rest
    on what a verifier offers to structured engines.
    judge: checks an instance in place of `check`, for what is no plain verifier.
    """
    judge = judge or partial(_judge, verifier)
    minimal, smaller = smallest(partial(_violates, judge), known, scheme, examples)
    return Witness.of(minimal, judge(minimal, smaller), shrunk=True)


def smallest(
    fails: Fails, known: Instance, scheme: DraftScheme, examples: int = SEARCH_EXAMPLES
) -> tuple[Instance, DraftScheme]:
    """The smallest instance found on which something fails, with its scheme, in the order that `shrink` tells.

    known: an exact instance on which it fails on `scheme`.
    """
    for size in range(2, known.vocab_size + 1):
        for smaller in scheme.reductions():
            minimal = _search(fails, _instances(size, smaller), smaller, examples)
            if minimal is not None:
                return minimal, smaller
    return _simplify(fails, known, scheme), scheme


def _judge(verifier: Verifier, instance: Instance, scheme: DraftScheme) -> Check:
    small = scheme.nodes * log10(instance.vocab_size) <= log10(ENUMERATED)
    return check(verifier, instance.target, instance.draft, scheme, engine="enumerate" if small else "auto")


def _violates(judge: Judge, instance: Instance, scheme: DraftScheme) -> bool:
    try:
        return not judge(instance, scheme).lossless
    except DraftproofError:  # a verifier may refuse a smaller tree: that is no violation
        return False


def _simplify(fails: Fails, instance: Instance, scheme: DraftScheme) -> Instance:
    """Replace row after row by the one with the smallest denominator with which the violation stays."""
    for name, depths in (("target", scheme.depth + 1), ("draft", max(scheme.depth, 1))):
        for depth in range(depths):
            for row in range(instance.vocab_size**depth):
                for denominator in range(1, SEARCH_DENOMINATOR + 1):
                    simpler = _with_row(instance, name, depth, row, denominator)
                    if fails(simpler, scheme):
                        instance = simpler
                        break
    return instance


def _with_row(instance: Instance, name: str, depth: int, row: int, denominator: int) -> Instance:
    """The instance with one row rounded to a denominator."""
    process: TableProcess = getattr(instance, name)
    tables = [table.copy() for table in process.tables]
    tables[depth][row] = rationalise(tables[depth][row : row + 1].astype(float), denominator)[0]
    changed = TableProcess(tables, name)
    return replace(instance, target=changed) if name == "target" else replace(instance, draft=changed)


def _search(fails: Fails, instances: Any, scheme: DraftScheme, examples: int) -> Instance | None:
    quiet = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    set_hypothesis_home_dir(Path(gettempdir()) / "draftproof-hypothesis")  # not in the folder where somebody works
    try:
        minimal: Instance = find(instances, lambda instance: fails(instance, scheme), settings=quiet, random=Random(0))
    except NoSuchExample:
        return None
    return minimal


@st.composite
def _row(draw: Any, size: int) -> list[fmpq]:
    """A row of small fractions; shrinks towards a small denominator, then towards mass on late tokens."""
    denominator = left = draw(st.integers(1, SEARCH_DENOMINATOR))
    units = []
    for _ in range(size - 1):
        units.append(draw(st.integers(0, left)))
        left -= units[-1]
    return [fmpq(unit, denominator) for unit in (*units, left)]


@st.composite
def _instances(draw: Any, size: int, scheme: DraftScheme) -> Instance:
    """Instances for `scheme`; the target after the last drafted token is one generic row."""
    contexts = _inner_contexts(size, scheme.depth)
    target = [draw(_row(size)) for _ in range(contexts)]
    draft = [draw(_row(size)) for _ in range(contexts)]
    return _assemble(target, draft, size, scheme.depth)


def _inner_contexts(size: int, depth: int) -> int:
    """Number of contexts above the leaves of a tree of this depth."""
    return sum(int(size**length) for length in range(depth))


def grid_size(size: int, depth: int, denominator: int) -> int:
    """Number of instances that `grid` yields; raises `TooLarge` where it has more than a thousand digits."""
    if denominator < 1:
        raise InvalidInput(f"a grid of multiples of 1/{denominator}: the denominator must be at least 1")
    if table_entries(size, depth) > MAX_TABLE_ENTRIES:
        raise TooLarge(f"V = {size} at depth {depth} has too many contexts for a grid; make it smaller")
    contexts = _inner_contexts(size, depth)
    rows = comb(denominator + size - 1, size - 1)
    if rows > MOST_ROWS:
        raise TooLarge(
            f"V = {size} with multiples of 1/{denominator} has {min(rows, 10**30):,} rows; make V or D smaller"
        )
    if 2 * contexts * log10(max(rows, 2)) > 1000:
        raise TooLarge(
            f"the grid of multiples of 1/{denominator} has {rows:,}^{2 * contexts:,} instances; make V, L or D smaller"
        )
    return int(rows ** (2 * contexts))


def grid_sample(size: int, depth: int, denominator: int, random: Random) -> Instance:
    """One instance of the grid, all equally likely; raises as `grid_size` does."""
    grid_size(size, depth, denominator)
    contexts = _inner_contexts(size, depth)
    rows = _grid_rows(size, denominator)
    chosen = [random.choice(rows) for _ in range(2 * contexts)]
    return _assemble(chosen[:contexts], chosen[contexts:], size, depth)


def grid(size: int, depth: int, denominator: int, step: int = 1) -> Iterator[Instance]:
    """Every instance for trees of this depth whose probabilities are multiples of `1/denominator`.

    step: only the first of so many, evenly over the grid.

    The target after the last drafted token, where every verifier draws from `p` itself, is held at
    one generic row, the same for all contexts. Raises as `grid_size` does.
    """
    grid_size(size, depth, denominator)
    contexts = _inner_contexts(size, depth)
    for rows in islice(product(_grid_rows(size, denominator), repeat=2 * contexts), 0, None, step):
        yield _assemble(rows[:contexts], rows[contexts:], size, depth)


def _grid_rows(size: int, denominator: int) -> list[list[fmpq]]:
    """All rows over one denominator, by where the bars stand among the stars."""
    rows = []
    for bars in combinations(range(denominator + size - 1), size - 1):
        ends = (-1, *bars, denominator + size - 1)
        rows.append([fmpq(end - start - 1, denominator) for start, end in pairwise(ends)])
    return rows


def generic_row(size: int) -> list[fmpq]:
    """A row without ties and zeros: 1, 2, 3, .. over their sum."""
    total = size * (size + 1) // 2
    return [fmpq(token + 1, total) for token in range(size)]


def _assemble(target: Any, draft: Any, size: int, depth: int) -> Instance:
    """An instance from one row for every context above the leaves, in order of depth, then lexicographic."""
    generic = generic_row(size)
    ends = [_inner_contexts(size, d) for d in range(depth + 1)]
    levels = [slice(start, end) for start, end in pairwise(ends)]
    target_tables = [RATIONAL.vector(list(target[level])) for level in levels]
    target_tables.append(RATIONAL.vector([generic] * size**depth))
    draft_tables = [RATIONAL.vector(list(draft[level])) for level in levels] or [RATIONAL.vector([generic])]
    return Instance(TableProcess(target_tables, "target"), TableProcess(draft_tables, "draft"))
