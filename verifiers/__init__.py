"""The verifiers: one algorithm a file, one registry.

`REGISTRY[name]` is the verifier itself; an entry with parameters is a factory, such as
`REGISTRY["ensemble"](w=Fraction(1, 2))`. `make(name, **parameters)` gives a verifier either way. `STANDALONE` are the
names of all that need no parameters; `optimum` is made for one instance, `REGISTRY["optimum"](plan, draft_tables)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from inspect import signature
from types import MappingProxyType
from typing import Any

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Verifier
from draftproof.verifiers import _paths as _paths
from draftproof.verifiers.block import Block
from draftproof.verifiers.block_tree import BlockTree
from draftproof.verifiers.controls.block_by_weights import BlockByWeights
from draftproof.verifiers.controls.gls_reused_noise import ReusedNoise
from draftproof.verifiers.controls.hsd_uncapped import HierarchicalUncapped
from draftproof.verifiers.controls.naive_from_target import NaiveFromTarget
from draftproof.verifiers.controls.traversal_insertion_order import TraversalInsertionOrder
from draftproof.verifiers.gbv import GreedyBlock
from draftproof.verifiers.gbv_tree import GreedyBlockTree
from draftproof.verifiers.gls import GumbelList
from draftproof.verifiers.greedy_multi_draft import GreedyMultiDraft
from draftproof.verifiers.hsd import Hierarchical
from draftproof.verifiers.khisti import Khisti
from draftproof.verifiers.layer_greedy import LayerGreedy
from draftproof.verifiers.layer_transport import LayerTransport
from draftproof.verifiers.layer_verification import LayerVerification
from draftproof.verifiers.layer_without_replacement import LayerWithoutReplacement
from draftproof.verifiers.lossy.budgeted import Budgeted
from draftproof.verifiers.lossy.budgeted_tree import BudgetedTree
from draftproof.verifiers.lossy.cactus import Cactus
from draftproof.verifiers.lossy.cascade import Cascade
from draftproof.verifiers.lossy.ensemble import Ensemble
from draftproof.verifiers.lossy.eta import Eta
from draftproof.verifiers.lossy.fly import Fly
from draftproof.verifiers.lossy.fuzzy import Fuzzy
from draftproof.verifiers.lossy.lenience import Lenience
from draftproof.verifiers.lossy.mentored import Mentored
from draftproof.verifiers.lossy.slack import Slack
from draftproof.verifiers.lossy.threshold import Threshold
from draftproof.verifiers.lossy.toward import Toward
from draftproof.verifiers.lossy.truncation import Truncation
from draftproof.verifiers.lossy.typical import Typical
from draftproof.verifiers.mixed_order import MixedOrder
from draftproof.verifiers.naive import Naive
from draftproof.verifiers.naive_tree import NaiveTree
from draftproof.verifiers.nss import NaiveSampling
from draftproof.verifiers.optimal_transport import OptimalTransport
from draftproof.verifiers.optimum import Optimum
from draftproof.verifiers.path_transport import PathTransport
from draftproof.verifiers.rejection_without_replacement import RejectionWithoutReplacement
from draftproof.verifiers.rheo import RheoVerification
from draftproof.verifiers.sequoia import SequoiaVerification
from draftproof.verifiers.spechub import SpecHubVerification
from draftproof.verifiers.specinfer import SpecInfer
from draftproof.verifiers.spectr import SpecTr
from draftproof.verifiers.traversal import Traversal
from draftproof.verifiers.tree_monte_carlo import TreeMonteCarlo

__all__ = ["IMPOSSIBLE", "REGISTRY", "STANDALONE", "make", "required"]

_ZOO: tuple[Any, ...] = (
    NaiveSampling(),
    Naive(),
    NaiveTree(),
    SpecInfer(),
    SpecTr(),
    Khisti(),
    OptimalTransport(),
    GumbelList(),
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
    LayerVerification(),
    Optimum,
    RejectionWithoutReplacement(),
    LayerWithoutReplacement(),
    GreedyMultiDraft(),
    LayerGreedy(),
    SequoiaVerification(),
    SpecHubVerification(),
    RheoVerification(),
    TraversalInsertionOrder(),
    BlockByWeights(),
    HierarchicalUncapped(),
    ReusedNoise(),
    NaiveFromTarget(),
    Ensemble,
    Typical,
    Threshold,
    Lenience,
    Truncation,
    Eta,
    Cactus,
    Fuzzy,
    Fly,
    Slack,
    Mentored,
    Cascade,
    Toward,
    Budgeted,
    BudgetedTree,
)


class UnknownName(InvalidInput, KeyError):
    """A name that nothing has."""


class _Entries(dict[str, Any]):
    """The error for an unknown name suggests the nearest one; see `UnknownName`."""

    def __missing__(self, name: str) -> Any:
        if name in IMPOSSIBLE:
            raise UnknownName(IMPOSSIBLE[name])
        close = get_close_matches(str(name), self, n=1)
        raise UnknownName(
            f"unknown verifier {name!r}; " + (f"did you mean {close[0]!r}?" if close else f"known: {', '.join(self)}")
        )


#: Rules of papers that cannot be verifiers here, each with the reason.
IMPOSSIBLE: Mapping[str, str] = {
    "mars": "mars judges by a ratio of raw logits, which p and q do not determine: adding a number to all logits of a "
    "row changes the ratio and not the probabilities"
}

#: Every verifier of the registry by name, in the order of the tables.
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
    inside = getattr(entry, "verifiers", ())
    given = {
        key: _named(value) if key in inside and isinstance(value, str) else value for key, value in parameters.items()
    }
    verifier: Verifier = entry(**given) if isinstance(entry, type) else entry
    return verifier


def _named(text: str) -> Verifier:
    """The verifier of `NAME` or `NAME:key=value,..`, which is a parameter of another one."""
    name, _, rest = text.partition(":")
    parts = [part.partition("=") for part in rest.split(",") if part]
    for key, equals, _ in parts:
        if not equals:
            raise InvalidInput(f"{key!r} in {text!r} is no parameter; write {name}:key=value")
    return make(name, **{key.strip(): value.strip() for key, _, value in parts})
