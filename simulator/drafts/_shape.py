"""What the parameters (K, L1, L2) may be, shared by the schemes that have them."""

from __future__ import annotations

from draftproof.simulator.errors import InvalidInput

#: The longest and widest trees; larger numbers are taken for mistakes.
LARGEST = 1000


def validate_shape(K: int, L1: int, L2: int) -> None:
    """Raises `InvalidInput` unless `K >= 1`, `L1 >= 0`, `L2 >= 0`, and `L2 >= 1` where `K > 1`."""
    for name, value in (("K", K), ("L1", L1), ("L2", L2)):
        if type(value) is not int or value > LARGEST:
            raise InvalidInput(f"{name} = {value!r} must be a whole number of at most {LARGEST}")
    if K < 1:
        raise InvalidInput(f"K = {K}: a draft tree needs at least one branch; use K >= 1")
    if L1 < 0 or L2 < 0:
        raise InvalidInput(f"L1 = {L1}, L2 = {L2}: lengths cannot be negative; use 0 or more")
    if L2 == 0 and K > 1:
        raise InvalidInput(f"L2 = 0 leaves no room for K = {K} branches; use K = 1 or L2 >= 1")


def smaller_shapes(K: int, L1: int, L2: int) -> list[tuple[int, int, int]]:
    """Every shape that is no larger, itself included; single paths once for every length."""
    single = [(1, 0, length) for length in range(L1 + L2 + 1)]
    several = [(k, l1, l2) for k in range(2, K + 1) for l1 in range(L1 + 1) for l2 in range(1, L2 + 1)]
    return single + several
