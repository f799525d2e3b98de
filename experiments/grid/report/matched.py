"""Verifiers on equal terms: each world with its best scheme at equal drafted tokens, at equal depth, and by time.

A verifier stands in a comparison only if it is lossless on every scheme of every world of it, so that all of a table
are about the same drafts; the optimum, where it is known on all of them, is the line that none can pass.
"""

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any, TypeAlias

from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.latency import TimeModel, time_model

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


#: What a draft pass, a branch more in it, a target pass and a node in that take: a fast, a usual and a slow draft.
TIMES = tuple(f"draft={draft},branch={draft / 10:g},target=1,node=.01" for draft in (0.02, 0.1, 0.3))
#: The line that no verifier passes.
OPTIMUM = "optimum"
ACCEPTANCE, TOKENS, DEPTH, TIME = "acceptance", "drafted tokens", "depth", "time"
#: Block efficiency, or what is made of it, by verifier.
Values = dict[str, float]


@dataclass(frozen=True)
class Term:
    """What is equal in a comparison: so many branches of one step, drafted tokens, levels, or the times of passes.

    schemes: how many there are to choose from.
    """

    name: str
    value: int | str
    vocab_size: int | None
    schemes: int


@dataclass(frozen=True)
class World:
    """What verifiers bring on one world with their best schemes. cell: its kind and temperature."""

    cell: tuple[str, float]
    best: Values


#: A term with its worlds.
Comparison: TypeAlias = tuple[Term, list[World]]


def matched(compared: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    """A row for every verifier on every term, the optimum first; `cells` has the means by kind and temperature.

    Block efficiency; at one step, acceptance; by time, the speed-up over decoding without drafts, of delayed trees.
    """
    for term, worlds in compared:
        names = [name for name in worlds[0].best if name != OPTIMUM]
        for name in ([OPTIMUM] if OPTIMUM in worlds[0].best else []) + names:
            values = [world.best[name] for world in worlds]
            wins = fmean(_is_best(name, world.best) for world in worlds)
            yield {
                "term": term.name, "value": term.value, "vocab_size": term.vocab_size, "verifier": name,
                "schemes": term.schemes, "worlds": len(worlds), "mean": fmean(values), "median": median(values),
                "wins": None if name == OPTIMUM else wins,
                "share": _share(name, worlds), "cells": _cells(name, worlds),
            }  # fmt: skip


def comparisons(places: Sequence[Place], times: Sequence[str] = TIMES) -> Iterator[Comparison]:
    """Every term with its worlds, on which the same verifiers stand."""
    models = [(spec, time_model(spec)) for spec in times]
    for size, group in _by(places, lambda place: place.row["source"].get("vocab_size")):
        delayed = [place for place in group if place.row["scheme"].get("name") == "delayed"]
        single = [place for place in delayed if place.row["scheme"]["L1"] + place.row["scheme"]["L2"] == 1]
        for name, some, of, amount in (
            (ACCEPTANCE, single, lambda place: place.row["scheme"]["K"], lambda _, efficiency: efficiency - 1),
            (TOKENS, group, lambda place: place.row["nodes"], lambda _, efficiency: efficiency),
            (DEPTH, group, lambda place: place.depth, lambda _, efficiency: efficiency),
        ):
            for value, chosen in _by(some, of):
                yield from _compared(Term(name, value, size, _schemes(chosen)), chosen, amount)
        for spec, model in models:
            yield from _compared(Term(TIME, spec, size, _schemes(delayed)), delayed, _speed(model))


def _compared(term: Term, places: Sequence[Place], amount: Callable[[Place, float], float]) -> Iterator[Comparison]:
    """The comparison, if there is anything that stands in it."""
    worlds = []
    for _, there in _by(places, lambda place: place.world):
        names = set.intersection(*(set(_known(place)) for place in there))
        best = {name: max(amount(place, _known(place)[name]) for place in there) for name in names}
        worlds.append(World(there[0].cell, best))
    if worlds and (shared := set.intersection(*(set(world.best) for world in worlds)) - {OPTIMUM}):
        kept = shared | ({OPTIMUM} if all(OPTIMUM in world.best for world in worlds) else set())
        yield term, [World(world.cell, {name: world.best[name] for name in sorted(kept)}) for world in worlds]


def _schemes(places: Sequence[Place]) -> int:
    return len({place.row["shape"] for place in places})


def _known(place: Place) -> Mapping[str, float]:
    return place.values if place.upper is None else {**place.values, OPTIMUM: place.upper}


def _by(places: Sequence[Place], key: Callable[[Place], Any]) -> list[tuple[Any, list[Place]]]:
    groups: dict[Any, list[Place]] = defaultdict(list)
    for place in places:
        groups[key(place)].append(place)
    return sorted(groups.items(), key=lambda item: (item[0] is not None, item[0]))


def _cells(name: str, worlds: Sequence[World]) -> dict[str, float]:
    """The means by kind and temperature."""
    groups: dict[tuple[str, float], list[float]] = defaultdict(list)
    for world in worlds:
        groups[world.cell].append(world.best[name])
    return {f"{kind}, T = {warmth:g}": fmean(values) for (kind, warmth), values in sorted(groups.items())}


def _share(name: str, worlds: Sequence[World]) -> float | None:
    """The mean share of the optimum; above it is only rounding."""
    if OPTIMUM not in worlds[0].best:
        return None
    return fmean(world.best[name] / world.best[OPTIMUM] if world.best[OPTIMUM] else 1.0 for world in worlds)


def _is_best(name: str, best: Mapping[str, float]) -> bool:
    return best[name] >= max(value for other, value in best.items() if other != OPTIMUM) - CLOSE


def _speed(model: TimeModel) -> Callable[[Place, float], float]:
    alone = model.target[0]
    return lambda place, efficiency: efficiency * alone / model.time(place.row["scheme"])
