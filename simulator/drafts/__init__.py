"""Draft schemes: the random rules that build a draft tree from the draft process `q`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from simulator.arithmetic import parse_fraction
from simulator.drafts._shape import LARGEST
from simulator.drafts.adaptive import Adaptive, AdaptiveDropping
from simulator.drafts.delayed import Delayed
from simulator.drafts.greedy import Greedy
from simulator.drafts.own import Own
from simulator.drafts.specinfer_config import SpecInferConfig
from simulator.drafts.top_k import TopK
from simulator.drafts.topology import Topology
from simulator.drafts.without_replacement import WithoutReplacement
from simulator.errors import InvalidInput
from simulator.files import cut
from simulator.protocol import DraftScheme

__all__ = [
    "LARGEST",
    "SCHEMES",
    "Adaptive",
    "AdaptiveDropping",
    "Delayed",
    "Greedy",
    "Own",
    "SpecInferConfig",
    "TopK",
    "Topology",
    "WithoutReplacement",
    "scheme_from_dict",
]

#: Parameters that are lists of whole numbers.
LISTS = ("tree", "widths")

#: Every draft scheme by name; the fields of each are its parameters.
SCHEMES: Mapping[str, Any] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Delayed,
            SpecInferConfig,
            WithoutReplacement,
            TopK,
            Greedy,
            Topology,
            Adaptive,
            AdaptiveDropping,
        )
    }
)


def scheme_from_dict(fields: Any) -> DraftScheme:
    """The scheme that `as_dict` described; raises `InvalidInput` on anything else."""
    if not isinstance(fields, dict) or str(fields.get("name")) not in SCHEMES:
        raise InvalidInput(f"unknown scheme {cut(repr(fields))}; known: {', '.join(SCHEMES)}")
    kind = SCHEMES[str(fields["name"])]
    given = {key: value for key, value in fields.items() if key != "name"}
    wanted = set(kind().as_dict()) - {"name"}
    if set(given) != wanted:
        raise InvalidInput(f"scheme {cut(repr(fields))} must have {', '.join(sorted(wanted))} and nothing else")
    scheme: DraftScheme = kind(**{key: _parsed(key, value, fields) for key, value in given.items()})
    return scheme


def _parsed(key: str, value: Any, fields: dict[str, Any]) -> Any:
    if key == "confidence" and isinstance(value, str):
        return parse_fraction(value)
    if key in LISTS and isinstance(value, list) and all(type(count) is int for count in value):
        return tuple(value)
    if type(value) is int and key not in ("confidence", *LISTS):
        return value
    raise InvalidInput(
        f"scheme {cut(repr(fields))}: {key} = {cut(repr(value))} must be a whole number "
        "(tree and widths: a list, confidence: a fraction)"
    )
