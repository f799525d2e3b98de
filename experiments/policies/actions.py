"""The shapes that policies choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from experiments.shared.names import parse_range
from simulator.drafts import Delayed
from simulator.errors import InvalidInput


def shapes_of(K: str, L1: str, L2: str, most: int | None = None) -> list[Delayed]:
    """`shapes` of ranges as text, such as 2 or 1..4; raises `InvalidInput` naming the flag."""
    return shapes({name: parse_range(text, f"--{name}") for name, text in (("K", K), ("L1", L1), ("L2", L2))}, most)


def shapes(ranges: Mapping[str, Sequence[int]], most: int | None) -> list[Delayed]:
    """The delayed trees of the ranges with at most so many tokens; one path once, whatever part of it is the trunk."""
    found: dict[tuple[int, int, int], Delayed] = {}
    for K, L1, L2 in product(ranges["K"], ranges["L1"], ranges["L2"]):
        if K > 1 and L2 == 0:
            continue
        scheme = Delayed(K, L1, L2)
        if most is None or scheme.nodes <= most:
            found.setdefault((1, 0, L1 + L2) if K == 1 else (K, L1, L2), scheme)
    if not found:
        raise InvalidInput("there is no shape of so few tokens; raise --max-nodes or take K = 1")
    return list(found.values())
