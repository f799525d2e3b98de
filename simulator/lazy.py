"""torch, imported at its first use: the library itself must load without it."""

from __future__ import annotations

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
