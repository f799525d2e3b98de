"""Instances of the tests of bounds, and what several of them ask of instances, schemes and certificates."""

import copy
from fractions import Fraction

import numpy as np

from draftproof.lp_analysis.nodes import hit_probability
from draftproof.lp_analysis.single_step import best_set
from draftproof.simulator.drafts import (
    Adaptive,
    Delayed,
    DySpec,
    Greedy,
    Sequoia,
    SpecInferConfig,
    Stratified,
    Systematic,
    TopK,
    Topology,
    WithoutReplacement,
)
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES

FAMILY_NAMES = ("perturbed", "dirichlet", "temperature", *CORNER_CASES)
#: Vocabulary and delayed tree.
DELAYED = [
    (V, Delayed(*shape))
    for V, *shape in (
        (2, 2, 0, 2), (2, 3, 0, 3), (2, 4, 0, 2), (2, 2, 0, 4), (2, 4, 0, 3), (2, 2, 1, 2), (2, 3, 2, 2), (2, 4, 1, 3),
        (3, 2, 0, 2), (3, 3, 0, 2), (3, 4, 0, 2), (3, 2, 1, 1), (3, 3, 1, 2), (3, 4, 0, 1), (3, 2, 2, 1),
    )
]  # fmt: skip
#: Vocabulary and another scheme; the leaves of the last ones have several depths.
OTHERS = [
    (2, Stratified(2, 0, 2)), (3, Stratified(2, 0, 2)), (3, Stratified(3, 0, 1, "number")), (2, Stratified(2, 1, 2)),
    (2, Stratified(3, 0, 2, "number")), (3, Stratified(3, 1, 1)), (2, Systematic(2, 0, 2)),
    (3, Systematic(3, 0, 1, "number")), (2, Systematic(3, 1, 1)), (3, WithoutReplacement(2, 0, 2)),
    (2, WithoutReplacement(2, 1, 2)), (4, WithoutReplacement(3, 0, 1)), (3, SpecInferConfig((2, 1))),
    (3, TopK(2, 1, 1)), (2, TopK(2, 0, 3)), (3, Greedy(2, 0, 2)), (3, Sequoia(4, 2, (2, 1, 1, 0, 0))),
    (3, Sequoia(4, 2, (2, 2, 0, 0, 0))), (3, Topology((2, 1, 1, 0, 0))), (2, Adaptive(1, 0, 3)), (2, DySpec(4)),
]  # fmt: skip


def instance_of(V=2, depth=2, family="perturbed", seed=0):
    """A pair of processes whose rows are multiples of 1/64."""
    return FAMILIES[family].instance(V, depth, np.random.default_rng(seed), denominator=64)


def pair(instance):
    """The target and the draft."""
    return instance.target, instance.draft


def probability(hitting, nodes):
    """`P(T meets nodes)` by the chances of a scheme; see `draftproof.lp_analysis.hitting`."""
    wanted = set(nodes)
    total = hitting.fixed[0][0] * 0
    for group, (mass, ends) in enumerate(zip(hitting.fixed[-1], hitting.ends, strict=True)):
        inside = np.array([any(end[:d] in wanted for d in range(len(end) + 1)) for end in ends])
        if inside.any():
            order = (~inside).argsort(kind="stable")
            total = total + mass * hitting.chances(order[np.newaxis], [group])[0, inside.sum() - 1]
    return total


def numbers(value, path=()):
    """The place of every number in nested data: whole numbers, and texts that hold a fraction."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from numbers(part, (*path, i))
    elif type(value) is int or path[-1] == "digest" or (isinstance(value, str) and value[:1].isdigit()):
        yield path


def changed(fields, path, rise):
    """A copy with this number raised by `rise`; a digest gets another last digit."""
    result = copy.deepcopy(fields)
    place = result
    for step in path[:-1]:
        place = place[step]
    old = place[path[-1]]
    if path[-1] == "digest":
        place[path[-1]] = old[:-1] + ("0" if old[-1] != "0" else "1")
    else:
        place[path[-1]] = old + 1 if type(old) is int else str(Fraction(old) + rise)
    return result


def best_acceptance(p, q, k):
    """The best acceptance rate of one step with `k` independent drafts, in the arithmetic of the rows."""
    best = best_set(p, q, k)
    return 1 - p[best].sum() + hit_probability(q[best].sum(), k)
