"""torch, imported at its first use: the library itself must load without it."""

from __future__ import annotations

from typing import Any


class _Torch:
    def __getattr__(self, name: str) -> Any:
        import torch as module  # noqa: PLC0415 - see above

        value = getattr(module, name)
        value = getattr(value, "original", value)  # where it is replaced during a call
        setattr(self, name, value)
        return value


#: The module torch. What is replaced during a call (`Generator`, `manual_seed`) must not be taken from here.
torch: Any = _Torch()
