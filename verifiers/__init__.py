"""The zoo: one algorithm a file, one registry.

`REGISTRY[name]` is the verifier itself; an entry with parameters is a factory, such as
`REGISTRY["relaxed"](w=Fraction(1, 2))`. `make(name, **parameters)` gives a verifier either way. `STANDALONE` are the
names of all that need no parameters; `optimum` is made for one instance, `REGISTRY["optimum"](plan, draft_tables)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from inspect import signature
from types import MappingProxyType
from typing import Any

from simulator.errors import InvalidInput, UnknownName
from simulator.protocol import Verifier
from verifiers.block import Block
from verifiers.block_tree import BlockTree
from verifiers.controls.block_by_weights import BlockByWeights
from verifiers.controls.hsd_uncapped import HierarchicalUncapped
from verifiers.controls.naive_from_target import NaiveFromTarget
from verifiers.controls.relaxed import Relaxed
from verifiers.controls.threshold import Threshold
from verifiers.controls.traversal_insertion_order import TraversalInsertionOrder
from verifiers.controls.typical import Typical
from verifiers.gbv import GreedyBlock
from verifiers.gbv_tree import GreedyBlockTree
from verifiers.greedy_multi_draft import GreedyMultiDraft
from verifiers.hsd import Hierarchical
from verifiers.khisti import Khisti
from verifiers.layer_greedy import LayerGreedy
from verifiers.layer_transport import LayerTransport
from verifiers.layer_verification import LayerVerification
from verifiers.layer_without_replacement import LayerWithoutReplacement
from verifiers.mixed_order import MixedOrder
from verifiers.naive import Naive
from verifiers.naive_tree import NaiveTree
from verifiers.nss import NaiveSampling
from verifiers.optimal_transport import OptimalTransport
from verifiers.optimum import Optimum
from verifiers.path_transport import PathTransport
from verifiers.rejection_without_replacement import RejectionWithoutReplacement
from verifiers.sequoia import SequoiaVerification
from verifiers.spechub import SpecHubVerification
from verifiers.specinfer import SpecInfer
from verifiers.spectr import SpecTr
from verifiers.traversal import Traversal
from verifiers.tree_monte_carlo import TreeMonteCarlo

__all__ = ["REGISTRY", "STANDALONE", "make", "required"]

_ZOO: tuple[Any, ...] = (
    NaiveSampling(),
    Naive(),
    NaiveTree(),
    SpecInfer(),
    SpecTr(),
    Khisti(),
    OptimalTransport(),
    Block(),
    Hierarchical(),
    BlockTree(),
    TreeMonteCarlo(),
    Traversal(),
    GreedyBlock(),
    GreedyBlockTree(),
    MixedOrder,
    PathTransport(),
    LayerTransport(),
    LayerVerification,
    Optimum,
    RejectionWithoutReplacement(),
    LayerWithoutReplacement(),
    GreedyMultiDraft(),
    LayerGreedy(),
    SequoiaVerification(),
    SpecHubVerification(),
    TraversalInsertionOrder(),
    BlockByWeights(),
    HierarchicalUncapped(),
    NaiveFromTarget(),
    Relaxed,
    Typical,
    Threshold,
)


class _Entries(dict[str, Any]):
    """A name that is not there is told with the nearest one; see `UnknownName`."""

    def __missing__(self, name: str) -> Any:
        close = get_close_matches(str(name), self, n=1)
        raise UnknownName(
            f"unknown verifier {name!r}; " + (f"did you mean {close[0]!r}?" if close else f"known: {', '.join(self)}")
        )


#: Every entry of the zoo by name, in the order of the tables.
REGISTRY: Mapping[str, Any] = MappingProxyType(_Entries({entry.card.name: entry for entry in _ZOO}))


def required(name: str) -> tuple[str, ...]:
    """The parameters of an entry that have no default."""
    known = signature(REGISTRY[name]).parameters if isinstance(REGISTRY[name], type) else {}
    return tuple(key for key in REGISTRY[name].card.parameters if known[key].default is known[key].empty)


#: The names that `make` needs nothing else for, in the order of the tables.
STANDALONE: tuple[str, ...] = tuple(name for name in REGISTRY if not required(name))


def make(name: str, **parameters: Any) -> Verifier:
    """The verifier of this name; raises `InvalidInput` for unknown names and parameters and for missing ones."""
    entry = REGISTRY[name]
    unknown = set(parameters) - set(entry.card.parameters)
    if unknown:
        known = ", ".join(entry.card.parameters) or "none"
        raise InvalidInput(f"{name} has no parameter {sorted(unknown)[0]!r}; its parameters: {known}")
    missing = [key for key in required(name) if key not in parameters]
    if missing:
        raise InvalidInput(
            f"{name} cannot be made from its name: it is made for one instance and needs {' and '.join(missing)}"
        )
    verifier: Verifier = entry(**parameters) if isinstance(entry, type) else entry
    return verifier
