"""Parts of equal mass of a row, its tokens in an order; a token on a border belongs to both sides, by its shares."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from draftproof.simulator.drafts._adapting import number
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Vector
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.vectors import top_tokens

T = TypeVar("T")

#: A border is searched among so many of the likeliest tokens first, then among 16 times as many.
HEAD = 64
#: What is computed from tensors of so many tokens is kept as long as these: a tree is drawn and verified with the same.
LONG = 2048


@dataclass(frozen=True)
class Part:
    """The part `place` of `parts`, counted from 0, of every row: see `Piece`.

    descending: whether the likeliest tokens come first (ties by number), in place of the order of the numbers.
    """

    place: int
    parts: int
    descending: bool = True

    def law(self, row: Vector) -> Vector:
        """The tokens of the part, normalised; the row itself where there is one part. Raises `InvalidInput` for 0."""
        return row if self.parts == 1 else _kept(row, self, lambda: self._law(row))

    def _law(self, row: Vector) -> Vector:
        total, order, borders = _kept(
            row, (self.parts, self.descending), lambda: _borders(row, self.parts, self.descending)
        )
        first, start = borders[self.place]
        last, stop = borders[self.place + 1]
        scale = self.parts / total
        inside = order[first : last + 1]
        if last < len(order):
            law = row * 0
            law[inside] = row[inside] * scale
            law[order[last]] = row[order[last]] * stop * scale
        else:
            law = row * scale
            law[order[:first]] = row[order[:first]] * 0
        law[order[first]] = law[order[first]] - row[order[first]] * start * scale
        if not is_tensor(law):
            law.setflags(write=False)
        return law


def cells(row: Vector, parts: Sequence[Part]) -> tuple[Any, Any]:
    """One number `u` draws the token at the share `u` of the mass of every part: the lengths of the cells of [0, 1) in
    which the tokens are the same, and the tokens, shape `(parts, cells)`.
    """
    return _kept(row, tuple(parts), lambda: _cells(row, parts))


def _cells(row: Vector, parts: Sequence[Part]) -> tuple[Any, Any]:
    tokens, ends = [], []
    for part in parts:
        law, masses = (x.cpu().numpy() if is_tensor(x) else x for x in (part.law(row), row))
        inside = np.flatnonzero(law > 0)
        tokens.append(inside[(-masses[inside]).argsort(stable=True)] if part.descending else inside)
        ends.append(law[tokens[-1]].cumsum()[:-1])
    zero = law[:1] * 0
    cuts = np.unique(np.concatenate([zero, *ends, zero + 1]))
    drawn = [order[below.searchsorted(cuts[:-1], side="right")] for order, below in zip(tokens, ends, strict=True)]
    return cuts[1:] - cuts[:-1], np.stack(drawn)


def _index(row: Vector, tokens: Sequence[int]) -> Any:
    """Tokens as an index of a row."""
    return torch.tensor(tokens, device=row.device) if is_tensor(row) else np.array(tokens)


def _borders(row: Vector, parts: int, descending: bool) -> tuple[Any, Any, Sequence[tuple[int, Any]]]:
    """The mass of a row, its first tokens in their order, and for each border the place among them of the token that
    holds it and the share of this token that lies before it; the last border is after all tokens.
    """
    total = row.sum()
    if not total > 0:
        raise InvalidInput(f"a row of the draft sums to {total}; to draw from a part of it, it must have mass")
    size = HEAD if descending else len(row)
    while True:
        order = _index(row, top_tokens(row, size) if descending else range(size))
        ends = row[order].cumsum(0)
        mass = total if len(order) < len(row) else ends[-1]
        bounds = [mass * place / parts for place in range(parts)]
        places = [int((ends <= bound).sum()) for bound in bounds]
        if places[-1] < len(order):
            break
        size *= 16
    borders = []
    for bound, place in zip(bounds, places, strict=True):
        before = ends[place - 1] if place else ends[0] * 0
        borders.append((place, number((bound - before) / (ends[place] - before))))
    return mass, order, [*borders, (len(row), 0)]


#: By the identity of a row: the row, and what was computed from it.
_computed: dict[int, tuple[weakref.ref[Any], dict[Any, Any]]] = {}


def _kept(row: Vector, key: Any, compute: Callable[[], T]) -> T:
    """What `compute` gives, computed once for a row that nobody can have changed since: read-only floats, or a long
    tensor that counts its changes.
    """
    if is_tensor(row):
        version = None if len(row) < LONG or row.is_inference() else row._version
        constant, key = version is not None, (version, key)
    else:
        constant = row.dtype == np.float64 and not row.flags.writeable
    if not constant:
        return compute()
    place = id(row)
    if place not in _computed or _computed[place][0]() is not row:
        _computed[place] = weakref.ref(row, lambda _: _computed.pop(place, None)), {}
    known = _computed[place][1]
    if key not in known:
        known[key] = compute()
    value: T = known[key]
    return value
