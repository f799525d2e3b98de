"""From logits to the distribution that is sampled: temperature, then top-k, then top-p, the same for both models.

`V` is the vocabulary size. The order and the rules are those of `generate` in transformers; what its sort leaves
open is decided here: equal probabilities stand in token order.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from draftproof.experiments.inputs.options import parse_sampling
from draftproof.experiments.models.pair.devices import libraries
from draftproof.simulator.errors import InvalidInput


@dataclass(frozen=True)
class Warp:
    """What is done to the logits of both models before a token is drawn.

    temperature: at least 0; 0 puts all mass on the largest logit, the lowest token where several are largest.
    top_k: keeps the k largest logits, and every logit equal to the k-th.
    top_p: in order of falling probability, ties by token, keeps a token while the mass before it is below top_p:
    the smallest set of the first tokens that has at least this mass, and never less than one token.
    Raises `InvalidInput` for values outside these ranges.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise InvalidInput(f"temperature {self.temperature} must be a number of at least 0 (0 is greedy)")
        if self.top_k is not None and self.top_k < 1:
            raise InvalidInput(f"top-k {self.top_k} must be at least 1; leave it out to keep all tokens")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InvalidInput(f"top-p {self.top_p} must be above 0 and at most 1; leave it out to keep all tokens")

    @property
    def greedy(self) -> bool:
        """Whether every row has all its mass on one token."""
        return self.temperature == 0

    def rows(self, logits: Any, dtype: Any = None) -> Any:
        """The distributions that logits of shape `(..., V)` become, same shape and device.

        dtype: a torch precision, float64 by default. Rows sum to 1 up to rounding.
        """
        torch, _ = libraries()
        scores = logits.to(dtype or torch.float64)
        if self.greedy:
            return torch.zeros_like(scores).scatter_(-1, scores.argmax(dim=-1, keepdim=True), 1.0)
        # The largest becomes 0 first: divided by a temperature close to 0 it would be infinite, and no row at all.
        scores = (scores - scores.amax(dim=-1, keepdim=True)) / self.temperature
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            smallest = scores.topk(self.top_k, dim=-1).values[..., -1:]
            scores = scores.masked_fill(scores < smallest, -torch.inf)
        rows = scores.softmax(dim=-1)
        return rows if self.top_p is None or self.top_p == 1 else _nucleus(rows, self.top_p)

    def as_dict(self) -> dict[str, float | int | None]:
        return asdict(self)

    def __str__(self) -> str:
        parts = [f"temperature {self.temperature:g}"]
        parts += [f"top-k {self.top_k}"] if self.top_k is not None else []
        parts += [f"top-p {self.top_p:g}"] if self.top_p is not None else []
        return ", ".join(parts)


def parse_warp(text: str) -> Warp:
    """`temperature=.7,top_k=40,top_p=.9`, any of them; raises `InvalidInput`."""
    return Warp(**parse_sampling(text))


def _nucleus(rows: Any, top_p: float) -> Any:
    """The rows conditioned on their most probable tokens."""
    torch, _ = libraries()
    ranked, order = rows.sort(dim=-1, descending=True, stable=True)
    before = ranked.cumsum(dim=-1) - ranked
    kept = torch.where((before < top_p) & (ranked > 0), ranked, 0.0)
    return torch.zeros_like(rows).scatter_(-1, order, kept / kept.sum(dim=-1, keepdim=True))
