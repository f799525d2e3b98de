"""Parameters of a verifier as the fractions that they stand for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.numbers import as_fraction


def hold_fractions(verifier: Any) -> None:
    """Every parameter of a frozen dataclass as a fraction; raises `InvalidInput` for what is none, by name."""
    for name in verifier.card.parameters:
        where = f"{verifier.card.name}: {name}"
        object.__setattr__(verifier, name, as_fraction(getattr(verifier, name), where))


def hold_one(verifier: Any, default: Any) -> tuple[str, Fraction]:
    """The one parameter of a frozen dataclass that is given, the others being None, as a fraction, with its name.

    Without any it is the first one, with `default`; raises `InvalidInput` for several.
    """
    names = list(verifier.card.parameters)
    given = [name for name in names if getattr(verifier, name) is not None]
    if len(given) > 1:
        raise InvalidInput(f"{verifier.card.name}: {' and '.join(given)} are different rules; give one of them")
    name = given[0] if given else names[0]
    value = as_fraction(getattr(verifier, name) if given else default, f"{verifier.card.name}: {name}")
    object.__setattr__(verifier, name, value)
    return name, value
