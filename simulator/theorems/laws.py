"""The law of a verifier as a function of all p and q: for every draft tree the masses of its verdicts on each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.arithmetic import RATIONAL
from simulator.coins import outcomes
from simulator.drafts.trees import DraftTree
from simulator.instances.processes import context_index
from simulator.laws.enumeration import verdicts
from simulator.laws.law import BlockLaw
from simulator.protocol import AttachedTree, Coin, Context, Verifier
from simulator.theorems.coin import FollowingCoin
from simulator.theorems.explore import Explorer
from simulator.theorems.numbers import Run
from simulator.theorems.oracle import Empty
from simulator.theorems.polynomials import ZERO, Point
from simulator.theorems.ratios import Ratio
from simulator.theorems.regions import Region
from simulator.theorems.rows import Shape, SideRows
from simulator.theorems.trees import Gap, Leaf, Tree, leaf_at, leaves, mapped, split
from simulator.theorems.watch import Watch, Watched

#: Makes the verifier of a run: one with free numbers has numbers of that run in it.
Making = Callable[[Run], Verifier]
#: Accepted context and correction token.
Block = tuple[Context, int]


@dataclass(frozen=True)
class Part:
    """One cell of what drafting asks (on most schemes there is one): a tree of masses of verdicts for each draft tree.

    drafted: the draft trees. masses: for each the probability that it is drawn and the verdict is a `Block`.
    gap: in place of both where nothing is known or claimed.
    """

    region: Region
    drafted: tuple[DraftTree, ...]
    masses: tuple[Tree, ...]
    gap: Gap | None = None


@dataclass(frozen=True)
class Drafting:
    """One cell of what drafting asks. drafted: the draft trees with their probabilities. point: one of the cell."""

    region: Region
    drafted: tuple[tuple[DraftTree, Ratio], ...] = ()
    point: Point = ()
    gap: Gap | None = None


def draftings(shape: Shape, explorer: Explorer) -> list[Drafting]:
    """The draft trees of a shape, cell by cell."""
    memory: dict[str, Any] = {}

    def draw(run: Run) -> Mapping[Any, Ratio]:
        draft = SideRows(shape, run, "q")
        weights: dict[str, Ratio] = {}
        for tree, weight in drawn(shape, draft, run):
            name = str(sorted(tree.children.items()))  # type: ignore[attr-defined]
            memory[name] = tree
            weights[name] = weights[name] + weight.as_ratio if name in weights else weight.as_ratio
        return weights

    cells = []
    for region, leaf in leaves(explorer.tree(draw, shape.domain, shape.point), shape.domain):
        if isinstance(leaf, Gap):
            cells.append(Drafting(region, gap=leaf))
        else:
            assert leaf.point is not None
            drafted = tuple((memory[name], weight) for name, weight in leaf.values.items())
            cells.append(Drafting(region, drafted, leaf.point))
    return cells


def drawn(shape: Shape, draft: SideRows, run: Run) -> Iterator[tuple[AttachedTree, Any]]:
    """Every draft tree with its probability in one run."""
    watch = Watch(shape.scheme)

    def draw(coin: Coin) -> DraftTree:
        with watch.watching():
            return shape.scheme.draw(draft, coin)  # type: ignore[return-value]

    return outcomes(draw, RATIONAL, FollowingCoin(run))


def parts(
    shape: Shape, making: Making, explorer: Explorer, progress: Callable[[str], None] | None = None
) -> Iterator[Part]:
    """The whole law, cell by cell of drafting. progress: told what is being done."""
    for drafting in draftings(shape, explorer):
        yield part_of(shape, making, drafting, explorer, progress)


def part_of(
    shape: Shape,
    making: Making,
    drafting: Drafting,
    explorer: Explorer,
    progress: Callable[[str], None] | None = None,
) -> Part:
    """The law on one cell of drafting."""
    found = []
    for number, (tree, weight) in enumerate(drafting.drafted):
        if progress:
            progress(f"draft tree {number + 1} of {len(drafting.drafted)}")
        found.append(drawn_masses(shape, making, tree, weight, drafting.region, drafting.point, explorer))
    return Part(drafting.region, tuple(tree for tree, _ in drafting.drafted), tuple(found), drafting.gap)


def drawn_masses(
    shape: Shape,
    making: Making,
    tree: AttachedTree,
    weight: Ratio,
    region: Region,
    point: Point,
    explorer: Explorer,
) -> Tree:
    """The masses of one draft tree; weight: the probability of drawing it. Where that is 0 nothing is run."""

    def run_verifier(run: Run) -> Mapping[Any, Ratio]:
        target, draft = SideRows(shape, run, "p"), SideRows(shape, run, "q")
        law = verdicts(Watched(making(run)), tree, target, draft, RATIONAL, FollowingCoin(run))
        for mass in law.values():
            if mass.as_ratio.at(run.point) != mass.at_sample:
                raise AssertionError("a rational function is not what was computed at the sample")
        return {block: mass.as_ratio for block, mass in law.items()}

    atoms = [atom for atom, _ in shape.ring.factors(weight.num)[1] if region.allowed(atom) & ZERO]
    where = region
    for atom in atoms:
        where = where.without_signs(atom, ZERO)
        if point not in where:
            found = explorer.oracle.find(where, atom, point)
            if isinstance(found, Empty):
                return Leaf.of({}) if found is Empty.YES else Gap(outside=False)
            point = found
    result = explorer.tree(run_verifier, where, point)
    result = mapped(
        result, lambda leaf: {block: weight * mass for block, mass in leaf.values.items()}, where, explorer.oracle
    )
    for atom in reversed(atoms):
        where = Region(where.ring, {**where.masks, atom: region.allowed(atom)})
        result = split(atom, ZERO, Leaf.of({}), result, where, explorer.oracle)
    return result


def law_at(shape: Shape, law: Sequence[Part], point: Point) -> BlockLaw | None:
    """The law at a point by formula; None where nothing is known or claimed there."""
    correction = [RATIONAL.zeros(shape.vocab_size**depth, shape.vocab_size) for depth in range(shape.scheme.depth + 1)]
    part = next(part for part in law if point in part.region)
    if part.gap is not None:
        return None
    for masses in part.masses:
        leaf = leaf_at(masses, point, shape.ring)
        if isinstance(leaf, Gap):
            return None
        for (accepted, token), mass in leaf.values.items():
            correction[len(accepted)][context_index(accepted, shape.vocab_size), token] += mass.at(point)
    return BlockLaw(correction, RATIONAL)
