"""Branches one from each part of a row: their joint law, how often they meet sets, and floats as exact as rationals."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Stratified, Systematic
from draftproof.simulator.drafts._parts import Part
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Context

Path = tuple[int, ...]
Law = dict[tuple[Path, ...], Fraction]
FAMILY_NAMES = ["dirichlet", *CORNER_CASES]
#: V, K and L2 of small trees, with both orders of the tokens.
SMALL = [(2, 2, 2), (2, 3, 2), (3, 2, 2), (2, 2, 3), (3, 3, 1), (2, 1, 2), (5, 2, 1)]


def draft(family: str, size: int, depth: int, seed: int = 0) -> Any:
    return FAMILIES[family].instance(size, depth, np.random.default_rng((seed, size, depth)), 20).draft


def in_floats(rows: Any) -> Any:
    return tabulate(rows, rows.depth, FLOAT64)


def bounds(row: Any, descending: bool) -> list[tuple[int, Fraction, Fraction]]:
    """Every token of positive mass with its interval in [0, 1), in order."""
    masses = [Fraction(as_python(mass)) for mass in row]
    found, before = [], Fraction(0)
    for token in sorted(range(len(masses)), key=lambda token: (-masses[token] if descending else 0, token)):
        found += [(token, before, before + masses[token])] * (masses[token] > 0)
        before += masses[token]
    return found


def at_one_node(scheme: Stratified, row: Any, k: int) -> dict[tuple[int, ...], Fraction]:
    """The law of the next tokens of `k` branches: one number a branch, or one number for all."""
    tokens = bounds(row, scheme.order == "descending")
    inside = {x * k % 1 for _, *ends in tokens for x in ends}
    cells = list(pairwise(sorted({Fraction(0), Fraction(1), *inside})))
    numbers = [(cell,) * k for cell in cells] if type(scheme) is Systematic else product(cells, repeat=k)
    found: dict[tuple[int, ...], Fraction] = {}
    for drawn in numbers:
        places = [((low + high) / 2 + part) / k for part, (low, high) in enumerate(drawn)]
        mass = prod((high - low for low, high in drawn[: 1 if type(scheme) is Systematic else k]), start=Fraction(1))
        for order in permutations(next(token for token, a, b in tokens if a <= place < b) for place in places):
            found[order] = found.get(order, Fraction(0)) + mass / factorial(k)
    return found


def expected(scheme: Stratified, rows: Any) -> Law:
    """The law of the branches in draft order, node by node."""
    law: Law = {((),) * scheme.K: Fraction(1)}
    for _ in range(scheme.L2):
        longer: Law = {}
        for paths, mass in law.items():
            nodes = Counter(paths)
            for drawn in product(*(at_one_node(scheme, rows.row(node), k).items() for node, k in nodes.items())):
                left = {node: list(tokens) for node, (tokens, _) in zip(nodes, drawn, strict=True)}
                key = tuple((*path, left[path].pop(0)) for path in paths)
                longer[key] = longer.get(key, Fraction(0)) + mass * prod(share for _, share in drawn)
        law = longer
    return law


def paths_of(tree: Any, trunk: int, K: int, length: int) -> tuple[Path, ...]:
    """The branches of a tree in draft order."""
    heads: Context = ()
    for _ in range(trunk):
        heads = (*heads, tree.children[heads][0])
    left = {context: list(tokens) for context, tokens in tree.children.items()}
    found = []
    for _ in range(K):
        path = heads
        for _ in range(length):
            path = (*path, left[path].pop(0))
        found.append(path[trunk:])
    return tuple(found)


def drawn_trees(scheme: Stratified, rows: Any, arithmetic: Arithmetic = RATIONAL) -> list[tuple[Any, Any]]:
    return list(outcomes(lambda coin: scheme.draw(rows, coin), arithmetic))


def law_of(scheme: Stratified, rows: Any) -> Law:
    found: Law = {}
    for tree, mass in drawn_trees(scheme, rows):
        key = paths_of(tree, scheme.L1, scheme.K, scheme.L2)
        found[key] = found.get(key, Fraction(0)) + Fraction(as_python(mass))
    return found


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("kind", "order", "shape", "family"),
    list(product([Stratified, Systematic], ["descending", "number"], SMALL, FAMILY_NAMES)),
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_branches_have_the_law_of_numbers_in_parts(
    family: str, shape: tuple[int, int, int], order: str, kind: type[Stratified]
) -> None:
    size, K, length = shape
    rows = draft(family, size, length)
    assert law_of(kind(K, 0, length, order), rows) == expected(kind(K, 0, length, order), rows)


#: Masses of large rows are multiples of this, so that sums of floats are exact and rationals have short ones.
UNIT = 2**-40


class Large:
    """150,000 tokens with masses that differ from context to context, a few of them large in every second row."""

    vocab_size = 150_000

    def __init__(self, vectors: Any = np.asarray) -> None:
        self.row = cache(lambda context: vectors(self.masses(context) * UNIT))
        self.order = cache(lambda context: np.argsort(-self.masses(context), kind="stable"))

    @cache  # noqa: B019 - lives as long as the test
    def masses(self, context: Context) -> Any:
        generator = np.random.default_rng((7, *context))
        weights = generator.random(self.vocab_size) ** 8
        if len(context) % 2:
            weights[generator.choice(self.vocab_size, 3)] += (30_000, 15_000, 5_000)
        masses = np.floor(weights / weights.sum() / UNIT).astype(np.int64)
        masses[context[-1] if context else 0] += 2**40 - masses.sum()
        return masses


@pytest.mark.parametrize("order", ["descending", "number"])
@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_parts_of_150_000_tokens_have_the_laws_of_rationals(vectors: str, order: str) -> None:
    rows, K = Large(np.asarray if vectors == "numpy" else pytest.importorskip("torch").from_numpy), 3
    for context in [()] if vectors == "torch" else [(), (1,)]:
        masses, shares = rows.masses(context), []
        tokens = rows.order(context) if order == "descending" else np.arange(rows.vocab_size)
        ends = masses[tokens].cumsum() * K
        for place, piece in enumerate(Stratified(K, 0, 40, order).pieces(K)):
            inside = np.minimum(ends, (place + 1) << 40) - np.maximum(ends - masses[tokens] * K, place << 40)
            law = np.asarray(piece.law(rows.row(context)))
            shares.append(law)
            assert abs(law[tokens] - np.maximum(inside, 0) * UNIT).max() < 1e-14  # some hundred roundings of 2^-53
            assert ((law[tokens] > 0) == (inside > 0)).all()
        assert abs(sum(shares) / K - masses * UNIT).max() < 1e-14


def test_floats_draw_the_trees_of_rationals() -> None:
    for scheme in (Stratified(3, 0, 2), Systematic(2, 1, 2), Stratified(2, 0, 3, "number")):
        rows = draft("dirichlet", 3, scheme.depth)
        exact, floats = drawn_trees(scheme, rows), drawn_trees(scheme, in_floats(rows), FLOAT64)
        assert [tree.children for tree, _ in exact] == [tree.children for tree, _ in floats]
        assert [mass for _, mass in floats] == pytest.approx([float(as_python(mass)) for _, mass in exact], abs=1e-12)


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_a_long_row_that_is_overwritten_has_the_law_of_what_it_is_now(vectors: str) -> None:
    first, second = (np.random.default_rng(seed).dirichlet(np.full(3000, 0.1)) for seed in range(2))
    row: Any = first.copy() if vectors == "numpy" else pytest.importorskip("torch").tensor(first)
    before = np.asarray(Part(0, 2).law(row)).copy()
    row[:] = second if vectors == "numpy" else pytest.importorskip("torch").tensor(second)
    assert (np.asarray(Part(0, 2).law(row)) == Part(0, 2).law(second)).all()
    assert (before != Part(0, 2).law(second)).any()
