"""The zoo: one algorithm a file, one registry.

`REGISTRY[name]` is the verifier itself; an entry with parameters is a factory, such as
`REGISTRY["relaxed"](w=Fraction(1, 2))`. `make(name, **parameters)` gives a verifier either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from simulator.errors import InvalidInput
from simulator.protocol import Verifier
from verifiers.block import Block
from verifiers.block_by_weights import BlockByWeights
from verifiers.gbv import GreedyBlock
from verifiers.greedy_multi_draft import GreedyMultiDraft
from verifiers.khisti import Khisti
from verifiers.mixed_order import MixedOrder
from verifiers.naive import Naive
from verifiers.naive_from_target import NaiveFromTarget
from verifiers.naive_tree import NaiveTree
from verifiers.nss import NaiveSampling
from verifiers.optimal_transport import OptimalTransport
from verifiers.rejection_without_replacement import RejectionWithoutReplacement
from verifiers.relaxed import Relaxed
from verifiers.specinfer import SpecInfer
from verifiers.spectr import SpecTr
from verifiers.threshold import Threshold
from verifiers.traversal import Traversal
from verifiers.traversal_insertion_order import TraversalInsertionOrder
from verifiers.tree_monte_carlo import TreeMonteCarlo
from verifiers.typical import Typical

__all__ = ["REGISTRY", "make"]

_ZOO: tuple[Any, ...] = (
    NaiveSampling(),
    Naive(),
    NaiveTree(),
    SpecInfer(),
    SpecTr(),
    Khisti(),
    OptimalTransport(),
    Block(),
    TreeMonteCarlo(),
    Traversal(),
    GreedyBlock(),
    MixedOrder,
    RejectionWithoutReplacement(),
    GreedyMultiDraft(),
    TraversalInsertionOrder(),
    BlockByWeights(),
    NaiveFromTarget(),
    Relaxed,
    Typical,
    Threshold,
)

#: Every entry of the zoo by name, in the order of the tables.
REGISTRY: Mapping[str, Any] = MappingProxyType({entry.card.name: entry for entry in _ZOO})


def make(name: str, **parameters: Any) -> Verifier:
    """The verifier of this name; raises `InvalidInput` for unknown names and parameters."""
    if name not in REGISTRY:
        raise InvalidInput(f"unknown verifier {name!r}; known: {', '.join(REGISTRY)}")
    entry = REGISTRY[name]
    unknown = set(parameters) - set(entry.card.parameters)
    if unknown:
        known = ", ".join(entry.card.parameters) or "none"
        raise InvalidInput(f"{name} has no parameter {sorted(unknown)[0]!r}; its parameters: {known}")
    verifier: Verifier = entry(**parameters) if isinstance(entry, type) else entry
    return verifier
