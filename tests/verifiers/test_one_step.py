"""Acceptance and reach agree with closed formulas, computed here from the rows alone, in fractions."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import prod

import pytest

from draftproof.simulator import Delayed, Instance, TokenProcess, block_law, check
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.drafts import Greedy
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.tables import context_index
from draftproof.simulator.verdicts.cases import conformance_instances, corner_instances
from draftproof.verifiers import make

Row = list[Fraction]


def row(process: TokenProcess, context: tuple[int, ...] = ()) -> Row:
    return [as_python(value) for value in process.row(context)]


def law_of(name: str, instance: Instance, scheme: Delayed) -> BlockLaw:
    return block_law(make(name), instance.target, instance.draft, scheme, "rational", engine="enumerate")


def reaches(name: str, shape: tuple[int, int, int, int]) -> Iterator[tuple[Instance, tuple[int, ...], Fraction]]:
    """Every context of every instance of this shape, with its reach by enumeration."""
    size, _, trunk, length = shape
    for instance in (*conformance_instances(shape, 4), *corner_instances(shape)):
        law = law_of(name, instance, Delayed(*shape[1:]))
        for depth in range(trunk + length + 1):
            for context in product(range(size), repeat=depth):
                yield instance, context, as_python(law.reach[depth][context_index(context, size)])


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


@pytest.mark.parametrize("shape", [(2, 3, 0, 2), (3, 3, 0, 1)], ids=str)
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


def ranked_instances(k: int):
    for instance in (*conformance_instances((3, k, 0, 1), 8), *corner_instances((3, k, 0, 1))):
        p, q = ([as_python(value) for value in side.row(())] for side in (instance.target, instance.draft))
        ranked = sorted(range(3), key=lambda token, q=q: (-q[token], token))
        yield instance, p, q, ranked, min(k, sum(mass > 0 for mass in q))


def test_a_token_that_comes_again_is_skipped_where_the_draft_has_nothing_else():
    p, q = RATIONAL.vector(["1/4", "5/12", "1/3"]), RATIONAL.vector([0, 0, 1])
    for name in ("sequoia", "rejection_without_replacement"):
        branch = make(name).structure.branch
        assert branch(p, q, (2, 2, 2)).tolist() == branch(p, q, (2,)).tolist()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_greedy_multi_draft_accepts_the_top_and_the_overlap_with_the_rest_which_is_optimal(k):
    for instance, p, q, ranked, count in ranked_instances(k):
        top, rest = ranked[: count - 1], ranked[count - 1 :]
        left = sum(q[token] for token in rest)
        tail = {token: q[token] / left for token in rest}
        law = check(make("greedy_multi_draft"), instance.target, instance.draft, Greedy(k, 0, 1), engine="enumerate")
        rate = law.block_efficiency - 1
        assert rate == sum(p[token] for token in top) + sum(min(p[token], tail[token]) for token in rest)
        # no verifier can do better: for every set S, accepted mass <= p(not S) + P(some draft lies in S)
        sets = [set(some) for size in range(4) for some in combinations(range(3), size)]
        bounds = [
            sum(p[y] for y in range(3) if y not in some) + (1 if some & set(top) else sum(tail.get(y, 0) for y in some))
            for some in sets
        ]
        assert rate == min(bounds)
