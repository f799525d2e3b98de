"""Limits on the memory of programs at one node, checked before they begin."""

from __future__ import annotations

from typing import Any

from draftproof.simulator.errors import TooLarge

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
