"""The structure that a verifier declares for a scheme, if an engine can use it."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import DraftproofError, InvalidVerifier, short_repr
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.raised import user_lines
from draftproof.simulator.structures import OnePath, Structure, declared, offered, with_functions


def declared_for(verifier: Verifier, scheme: DraftScheme) -> Structure | None:
    """The structure by which the law of `verifier` on `scheme` can be computed, as it stands; None without one.

    It tells the kind; the functions to call are those of `structure_of`.
    """
    structure = declared(verifier) if isinstance(scheme, Delayed) else None
    if isinstance(structure, OnePath) and structure.selection is None and not verifier.card.single_path:
        return None  # the structure does not say which of several paths it verifies
    return structure


def structure_of(verifier: Verifier, scheme: DraftScheme) -> Structure | None:
    """How the law of `verifier` on `scheme` can be computed without enumeration; None if it cannot."""
    if declared_for(verifier, scheme) is None or (structure := offered(verifier)) is None:
        return None
    name = verifier.card.name
    return with_functions(
        structure, lambda part, function: _checked(function, part, f"{name}: {part} of its structure")
    )


#: Functions of a structure that return an array over the tokens, each with the position of a row among its arguments,
#: and those that return a tuple, each with its length.
_ROWS = {"branch": 0, "child_law": 0, "child_weights": 1}
_PARTS = {"last_step": 2, "at_rejection": 2, "reject": 3, "step": 2}


def _checked(function: Callable[..., Any], part: str, where: str) -> Callable[..., Any]:
    def checked(*arguments: Any) -> Any:
        try:
            result = function(*arguments)
        except (DraftproofError, MemoryError):
            raise
        except Exception as error:
            raise InvalidVerifier(f"{where} raised {user_lines(error)}") from error
        if part in _ROWS:
            size = arguments[_ROWS[part]].shape[-1]
            if getattr(result, "shape", (0,))[-1:] != (size,):
                raise InvalidVerifier(
                    f"{where} returned {short_repr(result)}; it must be an array whose last side is {size}"
                )
        if part in _PARTS and (not isinstance(result, Sized) or len(result) != _PARTS[part]):
            raise InvalidVerifier(f"{where} returned {short_repr(result)}; it must be a tuple of {_PARTS[part]}")
        return result

    return checked
