"""Random numbers that a function gets as arguments, known by the names of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from draftproof.simulator.audit.interfaces._call import Call

#: What names of parameters mean; without regard to case, and to a trailing "s" or "_".
UNIFORM = """uniform uniform_prob uniform_sample uniform_rand uniform_random uniform_number uniform_noise rand_uniform
u_rand random_uniform uniform_value coin rand random_number acceptance_uniform accept_uniform"""
FINAL_UNIFORM = """final_uniform bonus_uniform final_coin resample_uniform residual_uniform recovered_uniform
correction_uniform uniform_sample_for_final_sampling coin_for_final_sampling final_rand"""
EXPONENTIAL = "noise exponential exponential_noise exp_noise expo exponential_sample exp_sample exponential_rand"
GUMBEL = "gumbel gumbel_noise gumbel_sample gumbel_rand"
KINDS = {
    name: kind
    for kind, names in (
        ("uniforms", UNIFORM),
        ("final_uniforms", FINAL_UNIFORM),
        ("noise", EXPONENTIAL),
        ("gumbel", GUMBEL),
    )
    for name in names.split()
}
#: In the words of the report.
WORDS = {
    "uniforms": "a uniform number for every draft",
    "final_uniforms": "one uniform number",
    "noise": "an exponential number for every token",
    "gumbel": "a Gumbel number for every token",
}


def kind_of(name: str) -> str | None:
    """Which random numbers a parameter of this name wants: of `KINDS`; None for any other."""
    return KINDS.get(name.lower().rstrip("_").removesuffix("s").rstrip("_"))


def wanted(function: Callable[..., Any], places: int, known: Any) -> dict[str, str]:
    """The parameters after so many places that want random numbers by their names, and which; {} if nobody can tell."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return {}
    later = [
        parameter
        for number, parameter in enumerate(parameters)
        if number >= places or parameter.kind is parameter.KEYWORD_ONLY
    ]
    kinds = {item.name: kind_of(item.name) for item in later if item.name not in known}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def given(call: Call, kind: str, batch: tuple[int, ...], drafted: int, size: int) -> Any:
    """Random numbers of a kind. batch: axes before; drafted: tokens; size: of the vocabulary."""
    how = {"library": call.rows.library, "dtype": call.rows.dtype}
    if kind == "uniforms":
        return call.coins.uniforms((*batch, drafted), **how)
    if kind == "final_uniforms":
        return call.coins.uniforms(batch, **how)
    make = call.coins.exponentials if kind == "noise" else call.coins.gumbels
    return make((*batch, size), **how)
