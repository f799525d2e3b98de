"""Verifiers on equal terms: each world with the best scheme at equal drafted tokens, at equal depth, and by time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from experiments.commands.report.places import CLOSE, Place
from experiments.shared.latency import time_model
from simulator.drafts import scheme_from_dict

#: What a draft pass, a branch more in it, a target pass and a node in that take.
TIMES = "draft=1,branch=.1,target=10,node=.1"


def matched(places: Sequence[Place]) -> Iterator[dict[str, Any]]:
    """A row for every verifier on every term: what its best schemes bring, and in what share of the worlds it is best.

    By time only delayed trees count, in tokens per time.
    """
    model = time_model(TIMES)
    delayed = [place for place in places if place.row["scheme"].get("name") == "delayed"]
    for term, of in (("drafted tokens", _nodes), ("depth", _depth)):
        groups: dict[int, list[Place]] = defaultdict(list)
        for place in places:
            groups[of(place)].append(place)
        for value, group in sorted(groups.items()):
            yield from _rows(term, value, group, lambda place: 1.0)
    yield from _rows("time", None, delayed, lambda place: model.time(place.row["scheme"]))


def _rows(
    term: str, value: int | None, places: Sequence[Place], time: Callable[[Place], float]
) -> Iterator[dict[str, Any]]:
    worlds: dict[str, dict[str, float]] = defaultdict(dict)
    for place in places:
        best = worlds[place.world]
        for name, tokens in place.usable.items():
            best[name] = max(best.get(name, 0.0), tokens / time(place))
    for name in dict.fromkeys(name for best in worlds.values() for name in best):
        there = [best for best in worlds.values() if name in best]
        yield {
            "term": term,
            "value": value,
            "verifier": name,
            "worlds": len(there),
            "mean": fmean(best[name] for best in there),
            "median": median(best[name] for best in there),
            "wins": sum(_is_best(name, best) for best in there) / len(there),
        }


def _is_best(name: str, best: Mapping[str, float]) -> bool:
    return best[name] >= max(best.values()) - CLOSE


def _nodes(place: Place) -> int:
    return int(place.row["nodes"])


def _depth(place: Place) -> int:
    return scheme_from_dict(place.row["scheme"]).depth
