"""Verifiers at equal budgets: each verifier has its best scheme in each world at equal drafted tokens, depth, or time.

A world is a source of instances. A comparison has the verifiers with a row, not refuted, on every scheme of every world
in it, so that all of them are compared on the same trees; it has the optimum where that is known on all of them.
"""

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any, TypeAlias

from draftproof.experiments.grid.kinds import SAMPLINGS
from draftproof.experiments.grid.store import Row
from draftproof.experiments.inputs.latency import TimeModel, time_model

#: Efficiencies closer than this count as equal: float64 sums of some thousand terms.
CLOSE = 1e-9
#: Fields of a source of a family that are no parameters of the family.
_COMMON = ("family", "vocab_size", "seed", "denominator", *SAMPLINGS)


@dataclass
class WorldOnScheme:
    """One world on one scheme: the upper bound, and the row of each verifier.

    Its properties are cached, so they are used only when all rows are in it. lossy: negative controls, and the
    verifiers that some row refutes on a scheme of this kind where they are told the same of q.
    """

    row: Row
    upper: float | None = None
    rows: dict[str, Row] = field(default_factory=dict)
    lossy: set[str] = field(default_factory=set)

    @cached_property
    def world(self) -> str:
        """The source of instances as text."""
        return str(sorted(self.row["source"].items()))

    @cached_property
    def cell(self) -> tuple[str, float]:
        """The kind of its source, and the temperature of both models."""
        source = self.row["source"]
        drawn = source.get("sampling") or source.get("warp") or {}
        return kind(source), float(drawn.get("temperature", 1.0))

    @cached_property
    def depth(self) -> int:
        """Drafted tokens on the longest path."""
        return max((row["depth"] for row in self.rows.values()), default=0)

    @cached_property
    def values(self) -> dict[str, float]:
        """The block efficiencies of the verifiers that no row refutes on schemes of this kind."""
        return {name: row["block_efficiency_float"] for name, row in self.rows.items() if name not in self.lossy}

    def command(self, *names: str) -> str:
        """The command that prints the rows of these verifiers, with the optimum where it is known; "" for none."""
        rows = [self.rows[name] for name in names]
        if not rows:
            return ""
        words = ["draftproof", "compare", *(row["spec"] for row in rows), "--scheme", rows[0]["shape"]]
        words += [*rows[0]["options"], "--arithmetic", rows[0]["arithmetic"]]
        return shlex.join([*words, "--optimum"] if self.upper is not None else words)


def kind(source: Mapping[str, Any]) -> str:
    """The kind of a source of instances: a family with its parameters, models, or the name of a text."""
    if "family" in source:
        parameters = ",".join(f"{key}={value:g}" for key, value in source.items() if key not in _COMMON)
        return str(source["family"]) + (f":{parameters}" if parameters else "")
    if "pair" in source:
        return "models"
    return str(source.get("text", "instance"))


def told_otherwise(source: Mapping[str, Any]) -> str:
    """What verifiers are told instead of q, so that all are lossy, as text; "" where they are told q."""
    told = source.get("told_sampling", (source.get("warp") or {}).get("told_sampling"))
    return "" if told is None else repr(told)


def worlds_on_schemes(rows: Sequence[Row]) -> list[WorldOnScheme]:
    """The rows grouped by world and scheme."""
    lossy = defaultdict[tuple[str, str], set[str]](set)
    pairs: dict[tuple[str, str], WorldOnScheme] = {}
    for row in rows:
        alike = row["scheme"]["name"], told_otherwise(row["source"])
        if row["kind"] == "law" and (row["control"] or not row["lossless"]):
            lossy[alike].add(row["verifier"])
        pair = WorldOnScheme(row, lossy=lossy[alike])
        pair = pairs.setdefault((pair.world, row["shape"]), pair)
        if row["kind"] == "bound":
            pair.upper = row["upper_float"]
        else:
            pair.rows[row["verifier"]] = row
    return list(pairs.values())


def by_shape(pairs: Sequence[WorldOnScheme]) -> dict[str, list[WorldOnScheme]]:
    """The pairs of each scheme, the schemes with the fewest drafted tokens first."""
    groups = defaultdict(list)
    for pair in pairs:
        groups[pair.row["shape"]].append(pair)
    return dict(sorted(groups.items(), key=lambda item: (item[1][0].row["nodes"], item[0])))


#: Time models of a fast, a usual and a slow draft: a draft pass, one more branch in it, a target pass, a node in it.
TIMES = tuple(f"draft={draft},branch={draft / 10:g},target=1,node=.01" for draft in (0.02, 0.1, 0.3))
#: The name under which comparisons list the optimum.
OPTIMUM = "optimum"
ACCEPTANCE, TOKENS, DEPTH, TIME = "acceptance", "drafted tokens", "depth", "time"
#: Block efficiency, acceptance or speed-up, by verifier.
Values = dict[str, float]


@dataclass(frozen=True)
class Term:
    """What is equal in a comparison: branches of a one-step tree, drafted tokens, depth, or the times of passes.

    schemes: the number of schemes to choose from.
    """

    name: str
    value: int | str
    vocab_size: int | None
    schemes: int


@dataclass(frozen=True)
class World:
    """The best value of each verifier over schemes in one world. cell: kind and temperature of the world."""

    cell: tuple[str, float]
    best: Values


#: A term with its worlds.
Comparison: TypeAlias = tuple[Term, list[World]]


def matched(compared: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    """A row for every term and verifier, the optimum first; `cells` has the means by kind and temperature.

    Values are block efficiencies; for one-step trees, acceptance; for times, the speed-up of delayed trees over
    decoding without drafts.
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


def is_delayed(row: Mapping[str, Any]) -> bool:
    """Whether it is about a delayed tree of the library; a scheme of a file can have the same name."""
    return row["scheme"]["name"] == "delayed" and "file" not in row["scheme"]


def comparisons(pairs: Sequence[WorldOnScheme], times: Sequence[str] = TIMES) -> Iterator[Comparison]:
    """Every term with its worlds, which all have the same verifiers."""
    models = [(spec, time_model(spec)) for spec in times]
    for size, group in _by(pairs, lambda pair: pair.row["source"].get("vocab_size")):
        delayed = [pair for pair in group if is_delayed(pair.row)]
        single = [pair for pair in delayed if pair.row["scheme"]["L1"] + pair.row["scheme"]["L2"] == 1]
        for name, some, of, amount in (
            (ACCEPTANCE, single, lambda pair: pair.row["scheme"]["K"], lambda _, efficiency: efficiency - 1),
            (TOKENS, group, lambda pair: pair.row["nodes"], lambda _, efficiency: efficiency),
            (DEPTH, group, lambda pair: pair.depth, lambda _, efficiency: efficiency),
        ):
            for value, chosen in _by(some, of):
                yield from _compared(Term(name, value, size, _schemes(chosen)), chosen, amount)
        for spec, model in models:
            yield from _compared(Term(TIME, spec, size, _schemes(delayed)), delayed, _speed(model))


def _compared(
    term: Term, pairs: Sequence[WorldOnScheme], amount: Callable[[WorldOnScheme, float], float]
) -> Iterator[Comparison]:
    """The comparison; nothing where no verifier is in all of its worlds."""
    worlds = []
    for _, there in _by(pairs, lambda pair: pair.world):
        names = set.intersection(*(set(_known(pair)) for pair in there))
        best = {name: max(amount(pair, _known(pair)[name]) for pair in there) for name in names}
        worlds.append(World(there[0].cell, best))
    if worlds and (shared := set.intersection(*(set(world.best) for world in worlds)) - {OPTIMUM}):
        kept = shared | ({OPTIMUM} if all(OPTIMUM in world.best for world in worlds) else set())
        yield term, [World(world.cell, {name: world.best[name] for name in sorted(kept)}) for world in worlds]


def _schemes(pairs: Sequence[WorldOnScheme]) -> int:
    return len({pair.row["shape"] for pair in pairs})


def _known(pair: WorldOnScheme) -> Mapping[str, float]:
    return pair.values if pair.upper is None else {**pair.values, OPTIMUM: pair.upper}


def _by(pairs: Sequence[WorldOnScheme], key: Callable[[WorldOnScheme], Any]) -> list[tuple[Any, list[WorldOnScheme]]]:
    groups: dict[Any, list[WorldOnScheme]] = defaultdict(list)
    for pair in pairs:
        groups[key(pair)].append(pair)
    return sorted(groups.items(), key=lambda item: (item[0] is not None, item[0]))


def _cells(name: str, worlds: Sequence[World]) -> dict[str, float]:
    """The means by cell."""
    groups: dict[tuple[str, float], list[float]] = defaultdict(list)
    for world in worlds:
        groups[world.cell].append(world.best[name])
    return {f"{kind}, T = {warmth:g}": fmean(values) for (kind, warmth), values in sorted(groups.items())}


def _share(name: str, worlds: Sequence[World]) -> float | None:
    """The mean share of the optimum, at most 1 up to rounding."""
    if OPTIMUM not in worlds[0].best:
        return None
    return fmean(world.best[name] / world.best[OPTIMUM] if world.best[OPTIMUM] else 1.0 for world in worlds)


def _is_best(name: str, best: Mapping[str, float]) -> bool:
    return best[name] >= max(value for other, value in best.items() if other != OPTIMUM) - CLOSE


def _speed(model: TimeModel) -> Callable[[WorldOnScheme, float], float]:
    alone = model.target[0]
    return lambda pair, efficiency: efficiency * alone / model.time(pair.row["scheme"])
