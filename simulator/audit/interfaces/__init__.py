"""The ways in which functions of other projects want their drafts, and return their blocks: one small file each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from simulator.audit.interfaces._call import Call, Interface, paths_of
from simulator.audit.interfaces.chain import CHAIN
from simulator.audit.interfaces.coins import COINS
from simulator.audit.interfaces.loop import LOOP
from simulator.audit.interfaces.paths import PATHS
from simulator.audit.interfaces.posterior import POSTERIOR
from simulator.audit.interfaces.step import STEP, SelfDrafted
from simulator.audit.interfaces.transformers import TRANSFORMERS
from simulator.audit.interfaces.tree import TREE
from simulator.errors import InvalidInput

__all__ = ["INTERFACES", "Call", "Interface", "SelfDrafted", "interface_named", "paths_of"]

#: Every interface by its name.
INTERFACES: Mapping[str, Interface] = MappingProxyType(
    {each.name: each for each in (TREE, CHAIN, PATHS, POSTERIOR, COINS, TRANSFORMERS, STEP, LOOP)}
)


def interface_named(name: str) -> Interface:
    """The interface of that name; raises `InvalidInput` for any other."""
    if name not in INTERFACES:
        raise InvalidInput(f"unknown interface {name!r}; choose {', '.join(INTERFACES)}")
    return INTERFACES[name]
