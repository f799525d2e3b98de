"""Acceptance and reach agree with closed formulas, computed here from the rows alone, in fractions."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import prod

import pytest

from draftproof.simulator import Delayed, Instance, TokenProcess, block_law
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.drafts.delayed import SHAPES
from draftproof.simulator.instances.processes import context_index
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.verifiers import STANDALONE, make
from tests.quick import quick

Row = list[Fraction]


def row(process: TokenProcess, context: tuple[int, ...] = ()) -> Row:
    return [as_python(value) for value in process.row(context)]


def excess(p: Row, q: Row) -> Row:
    """`(p - q)+`."""
    return [max(x - y, Fraction(0)) for x, y in zip(p, q, strict=True)]


def shared(p: Row, q: Row) -> Fraction:
    """`sum min(p, q)`."""
    return sum(map(min, p, q), Fraction(0))


def nss(p: Row, q: Row, k: int) -> Fraction:
    return sum((x * (1 - (1 - y) ** k) for x, y in zip(p, q, strict=True)), Fraction(0))


def naive(p: Row, q: Row, k: int) -> Fraction:
    return shared(p, q)


def naive_tree(p: Row, q: Row, k: int) -> Fraction:
    """The first draft, or a residual token among the other `k - 1`."""
    redrawn = (x * (1 - (1 - y) ** (k - 1)) for x, y in zip(excess(p, q), q, strict=True))
    return shared(p, q) + sum(redrawn, Fraction(0))


def specinfer(p: Row, q: Row, k: int) -> Fraction:
    """One minus the product of the rejection probabilities `sum (q - p_j)+` of the rounds."""
    missed = Fraction(1)
    for _ in range(k):
        missed *= sum(excess(q, p))
        left = excess(p, q)
        if not sum(left):
            break
        p = [x / sum(left) for x in left]
    return 1 - missed


def optimal_transport(p: Row, q: Row, k: int) -> Fraction:
    """The single-step optimum: the least `p(outside S) + 1 - (1 - q(S))^k` over all sets `S` of tokens."""
    sets = product((False, True), repeat=len(p))
    return min(
        sum((x for x, inside in zip(p, chosen, strict=True) if not inside), Fraction(0))
        + 1
        - (1 - sum((y for y, inside in zip(q, chosen, strict=True) if inside), Fraction(0))) ** k
        for chosen in sets
    )


FORMULAS: list[Callable[[Row, Row, int], Fraction]] = [nss, naive, naive_tree, specinfer, optimal_transport]


def one_step_instances(size: int) -> Iterator[Instance]:
    shape = (size, 1, 0, 1)
    yield from conformance_instances(shape, 10)
    yield from corner_instances(shape)


def law_of(name: str, instance: Instance, scheme: Delayed) -> BlockLaw:
    return block_law(make(name), instance.target, instance.draft, scheme, "rational", engine="enumerate")


@pytest.mark.parametrize("K", quick([1, 2, 3, 4], [1, 3]))
@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)
def test_one_step_acceptance_agrees_with_its_formula(formula: Callable[[Row, Row, int], Fraction], K: int) -> None:
    for size in (2, 3):
        for instance in one_step_instances(size):
            wanted = formula(row(instance.target), row(instance.draft), K)
            found = law_of(formula.__name__, instance, Delayed(K, 0, 1))
            assert found.depth_distribution == [1 - wanted, wanted]


def test_formulas_tell_the_verifiers_apart() -> None:
    p, q = [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)], [Fraction(1, 6), Fraction(2, 3), Fraction(1, 6)]
    assert len({formula(p, q, 3) for formula in FORMULAS}) == len(FORMULAS)


LOSSLESS = [name for name in STANDALONE if "delayed" in lossless_for(make(name).card)]


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("name", LOSSLESS)
def test_no_lossless_verifier_accepts_more_than_the_single_step_optimum(name: str, K: int) -> None:
    for instance in one_step_instances(3):
        optimum = optimal_transport(row(instance.target), row(instance.draft), K)
        assert law_of(name, instance, Delayed(K, 0, 1)).depth_distribution[1] <= optimum


def reaches(name: str, shape: tuple[int, int, int, int]) -> Iterator[tuple[Instance, tuple[int, ...], Fraction]]:
    """Every context of every instance of this shape, with its reach by enumeration."""
    size, _, trunk, length = shape
    for instance in (*conformance_instances(shape, 8), *corner_instances(shape)):
        law = law_of(name, instance, Delayed(*shape[1:]))
        for depth in range(trunk + length + 1):
            for context in product(range(size), repeat=depth):
                yield instance, context, as_python(law.reach[depth][context_index(context, size)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reach_of_naive_is_the_product_of_shared_masses(shape: tuple[int, int, int, int]) -> None:
    for instance, context, reach in reaches("naive", shape):
        steps = [(context[:i], token) for i, token in enumerate(context)]
        assert reach == prod(min(row(instance.target, c)[x], row(instance.draft, c)[x]) for c, x in steps)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reach_of_block_is_the_draft_mass_times_the_weight(shape: tuple[int, int, int, int]) -> None:
    for instance, context, reach in reaches("block", shape):
        mass, weight = Fraction(1), Fraction(1)
        for depth, token in enumerate(context):
            p, q = row(instance.target, context[:depth])[token], row(instance.draft, context[:depth])[token]
            weight = min(Fraction(1), weight * p / q) if q else Fraction(0)
            mass *= q
        assert reach == mass * weight


def law_of_best_path(instance: Instance, K: int, length: int) -> dict[tuple[int, ...], Fraction]:
    """Law of the best of `K` branches by `p/q`, then token number, counting all `K`-tuples of paths."""

    def rank(path: tuple[int, ...]) -> list[tuple[Fraction, int]]:
        rows = [(row(instance.target, path[:d]), row(instance.draft, path[:d])) for d in range(length)]
        return [(p[x] / q[x], x) for (p, q), x in zip(rows, path, strict=True)]

    paths = {}
    for path in product(range(instance.vocab_size), repeat=length):
        mass = prod((row(instance.draft, path[:d])[x] for d, x in enumerate(path)), start=Fraction(1))
        if mass:
            paths[path] = mass
    law = dict.fromkeys(paths, Fraction(0))
    for branches in product(paths, repeat=K):
        law[max(branches, key=rank)] += prod(paths[branch] for branch in branches)
    return law


@pytest.mark.parametrize("shape", [(2, 3, 0, 2), (3, 2, 0, 2), (3, 3, 0, 1)], ids=str)
def test_reach_of_gbv_is_the_counted_mass_of_the_best_path_times_the_weight(shape: tuple[int, int, int, int]) -> None:
    laws: dict[str, dict[tuple[int, ...], Fraction]] = {}
    for instance, context, reach in reaches("gbv", shape):
        law = laws.setdefault(instance.digest(), law_of_best_path(instance, shape[1], shape[3]))
        masses = [sum(m for path, m in law.items() if path[:d] == context[:d]) for d in range(len(context) + 1)]
        weight = Fraction(1)
        for depth, token in enumerate(context):
            q = masses[depth + 1] / masses[depth] if masses[depth] else Fraction(0)
            weight = min(Fraction(1), weight * row(instance.target, context[:depth])[token] / q) if q else Fraction(0)
        assert reach == masses[-1] * weight


@pytest.mark.parametrize("w", [Fraction(0), Fraction(1, 3), Fraction(7, 10), Fraction(1)], ids=str)
def test_bias_of_relaxed_after_one_step_is_the_distance_of_the_rows_times_its_slack(w: Fraction) -> None:
    """Accepted mass `q - w (q - p)+`, so the rejected mass `w sum (q - p)+` is spread as `w (p - q)+`.

    Together the first token has law `q + w (p - q)`; what follows it has the target's law. Total variation from
    the target is `(1 - w) sum (q - p)+`.
    """
    for size in (2, 3):
        for instance in one_step_instances(size):
            p, q = row(instance.target), row(instance.draft)
            law = block_law(
                make("relaxed", w=w), instance.target, instance.draft, Delayed(1, 0, 1), "rational", engine="enumerate"
            )
            assert law.total_variation(instance.target) == (1 - w) * sum(excess(q, p))
            assert law.max_deviation(instance.target) == (1 - w) * max(abs(x - y) for x, y in zip(p, q, strict=True))
