"""From logits to the rows that draws and verifiers read: warped, float64, on the host or where the models are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from draftproof.experiments.models.pair.warp import Warp
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Context, Vector

VECTORS = ("numpy", "torch")


def check_vectors(kind: str) -> None:
    """Raises `InvalidInput` for a kind of vectors that does not exist."""
    if kind not in VECTORS:
        raise InvalidInput(f"unknown vectors {kind!r}; choose {' or '.join(VECTORS)}")


@dataclass(frozen=True)
class TreeRows:
    """The rows of one draft tree: a `TokenProcess` as far as the tree goes."""

    vocab_size: int
    known: dict[Context, Vector] = field(default_factory=dict)

    def row(self, context: Context) -> Vector:
        """The row of a node of the tree."""
        return self.known[context]


@dataclass(frozen=True)
class RowsOf:
    """How logits become rows.

    warp: temperature and the rest, the same for both models. vocab_size: logits beyond it are cut off.
    kind: "numpy" (on the host) or "torch" (where the models are).
    Raises `InvalidInput` for another kind.
    """

    warp: Warp
    vocab_size: int
    kind: str = "numpy"

    def __post_init__(self) -> None:
        check_vectors(self.kind)

    def numbers(self, logits: torch.Tensor) -> torch.Tensor:
        """The rows of logits of shape `(B, n, V)` or wider, in float64, where the models are."""
        rows: torch.Tensor = self.warp.rows(logits[..., : self.vocab_size])
        return rows

    def vectors(self, numbers: torch.Tensor) -> Any:
        """The same numbers as the vectors that coins and verifiers get."""
        if self.kind != "numpy":
            return numbers
        vectors = numbers.cpu().numpy()
        vectors.setflags(write=False)  # a row belongs to all who look at it
        return vectors
