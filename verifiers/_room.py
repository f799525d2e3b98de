"""What a program at one node may hold at once: said before it is begun, not by the system that kills it."""

from __future__ import annotations

from typing import Any

from draftproof.simulator.errors import TooLarge

#: Numbers held at once: half a GiB of floats.
MOST_NUMBERS = 2**26
#: Floats in whose place one exact number stands.
EXACT = 8


def check_room(what: str, numbers: float, like: Any) -> None:
    """Raise `TooLarge` for more than `MOST_NUMBERS` floats, or as many bytes of exact numbers.

    what: the program, in words. like: a row, which tells the vocabulary and the arithmetic.
    """
    weight = EXACT if str(getattr(like, "dtype", "")) == "object" else 1
    if numbers * weight > MOST_NUMBERS:
        raise TooLarge(
            f"{what} at V = {len(like)} holds about {numbers:.1e} numbers, more than {MOST_NUMBERS / weight:.1e}; keep "
            "the most probable tokens only, renormalised, or take a verifier without programs, such as specinfer"
        )
