"""Maps of the rows that tokens are drawn from, of shape `(.., V)`: exact, float64 or tensors.

The order and the rules are those of the logits processors of transformers; a given probability `p` has the logit
`log p`. Equal probabilities: top-k keeps all that equal the last one kept, min-p and the typical mass treat them alike,
top-p keeps the larger token number first. So does transformers, whose sort is stable up to 16 tokens.

Exact rows stay exact. All steps but three are rational maps: a temperature `T` (`p ** (1/T)`) where `1/T` is no whole
number, and a penalty that is no whole number, are powers in float64, taken as the fractions they are and normalised
exactly; which tokens are typical is decided by logarithms in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, arithmetic_of, to_fmpq
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import rationalise
from draftproof.simulator.residual import is_tensor

#: Temperatures below it are powers in float64 even where `1/T` is whole.
COLDEST = 0.01


@dataclass(frozen=True)
class RowRules:
    """What is done to a row, whatever the tokens before it are.

    temperature: at least 0; 0 is greedy, the lowest token where several are most probable. top_k: keeps the k most
    probable tokens. top_p: keeps the most probable tokens until they have this mass. min_p: drops tokens below this
    share of the most probable one. typical_p: keeps the tokens with information closest to the entropy until they have
    this mass. repetition_penalty: divides positive logits of tokens in the text so far, multiplies negative ones.
    bits: probabilities in multiples of `2**-bits`, rounded down, the rest going to the most probable token. ties:
    whether top-p keeps the `last` or the `first` of equal tokens.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    bits: int | None = None
    ties: str = "last"

    def _check_rows(self) -> None:
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise InvalidInput(f"temperature {self.temperature} must be a number of at least 0 (0 is greedy)")
        if self.top_k is not None and self.top_k < 1:
            raise InvalidInput(f"top_k {self.top_k} must be at least 1; leave it out to keep all tokens")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InvalidInput(f"top_p {self.top_p} must be above 0 and at most 1; leave it out to keep all tokens")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise InvalidInput(f"min_p {self.min_p} must be at least 0 and at most 1; leave it out to keep all tokens")
        if self.typical_p is not None and not 0 < self.typical_p < 1:
            raise InvalidInput(f"typical_p {self.typical_p} must be above 0 and below 1; leave it out to keep all")
        penalty = self.repetition_penalty
        if penalty is not None and not (isfinite(penalty) and penalty > 0):
            raise InvalidInput(f"repetition_penalty {penalty} must be a number above 0; 1 changes nothing")
        if self.bits is not None and not 1 <= self.bits <= 40:
            raise InvalidInput(f"bits {self.bits} must be 1 to 40")
        if self.ties not in ("first", "last"):
            raise InvalidInput(f"ties {self.ties!r}: choose last (as transformers) or first")

    @property
    def greedy(self) -> bool:
        """Whether every row has all its mass on one token."""
        return self.temperature == 0

    @property
    def why_irrational(self) -> str | None:
        """Why the map is not rational, in words; None where it is."""
        if self.greedy:
            return None
        if self.repetition_penalty is not None and self.repetition_penalty != int(self.repetition_penalty):
            return f"p^{self.repetition_penalty:g} is irrational"
        if _root_of(self.temperature) is None:
            return f"p^(1/{self.temperature:g}) is irrational"
        return None

    def _mapped(self, rows: Any, seen: Any) -> Any:
        """Exact or float64 rows of shape `(n, V)`; seen: which tokens are in the text so far, None for no penalty."""
        if seen is not None:
            rows = self._penalised(rows, seen)
        if self.greedy:
            return _one_hot(rows)
        if self.temperature != 1:
            root = _root_of(self.temperature)
            rows = _power(rows / _largest(rows, 1), 1 / self.temperature if root is None else root)
        return self._kept(_normalised(rows))

    def _penalised(self, rows: Any, seen: Any) -> Any:
        """Rows that do not sum to 1, where there is a penalty; seen: as in `rows`."""
        penalty = self.repetition_penalty
        return rows if penalty is None else np.where(seen, _power(rows, penalty), rows)

    def _kept(self, rows: Any) -> Any:
        """The steps after the temperature; each conditions on the tokens that it keeps."""
        if self.top_k is not None and self.top_k < rows.shape[-1]:
            rows = conditioned(rows, rows >= _largest(rows, self.top_k))
        if self.top_p is not None and self.top_p < 1:
            rows = conditioned(rows, _nucleus(rows, self.top_p, self.ties))
        if self.min_p is not None:
            rows = conditioned(rows, rows >= _number(self.min_p, rows) * _largest(rows, 1))
        if self.typical_p is not None:
            rows = conditioned(rows, _typical(rows, self.typical_p))
        return rows if self.bits is None else _quantised(rows, self.bits)


def _root_of(temperature: float) -> int | None:
    """The whole number `1/T`, None where it is none, or so large that powers would have thousands of digits."""
    whole = round(1 / temperature) if temperature >= COLDEST else 0
    return whole if whole and 1 / whole == temperature else None


def _number(value: float, rows: Any) -> Any:
    """A setting as a number of the rows' kind: exactly what was written, a decimal or a small fraction."""
    if rows.dtype != object:
        return value
    simple = Fraction(value).limit_denominator(1000)
    return to_fmpq(simple if float(simple) == value else Fraction(repr(value)))


def _power(rows: Any, exponent: float) -> Any:
    """Powers; of exact rows exact for whole exponents, else the fractions that float64 gives."""
    if rows.dtype != object:
        return rows**exponent
    if exponent == int(exponent):
        return rows ** int(exponent)
    powers = FLOAT64.vector(rows) ** exponent
    return RATIONAL.vector([[fmpq(*value.as_integer_ratio()) for value in row] for row in powers.tolist()])


def _normalised(rows: Any) -> Any:
    return rows / (rows.sum(-1, keepdim=True) if is_tensor(rows) else rows.sum(axis=-1, keepdims=True))


def conditioned(rows: Any, mask: Any) -> Any:
    """The rows given the tokens that are kept."""
    return _normalised(rows * mask)


def _one_hot(rows: Any) -> Any:
    eye = np.eye(rows.shape[-1], dtype=int)[rows.argmax(axis=-1)]
    return arithmetic_of(rows).vector(eye)


def _largest(rows: Any, count: int) -> Any:
    """The `count`-th largest entry of each row, shape `(.., 1)`."""
    if is_tensor(rows):
        return rows.topk(count, dim=-1).values[..., -1:]
    return np.sort(rows, axis=-1)[..., -count][..., None]


def _typical(rows: Any, mass: float) -> Any:
    """The tokens whose information is closest to the entropy, until they have this mass; all that are as close."""
    floats = FLOAT64.vector(rows) if rows.dtype == object else rows
    with np.errstate(divide="ignore", invalid="ignore"):
        information = -(floats.log() if is_tensor(rows) else np.log(floats))
        entropy = (
            (information * floats).nansum(-1, keepdim=True)
            if is_tensor(rows)
            else np.nansum(information * floats, axis=-1, keepdims=True)
        )
    away = abs(information - entropy)
    order = _ascending(away)
    sorted_away = _gathered(away, order)
    last = (_gathered(rows, order).cumsum(-1) < _number(mass, rows)).sum(-1)
    edge = _gathered(sorted_away, last.clip(max=rows.shape[-1] - 1)[..., None])
    mask = sorted_away <= edge
    mask[..., 0] = True
    return _placed(mask, order)


def _nucleus(rows: Any, top_p: float, ties: str) -> Any:
    """The tokens that top-p keeps: all but those that have, with the less probable ones, at most mass `1 - p`."""
    order = _ascending(rows) if ties == "last" else _flipped(_ascending(-rows))
    mask = _gathered(rows, order).cumsum(-1) > 1 - _number(top_p, rows)
    mask[..., -1] = True
    return _placed(mask, order)


def _quantised(rows: Any, bits: int) -> Any:
    """Multiples of `2**-bits`, rounded down, the rest on the most probable token."""
    if not is_tensor(rows):
        return rationalise(rows, 2**bits, arithmetic_of(rows))
    units = (rows * 2**bits).floor()
    top = rows.argmax(dim=-1, keepdim=True)
    return units.scatter_add(-1, top, 2**bits - units.sum(-1, keepdim=True)) / 2**bits


def _ascending(rows: Any) -> Any:
    """The tokens of each row from the least to the most probable, equal ones by number."""
    return rows.argsort(dim=-1, stable=True) if is_tensor(rows) else np.argsort(rows, axis=-1, kind="stable")


def _flipped(order: Any) -> Any:
    return order.flip(-1) if is_tensor(order) else order[..., ::-1]


def _gathered(rows: Any, order: Any) -> Any:
    return rows.gather(-1, order) if is_tensor(rows) else np.take_along_axis(rows, order, axis=-1)


def _placed(values: Any, order: Any) -> Any:
    """Values by rank back in the order of tokens."""
    if is_tensor(values):
        return values.clone().scatter_(-1, order, values)
    placed = np.empty_like(values)
    np.put_along_axis(placed, order, values, axis=-1)
    return placed
