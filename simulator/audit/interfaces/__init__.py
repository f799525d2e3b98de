"""The interfaces of functions of other projects: how they get drafts and return blocks."""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from draftproof.simulator.audit.interfaces._call import Call, Interface, paths_of
from draftproof.simulator.audit.interfaces.chain import CHAIN
from draftproof.simulator.audit.interfaces.flat import COINS, VLLM
from draftproof.simulator.audit.interfaces.loop import LOOP
from draftproof.simulator.audit.interfaces.one_path import TENSORRT_LLM, TRANSFORMERS
from draftproof.simulator.audit.interfaces.posterior import EAGLE, POSTERIOR
from draftproof.simulator.audit.interfaces.sglang import SGLANG, SGLANG_CHAIN
from draftproof.simulator.audit.interfaces.step import STEP, SelfDrafted
from draftproof.simulator.audit.interfaces.tree import PATHS, TREE
from draftproof.simulator.audit.interfaces.vllm_v2 import VLLM_V2
from draftproof.simulator.errors import InvalidInput

__all__ = ["INTERFACES", "Call", "Interface", "SelfDrafted", "interface_named", "paths_of"]

#: Those of engines.
ENGINES = (TRANSFORMERS, VLLM, VLLM_V2, SGLANG, SGLANG_CHAIN, EAGLE, TENSORRT_LLM)
#: Every interface by its name.
INTERFACES: Mapping[str, Interface] = MappingProxyType(
    {item.name: item for item in (TREE, CHAIN, PATHS, POSTERIOR, COINS, STEP, LOOP, *ENGINES)}
)


def interface_named(name: str) -> Interface:
    """The interface of that name; raises `InvalidInput` for any other."""
    if name not in INTERFACES:
        close = get_close_matches(name, INTERFACES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InvalidInput(f"unknown interface {name!r}; {hint}choose {', '.join(INTERFACES)}")
    return INTERFACES[name]
