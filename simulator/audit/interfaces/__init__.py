"""The interfaces of functions of other projects: how they get drafts and return blocks; one file each."""

from collections.abc import Mapping
from types import MappingProxyType

from draftproof.simulator.audit.interfaces._call import Call, Interface, paths_of
from draftproof.simulator.audit.interfaces.chain import CHAIN
from draftproof.simulator.audit.interfaces.coins import COINS
from draftproof.simulator.audit.interfaces.loop import LOOP
from draftproof.simulator.audit.interfaces.paths import PATHS
from draftproof.simulator.audit.interfaces.posterior import POSTERIOR
from draftproof.simulator.audit.interfaces.step import STEP, SelfDrafted
from draftproof.simulator.audit.interfaces.transformers import TRANSFORMERS
from draftproof.simulator.audit.interfaces.tree import TREE
from draftproof.simulator.errors import InvalidInput

__all__ = ["INTERFACES", "Call", "Interface", "SelfDrafted", "interface_named", "paths_of"]

#: Every interface by its name.
INTERFACES: Mapping[str, Interface] = MappingProxyType(
    {item.name: item for item in (TREE, CHAIN, PATHS, POSTERIOR, COINS, TRANSFORMERS, STEP, LOOP)}
)


def interface_named(name: str) -> Interface:
    """The interface of that name; raises `InvalidInput` for any other."""
    if name not in INTERFACES:
        raise InvalidInput(f"unknown interface {name!r}; choose {', '.join(INTERFACES)}")
    return INTERFACES[name]
