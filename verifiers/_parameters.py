"""Parameters of a verifier as the fractions that they stand for."""

from __future__ import annotations

from typing import Any

from draftproof.simulator.arithmetic import as_fraction


def hold_fractions(verifier: Any) -> None:
    """Every parameter of a frozen dataclass as a fraction; raises `InvalidInput` for what is none, by name."""
    for name in verifier.card.parameters:
        where = f"{verifier.card.name}: {name}"
        object.__setattr__(verifier, name, as_fraction(getattr(verifier, name), where))
