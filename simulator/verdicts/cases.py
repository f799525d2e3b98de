"""For every scheme the trees and instances on which a verifier that declares it is checked."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from draftproof.simulator.drafts import SCHEMES
from draftproof.simulator.instances.families import CORNER_CASES, FAMILIES
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import DraftScheme

#: A vocabulary size and a scheme.
SizedScheme: TypeAlias = tuple[int, DraftScheme]

#: For every scheme the vocabulary sizes and trees on which a verifier that declares it is checked.
CASES: Mapping[str, tuple[SizedScheme, ...]] = MappingProxyType({name: kind.cases() for name, kind in SCHEMES.items()})
#: Random and corner-case rows have probabilities in multiples of 1/20, which keeps exact sums short.
DENOMINATOR = 20
_RANDOM = ("dirichlet", "perturbed", "dirichlet", "temperature")


def shape_of(case: SizedScheme) -> tuple[int, ...]:
    """(V, K, L1, L2) of a case, for drawing its instances; schemes without these fields count as one path."""
    size, scheme = case
    fields = scheme.as_dict()
    return (size, fields["K"], fields["L1"], fields["L2"]) if "L1" in fields else (size, 1, 0, scheme.depth)


def conformance_instances(shape: Sequence[int], count: int) -> Iterator[Instance]:
    """`count` random rational instances for (V, K, L1, L2) of three families, always the same ones."""
    return (_member(_RANDOM[seed % len(_RANDOM)], seed, tuple(shape)) for seed in range(count))


def corner_instances(shape: Sequence[int]) -> Iterator[Instance]:
    """One instance of every corner case for (V, K, L1, L2)."""
    return (_member(name, number, tuple(shape)) for number, name in enumerate(CORNER_CASES))


@functools.lru_cache(maxsize=1024)  # shared by all verifiers
def _member(family: str, seed: int, shape: tuple[int, ...]) -> Instance:
    size, _, trunk, length = shape
    return FAMILIES[family].instance(size, trunk + length, np.random.default_rng((seed, *shape)), DENOMINATOR)


def case_instances(case: SizedScheme, count: int) -> Iterator[Instance]:
    """`count` random instances and one of every corner case for a vocabulary and a scheme."""
    shape = shape_of(case)
    yield from conformance_instances(shape, count)
    yield from corner_instances(shape)
