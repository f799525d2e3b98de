"""Temperature, top-k and top-p that a function under audit applies itself: its law must be the processed target.

The order is that of most samplers: temperature, then top-k, then top-p. Ties at the edge of top-k are all kept; top-p
keeps the likeliest tokens, the smaller number first among equals, until their mass reaches `p`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import TableProcess
from draftproof.simulator.vectors import top_tokens


@dataclass(frozen=True)
class Processing:
    """The processing of a row before sampling; None leaves a step out. Raises `InvalidInput` outside of its range."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature < float("inf"):
            raise InvalidInput(f"temperature {self.temperature} must be at least 0")
        if self.top_k is not None and self.top_k < 1:
            raise InvalidInput(f"top-k {self.top_k} must be at least 1")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InvalidInput(f"top-p {self.top_p} must lie in (0, 1]")

    @property
    def nothing(self) -> bool:
        """Whether every row stays as it is."""
        return self == Processing()

    def row(self, row: Any) -> Any:
        """The processed row of an exact one, exact: powers are rounded to float64 and then normalised exactly."""
        weights = list(row)
        if self.temperature is not None:
            weights = self._tempered(weights)
        if self.top_k is not None and self.top_k < len(weights):
            edge = sorted(weights)[-self.top_k]
            weights = [weight if weight >= edge else fmpq(0) for weight in weights]
        if self.top_p is not None:
            weights = self._nucleus(weights)
        return RATIONAL.vector(weights) / sum(weights, start=fmpq(0))

    def _tempered(self, weights: list[Any]) -> list[Any]:
        assert self.temperature is not None
        if self.temperature == 0:
            best = max(weights)
            return [fmpq(int(token == weights.index(best))) for token in range(len(weights))]
        if self.temperature == 1:
            return weights
        largest = max(weights)
        powers = [float(as_python(weight / largest)) ** (1 / self.temperature) for weight in weights]
        return [fmpq(*power.as_integer_ratio()) for power in powers]

    def _nucleus(self, weights: list[Any]) -> list[Any]:
        assert self.top_p is not None
        wanted = fmpq(*float(self.top_p).as_integer_ratio()) * sum(weights, start=fmpq(0))
        kept, mass = [fmpq(0)] * len(weights), fmpq(0)
        for token in top_tokens(RATIONAL.vector(weights), len(weights)):
            if mass >= wanted:
                break
            kept[token] = weights[token]
            mass += weights[token]
        return kept

    def instance(self, raw: Instance) -> Instance:
        """Both processes of an exact instance, processed row by row."""
        if self.nothing:
            return raw
        return Instance(self._process(raw.target, "target"), self._process(raw.draft, "draft"), raw.scheme)

    def _process(self, process: TableProcess, name: str) -> TableProcess:
        return TableProcess([np.stack([self.row(row) for row in table]) for table in process.tables], name)
