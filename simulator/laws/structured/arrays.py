"""Operations on arrays that the structured engines need, for numpy, exact rationals and torch alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.lazy import torch
from draftproof.simulator.residual import is_tensor


def keep_freed_memory() -> None:
    """Make the C library keep the memory of freed arrays for later ones, instead of returning it to the system.

    An engine makes thousands of arrays of a few hundred KiB; with fresh pages for each it takes two to five times as
    long. The GNU allocator keeps blocks up to the size of the largest one freed so far, at most 32 MiB; the block freed
    here is never written to, so it costs no memory. Other allocators are not affected.
    """
    np.empty(2**22 - 2**12)


def zeros(like: Any, *shape: int) -> Any:
    """Zeros of this shape, in the arithmetic and on the device of `like`."""
    return like.new_zeros(shape) if is_tensor(like) else arithmetic_of(like).zeros(*shape)


def scatter_add(into: Any, index: Any, values: Any) -> None:
    """Add `values[i]` to `into[index[i]]`; an index may come more than once."""
    if is_tensor(into):
        into.index_add_(0, index, values)
    else:
        np.add.at(into, index, values)


def joined(parts: Sequence[Any]) -> Any:
    """Arrays of one kind, one after the other along the first axis."""
    if is_tensor(parts[0]):
        return torch.cat(list(parts))
    return np.concatenate(parts)


def whole_numbers(like: Any, values: Any) -> Any:
    """Whole numbers to index arrays such as `like` with: int64, on the same device."""
    if is_tensor(like):
        return torch.as_tensor(values, dtype=torch.int64, device=like.device)
    return np.asarray(values, dtype=np.int64)


def where_true(mask: Any) -> Any:
    """The positions at which a one-dimensional mask holds."""
    return mask.nonzero()[:, 0] if is_tensor(mask) else np.flatnonzero(mask)


def as_numpy(x: Any) -> Any:
    """The same numbers as a numpy array."""
    return x.cpu().numpy() if is_tensor(x) else x
