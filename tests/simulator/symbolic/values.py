"""Values of exact laws as plain ones."""

from fractions import Fraction
from typing import Any


def fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q)) if value else Fraction(0)


def frozen(value: Any) -> Any:
    """With tuples in place of lists, as keys of a law are."""
    return tuple(map(frozen, value)) if isinstance(value, (list, tuple)) else value
