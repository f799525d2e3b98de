"""torch and jax, imported at their first use: the library itself must load without them."""

from __future__ import annotations

import importlib
from typing import Any

from draftproof.simulator.errors import InvalidInput


def torch_module(what: str = "this", otherwise: str = "") -> Any:
    """The module itself; raises `InvalidInput` where it is not installed. what: needs it; otherwise: a way out."""
    try:
        import torch as module  # noqa: PLC0415 - see above
    except ImportError:
        raise InvalidInput(
            f"{what} needs torch, which is not installed: pip install 'draftproof[models]'{otherwise}"
        ) from None
    return module


class _Torch:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by whoever looks through a module: no reason to load torch
            raise AttributeError(name)
        value = getattr(torch_module(), name)
        value = getattr(value, "original", value)  # where it is replaced during a call
        setattr(self, name, value)
        return value


#: The module torch. What is replaced during a call (`Generator`, `manual_seed`) must not be taken from here.
torch: Any = _Torch()


def jax_module(what: str = "this") -> Any:
    """The module jax; raises `InvalidInput` where it is not installed. what: needs it."""
    try:
        return importlib.import_module("jax")
    except ImportError:
        raise InvalidInput(f"{what} needs jax, which is not installed: pip install 'draftproof[jax]'") from None


class _Later:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)
        return value


#: The module jax.numpy, and those in which jax says what a trace is and where a line is from: they have no other name.
jnp: Any = _Later("jax.numpy")
jax_core: Any = _Later("jax._src.core")
jax_lines: Any = _Later("jax._src.source_info_util")
