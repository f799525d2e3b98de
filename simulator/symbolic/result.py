"""What an audited function returned, as plain Python values."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic.decide.session import current
from draftproof.simulator.symbolic.numbers.nondeterministic import Nondeterministic
from draftproof.simulator.symbolic.numbers.symbol import PLAIN, Symbol


def concrete(value: Any) -> Any:
    """Tensors, arrays, numpy scalars and lists of them as Python ints, floats and lists; call it within the session.

    Tuples, lists and dictionaries keep their kind; other objects are returned as they are. Raises `InvalidVerifier`
    if a random number is left in the result.
    """

    def decided(random: Any) -> Any:
        if isinstance(random, Symbol):
            raise InvalidVerifier("the function returned a random number that nothing decided; it must return tokens")
        return concrete(current().tensors.values(random))  # type: ignore[union-attr]

    return _plain(value, decided)


def plain_values(value: Any) -> Any:
    """An argument as messages show it: likewise, where symbols stay symbols."""
    return _plain(value, lambda random: random)


def _plain(value: Any, of_random: Callable[[Any], Any]) -> Any:  # noqa: PLR0911 - one return for each kind of value
    if type(value) in PLAIN or isinstance(value, Nondeterministic):
        return value
    if isinstance(value, Symbol) or _is_random_tensor(value):
        return of_random(value)
    if isinstance(value, dict):
        return {_plain(key, of_random): _plain(item, of_random) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, of_random) for item in value]
    if isinstance(value, tuple):
        items = tuple(_plain(item, of_random) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    if isinstance(value, (np.ndarray, np.generic)) or _is_tensor(value):
        return _plain(value.tolist(), of_random)
    return value


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_random_tensor(value: Any) -> bool:
    session = current()
    return session is not None and session.tensors is not None and session.tensors.is_random(value)
