"""The trees and the instances, for every scheme, on which a verifier that declares it is judged."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from simulator.drafts import (
    Adaptive,
    AdaptiveDropping,
    Delayed,
    DynamicDepth,
    DySpec,
    DySpecPruned,
    DySpecThreshold,
    Eagle2,
    Greedy,
    OptTree,
    Sequoia,
    SpecHub,
    SpecInferConfig,
    TopK,
    Topology,
    WithoutReplacement,
)
from simulator.instances.families import CORNER_CASES, FAMILIES
from simulator.instances.instance import Instance
from simulator.protocol import DraftScheme

#: A vocabulary size and a scheme.
SizedScheme: TypeAlias = tuple[int, DraftScheme]

#: (V, K, L1, L2) of the delayed trees.
SHAPES = ((2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2), (3, 2, 1, 1), (3, 3, 0, 1), (2, 4, 0, 1))
#: For every scheme the trees, with their vocabulary, on which a verifier that declares it is judged.
CASES: Mapping[str, tuple[SizedScheme, ...]] = MappingProxyType(
    {
        "delayed": tuple((V, Delayed(K, L1, L2)) for V, K, L1, L2 in SHAPES),
        "specinfer_config": (
            (2, SpecInferConfig((2, 2))),
            (3, SpecInferConfig((2, 1))),
            (2, SpecInferConfig((1, 2, 1))),
            (3, SpecInferConfig((3,))),
        ),
        "without_replacement": (
            (2, WithoutReplacement(2, 0, 2)),
            (3, WithoutReplacement(2, 0, 2)),
            (3, WithoutReplacement(2, 1, 1)),
            (3, WithoutReplacement(3, 0, 1)),
            (4, WithoutReplacement(3, 0, 1)),
        ),
        "top_k": ((2, TopK(2, 0, 2)), (3, TopK(3, 0, 1)), (3, TopK(2, 1, 1)), (3, TopK(2, 0, 2))),
        "greedy": ((2, Greedy(2, 0, 2)), (3, Greedy(3, 0, 1)), (3, Greedy(2, 1, 1)), (3, Greedy(2, 0, 2))),
        "topology": (
            (2, Topology((2, 1, 1, 0, 0))),
            (3, Topology((3, 2, 0, 0, 0, 0))),
            (3, Topology((2, 3, 0, 0, 0, 0))),
            (2, Topology((1, 2, 0, 1, 0))),
        ),
        "adaptive": ((2, Adaptive()), (3, Adaptive(1, 1, 1)), (3, Adaptive(1, 0, 2, Fraction(1, 3)))),
        "adaptive_dropping": ((2, AdaptiveDropping()), (3, AdaptiveDropping(1, 0, 2))),
        "dyspec": ((2, DySpec(4)), (3, DySpec(5)), (4, DySpec(2))),
        "dyspec_threshold": (
            (2, DySpecThreshold(Fraction(1, 4), 2)),
            (3, DySpecThreshold(Fraction(1, 3), 2)),
            (4, DySpecThreshold(Fraction(1, 3), 2, 3)),
        ),
        "sequoia": (
            (2, Sequoia(4, 2, (2, 2, 0, 0, 0))),
            (3, Sequoia(4, 2, (2, 1, 1, 0, 0))),
            (4, Sequoia(3, 1, (3, 0, 0, 0))),
        ),
        "opt_tree": ((2, OptTree(4)), (3, OptTree(4)), (3, OptTree(4, Fraction(1, 2)))),
        "eagle2": ((2, Eagle2(2, 3, 4)), (3, Eagle2(2, 2, 4)), (4, Eagle2(3, 2, 3))),
        "ddd": ((2, DynamicDepth(2, 3)), (3, DynamicDepth(2, 3, Fraction(1, 3))), (3, DynamicDepth(1, 2))),
        "spechub": ((2, SpecHub(2)), (3, SpecHub(1)), (3, SpecHub(2)), (4, SpecHub(1))),
        "dyspec_pruned": ((2, DySpecPruned(2)), (3, DySpecPruned(2))),
    }
)
#: Random and corner-case rows have probabilities in multiples of 1/20, which keeps exact sums short.
DENOMINATOR = 20
_RANDOM = ("dirichlet", "perturbed", "dirichlet", "temperature")


def shape_of(case: SizedScheme) -> tuple[int, ...]:
    """(V, K, L1, L2) of a case, from which its instances are drawn; trees without branches stand as one path."""
    size, scheme = case
    fields = scheme.as_dict()
    return (size, fields["K"], fields["L1"], fields["L2"]) if "K" in fields else (size, 1, 0, scheme.depth)


def conformance_instances(shape: Sequence[int], count: int) -> Iterator[Instance]:
    """`count` random rational instances for (V, K, L1, L2) of three families, always the same ones."""
    return (_member(_RANDOM[seed % len(_RANDOM)], seed, tuple(shape)) for seed in range(count))


def corner_instances(shape: Sequence[int]) -> Iterator[Instance]:
    """One instance of every corner case for (V, K, L1, L2)."""
    return (_member(name, number, tuple(shape)) for number, name in enumerate(CORNER_CASES))


@functools.lru_cache(maxsize=1024)  # every verifier is asked about the same ones
def _member(family: str, seed: int, shape: tuple[int, ...]) -> Instance:
    size, _, trunk, length = shape
    return FAMILIES[family].instance(size, trunk + length, np.random.default_rng((seed, *shape)), DENOMINATOR)


def case_instances(case: SizedScheme, count: int) -> Iterator[Instance]:
    """`count` random instances and one of every corner case for a vocabulary and a scheme."""
    shape = shape_of(case)
    yield from conformance_instances(shape, count)
    yield from corner_instances(shape)
