"""Branches one from each part of a row: their joint law, how often they meet sets, and floats as exact as rationals."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from draftproof.experiments.inputs.schemes import find_scheme, scheme_spec
from draftproof.simulator import InvalidInput, SamplingCoin, TooLarge
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import SCHEMES, Stratified, Systematic, scheme_from_dict
from draftproof.simulator.drafts._parts import Part
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Context
from tests.quick import quick

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


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", [Stratified, Systematic])
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_each_branch_alone_has_the_law_of_the_draft(family: str, kind: type[Stratified]) -> None:
    rows = draft(family, 2, 3, 1)
    alone: dict[Path, Fraction] = {}
    for tree, mass in drawn_trees(kind(3, 1, 2), rows):
        trunk = tree.children[()]
        for branch in paths_of(tree, 1, 3, 2):
            alone[trunk + branch] = alone.get(trunk + branch, Fraction(0)) + Fraction(as_python(mass)) / 3
    assert alone == {path: mass for (path,), mass in iid(rows, 1, 3).items() if mass}


@pytest.mark.parametrize("order", ["descending", "number"])
@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 1), (2, 3, 2)], ids=str)
def test_stratified_branches_meet_every_set_of_paths_at_least_as_often(shape: tuple[int, int, int], order: str) -> None:
    size, K, length = shape
    more = 0
    for seed in range(4):
        rows = draft("dirichlet", size, length, seed)
        apart, same = law_of(Stratified(K, 0, length, order), rows), iid(rows, K, length)
        paths = list(product(range(size), repeat=length))
        for chosen in product([False, True], repeat=len(paths)):
            wanted = {path for path, each in zip(paths, chosen, strict=True) if each}
            assert meeting(apart, wanted) >= meeting(same, wanted)
            more += meeting(apart, wanted) > meeting(same, wanted)
    assert more


def test_systematic_branches_may_meet_a_set_less_often() -> None:
    """Of four equal tokens they draw the first and the third, or the second and the last."""
    rows = Constant(RATIONAL.vector(["1/4"] * 4))
    wanted = {(0,), (2,)}
    laws = (law_of(kind(2, 0, 1), rows) for kind in (Systematic, Stratified))
    assert [meeting(law, wanted) for law in (*laws, iid(rows, 2, 1))] == [
        Fraction(1, 2),
        Fraction(3, 4),
        Fraction(3, 4),
    ]


def meeting(law: Law, wanted: set[Path]) -> Fraction:
    return sum((mass for drawn, mass in law.items() if wanted & set(drawn)), Fraction(0))


def iid(rows: Any, K: int, length: int) -> Law:
    masses = {
        path: Fraction(as_python(prod(rows.row(path[:place])[token] for place, token in enumerate(path))))
        for path in product(range(rows.vocab_size), repeat=length)
    }
    return {drawn: prod((masses[path] for path in drawn), start=Fraction(1)) for drawn in product(masses, repeat=K)}


def test_plain_data_and_text() -> None:
    for scheme in (Stratified(3, 1, 2), Systematic(2, 0, 1, "number")):
        assert scheme_from_dict(scheme.as_dict()) == find_scheme(scheme_spec(scheme)) == scheme
    assert str(Stratified()) == "stratified(K=2, L1=0, L2=2, order=descending)"
    assert find_scheme("stratified:K=3,order=number", {"L2": 1}) == Stratified(3, 0, 1, "number")
    assert (Stratified(3, 1, 2).depth, Stratified(3, 1, 2).nodes) == (3, 7)
    smaller = Systematic(2, 1, 2, "number").reductions()
    assert smaller[0] == Systematic(1, 0, 0, "number")
    assert smaller[-1] == Systematic(2, 1, 2, "number")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Stratified(0), "K = 0: a draft tree needs at least one branch; use K >= 1"),
        (lambda: Stratified(2, 0, 0), "L2 = 0 leaves no room for K = 2 branches; use K = 1 or L2 >= 1"),
        (lambda: Systematic(order="up"), "systematic: order = 'up'; choose descending or number"),
        (lambda: find_scheme("stratified:order=5"), "stratified: order = '5'; choose descending or number"),
        (
            lambda: scheme_from_dict({**Stratified().as_dict(), "order": 5}),
            "scheme {'name': 'stratified', 'K': 2, 'L1': 0, 'L2': 2, 'order': 5}: order = 5 must be a word",
        ),
        (
            lambda: Stratified().draw(Constant(np.zeros(3)), SamplingCoin(np.random.default_rng(0))),
            "a row of the draft sums to 0.0; to draw from a part of it, it must have mass",
        ),
    ],
)
def test_what_is_no_scheme_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert str(caught.value) == message


def test_counting_refuses_what_it_would_have_to_list() -> None:
    with pytest.raises(TooLarge, match=r"^V\^L = 8\^10 paths are too many to list"):
        Stratified(2, 0, 10).count(Constant(np.full(8, 1 / 8)))


class Constant:
    """A draft with one row."""

    def __init__(self, row: Any) -> None:
        self.vocab_size, self._row = len(row), row

    def row(self, context: Context) -> Any:
        return self._row


class Kept:
    """The same rows, each as one array that nobody changes."""

    def __init__(self, rows: Any) -> None:
        self.vocab_size, self.row = rows.vocab_size, cache(lambda context: constant(rows.row(context)))


def constant(row: Any) -> Any:
    row = row.copy()
    row.setflags(write=False)
    return row


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


def test_branches_of_forty_tokens_go_on_from_the_whole_row_where_they_are_alone() -> None:
    rows = Large()
    tree: Any = Stratified(3, 0, 40).draw(rows, SamplingCoin(np.random.default_rng(5)))
    assert {len(tree.children[context]) for context in tree.pieces} <= {2, 3}
    assert all(len(tokens) == 1 for context, tokens in tree.children.items() if context not in tree.pieces)
    assert len(tree.children) > 60


def test_floats_draw_the_trees_of_rationals() -> None:
    for scheme in (Stratified(3, 0, 2), Systematic(2, 1, 2), Stratified(2, 0, 3, "number")):
        rows = draft("dirichlet", 3, scheme.depth)
        exact, floats = drawn_trees(scheme, rows), drawn_trees(scheme, in_floats(rows), FLOAT64)
        assert [tree.children for tree, _ in exact] == [tree.children for tree, _ in floats]
        assert [mass for _, mass in floats] == pytest.approx([float(as_python(mass)) for _, mass in exact], abs=1e-12)


@pytest.mark.heavy
@pytest.mark.parametrize(("depth", "runs"), [(3, 3_000), pytest.param(4, 100_000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", quick(["stratified", "systematic"], ["stratified"]))
def test_sampled_branches_have_the_exact_joint_law(name: str, depth: int, runs: int) -> None:
    """Pearson's chi-square over trees of three branches."""
    scheme = SCHEMES[name](3, 0, depth)
    rows = draft("dirichlet", 2, depth, 3)
    law = law_of(scheme, rows)
    floats, coin = Kept(in_floats(rows)), SamplingCoin(np.random.default_rng(1))
    seen = Counter(paths_of(scheme.draw(floats, coin), 0, 3, depth) for _ in range(runs))
    assert set(seen) <= set(law)
    cells = [(seen[drawn], runs * float(mass)) for drawn, mass in law.items() if runs * mass >= 10]
    rest = runs - sum(count for count, _ in cells), runs - sum(mean for _, mean in cells)
    cells += [rest] * (rest[1] >= 10)
    statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
    assert len(cells) > 25
    assert statistic < chi2.ppf(1 - 1e-4, len(cells) - 1)


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_a_long_row_that_is_overwritten_has_the_law_of_what_it_is_now(vectors: str) -> None:
    first, second = (np.random.default_rng(seed).dirichlet(np.full(3000, 0.1)) for seed in range(2))
    row: Any = first.copy() if vectors == "numpy" else pytest.importorskip("torch").tensor(first)
    before = np.asarray(Part(0, 2).law(row)).copy()
    row[:] = second if vectors == "numpy" else pytest.importorskip("torch").tensor(second)
    assert (np.asarray(Part(0, 2).law(row)) == Part(0, 2).law(second)).all()
    assert (before != Part(0, 2).law(second)).any()
