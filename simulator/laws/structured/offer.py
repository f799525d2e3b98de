"""Whether an engine can use what a verifier offers on a scheme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from simulator.drafts import Delayed
from simulator.errors import DraftproofError, InvalidVerifier
from simulator.protocol import DraftScheme, Verifier
from simulator.raised import own_lines
from simulator.structures import OnePath, Selection, Structure, offered


def structure_of(verifier: Verifier, scheme: DraftScheme) -> Structure | None:
    """How the law of `verifier` on `scheme` can be computed without enumeration; None if it cannot."""
    if not isinstance(scheme, Delayed):
        return None
    structure = offered(verifier)
    if structure is None:
        return None
    if isinstance(structure, OnePath) and structure.selection is None and not verifier.card.single_path:
        return None  # of several paths nobody says which
    told: Structure = _told(structure, verifier.card.name)
    return told


def _told(structure: Any, name: str) -> Any:
    """The same with functions whose errors become findings about the verifier, with the lines that led there."""
    changes: dict[str, Any] = {}
    for part in fields(structure):
        value = getattr(structure, part.name)
        if isinstance(value, Selection):
            changes[part.name] = _told(value, name)
        elif callable(value):
            changes[part.name] = _blamed(value, f"{name}: {part.name} of its structure")
    return replace(structure, **changes)


def _blamed(function: Callable[..., Any], where: str) -> Callable[..., Any]:
    def told(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (DraftproofError, MemoryError):
            raise
        except Exception as error:
            raise InvalidVerifier(f"{where} raised {own_lines(error)}") from error

    return told
