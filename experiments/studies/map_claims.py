"""The figures in the text of the map's page: a function of its rows, printed with its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from draftproof.experiments.studies.map_points import (
    CLOSE,
    DRAFT_TIMES,
    Row,
    advantage,
    at,
    budgets,
    crossings,
    gain,
    points,
    prices,
)
from draftproof.experiments.studies.map_views import counted


def claims(rows: Sequence[Row]) -> str:
    """A list in markdown, one line a figure; rows as the study keeps them."""
    return "".join(f"- {name}: {figure}\n" for name, figure in _figures(rows))


def _figures(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    all_points = points(rows)
    tried = [made for row in rows for made in row["schemes"]]
    drawn = [made for made in tried if made["drawn"]]
    errors = [error for made in drawn for error in made["errors"].values()]
    yield (
        "instances",
        f"{len(rows):,}, points {len(all_points):,}, in {sum(row['seconds'] for row in rows) / 60:.0f} minutes",
    )
    yield (
        "schemes tried",
        f"{len(tried):,}, of which {len(drawn):,} have too many trees: no optimum, block efficiency the mean over "
        f"drawn trees, standard error at most {max(errors, default=0.0):.3f}",
    )
    for budget in budgets(all_points):
        here = at(all_points, budget)
        name = "N = {}, {} passes, V = {}".format(*budget)
        yield f"{name}, largest optimum", counted([point["winner"] for point in here])
        yield f"{name}, best pair", counted([point["winning pair"] for point in here])
        yield f"{name}, random over deterministic", _spread([advantage(point) for point in here])
        for temperature in sorted({point["temperature"] for point in here}):
            first, last = crossings([point for point in here if point["temperature"] == temperature])
            yield (
                f"{name}, line at temperature {temperature:g}",
                f"no deterministic scheme ahead below distance {first:.3f}, no random one beyond {last:.3f}",
            )
        for schemes in (("eagle2",), ("dyspec",), ("dyspec_threshold",), ("sequoia",)):
            gains = [value for value in (gain(point, *schemes) for point in here) if value is not None]
            if gains:
                ahead = sum(value > CLOSE for value in gains)
                said = f"{_spread(gains)}, ahead at {ahead} of {len(gains)}"
                yield f"{name}, `{schemes[0]}` over the best delayed tree", said
        for kind, shares in prices(here):
            if shares:
                yield f"{name}, price of not knowing p, {kind}", _spread(shares)
    for time in DRAFT_TIMES:
        yield f"fastest at t_q = {time:g} t_p, all budgets", counted([_fastest(point, time) for point in all_points])
    reached = [point["pairs"][point["best pair"]] / point["optima"][point["best"]] for point in all_points]
    yield "best pair over the largest optimum", f"mean {sum(reached) / len(reached):.4f}, worst {min(reached):.4f}"
    yield "kind of the largest optimum, all budgets", counted([point["winner"] for point in all_points])


def _fastest(point: Row, time: float) -> str:
    return str(point["fastest"][str(time)])


def _spread(shares: Sequence[float]) -> str:
    mean = sum(shares) / len(shares)
    return f"mean {100 * mean:+.1f} %, {100 * min(shares):+.1f} to {100 * max(shares):+.1f} %"
