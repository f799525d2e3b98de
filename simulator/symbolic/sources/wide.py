"""Every low precision that a function asks for replaced by float64: what is left of a deviation is no rounding."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_NUMPY = ("float32", "float16", "single", "half")
_JAX = ("float32", "float16", "bfloat16", "single")
_TORCH = ("float32", "float16", "bfloat16", "float", "half")
_TORCH_KINDS = ("FloatTensor", "HalfTensor", "BFloat16Tensor")
_METHODS = ("float", "half", "bfloat16")


@contextmanager
def widened(originals: dict[int, Any]) -> Iterator[None]:
    """Within it the names of low precisions in numpy, torch and jax mean float64, and torch's default is float64.

    originals: replacements by the identity of what they replace, for names that the function bound before. A precision
    that is only named in a string stays.
    """
    undo: list[tuple[Any, str, Any]] = []
    added: list[int] = []
    default: Any = None
    try:
        for holder, name, wide in _replacements():
            value = getattr(holder, name)
            undo.append((holder, name, value))
            setattr(holder, name, wide)
            if not callable(value) or isinstance(value, type):
                originals[id(value)] = wide
                added.append(id(value))
        if "torch" in sys.modules:
            default = sys.modules["torch"].get_default_dtype()
            sys.modules["torch"].set_default_dtype(sys.modules["torch"].float64)
        yield
    finally:
        for key in added:
            originals.pop(key, None)
        for holder, name, value in reversed(undo):
            setattr(holder, name, value)
        if default is not None:
            sys.modules["torch"].set_default_dtype(default)


def _replacements() -> Iterator[tuple[Any, str, Any]]:
    for name in _NUMPY:
        yield np, name, np.float64
    if "jax.numpy" in sys.modules:
        jnp: Any = sys.modules["jax.numpy"]
        for name in _JAX:
            yield jnp, name, jnp.float64
    if "torch" not in sys.modules:
        return
    torch: Any = sys.modules["torch"]
    for name in _TORCH:
        yield torch, name, torch.float64
    for name in _TORCH_KINDS:
        yield torch, name, torch.DoubleTensor
    for name in _METHODS:
        yield torch.Tensor, name, torch.Tensor.double
