"""How the steps of a proof are done in other processes, or known from before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol


class Elsewhere(Protocol):
    """Does the steps of a proof in other processes, or knows them from before; results by number, in any order."""

    def explored(self, tasks: Sequence[Mapping[str, Any]]) -> Iterable[tuple[int, Mapping[str, Any]]]:
        """The masses of draft trees; see `laws.explored`."""
        ...

    def settled(
        self, law: Mapping[str, Any], wanted: Sequence[tuple[int, int]]
    ) -> Iterable[tuple[int, Mapping[str, Any]]]:
        """Balances, by numbers of part and place; see `proof.settled`. law: as `laws.plain_law` has it."""
        ...
