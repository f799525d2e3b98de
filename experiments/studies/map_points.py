"""The points of the map of trees, from its rows: the best schemes by optimum, by verifier and by time; gains."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

Row = dict[str, Any]
#: A budget of tokens and draft passes, with the vocabulary of its instances.
Budget = tuple[int, int, int]
#: Deterministic schemes.
FIXED = "deterministic"
#: Values closer than this, the certified gap of the optima, are equal; and the winner where several kinds are.
CLOSE, SEVERAL = 1e-3, "several"
#: One path without branches.
CHAIN = "chain"
#: Times of a draft pass, in target passes, at which the fastest pair of scheme and verifier is found.
DRAFT_TIMES = (0.02, 0.1, 0.3)


def points(rows: Sequence[Row]) -> list[Row]:
    """One point for every kind, value, temperature and budget: the means over its instances, with the winners."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        for known in row["known"]:
            budget = (known["nodes"], known["passes"], row["vocab_size"])
            groups[budget, row["kind"], row["value"], row["temperature"]].append(_point(row, known))
    return [_joined(key, group) for key, group in groups.items()]


def name_of(scheme: str) -> str:
    """The name of a scheme from its text; a topology is Sequoia's planned tree, so it has that name."""
    name = scheme.partition(":")[0]
    return "sequoia" if name == "topology" else name


def names_of(scheme: str) -> list[str]:
    """The name of a scheme from its text, and `CHAIN` too where it is a single path."""
    tree = set(scheme.rpartition("tree=")[2].split("-"))
    chain = scheme.startswith("delayed:K=1,") or ("tree=" in scheme and tree <= {"0", "1"})
    return [name_of(scheme), *[CHAIN] * chain]


def _point(row: Row, known: Row) -> Row:
    """One instance at one budget: largest optimum and block efficiencies by scheme, and efficiencies with known target.

    Where there were too many trees for an optimum, the best block efficiency, a lower bound, replaces it.
    """
    optima: dict[str, float] = {}
    pairs: dict[tuple[str, str], float] = {}
    rates: dict[float, dict[tuple[str, str], float]] = {time: {} for time in DRAFT_TIMES}
    kinds: dict[str, str] = {}
    open_ = 0
    for made in row["schemes"]:
        name = name_of(made["scheme"])
        spare = name == "dyspec" and made["nodes"] < known["nodes"]  # one token a pass, so it cannot use this budget
        if made["nodes"] > known["nodes"] or made["passes"] > known["passes"] or spare:
            continue
        open_ += made["lower"] is None
        for label in names_of(made["scheme"]):
            kinds[label] = CHAIN if label == CHAIN else made["kind"]
            bounds = [*made["pairs"].values()] if made["lower"] is None else [made["lower"]]
            if bounds:
                optima[label] = max(optima.get(label, 0.0), *bounds)
            for verifier, value in made["pairs"].items():
                pair = label, verifier
                pairs[pair] = max(pairs.get(pair, 0.0), value)
                for time in DRAFT_TIMES:
                    rate = value / (1 + time * made["mean_passes"])
                    rates[time][pair] = max(rates[time].get(pair, 0.0), rate)
    return {"distance": row["distance"], "optima": optima, "pairs": pairs, "rates": rates, "kinds": kinds} | {
        "open": open_,
        "known": {key: value for key, value in known.items() if key not in ("nodes", "passes")},
    }


def _joined(key: Any, group: Sequence[Row]) -> Row:
    """The means over the instances of a point; keys that some instances do not have are left out."""
    (nodes, passes, size), kind, value, temperature = key
    optima, pairs = (_means([item[part] for item in group]) for part in ("optima", "pairs"))
    kinds: dict[str, str] = {}
    for item in group:
        kinds |= item["kinds"]
    rates = {time: _means([item["rates"][time] for item in group]) for time in DRAFT_TIMES}
    return {
        "nodes": nodes,
        "passes": passes,
        "vocab_size": size,
        "kind": kind,
        "value": value,
        "temperature": temperature,
        "instances": len(group),
        "distance": sum(item["distance"] for item in group) / len(group),
        "optima": optima,
        "pairs": {f"{scheme} {verifier}": mean for (scheme, verifier), mean in pairs.items()},
        "kinds": kinds,
        "best": _leading(optima)[0],
        "winner": _winner(optima, kinds),
        "best pair": " ".join(_leading(pairs)[0]),
        "winning pair": _one({" ".join(pair) for pair in _leading(pairs)}),
        "fastest": {str(time): _one({pair[0] for pair in _leading(by_tree)}) for time, by_tree in rates.items()},
        "open": sum(item["open"] for item in group),
        "known": _means([item["known"] for item in group]),
    }


def _leading(values: dict[Any, float]) -> list[Any]:
    """The keys of the largest value and of all values equal to it up to `CLOSE`, the largest first."""
    most = max(values.values())
    return sorted((key for key in values if values[key] >= most - CLOSE), key=lambda key: -values[key])


def _one(names: set[str]) -> str:
    """The winner among equally good schemes: a chain, as the simplest; else the only one, or `SEVERAL`."""
    if any(name.split()[0] == CHAIN for name in names):
        return CHAIN
    return names.pop() if len(names) == 1 else SEVERAL


def _winner(optima: dict[str, float], kinds: dict[str, str]) -> str:
    """The kind of the schemes with the largest optimum, or `SEVERAL`."""
    return _one({kinds[name] for name in _leading(optima)})


def _means(groups: Sequence[dict[Any, float]]) -> dict[Any, float]:
    shared = [key for key in groups[0] if all(key in group for group in groups)]
    return {key: sum(group[key] for group in groups) / len(groups) for key in shared}


def budgets(listed: Sequence[Row]) -> list[Budget]:
    """The budgets of the points: tokens, passes and vocabulary."""
    return sorted({budget_of(point) for point in listed}, key=lambda budget: (-budget[2], *budget))


def budget_of(point: Row) -> Budget:
    """Tokens, passes and vocabulary."""
    return point["nodes"], point["passes"], point["vocab_size"]


def at(listed: Sequence[Row], budget: Budget) -> list[Row]:
    """The points of one budget by distance."""
    return sorted((point for point in listed if budget_of(point) == budget), key=lambda point: float(point["distance"]))


def largest(point: Row, fixed: bool) -> float:
    """The largest optimum of the deterministic schemes, or of all others."""
    values = (value for name, value in point["optima"].items() if (point["kinds"][name] == FIXED) == fixed)
    return float(max(values))


def advantage(point: Row) -> float:
    """The largest optimum of random schemes over that of deterministic ones, minus 1."""
    return largest(point, fixed=False) / largest(point, fixed=True) - 1


def pair_value(point: Row, *schemes: str) -> float | None:
    """The largest block efficiency of a verifier on these schemes; None where there is none."""
    return max((mean for pair, mean in point["pairs"].items() if pair.split()[0] in schemes), default=None)


def gain(point: Row, *schemes: str) -> float | None:
    """The largest block efficiency on these schemes over that on delayed trees, minus 1."""
    ours, static = pair_value(point, *schemes), pair_value(point, "delayed")
    return None if ours is None or static is None else ours / static - 1


def crossings(listed: Sequence[Row]) -> tuple[float, float]:
    """The distance below which no deterministic scheme is ahead, and the one beyond which no random scheme is.

    Ahead means by more than `CLOSE`. 1 and 0 where a kind is never ahead.
    """
    fixed = [point["distance"] for point in listed if advantage(point) < -CLOSE]
    random = [point["distance"] for point in listed if advantage(point) > CLOSE]
    return min(fixed, default=1.0), max(random, default=0.0)


def gains_from_target(listed: Sequence[Row]) -> Iterator[tuple[str, list[float]]]:
    """By kind of tree, the efficiency with known target rows over the efficiency without, minus 1."""
    kept = {"set": "set by target", "topology": "topology", "growth": "growth"}
    for name, best in kept.items():
        without = [(point["known"].get(best), _without_target(point, name)) for point in listed]
        yield name, [most / had - 1 for most, had in without if most is not None and had is not None]


def _without_target(point: Row, name: str) -> float | None:
    """The block efficiency of a tree of that kind that is chosen by the draft, or by averages."""
    if name == "set":
        return float(point["known"]["set by draft"])
    pair = "sequoia sequoia" if name == "topology" else "dyspec rejection_without_replacement"
    value: float | None = point["pairs"].get(pair)
    return value
