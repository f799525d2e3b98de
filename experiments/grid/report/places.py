"""Rows by world and scheme: where verifiers meet on the same drafts, and the commands that print them again."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from draftproof.experiments.grid.store import Row

#: Efficiencies closer than this count as equal: float64 sums of some thousand terms.
CLOSE = 1e-9
#: What of a family is no parameter of it.
_COMMON = ("family", "vocab_size", "seed", "denominator", "sampling")


@dataclass
class Place:
    """One world on one scheme: the bound, and the row of each verifier, which are all there before it is asked.

    lossy: negative controls, and the verifiers that a row refutes, here or elsewhere on schemes of this kind.
    """

    row: Row
    upper: float | None = None
    rows: dict[str, Row] = field(default_factory=dict)
    lossy: set[str] = field(default_factory=set)

    @cached_property
    def world(self) -> str:
        """What tells its world from others."""
        return str(sorted(self.row["source"].items()))

    @cached_property
    def cell(self) -> tuple[str, float]:
        """The kind of its world, and the temperature of both models."""
        source = self.row["source"]
        warp = source.get("sampling") or source.get("warp") or {}
        return kind(source), float(warp.get("temperature", 1.0))

    @cached_property
    def depth(self) -> int:
        """Drafted tokens on the longest path."""
        return max(len(row["depth_distribution"]) for row in self.rows.values()) - 1 if self.rows else 0

    @cached_property
    def values(self) -> dict[str, float]:
        """The block efficiencies of the verifiers that no row refutes on schemes of this kind."""
        return {name: row["block_efficiency_float"] for name, row in self.rows.items() if name not in self.lossy}

    def command(self, *names: str) -> str:
        """What prints rows of these verifiers again, with the optimum where it is known; nothing for none."""
        rows = [self.rows[name] for name in names]
        if not rows:
            return ""
        words = ["draftproof", "compare", *(row["spec"] for row in rows), "--scheme", rows[0]["shape"]]
        words += [*rows[0]["options"], "--arithmetic", rows[0]["arithmetic"]]
        return shlex.join([*words, "--optimum"] if self.upper is not None else words)


def kind(source: Mapping[str, Any]) -> str:
    """Where a world comes from, in a word."""
    if "family" in source:
        given = ",".join(f"{key}={value:g}" for key, value in source.items() if key not in _COMMON)
        return str(source["family"]) + (f":{given}" if given else "")
    if "pair" in source:
        return "models"
    return str(source.get("text", "instance"))


def places_of(rows: Sequence[Row]) -> list[Place]:
    """The rows, by world and scheme."""
    lossy = defaultdict[str, set[str]](set)
    places: dict[tuple[str, str], Place] = {}
    for row in rows:
        if row["kind"] == "law" and (row["control"] or not row["lossless"]):
            lossy[row["scheme"]["name"]].add(row["verifier"])
        place = Place(row, lossy=lossy[row["scheme"]["name"]])
        place = places.setdefault((place.world, row["shape"]), place)
        if row["kind"] == "bound":
            place.upper = row["upper_float"]
        else:
            place.rows[row["verifier"]] = row
    return list(places.values())


def by_shape(places: Sequence[Place]) -> dict[str, list[Place]]:
    """The places of each scheme, the schemes with few drafted tokens first."""
    groups = defaultdict(list)
    for place in places:
        groups[place.row["shape"]].append(place)
    return dict(sorted(groups.items(), key=lambda item: (item[1][0].row["nodes"], item[0])))
