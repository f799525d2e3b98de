"""Whether an engine can use what a verifier offers on a scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.drafts import Delayed
from simulator.errors import DraftproofError, InvalidVerifier
from simulator.protocol import DraftScheme, Verifier
from simulator.raised import own_lines
from simulator.structures import OnePath, Structure, offered, with_functions


def structure_of(verifier: Verifier, scheme: DraftScheme) -> Structure | None:
    """How the law of `verifier` on `scheme` can be computed without enumeration; None if it cannot."""
    if not isinstance(scheme, Delayed):
        return None
    structure = offered(verifier)
    if structure is None:
        return None
    if isinstance(structure, OnePath) and structure.selection is None and not verifier.card.single_path:
        return None  # of several paths nobody says which
    name = verifier.card.name
    return with_functions(structure, lambda part, function: _blamed(function, f"{name}: {part} of its structure"))


def _blamed(function: Callable[..., Any], where: str) -> Callable[..., Any]:
    def told(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (DraftproofError, MemoryError):
            raise
        except Exception as error:
            raise InvalidVerifier(f"{where} raised {own_lines(error)}") from error

    return told
