"""Whether an engine can use what a verifier offers on a scheme."""

from __future__ import annotations

from simulator.drafts import Delayed
from simulator.protocol import DraftScheme, Verifier
from simulator.structures import OnePath, Structure, offered


def structure_of(verifier: Verifier, scheme: DraftScheme) -> Structure | None:
    """How the law of `verifier` on `scheme` can be computed without enumeration; None if it cannot."""
    if not isinstance(scheme, Delayed):
        return None
    structure = offered(verifier)
    if isinstance(structure, OnePath) and structure.selection is None and not verifier.card.single_path:
        return None  # of several paths nobody says which
    return structure
