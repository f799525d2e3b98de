"""The verifiers: one algorithm a file, one registry.

`REGISTRY[name]` is the verifier itself; an entry with parameters is a factory, such as
`REGISTRY["ensemble"](w=Fraction(1, 2))`. `make(name, **parameters)` gives a verifier either way. `STANDALONE` are the
names of all that need no parameters; `optimum` is made for one instance, `REGISTRY["optimum"](plan, draft_tables)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from types import MappingProxyType
from typing import Any

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Card, Verifier
from draftproof.verifiers import _paths as _paths

__all__ = ["IMPOSSIBLE", "REGISTRY", "STANDALONE", "make", "required"]

#: The files of the verifiers in the order of the tables; each has one class with a card.
FILES = """
    nss naive naive_tree specinfer spectr khisti optimal_transport gls block hsd block_tree tree_monte_carlo
    traversal gbv gbv_tree mixed_order path_transport layer_transport layer_verification optimum
    rejection_without_replacement layer_without_replacement greedy_multi_draft layer_greedy sequoia spechub
    rheo
    controls.traversal_insertion_order controls.block_by_weights controls.hsd_uncapped
    controls.gls_reused_noise controls.naive_from_target
    lossy.ensemble lossy.typical lossy.threshold lossy.lenience lossy.truncation lossy.eta lossy.cactus
    lossy.fuzzy lossy.fly lossy.slack lossy.mentored lossy.cascade lossy.toward lossy.budgeted
    lossy.budgeted_tree
"""


def _entry(file: str) -> Any:
    """The class of a file, or, if it has no parameters, the verifier."""
    module = import_module(f"{__name__}.{file}")
    own = (value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__)
    (kind,) = (value for value in own if isinstance(getattr(value, "card", None), Card))
    return kind if kind.card.parameters else kind()


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
REGISTRY: Mapping[str, Any] = MappingProxyType(
    _Entries({entry.card.name: entry for entry in map(_entry, FILES.split())})
)


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
