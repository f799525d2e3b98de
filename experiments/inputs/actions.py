"""The shapes that policies choose from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from draftproof.experiments.inputs.verifiers import parse_range
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput


def shapes_of(K: str, L1: str, L2: str, most: int | None = None) -> list[Delayed]:
    """`shapes` of ranges as text, such as 2 or 1..4; raises `InvalidInput` naming the flag."""
    return shapes({name: parse_range(text, f"--{name}") for name, text in (("K", K), ("L1", L1), ("L2", L2))}, most)


def shapes(ranges: Mapping[str, Sequence[int]], most: int | None) -> list[Delayed]:
    """The delayed trees of the ranges with at most so many tokens; one path once, whatever part of it is the trunk."""
    sizes = product(ranges["K"], ranges["L1"], ranges["L2"])
    schemes = [Delayed(K, L1, L2) for K, L1, L2 in sizes if K == 1 or L2]
    found = distinct([scheme for scheme in schemes if most is None or scheme.nodes <= most])
    if not found:
        raise InvalidInput("there is no shape of so few tokens; raise --max-nodes or take K = 1")
    return found


def distinct(schemes: Iterable[Delayed]) -> list[Delayed]:
    """Each tree once: of one path, whatever part of it is the trunk, the first."""
    found: dict[tuple[int, int, int], Delayed] = {}
    for scheme in schemes:
        found.setdefault((1, 0, scheme.depth) if scheme.K == 1 else (scheme.K, scheme.L1, scheme.L2), scheme)
    return list(found.values())
