"""Looking for violations: exhaustive grids, and Hypothesis to shrink what was found to a minimal witness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from random import Random
from typing import Any

import hypothesis.strategies as st
from flint import fmpq
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from simulator.arithmetic import RATIONAL
from simulator.errors import InvalidInput
from simulator.instance import Instance
from simulator.law import Violation
from simulator.lossless import Check, check
from simulator.processes import TableProcess
from simulator.protocol import DraftScheme, Verifier

#: Denominators that shrinking draws from; 20 keeps exact sums short.
SEARCH_DENOMINATOR = 20
#: Random examples tried on each shape smaller than that of the known violation.
SEARCH_EXAMPLES = 200


@dataclass(frozen=True)
class Witness:
    """An instance, with its scheme, on which a verifier is not lossless, and the place where."""

    verifier: str
    instance: Instance
    violation: Violation
    shrunk: bool

    @classmethod
    def of(cls, found: Check, shrunk: bool) -> Witness:
        """The witness that a failed check holds."""
        assert found.violation is not None
        place = found.violation
        about = {
            "refutes": found.verifier,
            "context": list(place.context),
            "token": place.token,
            "target asks for": str(place.expected),
            "block has": str(place.found),
        }
        return cls(found.verifier, replace(found.instance, scheme=found.scheme, about=about), place, shrunk)


def shrink(verifier: Verifier, known: Check, examples: int = SEARCH_EXAMPLES) -> Witness:
    """The smallest witness found for a verifier that is known to fail.

    Shapes are tried from the smallest up (fewest tokens, then shallowest tree, then fewest drafted
    tokens); on the first shape with a violation Hypothesis shrinks the fractions. The same verifier and
    shape give the same witness every time, whatever instance failed first. known: a failed rational check.
    """
    for size in range(2, known.instance.vocab_size + 1):
        for scheme in known.scheme.reductions():
            smaller = _search(verifier, _instances(size, scheme), scheme, examples)
            if smaller is not None:
                return Witness.of(smaller, shrunk=True)
    return Witness.of(known, shrunk=False)


def _search(verifier: Verifier, instances: Any, scheme: DraftScheme, examples: int) -> Check | None:
    def violated(instance: Instance) -> bool:
        return not check(verifier, instance.target, instance.draft, scheme).lossless

    quiet = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        minimal = find(instances, violated, settings=quiet, random=Random(0))
    except NoSuchExample:
        return None
    return check(verifier, minimal.target, minimal.draft, scheme)


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
    contexts = range(sum(size**depth for depth in range(scheme.depth)))
    target = [draw(_row(size)) for _ in contexts]
    draft = [draw(_row(size)) for _ in contexts]
    return _assemble(target, draft, size, scheme.depth)


def grid_size(size: int, depth: int, denominator: int) -> int:
    """Number of instances that `grid` yields."""
    contexts = sum(size**length for length in range(depth))
    return int(len(_grid_rows(size, denominator)) ** (2 * contexts))


def grid(size: int, depth: int, denominator: int) -> Iterator[Instance]:
    """Every instance for trees of this depth whose probabilities are multiples of `1/denominator`.

    The target after the last drafted token, where every verifier draws from `p` itself, is held at
    one generic row, the same for all contexts.
    """
    if denominator < 1:
        raise InvalidInput(f"--exhaustive {denominator}: the denominator must be at least 1")
    contexts = sum(size**length for length in range(depth))
    for rows in product(_grid_rows(size, denominator), repeat=2 * contexts):
        yield _assemble(rows[:contexts], rows[contexts:], size, depth)


def _grid_rows(size: int, denominator: int) -> list[list[fmpq]]:
    units = product(range(denominator + 1), repeat=size)
    return [[fmpq(unit, denominator) for unit in row] for row in units if sum(row) == denominator]


def _assemble(target: Any, draft: Any, size: int, depth: int) -> Instance:
    """An instance from one row for every context above the leaves, in order of depth, then lexicographic."""
    total = size * (size + 1) // 2
    generic = [fmpq(token + 1, total) for token in range(size)]
    ends = [sum(size**length for length in range(d)) for d in range(depth + 1)]
    levels = [slice(start, end) for start, end in pairwise(ends)]
    target_tables = [RATIONAL.vector(list(target[level])) for level in levels]
    target_tables.append(RATIONAL.vector([generic] * size**depth))
    draft_tables = [RATIONAL.vector(list(draft[level])) for level in levels] or [RATIONAL.vector([generic])]
    return Instance(TableProcess(target_tables, "target"), TableProcess(draft_tables, "draft"))
