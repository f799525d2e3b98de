"""Verification of one path with the uniforms multiplied along it: what stands at the coins is a product of them.

These are functions that an audit follows, since the probability of a product of uniforms has logarithms in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Any

from draftproof.simulator.audit.audited import Audited
from draftproof.simulator.audit.interfaces import interface_named
from draftproof.simulator.audit.rows import Kind, RowForm

#: What the product of the uniforms is compared with, and which token is the last one that is accepted.
THRESHOLDS = ("the ratio of the token", "the product of the ratios", "the product of the capped ratios")
ENDS = ("before the first failure", "at the last success")
CORRECTIONS = ("(p - q)+", "p", "(w p - q)+ of block verification", "(w p - q)+, token 0 where that is nothing")


@dataclass(frozen=True)
class Multiplied:
    """`u_1 .. u_i` against a threshold at every token. correction: what is drawn from after a rejection."""

    threshold: str
    end: str
    correction: str

    def __call__(
        self, draft_token_ids: Any, draft_probs: Any, target_probs: Any, uniforms: Any, final_uniforms: Any
    ) -> list[list[int]]:
        """The coins interface, for one request."""
        coins: Any = 1
        ratios: Any = 1
        kept = 0
        for place, token in enumerate(draft_token_ids):
            ratio = target_probs[place][token] / draft_probs[place][token]
            coins = coins * uniforms[place]
            step = min(1, ratio) if self.threshold == THRESHOLDS[2] else ratio
            ratios = ratio if self.threshold == THRESHOLDS[0] else ratios * step
            if coins < ratios:
                kept = place + 1
            elif self.end == ENDS[0]:
                break
        weights = target_probs[kept]
        if kept < len(draft_token_ids) and self.correction != CORRECTIONS[1]:
            scale = (
                1 if self.correction == CORRECTIONS[0] else _weight(draft_token_ids[:kept], draft_probs, target_probs)
            )
            excess = [max(scale * a - b, 0) for a, b in zip(weights, draft_probs[kept], strict=True)]
            weights = excess if sum(excess) > 0 else weights if self.correction != CORRECTIONS[3] else [1]
        return [[*draft_token_ids[:kept], _chosen(weights, final_uniforms[0])]]

    def __str__(self) -> str:
        judged = f"a product of uniforms compared with {self.threshold}, accepting to the token {self.end}"
        return f"{judged}, correcting from {self.correction}"


def _weight(tokens: Any, q: Any, p: Any) -> Any:
    """The weight of block verification after these tokens."""
    weight: Any = 1
    for place, token in enumerate(tokens):
        weight = min(1, weight * p[place][token] / q[place][token])
    return weight


def _chosen(weights: Any, coin: Any) -> int:
    """The token whose part of the cumulative sum the coin falls into."""
    edges = [edge / sum(weights) for edge in accumulate(weights)]
    return next((token for token, edge in enumerate(edges[:-1]) if coin < edge), len(edges) - 1)


def multiplied(kind: Kind) -> Iterator[tuple[str, Audited]]:
    """Every such verifier, for rows of this kind, with its name."""
    for how in product(THRESHOLDS, ENDS, CORRECTIONS):
        function = Multiplied(*how)
        yield str(function), Audited(function, interface_named("coins"), RowForm("python", kind), "multiplied uniforms")
