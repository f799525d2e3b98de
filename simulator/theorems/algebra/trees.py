"""Decision trees: functions that are given by one value on each cell, cells being told apart by signs of atoms.

A leaf has the function on its cell, rational functions by name; a gap is a cell without a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.polynomials import ANY, ZERO, Point, Ring
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region, vanishes

#: Agreement of two subtrees on a tie is looked for among at most so many pairs of leaves.
PAIRS = 64


@dataclass(frozen=True)
class Leaf:
    """The function on one cell. values: rational functions by name, those that are zero left out.

    point: one of the cell, where a run was made there.
    """

    values: Mapping[Any, Ratio]
    key: tuple[Any, ...]
    point: Point | None = None

    @classmethod
    def of(cls, values: Mapping[Any, Ratio], point: Point | None = None) -> Leaf:
        """A leaf with these values."""
        nonzero = {name: ratio for name, ratio in values.items() if not ratio.is_zero}
        return cls(nonzero, tuple(sorted((str(name), ratio.key) for name, ratio in nonzero.items())), point)


@dataclass(frozen=True)
class Gap:
    """A cell without a value. outside: whether it is outside the theorem's hypothesis; else the value is not known."""

    outside: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells trees apart."""
        return ("gap", self.outside)


@dataclass(frozen=True)
class Split:
    """Two trees, told apart by whether the sign of an atom is in `mask`."""

    atom: int
    mask: int
    inside: Tree
    outside: Tree
    key: tuple[Any, ...]


Tree: TypeAlias = Leaf | Gap | Split


def leaves(tree: Tree, region: Region) -> Iterator[tuple[Region, Leaf | Gap]]:
    """Every leaf with its cell."""
    if isinstance(tree, Split):
        yield from leaves(tree.inside, region.with_signs(tree.atom, tree.mask))
        yield from leaves(tree.outside, region.without_signs(tree.atom, tree.mask))
    else:
        yield region, tree


def leaf_at(tree: Tree, point: Point, ring: Ring) -> Leaf | Gap:
    """The leaf of the cell that a point is in."""
    while isinstance(tree, Split):
        tree = tree.inside if ring.sign_at(tree.atom, point) & tree.mask else tree.outside
    return tree


def split(atom: int, mask: int, inside: Tree, outside: Tree, region: Region, oracle: Oracle) -> Tree:
    """A split of a region, or a simpler tree for the same function: equal parts are one, ties join a neighbour."""
    if inside.key == outside.key:
        return inside
    tied = region.with_signs(atom, ZERO)
    if _only_ties(region, atom, mask, oracle) and agree(inside, outside, tied, oracle):
        return outside
    if _only_ties(region, atom, ANY & ~mask, oracle) and agree(outside, inside, tied, oracle):
        return inside
    return Split(atom, mask, inside, outside, (atom, mask, inside.key, outside.key))


def _only_ties(region: Region, atom: int, mask: int, oracle: Oracle) -> bool:
    """Whether an atom is zero wherever its sign is in `mask`."""
    allowed = region.allowed(atom) & mask
    strict = allowed & ~ZERO
    return bool(allowed & ZERO) and (not strict or oracle.is_empty(region.with_signs(atom, strict), atom))


def agree(tie: Tree, other: Tree, tied: Region, oracle: Oracle) -> bool:
    """Whether the function on a tie is that of a neighbouring tree, at every point of the tie."""
    ours, theirs = list(leaves(tie, tied)), list(leaves(other, tied))
    if len(ours) * len(theirs) > PAIRS:
        return False
    return all(
        _one_function(mine, leaf, region, oracle) or _apart(region, beside, oracle)
        for region, mine in ours
        for beside, leaf in theirs
    )


def _apart(region: Region, other: Region, oracle: Oracle) -> bool:
    """Whether two regions are proved to have no point in common."""
    both = region
    added = [atom for atom, mask in other if region.allowed(atom) & mask != region.allowed(atom)]
    for atom in added:
        both = both.with_signs(atom, other.allowed(atom))
    if any(both.allowed(atom) == 0 for atom in added):
        return True
    return any(oracle.is_empty(both, atom) for atom in added)


def _one_function(one: Leaf | Gap, other: Leaf | Gap, region: Region, oracle: Oracle) -> bool:
    """Whether two leaves are one function on a region where the first is what holds."""
    if isinstance(one, Gap) or isinstance(other, Gap):
        return one.key == other.key
    names = dict.fromkeys((*one.values, *other.values))
    zero = Ratio(region.ring, region.ring.zero)
    for name in names:
        mine, theirs = one.values.get(name, zero), other.values.get(name, zero)
        if mine.key == theirs.key:
            continue
        if not (_defined(theirs, region, oracle) and vanishes((mine - theirs).num, region)):
            return False
    return True


def _defined(ratio: Ratio, region: Region, oracle: Oracle) -> bool:
    """Whether a denominator is proved to vanish nowhere on a region."""
    for atom, _ in region.ring.factors(ratio.den)[1]:
        at_zero = region.with_signs(atom, ZERO)
        if region.allowed(atom) & ZERO and not oracle.is_empty(at_zero, atom):
            return False
    return True


def mapped(tree: Tree, change: Callable[[Leaf], Mapping[Any, Ratio]], region: Region, oracle: Oracle) -> Tree:
    """The tree with other values at its leaves."""
    if isinstance(tree, Gap):
        return tree
    if isinstance(tree, Leaf):
        return Leaf.of(change(tree), tree.point)
    inside = mapped(tree.inside, change, region.with_signs(tree.atom, tree.mask), oracle)
    outside = mapped(tree.outside, change, region.without_signs(tree.atom, tree.mask), oracle)
    return split(tree.atom, tree.mask, inside, outside, region, oracle)


def combined(
    trees: Sequence[Tree], join: Callable[[Sequence[Leaf]], Mapping[Any, Ratio]], region: Region, oracle: Oracle
) -> Tree:
    """The tree of `join` applied to what the trees are at each point."""
    done: list[Leaf | Gap] = []
    return _descend(list(trees), done, join, region, oracle)


def _descend(
    waiting: list[Tree], done: list[Leaf | Gap], join: Callable[..., Any], region: Region, oracle: Oracle
) -> Tree:
    waiting, done = list(waiting), list(done)
    while waiting:
        tree = waiting[0]
        if not isinstance(tree, Split):
            done.append(tree)
            waiting.pop(0)
            continue
        allowed = region.allowed(tree.atom)
        sides = []
        for mask, branch in ((tree.mask, tree.inside), (ANY & ~tree.mask, tree.outside)):
            left = allowed & mask
            part = region if left == allowed else region.with_signs(tree.atom, mask)
            if left and (left == allowed or not oracle.is_empty(part, tree.atom)):
                sides.append((part, branch))
        if len(sides) == 2:
            inside, outside = (_descend([branch, *waiting[1:]], done, join, part, oracle) for part, branch in sides)
            return split(tree.atom, tree.mask, inside, outside, region, oracle)
        waiting[0] = sides[0][1] if sides else Gap(outside=True)  # a region without points: nothing is claimed
    gaps = [leaf for leaf in done if isinstance(leaf, Gap)]
    if gaps:
        return min(gaps, key=lambda gap: not gap.outside)
    return Leaf.of(join(done))
