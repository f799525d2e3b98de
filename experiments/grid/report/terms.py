"""Verifiers on equal terms: each has its best scheme in each world at equal drafted tokens, depth, or time.

A comparison has the verifiers with a row, not refuted, on every scheme of every world in it, so that all of them are
compared on the same trees; it has the optimum where that is known on all of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from draftproof.experiments.grid.report.rows import WorldOnScheme, grouped
from draftproof.experiments.inputs.latency import TimeModel, time_model

#: Efficiencies closer than this count as equal: float64 sums of some thousand terms.
CLOSE = 1e-9
#: Time models of a fast, a usual and a slow draft: a draft pass, one more branch in it, a target pass, a node in it.
TIMES = tuple(f"draft={draft},branch={draft / 10:g},target=1,node=.01" for draft in (0.02, 0.1, 0.3))
#: The name under which comparisons list the optimum.
OPTIMUM = "optimum"
#: What a comparison is about: the number of a pair, from its block efficiency.
Amount = Callable[[WorldOnScheme, float], float]


def matched(pairs: Sequence[WorldOnScheme]) -> Iterator[dict[str, Any]]:
    """A row for every term and verifier, the optimum first, with a mean for each kind of world and temperature.

    Means are of block efficiencies; for one-step trees of acceptance; for times of the speed-up of delayed trees over
    decoding without drafts.
    """

    def efficiency(_: WorldOnScheme, value: float) -> float:
        return value

    for size, group in grouped(pairs, lambda pair: pair.row["source"].get("vocab_size")).items():
        delayed = [pair for pair in group if pair.is_delayed]
        single = [pair for pair in delayed if pair.row["scheme"]["L1"] + pair.row["scheme"]["L2"] == 1]
        for value, some in grouped(single, lambda pair: pair.row["scheme"]["K"]).items():
            yield from _compared(("acceptance", value, size), some, lambda _, efficiency: efficiency - 1)
        for value, some in grouped(group, lambda pair: pair.row["nodes"]).items():
            yield from _compared(("drafted tokens", value, size), some, efficiency)
        for value, some in grouped(group, lambda pair: pair.depth).items():
            yield from _compared(("depth", value, size), some, efficiency)
        for spec in TIMES if delayed else ():
            yield from _compared(("time", spec, size), delayed, _speed(time_model(spec)))


def _compared(
    term: tuple[str, int | str, int | None], pairs: Sequence[WorldOnScheme], amount: Amount
) -> Iterator[dict[str, Any]]:
    """The rows of a comparison; none where no verifier is in all of its worlds."""
    worlds: list[tuple[str, dict[str, float]]] = []
    for there in grouped(pairs, lambda pair: pair.world).values():
        names = set.intersection(*(set(_known(pair)) for pair in there))
        worlds.append(
            (there[0].cell, {name: max(amount(pair, _known(pair)[name]) for pair in there) for name in names})
        )
    everywhere = set.intersection(*(set(best) for _, best in worlds))
    verifiers = sorted(everywhere - {OPTIMUM})
    tops = [max((best[name] for name in verifiers), default=0.0) for _, best in worlds]
    for name in [OPTIMUM] * (OPTIMUM in everywhere) + verifiers if verifiers else []:
        values = [best[name] for _, best in worlds]
        cells: dict[str, list[float]] = defaultdict(list)
        for cell, best in worlds:
            cells[cell].append(best[name])
        wins = fmean(value >= top - CLOSE for value, top in zip(values, tops, strict=True))
        shares = [best[name] / best[OPTIMUM] if best[OPTIMUM] else 1.0 for _, best in worlds if OPTIMUM in everywhere]
        yield {
            **dict(zip(("term", "value", "vocab_size"), term, strict=True)), "verifier": name, "mean": fmean(values),
            "median": median(values), "share": fmean(shares) if shares else None,
            "wins": None if name == OPTIMUM else wins, "schemes": len({pair.row["shape"] for pair in pairs}),
            "worlds": len(worlds), **{cell: fmean(some) for cell, some in sorted(cells.items())},
        }  # fmt: skip


def _known(pair: WorldOnScheme) -> Mapping[str, float]:
    return pair.values if pair.upper is None else {**pair.values, OPTIMUM: pair.upper}


def _speed(model: TimeModel) -> Amount:
    alone = model.target[0]
    return lambda pair, efficiency: efficiency * alone / model.time(pair.row["scheme"])
