"""Rows by world and scheme: where verifiers meet on the same drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from experiments.commands.sweep.store import Row

#: Efficiencies closer than this count as equal: float64 sums of some thousand terms.
CLOSE = 1e-9


@dataclass
class Place:
    """One world on one scheme: the bound, and the row of each verifier, which are all there before it is asked."""

    row: Row
    upper: float | None = None
    rows: dict[str, Row] = field(default_factory=dict)

    @cached_property
    def world(self) -> str:
        """What tells its world from others."""
        return str(sorted(self.row["source"].items()))

    @cached_property
    def usable(self) -> dict[str, float]:
        """The block efficiencies of what is lossless there."""
        return {name: row["block_efficiency_float"] for name, row in self.rows.items() if row["lossless"]}


def places_of(rows: Sequence[Row]) -> list[Place]:
    """The rows, by world and scheme."""
    found: dict[tuple[str, str], Place] = {}
    for row in rows:
        place = Place(row)
        place = found.setdefault((place.world, row["shape"]), place)
        if row["question"] == "bound":
            place.upper = row["upper_float"]
        else:
            place.rows[row["verifier"]] = row
    return list(found.values())
