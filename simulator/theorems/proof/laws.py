"""The law of a verifier as a function of all p and q: for every draft tree the masses of its verdicts on each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts._parts import Part as RowPart
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.laws.guarded import verdicts
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import AttachedTree, Coin, Context, Verifier
from draftproof.simulator.tables import context_index
from draftproof.simulator.theorems.algebra.oracle import Empty, Oracle
from draftproof.simulator.theorems.algebra.plain import (
    plain_point,
    plain_ratio,
    plain_region,
    plain_tree,
    read_number,
    read_ratio,
    read_region,
    read_tree,
)
from draftproof.simulator.theorems.algebra.polynomials import ZERO, Point, Ring
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Region
from draftproof.simulator.theorems.algebra.trees import Gap, Leaf, Tree, leaf_at, leaves, mapped, split
from draftproof.simulator.theorems.proof.coin import FollowingCoin
from draftproof.simulator.theorems.proof.explore import Explorer
from draftproof.simulator.theorems.proof.numbers import Run
from draftproof.simulator.theorems.proof.points import starting_points
from draftproof.simulator.theorems.proof.rows import Shape, SideRows
from draftproof.simulator.theorems.proof.watch import Watch, Watched

#: Makes the verifier of a run; its free parameters are numbers of that run.
Making = Callable[[Run], Verifier]
#: Computes the masses of draft trees: takes tasks, gives results with the numbers of the tasks, in any order.
Exploring = Callable[[Sequence[Mapping[str, Any]]], Iterable[tuple[int, Mapping[str, Any]]]]
#: Accepted context and correction token.
Block = tuple[Context, int]


@dataclass(frozen=True)
class Part:
    """One cell of the drafting (most schemes have one): for each draft tree a decision tree of the masses of verdicts.

    drafted: the draft trees. masses: for each the probability that it is drawn and the verdict is a `Block`.
    gap: in place of both where nothing is known or claimed.
    """

    region: Region
    drafted: tuple[DraftTree, ...]
    masses: tuple[Tree, ...]
    gap: Gap | None = None


@dataclass(frozen=True)
class Drafting:
    """One cell of the drafting. drafted: the draft trees with their probabilities. point: one of the cell."""

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
            name = str((sorted(tree.children.items()), plain_pieces(tree)))  # type: ignore[attr-defined]
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


def parts_of(
    shape: Shape,
    making: Making,
    cells: Sequence[Drafting],
    explorer: Explorer,
    executor: Exploring | None = None,
) -> list[Part]:
    """The law on cells of drafting; each draft tree by itself, so that every executor has the same result."""
    tasks = [task_of(cell, number) for cell in cells for number in range(len(cell.drafted))]
    known = starting_points(shape)
    here = ((number, explored(shape, making, task, explorer.oracle, known)) for number, task in enumerate(tasks))
    results = dict(here if executor is None else executor(tasks))
    in_order = iter([results[number] for number in range(len(tasks))])
    parts = []
    for cell in cells:
        masses = []
        for _ in cell.drafted:
            result = next(in_order)
            explorer.runs += result["runs"]
            explorer.oracle.absorb(result["account"])
            masses.append(read_tree(result["masses"], shape.ring))
            explorer.oracle.points += [tuple(map(read_number, point)) for point in result["points"]]
        parts.append(Part(cell.region, tuple(tree for tree, _ in cell.drafted), tuple(masses), cell.gap))
    return parts


def task_of(cell: Drafting, number: int) -> dict[str, Any]:
    """One draft tree on one cell of drafting, as plain data."""
    tree, weight = cell.drafted[number]
    children = tree.children.items()
    return {
        "children": [[list(context), list(map(int, tokens))] for context, tokens in children],
        "pieces": plain_pieces(tree),
        "weight": plain_ratio(weight),
        "region": plain_region(cell.region),
        "point": plain_point(cell.point),
    }


def plain_pieces(tree: Any) -> list[Any]:
    """The pieces of a draft tree as plain data; raises `InvalidInput` unless they are parts of rows."""
    if any(type(piece) is not RowPart for pieces in tree.pieces.values() for piece in pieces):
        raise InvalidInput("a proof takes draft trees whose pieces are those of a built-in scheme; this one has others")
    return [
        [list(context), [[piece.place, piece.parts, piece.descending] for piece in pieces]]
        for context, pieces in sorted(tree.pieces.items())
    ]


def explored(
    shape: Shape, making: Making, task: Mapping[str, Any], oracle: Oracle, known: Sequence[Point]
) -> dict[str, Any]:
    """The masses of a draft tree as plain data, computed without the points of other draft trees.

    oracle: a fresh one of its kind is asked. known: `starting_points` of the shape.
    """
    region, weight = read_region(task["region"], shape.ring), read_ratio(task["weight"], shape.ring)
    tree = DraftTree(
        {tuple(context): tuple(tokens) for context, tokens in task["children"]},
        {tuple(context): tuple(RowPart(*piece) for piece in pieces) for context, pieces in task["pieces"]},
    )
    explorer = Explorer(oracle.for_ring(shape.ring))
    explorer.oracle.points += known
    masses = drawn_masses(shape, making, tree, weight, region, tuple(map(read_number, task["point"])), explorer)
    return {
        "masses": plain_tree(masses, shape.ring),
        "points": list(map(plain_point, explorer.oracle.points[len(known) :])),
        "runs": explorer.runs,
        "account": explorer.oracle.account(),
    }


def plain_law(law: Sequence[Part], points: Sequence[Point]) -> dict[str, Any]:
    """Parts as plain data without their draft trees (None for a gap), and the points that the search found."""
    parts = [
        None
        if part.gap is not None
        else {
            "region": plain_region(part.region),
            "masses": [plain_tree(masses, part.region.ring) for masses in part.masses],
        }
        for part in law
    ]
    return {"parts": parts, "points": list(map(plain_point, points))}


def read_part(law: Mapping[str, Any], number: int, ring: Ring) -> Part:
    """One part without its draft trees."""
    data = law["parts"][number]
    return Part(read_region(data["region"], ring), (), tuple(read_tree(masses, ring) for masses in data["masses"]))


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
            other_point = explorer.oracle.find(where, atom, point)
            if isinstance(other_point, Empty):
                return Leaf.of({}) if other_point is Empty.YES else Gap(outside=False)
            point = other_point
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
