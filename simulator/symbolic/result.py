"""What an audited function returned, as plain Python values."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.symbolic.decide.session import current
from draftproof.simulator.symbolic.numbers.nondeterministic import Nondeterministic
from draftproof.simulator.symbolic.numbers.symbol import PLAIN, Symbol

_LEFT = "the function returned a random number that nothing decided; it must return tokens"


def concrete(value: Any) -> Any:  # noqa: PLR0911 - one return for each kind of value
    """Tensors, arrays, numpy scalars and lists of them as Python ints, floats and lists; call it within the session.

    Tuples, lists and dictionaries keep their kind; other objects are returned as they are. Raises `InvalidVerifier`
    if a random number is left in the result.
    """
    if type(value) in PLAIN or isinstance(value, Nondeterministic):
        return value
    if isinstance(value, Symbol):
        raise InvalidVerifier(_LEFT)
    if _is_random_tensor(value):
        return concrete(current().tensors.values(value))  # type: ignore[union-attr]
    if isinstance(value, dict):
        return {concrete(key): concrete(item) for key, item in value.items()}
    if isinstance(value, list):
        return [concrete(element) for element in value]
    if isinstance(value, tuple):
        items = tuple(concrete(entry) for entry in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    if isinstance(value, (np.ndarray, np.generic)) or _is_tensor(value):
        listed = value.tolist()
        return concrete(listed) if isinstance(value, np.ndarray) else listed
    return value


def plain_values(value: Any) -> Any:
    """An argument as messages show it: numbers and lists; symbols stay symbols."""
    if isinstance(value, Symbol) or _is_random_tensor(value):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(plain_values(element) for element in value) if type(value) in (list, tuple) else list(value)
    if isinstance(value, dict):
        return {key: plain_values(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) or _is_tensor(value) else value


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_random_tensor(value: Any) -> bool:
    session = current()
    return session is not None and session.tensors is not None and session.tensors.is_random(value)
