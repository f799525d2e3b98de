"""Programs at one node: limits on their memory, checked before they begin, and a cache of their solutions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from flint import fmpq

from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import Vector
from draftproof.simulator.residual import is_tensor

#: Floats in memory at once: half a GiB.
MOST_NUMBERS = 2**26
#: Memory of an exact number, in floats.
EXACT = 8


def check_numbers(what: str, numbers: float, like: Any) -> None:
    """Raise `TooLarge` for more than `MOST_NUMBERS` floats, or the same memory of exact numbers.

    what: the program, in words. numbers: how many it holds. like: a row, for the vocabulary and the arithmetic.
    """
    weight = EXACT if str(getattr(like, "dtype", "")) == "object" else 1
    if numbers * weight > MOST_NUMBERS:
        raise TooLarge(
            f"{what} at V = {len(like)} holds about {numbers:.1e} numbers, more than {MOST_NUMBERS / weight:.1e}; keep "
            "the most probable tokens only, renormalised, or take a verifier without programs, such as specinfer"
        )


#: Inputs of a program are rounded to so many decimals, so that float64 and rational runs solve the same one.
DECIMALS = 10


def host_floats(row: Vector) -> Any:
    """The numbers in float64, on the machine where programs are solved."""
    return row.detach().double().cpu().numpy() if is_tensor(row) else row.astype(np.float64)


def posed(row: Vector) -> Any:
    """The numbers that a program is given."""
    return host_floats(row).round(DECIMALS)


K = TypeVar("K")
T = TypeVar("T")

#: Solutions in the cache of each function; then it is cleared.
LIMIT = 65536
#: Longer rows are not cached: they rarely come again, and to hash them takes longer than most solutions.
LONGEST = 2048


def memoised(solve: Callable[[Vector, Vector, K], T]) -> Callable[[Vector, Vector, K], T]:
    """`solve(p, q, k)`, remembered by its exact input; it must be a pure function.

    k: the number of drafts, or a tuple of the numbers that the solution depends on beside the rows.
    """
    known: dict[Any, T] = {}

    @wraps(solve)
    def remembered(p: Vector, q: Vector, k: K) -> T:
        if len(p) > LONGEST or _is_uncacheable(p) or _is_uncacheable(q):
            return solve(p, q, k)
        first = _entries(p)
        key = (p.dtype, first, first if q is p else _entries(q), _plain(k))
        if key not in known:
            if len(known) >= LIMIT:
                known.clear()
            known[key] = solve(p, q, k)
        return known[key]

    return remembered


def _entries(row: Vector) -> Any:
    """The numbers of a row; rationals in two whole numbers, which are hashed far faster, floats as bytes."""
    if isinstance(row, np.ndarray) and row.dtype != object:
        return row.tobytes()
    return tuple([(x.p, x.q) if type(x) is fmpq else x for x in row.tolist()])


def _plain(k: Any) -> Any:
    """The key of `k`: numbers in place of tensors."""
    if type(k) is int:
        return k
    return tuple(map(_plain, k)) if isinstance(k, tuple) else k.item() if is_tensor(k) else k


def _is_uncacheable(row: Vector) -> bool:
    """Whether it is a tensor with gradients or on a device: more than its numbers, which are the key."""
    return not isinstance(row, np.ndarray) and is_tensor(row) and (row.requires_grad or row.device.type != "cpu")
