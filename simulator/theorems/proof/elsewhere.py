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


class Together(Protocol):
    """Does the steps of a relation of two verifiers likewise.

    each: where the law of the first is found, and that of the other.
    """

    @property
    def each(self) -> tuple[Elsewhere, Elsewhere]: ...

    def judged(
        self, kind: str, laws: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[int, tuple[Any, ...]]]
    ) -> Iterable[tuple[int, Mapping[str, Any]]]:
        """Differences, by numbers of part and places; see `relations.judged`. laws: as `laws.plain_law` has them."""
        ...
