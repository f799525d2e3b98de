"""Parameters of a verifier as the fractions that they stand for."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from simulator.arithmetic import as_fraction


def hold_fractions(verifier: Any) -> None:
    """Every field of a frozen dataclass as a fraction; raises `InvalidInput` for what is none, by name."""
    for field in fields(verifier):
        where = f"{verifier.card.name}: {field.name}"
        object.__setattr__(verifier, field.name, as_fraction(getattr(verifier, field.name), where))
