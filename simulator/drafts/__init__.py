"""Draft schemes: the random rules that build a draft tree from the draft process `q`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from draftproof.simulator.arithmetic import parse_fraction
from draftproof.simulator.drafts._adapting import BestFirst
from draftproof.simulator.drafts._shape import LARGEST
from draftproof.simulator.drafts.adaptive import Adaptive, AdaptiveDropping
from draftproof.simulator.drafts.branching import Greedy, TopK, WithoutReplacement
from draftproof.simulator.drafts.ddd import DynamicDepth
from draftproof.simulator.drafts.delayed import Delayed
from draftproof.simulator.drafts.dyspec import DySpec, DySpecPruned
from draftproof.simulator.drafts.dyspec_threshold import DySpecThreshold
from draftproof.simulator.drafts.eagle2 import Eagle2
from draftproof.simulator.drafts.opt_tree import OptTree
from draftproof.simulator.drafts.rheo import Rheo, RheoOwn
from draftproof.simulator.drafts.rsd_s import StochasticBeam
from draftproof.simulator.drafts.sequoia import Sequoia
from draftproof.simulator.drafts.specblock import SpecBlock
from draftproof.simulator.drafts.spechub import SpecHub
from draftproof.simulator.drafts.specinfer_config import SpecInferConfig
from draftproof.simulator.drafts.stratified import Stratified, Systematic
from draftproof.simulator.drafts.topology import Topology
from draftproof.simulator.drafts.user_scheme import UserScheme
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.protocol import Card, DraftScheme

__all__ = [
    "LARGEST",
    "SCHEMES",
    "Adaptive",
    "AdaptiveDropping",
    "BestFirst",
    "Delayed",
    "DySpec",
    "DySpecPruned",
    "DySpecThreshold",
    "DynamicDepth",
    "Eagle2",
    "Greedy",
    "OptTree",
    "Rheo",
    "RheoOwn",
    "Sequoia",
    "SpecBlock",
    "SpecHub",
    "SpecInferConfig",
    "StochasticBeam",
    "Stratified",
    "Systematic",
    "TopK",
    "Topology",
    "UserScheme",
    "WithoutReplacement",
    "lossless_for",
    "parameter_kinds",
    "scheme_from_dict",
]

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
            DySpec,
            DySpecThreshold,
            Sequoia,
            OptTree,
            Eagle2,
            SpecBlock,
            DynamicDepth,
            SpecHub,
            DySpecPruned,
            Stratified,
            Systematic,
            StochasticBeam,
            Rheo,
            RheoOwn,
        )
    }
)


def lossless_for(card: Card) -> tuple[str, ...]:
    """The schemes that declare what a verifier needs: those on which it is lossless."""
    needs = card.needs
    return () if needs is None else tuple(name for name, kind in SCHEMES.items() if needs in kind.draws)


def scheme_from_dict(fields: Any) -> DraftScheme:
    """The scheme that `as_dict` described; raises `InvalidInput` on anything else."""
    if not isinstance(fields, dict) or str(fields.get("name")) not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise InvalidInput(f"unknown scheme {cut(repr(fields), 40)}; known: {known}")
    kind = SCHEMES[str(fields["name"])]
    given = {key: value for key, value in fields.items() if key != "name"}
    wanted = set(kind().as_dict()) - {"name"}
    if not wanted <= set(given) <= set(parameter_kinds(kind.name)):
        raise InvalidInput(f"scheme {cut(repr(fields))} must have {', '.join(sorted(wanted))} and nothing else")
    scheme: DraftScheme = kind(**{key: _parsed(key, value, fields) for key, value in given.items()})
    return scheme


def parameter_kinds(name: str) -> dict[str, type]:
    """For each parameter of a built-in scheme its kind: `int`, `Fraction`, `str` or `tuple` (whole numbers)."""
    return {field.name: type(field.default) for field in dataclasses.fields(SCHEMES[name])}


def _parsed(key: str, value: Any, fields: dict[str, Any]) -> Any:
    kind = parameter_kinds(fields["name"])[key]
    if kind is Fraction and isinstance(value, str):
        return parse_fraction(value)
    if kind is tuple and isinstance(value, list) and all(type(count) is int for count in value):
        return tuple(value)
    if kind in (int, str) and type(value) is kind:
        return value
    words = {
        str: "a word",
        int: "a whole number",
        tuple: "a list of whole numbers",
        Fraction: 'a fraction such as "1/4"',
    }[kind]
    raise InvalidInput(f"scheme {cut(repr(fields))}: {key} = {cut(repr(value))} must be {words}")
