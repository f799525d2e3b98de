"""Verification of one path with the uniforms multiplied along it: what stands at the coins is a product of them.

These are functions that an audit follows, since the probability of a product of uniforms has logarithms in it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from simulator.audit.audited import Audited
from simulator.audit.interfaces import interface_named
from simulator.audit.rows import Kind, Rows

#: What the product of the uniforms is compared with, and which token is the last one that is accepted.
THRESHOLDS = ("the ratio of the token", "the product of the ratios", "the product of the capped ratios")
ENDS = ("before the first failure", "at the last success")


@dataclass(frozen=True)
class Multiplied:
    """`u_1 .. u_i` against a threshold at every token. from_target: whether corrections are drawn from `p`."""

    threshold: str
    end: str
    from_target: bool = False

    def __call__(self, tokens: Any, q: Any, p: Any) -> tuple[int, int]:
        """The chain interface."""
        uniforms: Any = 1
        ratios: Any = 1
        kept = 0
        for place, token in enumerate(tokens):
            ratio = p[place][token] / q[place][token]
            uniforms = uniforms * random.random()
            step = min(1, ratio) if self.threshold == THRESHOLDS[2] else ratio
            ratios = ratio if self.threshold == THRESHOLDS[0] else ratios * step
            if uniforms < ratios:
                kept = place + 1
            elif self.end == ENDS[0]:
                break
        weights = p[kept]
        if kept < len(tokens) and not self.from_target:
            excess = [max(a - b, 0) for a, b in zip(p[kept], q[kept], strict=True)]
            weights = excess if sum(excess) > 0 else weights
        return kept, random.choices(range(len(weights)), weights=weights)[0]

    def __str__(self) -> str:
        tail = " and corrections from p" if self.from_target else ""
        return f"a product of uniforms compared with {self.threshold}, accepting to the token {self.end}{tail}"


def multiplied(kind: Kind) -> Iterator[tuple[str, Audited]]:
    """Every such verifier, for rows of this kind, with its name."""
    for how in product(THRESHOLDS, ENDS, (False, True)):
        function = Multiplied(*how)
        yield str(function), Audited(function, interface_named("chain"), Rows("python", kind), "multiplied uniforms")
