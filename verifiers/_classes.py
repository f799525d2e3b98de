"""Tokens of like `p/q` in classes, computed on the device of the rows: a program over classes does not grow with `V`.

The class of a token is read off the binary digits of `p/q`: a part of an octave wide, open at both ends. Adding up `p`
and `q` by class is one pass over the rows; only the sums leave the device of the rows.

Shapes: `V` tokens, `J` classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Coin, Vector
from draftproof.simulator.residual import capped, is_tensor, residual
from draftproof.simulator.vectors import minimum, on_host

#: Classes, and how many there are in an octave (a factor of two) of `p/q`, for a program whose cost grows quickly.
CLASSES, AN_OCTAVE = 32, 2
#: Binary digits of a float64 behind its exponent, and the exponent of 1.
_DIGITS, _ONE = 52, 1023


#: All of a row.
WHOLE = slice(None)


@dataclass(frozen=True)
class Sorted:
    """One node by classes. p, q: masses by class, `(J,)`.

    numbers: the class of each token, `(V,)`, or, where there is one, the place in `fold` that has its class.
    """

    numbers: Any
    p: Any
    q: Any
    fold: Any = None

    @cached_property
    def place(self) -> Any:
        """The class of each token, `(V,)`."""
        if self.fold is None:
            return self.numbers
        return self._fold[self.numbers] if is_tensor(self.numbers) else self.fold.take(self.numbers)

    @property
    def _fold(self) -> Any:
        return torch.as_tensor(self.fold, dtype=torch.int64, device=self.numbers.device)


def by_classes(
    target: Vector, draft: Vector, scratch: Any = None, classes: int = CLASSES, an_octave: int = AN_OCTAVE
) -> Sorted:
    """The classes of one node, the smallest `p/q` first. an_octave: a power of two.

    scratch: `V` numbers of float64 that may be overwritten.
    """
    if on_host(target) and on_host(draft):
        return by_classes(target.numpy(), draft.numpy(), scratch, classes, an_octave)
    behind = an_octave.bit_length() - 1
    shift = _DIGITS - behind
    lowest = (_ONE << behind) - classes // 2
    if is_tensor(target):
        ratio = target.double() / draft.double()
        place = ((ratio.view(torch.int64) >> shift) - lowest).clamp(0, classes - 1)
        return Sorted(place, *masses_of(place, target, draft, classes=classes))
    with np.errstate(divide="ignore", invalid="ignore"):  # tokens with q = 0 are never drafted, whatever their class
        ratio = np.divide(target.astype(np.float64, copy=False), draft.astype(np.float64, copy=False), out=scratch)
    place = ratio.view(np.int64)
    place >>= shift
    place -= lowest
    np.minimum(np.maximum(place, 0, out=place), classes - 1, out=place)
    masses = masses_of(place, target, draft, classes=classes)
    return Sorted(place.astype(np.int8 if classes <= 2**7 else np.int16), *masses)  # is kept, and quick to compare


def masses_of(place: Any, *rows: Vector, classes: int = CLASSES) -> list[Any]:
    """The masses of rows by class, shape `(J,)` each. place: the class of each token."""
    if is_tensor(place):
        return [place.bincount(weights=row.double(), minlength=classes).cpu().numpy() for row in rows]
    if rows[0].dtype == object:
        return [_added_up(row, place, classes) for row in rows]
    return [np.bincount(place, weights=row, minlength=classes) for row in rows]


def _added_up(row: Vector, place: Any, classes: int) -> Vector:
    """Exact masses by class."""
    masses = np.array([row[0] * 0] * classes, dtype=object)
    for token, at in enumerate(place):
        masses[at] = masses[at] + row[token]
    return masses


def one_class(target: Vector, draft: Vector) -> Sorted:
    """All tokens in one class, which is all that a single draft asks for."""
    if is_tensor(target):
        masses = [np.array([row.double().sum().item()]) for row in (target, draft)]
        return Sorted(torch.zeros(1, dtype=torch.int64, device=target.device).expand(len(target)), *masses)
    exact = target.dtype == object
    masses = [np.array([row.sum() if exact else row.sum(dtype=np.float64)]) for row in (target, draft)]
    return Sorted(np.broadcast_to(np.zeros(1, dtype=np.int8), len(target)), *masses)


def table(values: Any, like: Vector) -> Any:
    """`J` numbers of the host as an array on the device and in the precision of a row."""
    return like.new_tensor(values) if is_tensor(like) else np.asarray(values).astype(like.dtype, copy=False)


def on_tokens(values: Any, node: Sorted, like: Vector, part: slice = WHOLE) -> Vector:
    """For each token of a part of the row the value of its class, on the device of the row."""
    place = node.place[part]
    if is_tensor(place):
        return table(values, like)[place]
    if is_tensor(like):
        return torch.from_numpy(table(values, like).numpy().take(place))
    return table(values, like).take(place)


def classes_of(node: Sorted, tokens: Sequence[int]) -> list[int]:
    """The classes of a few tokens."""
    places = node.numbers[list(tokens)].tolist()
    return [int(place) for place in (places if node.fold is None else node.fold[places])]


@dataclass(frozen=True)
class ClassLaw:
    """A law `r` of tokens, `r/q` the same within a class. node: its classes. rho: `r/q` by class, shape `(J,)`."""

    node: Sorted
    rho: Any

    def law(self, q: Vector, part: slice = WHOLE) -> Vector:
        """A part of `r`; q: that part of the draft row."""
        return q[part] * on_tokens(self.rho, self.node, q, part)

    def rates(self, tokens: Sequence[int]) -> list[Any]:
        """`r/q` of some tokens."""
        return [self.rho[place] for place in classes_of(self.node, tokens)]


class OneDraft(ClassLaw, ABC):
    """A rule that takes one of the drafts, with the law `r`; it is then accepted with probability `min(1, p/r)`.

    p: the target mass, its sum may be less than 1.
    """

    @abstractmethod
    def chances(self, drafted: Sequence[int]) -> list[Any]:
        """For each of the drafts the probability that it is taken."""

    def next_token(self, p: Vector, q: Vector, drafted: Sequence[int], coin: Coin) -> int:
        """The draft taken, or a token from normalised `(p - r)+`."""
        taken = drafted[coin.choose(self.chances(drafted))]
        if coin.flip(self._kept(p, q, [taken])[0]):
            return taken
        return coin.choose(residual(p, self.law(q)))

    def accepted(self, p: Vector, q: Vector, drafted: Sequence[int]) -> dict[int, Any]:
        """The probability that each drafted token is accepted, given the drafts."""
        given: dict[int, Any] = {}
        for token, chance, rate in zip(drafted, self.chances(drafted), self._kept(p, q, drafted), strict=True):
            given[token] = given.get(token, 0) + chance * rate
        return given

    def mean_accepted(self, p: Vector, q: Vector, part: slice) -> Vector:
        """That on average, `min(p, r)`; a part of the row."""
        return minimum(p[part], self.law(q, part))

    def branch(self, p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
        """The law of the next token given the drafts."""
        given = p * 0
        for token, chance in self.accepted(p, q, drafted).items():
            given[token] = given[token] + chance
        return given + (1 - given.sum()) * residual(p, self.law(q))

    def _kept(self, p: Vector, q: Vector, tokens: Sequence[int]) -> list[Any]:
        laws = [mass * rho for mass, rho in zip(numbers(q, tokens), self.rates(tokens), strict=True)]
        return [capped(target, law) for target, law in zip(numbers(p, tokens), laws, strict=True)]


def number(value: Any) -> Any:
    """One entry of a row as a number of the host."""
    return value.item() if is_tensor(value) else value


def numbers(row: Vector, tokens: Sequence[int]) -> list[Any]:
    """A few entries of a row as numbers of the host, brought over together."""
    return list(row[list(tokens)].tolist())
