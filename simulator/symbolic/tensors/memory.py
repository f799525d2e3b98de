"""Ways into and out of a tensor's memory that no mode of torch sees, recorded. Needs torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch, torch_module
from draftproof.simulator.symbolic.arrays.arrays import plain
from draftproof.simulator.symbolic.knowledge.session import current
from draftproof.simulator.symbolic.where import refusal


def _shared(original: Any) -> Any:
    """`from_numpy` or `frombuffer`: random numbers are copied, any other memory is known to be shared."""

    def function(*arguments: Any, **options: Any) -> Any:
        session = current()
        if session is not None and arguments and getattr(plain(arguments[0]), "dtype", None) == np.dtype(object):
            return session.tensors.wrap(plain(arguments[0]), torch.float64)
        found = original(*arguments, **options)
        if session is not None:
            session.tensors.share(found)
        return found

    function.original = original  # type: ignore[attr-defined]
    return function


def _pickled(original: Any) -> Any:
    def method(self: Any, protocol: Any) -> Any:
        session = current()
        if session is not None and session.tensors.is_random(self):
            raise refusal("a tensor of random numbers is pickled, or copied by copy.copy", "use clone")
        return original(self, protocol)

    return method


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for torch's functions on memory."""
    module = torch_module()
    return [
        (module, "from_numpy", _shared(module.from_numpy)),
        (module, "frombuffer", _shared(module.frombuffer)),
        (module.Tensor, "__reduce_ex__", _pickled(module.Tensor.__reduce_ex__)),
    ]
