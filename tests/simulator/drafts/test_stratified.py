"""Branches from pieces: their law by absolute bounds, their hitting probabilities, and floats as exact as rationals."""

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
from draftproof.simulator import Delayed, InvalidInput, SamplingCoin, TooLarge
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, Arithmetic, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import SCHEMES, Stratified, Systematic, scheme_from_dict
from draftproof.simulator.drafts._intervals import SHORTEST, Interval
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Context

Path = tuple[int, ...]
Law = dict[tuple[Path, ...], Fraction]
FAMILY_NAMES = ["dirichlet", *CORNER_CASES]
#: V, K and L2 of small trees, with both orders of the tokens.
SMALL = [(2, 2, 2), (2, 3, 2), (3, 2, 2), (2, 2, 3), (3, 3, 1), (2, 1, 2)]


def draft(family: str, size: int, depth: int, seed: int = 0) -> Any:
    return FAMILIES[family].instance(size, depth, np.random.default_rng((seed, size, depth)), 20).draft


def in_floats(rows: Any) -> Any:
    return tabulate(rows, rows.depth, FLOAT64)


def bounds(rows: Any, length: int, descending: bool, start: Context = ()) -> list[tuple[Path, Fraction, Fraction]]:
    """Every path of positive mass with its absolute interval in [0, 1), in order."""
    if not length:
        return [((), Fraction(0), Fraction(1))]
    row = [Fraction(as_python(mass)) for mass in rows.row(start)]
    found, before = [], Fraction(0)
    for token in sorted(range(len(row)), key=lambda token: (-row[token] if descending else 0, token)):
        if row[token]:
            below = bounds(rows, length - 1, descending, (*start, token))
            found += [((token, *path), before + row[token] * a, before + row[token] * b) for path, a, b in below]
        before += row[token]
    return found


def piece_laws(scheme: Stratified, rows: Any, trunk: Context = ()) -> list[dict[Path, Fraction]]:
    """For each piece the law of its branch: what of each path's interval lies within."""
    K = scheme.K
    paths = bounds(rows, scheme.L2, scheme.order == "descending", trunk)
    shares = [
        {path: K * (min(b, Fraction(k + 1, K)) - max(a, Fraction(k, K))) for path, a, b in paths} for k in range(K)
    ]
    return [{path: share for path, share in law.items() if share > 0} for law in shares]


def sampled_apart(scheme: Stratified, rows: Any, trunk: Context = ()) -> Law:
    """The law of stratified branches in draft order."""
    found: Law = {}
    for order in permutations(piece_laws(scheme, rows, trunk)):
        for drawn in product(*(law.items() for law in order)):
            key = tuple(path for path, _ in drawn)
            mass = prod((share for _, share in drawn), start=Fraction(1, factorial(scheme.K)))
            found[key] = found.get(key, Fraction(0)) + mass
    return found


def sampled_at_one_number(scheme: Systematic, rows: Any, trunk: Context = ()) -> Law:
    """The law of systematic branches: between two breakpoints of `u` all paths are known."""
    K = scheme.K
    paths = bounds(rows, scheme.L2, scheme.order == "descending", trunk)
    inside = {x * K % 1 for _, a, b in paths for x in (a, b)}
    breaks = sorted({Fraction(0), Fraction(1), *inside})
    found: Law = {}
    for low, high in pairwise(breaks):
        places = [((low + high) / 2 + k) / K for k in range(K)]
        drawn = [next(path for path, a, b in paths if a <= place < b) for place in places]
        for order in permutations(drawn):
            found[order] = found.get(order, Fraction(0)) + (high - low) / factorial(K)
    return found


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


@pytest.mark.parametrize("order", ["descending", "number"])
@pytest.mark.parametrize("shape", SMALL, ids=str)
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_branches_have_the_law_of_absolute_bounds(family: str, shape: tuple[int, int, int], order: str) -> None:
    size, K, length = shape
    rows = draft(family, size, length)
    assert law_of(Stratified(K, 0, length, order), rows) == sampled_apart(Stratified(K, 0, length, order), rows)
    systematic = Systematic(K, 0, length, order)
    assert law_of(systematic, rows) == sampled_at_one_number(systematic, rows)


@pytest.mark.parametrize("kind", [Stratified, Systematic])
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_each_branch_alone_has_the_law_of_the_draft(family: str, kind: type[Stratified]) -> None:
    rows = draft(family, 2, 3, 1)
    alone: dict[Path, Fraction] = {}
    for tree, mass in drawn_trees(kind(3, 1, 2), rows):
        trunk = tree.children[()]
        for branch in paths_of(tree, 1, 3, 2):
            alone[trunk + branch] = alone.get(trunk + branch, Fraction(0)) + Fraction(as_python(mass)) / 3
    assert alone == {path: b - a for path, a, b in bounds(rows, 3, descending=False)}


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
    masses = {path: b - a for path, a, b in bounds(rows, length, descending=False)}
    return {drawn: prod((masses[path] for path in drawn), start=Fraction(1)) for drawn in product(masses, repeat=K)}


@pytest.mark.parametrize("family", FAMILY_NAMES)
@pytest.mark.parametrize("kind", [Stratified, Systematic])
def test_count_is_the_number_of_outcomes(kind: type[Stratified], family: str) -> None:
    for scheme in (kind(2, 1, 2), kind(3, 0, 2, "number"), kind(1, 1, 1)):
        rows = draft(family, 2, scheme.depth)
        drawn = [mass for _, mass in drawn_trees(scheme, rows)]
        assert (len(drawn), sum(drawn)) == (scheme.count(rows), 1)


def test_one_branch_is_a_path_of_the_draft() -> None:
    rows = draft("dirichlet", 3, 3)
    for kind in (Stratified, Systematic):
        trees = drawn_trees(kind(1, 1, 2), rows)
        assert {max(map(len, tree.children.values())) for tree, _ in trees} == {1}
        assert len(trees) == Delayed(1, 1, 2).count(rows) == kind(1, 1, 2).count(rows)


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
            "a row of the draft sums to 0.0; to draw from a piece of it, it must have mass",
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


def exactly(rows: Large, context: Context, start: Fraction, stop: Fraction, token: int) -> tuple[Any, ...]:
    """For a part of the paths after a prefix: its probability of a token, and the part of those after that token."""
    order, masses = rows.order(context), rows.masses(context)
    place = int((order == token).nonzero()[0][0])
    before = Fraction(int(masses[order[:place]].sum()), 2**40)
    share = Fraction(int(masses[token]), 2**40)
    low, high = max(start, before), min(stop, before + share)
    return (high - low) / (stop - start), (low - before) / share, (high - before) / share


@pytest.mark.parametrize("vectors", ["numpy", "torch"])
def test_forty_tokens_of_150_000_have_the_probabilities_of_rationals(vectors: str) -> None:
    rows, K, depth = Large(np.asarray if vectors == "numpy" else pytest.importorskip("torch").from_numpy), 3, 40
    coin, off = SamplingCoin(np.random.default_rng(5)), []
    tree: Any = Stratified(K, 0, depth).draw(rows, coin)
    within = 0
    for begun, path in zip(tree.pieces[()], paths_of(tree, 0, K, depth), strict=True):
        piece, start, stop, mass, exact = begun, begun.start, begun.stop, 1.0, Fraction(1)
        for place, token in enumerate(path):
            row = rows.row(path[:place])
            law = piece.law(row)
            whole = (start, stop) == (0, 1)
            assert (law is row) == whole
            within += whole
            probability, start, stop = exactly(rows, path[:place], start, stop, token)
            mass, exact = mass * float(law[token]), exact * probability
            off.append(float(abs(Fraction(mass) / exact - 1)))
            piece = piece.below(row, token)
    assert within > 0.9 * K * depth  # a bound is soon left behind
    assert max(off) < 1e-12  # some hundred roundings of 2^-53


def test_the_two_sides_of_a_bound_stay_together_in_floats() -> None:
    """Along the bound between two pieces no mass is lost or drawn twice."""
    rows, path = Large(), ()
    lower, upper = Interval(Fraction(1, 3), Fraction(2, 3)), Interval(Fraction(2, 3))
    shared = 0
    for _ in range(12):
        row = rows.row(path)
        laws = lower.law(row), upper.law(row)
        for law in laws:
            assert law.min() >= 0
            assert float(law.sum()) == pytest.approx(1, abs=1e-12)
        both = np.flatnonzero((laws[0] > 0) & (laws[1] > 0))
        assert len(both) <= 1
        if not len(both):
            break
        shared += 1
        token = int(both[0])
        lower, upper = lower.below(row, token), upper.below(row, token)
        assert lower.stop == upper.start
        path = (*path, token)
    assert shared > 3


def test_floats_draw_the_trees_of_rationals() -> None:
    for scheme in (Stratified(3, 0, 2), Systematic(2, 1, 2), Stratified(2, 0, 3, "number")):
        rows = draft("dirichlet", 3, scheme.depth)
        exact, floats = drawn_trees(scheme, rows), drawn_trees(scheme, in_floats(rows), FLOAT64)
        assert [tree.children for tree, _ in exact] == [tree.children for tree, _ in floats]
        assert [mass for _, mass in floats] == pytest.approx([float(as_python(mass)) for _, mass in exact], abs=1e-12)


def test_systematic_branches_of_long_paths_keep_their_own_law() -> None:
    """The second branch repeats one token while the first spends more digits than a float has."""
    half = Interval(Fraction(0), Fraction(1, 2))
    part = half.part(0.25, 0.25 + SHORTEST)
    assert part == Interval()  # half of the shortest: drawn afresh
    assert half.part(0.25, 0.5) == Interval(0.125, 0.25)
    row = np.array([0.7, 0.2, 0.1])
    coin = SamplingCoin(np.random.default_rng(0))
    tokens = Counter[int]()
    for _ in range(40):
        tree: Any = Systematic(2, 0, 200).draw(Constant(row), coin)
        for path in paths_of(tree, 0, 2, 200):
            tokens.update(path[100:])
    counts = np.array([tokens[token] for token in range(3)])
    expected = counts.sum() * row
    assert ((counts - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-4, 2)


@pytest.mark.parametrize("runs", [10_000, pytest.param(100_000, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", ["stratified", "systematic"])
def test_sampled_branches_have_the_exact_joint_law(name: str, runs: int) -> None:
    """Pearson's chi-square over trees of three branches of depth 4."""
    scheme = SCHEMES[name](3, 0, 4)
    rows = draft("dirichlet", 2, 4, 3)
    law = law_of(scheme, rows)
    floats, coin = in_floats(rows), SamplingCoin(np.random.default_rng(1))
    seen = Counter(paths_of(scheme.draw(floats, coin), 0, 3, 4) for _ in range(runs))
    assert set(seen) <= set(law)
    cells = [(seen[drawn], runs * float(mass)) for drawn, mass in law.items() if runs * mass >= 10]
    rest = runs - sum(count for count, _ in cells), runs - sum(mean for _, mean in cells)
    cells += [rest] * (rest[1] >= 10)
    statistic = sum((count - mean) ** 2 / mean for count, mean in cells)
    assert len(cells) > 50
    assert statistic < chi2.ppf(1 - 1e-4, len(cells) - 1)
