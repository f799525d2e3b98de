"""Rows in classes: tokens of like `p/q` together, on the device of the rows, so that a program does not grow with `V`.

The class of a token is read off the binary digits of `p/q`: a part of an octave wide, open at both ends. Adding up `p`
and `q` by class is one pass over the rows; only the sums leave the device of the rows.

The branches of a node are grouped by law: a race takes every group for a node with i.i.d. branches. Where they have
laws of their own, as `DraftNode.laws` tells, each pair of a group and a token has a weight of its own, and the pair of
the node and the token is selected where one of these is. So every law of selecting a drafted branch is still in reach.
For the weights only, the target mass of a token is divided among its groups, in proportion to the mean numbers of
branches that they send there. A race has its law from the masses of `q`; those of `p` only say which weights it should
have, and any will do. So for a race `p` is not added up:
1. The tokens are numbered by the first digits of `p/q`, its exponent and four more, and `q` is added up by number.
2. A sum of `q` times the middle of the numbers with these digits stands for the mass of `p`. A token of a large mass
   counts with its own `p/q`.

Shapes: `V` tokens, `J` classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import Coin, DraftNode, Vector
from draftproof.simulator.residual import capped, is_tensor, residual
from draftproof.simulator.vectors import minimum, on_host

#: Classes, and how many there are in an octave (a factor of two) of `p/q`, for a program whose cost grows quickly.
CLASSES, AN_OCTAVE = 32, 2
#: Binary digits of a float64 behind its exponent, and the exponent of 1.
_DIGITS, _ONE = 52, 1023
#: For a race: how many of these digits count, and how many numbers there are then.
_COUNT, _NUMBERS = 4, 2**15
#: Numbers below the first, `p/q` of less than `2**-32`, count as the first, and those from the second on as the last.
_LOW, _HIGH = (_ONE - 32) << _COUNT, (_ONE + 32) << _COUNT
#: The middles of the floats with the same first digits, 0 for the first number.
_MIDDLES = (2 * np.arange(_LOW, _HIGH) + 1 << _DIGITS - _COUNT - 1).view(np.float64)
_MIDDLES[0] = 0.0
#: Tokens of a larger mass count with their own `p/q`.
LARGE = 2.0**-8

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


def by_classes(target: Vector, draft: Vector, classes: int = CLASSES, an_octave: int = AN_OCTAVE) -> Sorted:
    """The classes of one node, the smallest `p/q` first. an_octave: a power of two."""
    if on_host(target) and on_host(draft):
        return by_classes(target.numpy(), draft.numpy(), classes, an_octave)
    behind = an_octave.bit_length() - 1
    lowest = (_ONE << behind) - classes // 2
    place = _first_digits(target, draft, behind)
    if is_tensor(place):
        place = (place - lowest).clamp(0, classes - 1)
        return Sorted(place, *masses_of(place, target, draft, classes=classes))
    place -= lowest
    np.minimum(np.maximum(place, 0, out=place), classes - 1, out=place)
    masses = masses_of(place, target, draft, classes=classes)
    return Sorted(place.astype(np.int8 if classes <= 2**7 else np.int16), *masses)  # is kept, and quick to compare


def _first_digits(target: Vector, draft: Vector, count: int, scratch: Any = None) -> Any:
    """For each token the exponent of `p/q` and so many digits behind it, in 64 bits, which may be scratch."""
    if is_tensor(target):
        return (target.double() / draft.double()).view(torch.int64) >> _DIGITS - count
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # tokens with q = 0 are never drafted
        ratio = np.divide(target.astype(np.float64, copy=False), draft.astype(np.float64, copy=False), out=scratch)
    digits = ratio.view(np.int64)
    digits >>= _DIGITS - count
    return digits


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


@dataclass(frozen=True)
class Group:
    """Branches that go on from one node, drawn from one law. drafted: their next tokens."""

    law: Vector
    drafted: tuple[int, ...]


def groups_of(node: DraftNode) -> list[Group]:
    """The branches of a node with children; one group where they are i.i.d."""
    groups: dict[int, tuple[Vector, list[int]]] = {}
    for token, law in zip(node.children, node.laws, strict=True):
        groups.setdefault(id(law), (law, []))[1].append(token)
    return [Group(law, tuple(drafted)) for law, drafted in groups.values()]


def mean_drafts(groups: Sequence[Group]) -> Vector:
    """For each token, how many branches of one node draw it on average."""
    first, *others = groups
    drafts = len(first.drafted) * first.law
    for group in others:
        drafts += len(group.drafted) * group.law
    return drafts


def divided(target_mass: Vector, groups: Sequence[Group]) -> list[Vector]:
    """The target mass of each group of one node."""
    if len(groups) == 1:
        return [target_mass]
    drafts = mean_drafts(groups)
    a_draft = target_mass / (drafts + (drafts <= 0))
    return [a_draft * (len(group.drafted) * group.law) for group in groups]


def added(rows: Sequence[Vector]) -> Vector:
    """The sum of at least one row."""
    return sum(rows[1:], start=rows[0])


def race_classes(
    target: Vector, groups: Sequence[Group], classes: int, an_octave: int, scratch: Any = None
) -> list[Sorted]:
    """The classes of one node by `p` over the mean law of its branches, once for each group, with its masses.

    The masses of `p` are of the part that the group should meet. an_octave: a power of two, at most 16. scratch: `V`
    numbers of float64 that may be overwritten.
    """
    laws = [group.law for group in groups]
    counts = [len(group.drafted) for group in groups]
    mean = laws[0] if len(groups) == 1 else mean_drafts(groups) / sum(counts)
    if all(map(on_host, (target, *laws))):
        target, mean, laws = target.numpy(), mean.numpy(), [law.numpy() for law in laws]
    numbers, whole = _numbers(target, mean, scratch)
    first, fold = _classes(classes, an_octave)
    nodes = []
    for law, count in zip(laws, counts, strict=True):
        sums = _sums(whole, law)
        p, q = (np.add.reduceat(part, first) for part in (sums * _MIDDLES, sums))
        large = _large(law)
        if len(large):
            here, masses, ours, theirs = (_floats(row[large]) for row in (numbers, law, target, mean))
            places = here.astype(np.int64)
            counted = _MIDDLES[(places - _LOW).clip(0, len(_MIDDLES) - 1)]
            p += np.bincount(fold[places], masses * (ours / theirs - counted), classes)
        node = Sorted(numbers, p * (count / sum(counts)), q, fold)
        if law.dtype == object:
            (exact,) = masses_of(node.place, law, classes=classes)
            node = replace(node, q=exact)
        nodes.append(node)
    return nodes


@lru_cache
def _classes(classes: int, an_octave: int) -> tuple[Any, Any]:
    """The first number from `_LOW` on of each class, and the class of each number."""
    behind = an_octave.bit_length() - 1
    numbers = np.arange(_NUMBERS)
    fold = ((numbers >> _COUNT - behind) - ((_ONE << behind) - classes // 2)).clip(0, classes - 1)
    return np.searchsorted(fold[_LOW:_HIGH], np.arange(classes)), fold.astype(np.int8)


def _numbers(target: Vector, draft: Vector, scratch: Any) -> tuple[Any, Any]:
    """For each token the number of `p/q`, to be kept, and the same in 64 bits, which may be scratch."""
    whole = _first_digits(target, draft, _COUNT, scratch)
    if is_tensor(whole):
        whole = whole & _NUMBERS - 1
        return whole, whole
    numbers = whole.astype(np.int16)
    if numbers.min() < 0:  # 0/0 may have a sign
        whole &= _NUMBERS - 1
        numbers = whole.astype(np.int16)
    return numbers, whole


def _sums(numbers: Any, law: Vector) -> Any:
    """The masses of a law by number from `_LOW` to `_HIGH`, in float64."""
    if is_tensor(law):
        every = numbers.bincount(weights=law.double(), minlength=_HIGH)
    else:
        every = np.bincount(numbers, weights=law.astype(np.float64, copy=False), minlength=_HIGH)
    sums = every[_LOW:_HIGH]
    sums[0] += every[:_LOW].sum()
    sums[-1] += every[_HIGH:].sum()
    return sums.cpu().numpy() if is_tensor(sums) else sums


def _large(law: Vector) -> Any:
    """The tokens of a large mass."""
    if is_tensor(law):
        return (law > LARGE).nonzero()[:, 0]
    return np.flatnonzero(law.astype(np.float64, copy=False) > LARGE)


def _floats(row: Vector) -> Any:
    return row.double().cpu().numpy() if is_tensor(row) else row.astype(np.float64)
