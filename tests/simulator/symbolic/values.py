"""Values of exact laws as plain ones."""

from fractions import Fraction
from typing import Any


def fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q)) if value else Fraction(0)
