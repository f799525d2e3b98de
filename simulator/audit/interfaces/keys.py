"""Keys of jax that a function gets as arguments, known by the names of its parameters, wherever they stand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: Names of parameters that want a key; without regard to case.
NAMES = frozenset(["key", "rng", "rng_key", "prng_key", "prngkey", "random_key", "prng", "sample_key", "sampling_key"])
_PLACES = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _wants(parameter: inspect.Parameter) -> bool:
    kinds = (*_PLACES, inspect.Parameter.KEYWORD_ONLY)
    return parameter.kind in kinds and parameter.name.lower().rstrip("_") in NAMES


def keys_of(function: Callable[..., Any]) -> list[str]:
    """The parameters that want a key."""
    return [parameter.name for parameter in _parameters(function) if _wants(parameter)]


def with_keys(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any], make: Callable[[str], Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with a key for every parameter that wants one and has none.

    The arguments without names keep their order around the keys. make: a key, from the name of its parameter.
    """
    keys = {name: make(name) for name in keys_of(function) if name not in named}
    placed = [parameter.name for parameter in _parameters(function) if parameter.kind in _PLACES]
    return tuple(_ordered(placed, arguments, keys)), {**named, **keys}


def _ordered(placed: list[str], arguments: tuple[Any, ...], keys: dict[str, Any]) -> Iterator[Any]:
    """The arguments by place; keys that stand among them are taken out of `keys`."""
    left = list(arguments)
    for name in placed:
        if not left:
            break
        yield keys.pop(name) if name in keys else left.pop(0)
    yield from left
