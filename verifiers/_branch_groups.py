"""The branches of a layer, grouped by node and law: a race takes every group for a node with i.i.d. branches.

Where the branches of a node have laws of their own, as `DraftNode.laws` tells, each pair of a group and a token has a
weight of its own, and the pair of the node and the token is selected where one of these is. So every law of selecting a
drafted branch is still in reach. For the weights only, the target mass of a token is divided among its groups, in
proportion to the mean numbers of branches that they send there.

The masses by class of such branches, for a race of classes, see `verifiers._classes`. A race has its law from the
masses of `q`; those of `p` only say which weights it should have, and any will do. So `p` is not added up:
1. The tokens are numbered by the first digits of `p/q`, its exponent and four more, and `q` is added up by number.
2. A sum of `q` times the middle of the numbers with these digits stands for the mass of `p`. A token of a large mass
   counts with its own `p/q`.
Shapes: `V` tokens, `J` classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.protocol import DraftNode, Vector
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.vectors import on_host
from draftproof.verifiers._classes import Sorted, masses_of


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
    each = target_mass / (drafts + (drafts <= 0))
    return [each * (len(group.drafted) * group.law) for group in groups]


def added(rows: Sequence[Vector]) -> Vector:
    """The sum of at least one row."""
    return sum(rows[1:], start=rows[0])


#: Binary digits of a float64 after its exponent, how many of them count, and how many numbers there are then.
_DIGITS, _COUNT, _NUMBERS = 52, 4, 2**15
#: Numbers below the first, `p/q` of less than `2**-32`, count as the first, and those from the second on as the last.
_LOW, _HIGH = (1023 - 32) << _COUNT, (1023 + 32) << _COUNT
#: The middles of the floats with the same first digits, 0 for the first number.
_MIDDLES = (2 * np.arange(_LOW, _HIGH) + 1 << _DIGITS - _COUNT - 1).view(np.float64)
_MIDDLES[0] = 0.0
#: Tokens of a larger mass count with their own `p/q`.
LARGE = 2.0**-8


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
    found = []
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
        found.append(node)
    return found


@lru_cache
def _classes(classes: int, an_octave: int) -> tuple[Any, Any]:
    """The first number from `_LOW` on of each class, and the class of each number."""
    behind = an_octave.bit_length() - 1
    numbers = np.arange(_NUMBERS)
    fold = ((numbers >> _COUNT - behind) - ((1023 << behind) - classes // 2)).clip(0, classes - 1)
    return np.searchsorted(fold[_LOW:_HIGH], np.arange(classes)), fold.astype(np.int8)


def _numbers(target: Vector, draft: Vector, scratch: Any) -> tuple[Any, Any]:
    """For each token the number of `p/q`, to be kept, and the same in 64 bits, which may be scratch."""
    if is_tensor(target):
        whole = ((target.double() / draft.double()).view(torch.int64) >> _DIGITS - _COUNT) & _NUMBERS - 1
        return whole, whole
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # tokens with q = 0 are never drafted
        ratio = np.divide(target.astype(np.float64, copy=False), draft.astype(np.float64, copy=False), out=scratch)
    whole = ratio.view(np.int64)
    whole >>= _DIGITS - _COUNT
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
