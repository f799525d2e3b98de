"""Rows by world and scheme: where verifiers meet on the same drafts, and the commands that print them again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from draftproof.experiments.commands.sweep.store import Row

#: Efficiencies closer than this count as equal: float64 sums of some thousand terms.
CLOSE = 1e-9
#: What of a family is no parameter of it.
_COMMON = ("family", "vocab_size", "seed", "denominator", "sampling")


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
    def cell(self) -> tuple[str, float]:
        """The kind of its world, and the temperature of both models."""
        source = self.row["source"]
        warp = source.get("sampling") or source.get("warp") or {}
        return kind(source), float(warp.get("temperature", 1.0))

    @cached_property
    def usable(self) -> dict[str, float]:
        """The block efficiencies of what is lossless there."""
        return {name: row["block_efficiency_float"] for name, row in self.rows.items() if row["lossless"]}

    @cached_property
    def fair(self) -> dict[str, float]:
        """Those that are lossless elsewhere, too: without controls that nothing here refutes."""
        return {name: value for name, value in self.usable.items() if not self.rows[name].get("control")}


def kind(source: Mapping[str, Any]) -> str:
    """Where a world comes from, in a word."""
    if "family" in source:
        given = ",".join(f"{key}={value:g}" for key, value in source.items() if key not in _COMMON)
        return str(source["family"]) + (f":{given}" if given else "")
    if "pair" in source:
        return "models"
    return str(source.get("text", "instance"))


def command(row: Row, *names: str) -> str:
    """What prints the numbers of a row again."""
    source = row["source"]
    words = ["draftproof", "compare", *names, "--scheme", row["shape"], "--arithmetic", row["arithmetic"]]
    if "family" in source:
        words += ["--family", kind(source), "--seed", source["seed"]]
        words += ["--vocab", source["vocab_size"], "--denominator", source["denominator"]]
    elif "text" in source:
        words += ["--text", source["text"], "--vocab", source["vocab_size"], "--denominator", source["denominator"]]
        words += ["--target-order", source["target_order"], "--draft-order", source["draft_order"]]
        count = str(source["root"]).partition(" most frequent")
        words += ["--roots", count[0]] if count[1] else ["--root", source["root"]]
    elif "pair" in source:
        words += ["--pair", "FOLDER", "--vocab", source["vocab_size"], "--roots", len(source["roots"])]
    else:
        words += ["--instance", "FILE"]
    warp = source.get("warp") or source.get("sampling") or {}
    sampling = ",".join(f"{key}={value:g}" for key, value in warp.items() if value is not None)
    words += ["--sampling", sampling] if sampling else []
    return shlex.join(map(str, words))


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
