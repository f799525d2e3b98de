"""The numbers and verdicts of a recording, by what each is about, whatever the tables and fields are called.

Results of commit 141b940c and those of today have other shapes: `RENAMED`, `NAMES` and `TABLES` say what was renamed,
and `unfolded` brings a result with a title into the older shape.
"""

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

#: Commands and fields of commit 141b940c by the names that they have now.
RENAMED = {
    "matrix": "check many",
    "precision": "check in low precision",
    "depths": "compare by depth",
    "sweep": "compare worlds",
    "compare layer_transport traversal --text topics --vocab 4 --K 2 --L1 0 --L2 2": (
        "compare layer_transport traversal --world text:topics,vocab=4 --K 2 --L1 0 --L2 2"
    ),
    "compare layer_transport traversal --text topics --vocab 4 --K 2 --L1 0 --L2 2 --scheme stratified": (
        "compare layer_transport traversal --world text:topics,vocab=4 --K 2 --L1 0 --L2 2 --scheme stratified"
    ),
}
NAMES = {
    "witness.instance": "instance",
    "hyperparameters.spread": "hyperparameters.entropy_bonus",
    "grid.spread": "grid.entropy_bonus",
    "consistent": "passed",
    "wins": "best_in",
    "ordering": "order",
}
#: Fields that hold a verdict, and how words of it begin that say lossless or not; other words stay words.
VERDICTS = ("verdict", "status", "lossless")
LOSSLESS = {"lossless": True, "proved": True, "lossy": False, "refuted": False, "witness": False}
#: Tables of rows that had names of their own.
TABLES = ("rows", "cells", "entries", "claims", "verifiers", "by_depth", "json", "printed.json")
#: Tables of a single row about all rows.
WHOLE = ("record", "about")
#: What a row is about, in this order; without these a row is known by its place.
ABOUT = ("id", "function", "verifier", "scheme", "sampling", "policy", "precision", "depth", "root", "name")
#: Inputs, and what says a number of the same row again.
INPUTS = ("source", "identity", "options", "K", "L1", "L2", "shape", "spec", "kind", "arithmetic", "about", "CPU s")
#: Fields whose words are results, and words without a field; of others only numbers are compared.
WORDS = ("status", "verdict", "evidence", "formula", "hypothesis", "bug", "lossless_for", "needs", "")
#: Floats are equal up to the order of their sums.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
#: Fields of certified bounds: exact for the prices and plans of a solver, which are equal up to the order of its sums.
SOLVED = re.compile(r"(.*\.)?(optimum|optimum_upper|gap|solver_gap|lower|upper|prices|weights)")


class Place(NamedTuple):
    """What a number or verdict is about: the names of its row, and its field."""

    names: tuple[str, ...]
    field: str

    def __str__(self) -> str:
        return f"{' | '.join(self.names)}: {self.field}" if self.names else self.field


def readings(value: Any, about: dict[str, str] | None = None, field: str = "") -> Iterator[tuple[Place, Any]]:
    """The numbers and verdicts of a recording, each with what it is about."""
    about = about or {}
    field = NAMES.get(field, field)
    if isinstance(value, dict):
        value = unfolded(value)
        about = {**about, **{key: identity(value[key]) for key in ABOUT if value.get(key) not in (None, [], "")}}
        if "verifier" in value and "name" in value:  # its title
            del about["verifier"]
        for key, each in value.items():
            if key in (*ABOUT, *INPUTS) or (key.endswith("_float") and key.removesuffix("_float") in value):
                continue
            table = key in TABLES and isinstance(each, (dict, list))
            if table or re.fullmatch(r"[\d,]*", key):  # a context is no name of a field
                yield from readings(each, about, field)
            else:
                name = "lossless" if key in VERDICTS and truth(each) is not None else key
                yield from readings(each, about, f"{field}.{name}".lstrip("."))
    elif isinstance(value, list):
        for each in value:
            yield from readings(each, about, field)
    elif isinstance(value, str) and re.fullmatch(r"[\d/.]+(  [\d/.]+)+", value):  # a row of p or q
        yield from readings(value.split(), about, field)
    else:
        found = truth(value) if field.endswith("lossless") else number(value)
        if found is None and value and field.rpartition(".")[2] in WORDS:
            found = value
        if found is not None:
            yield Place(tuple(about[key] for key in ABOUT if key in about), field), found


def unfolded(value: dict[str, Any]) -> dict[str, Any]:
    """The value as its readings are named: of a result with one row, that row with the other tables in it."""
    if "target" in value and "draft" in value and "depth" in value:  # an instance; it is no row of a depth
        return {key: each for key, each in value.items() if key not in ("depth", "vocab_size")}
    if isinstance(value.get("hypotheses"), list):
        value = {**value, "hypotheses": [{"bug": bug["name"]} for bug in value["hypotheses"]]}
    rows = value.get("rows")
    if "title" not in value or not isinstance(rows, list) or not rows:
        return value
    whole = {key: each for name in WHOLE for row in value.get(name, ()) for key, each in row.items()}
    if whole:
        checks = {row["check"].replace(" ", "_"): without(row, ["check"]) for row in value.get("same", ())}
        given = {key: each for key, each in whole.get("warp", {}).items() if each is not None}
        if given:  # how tokens are drawn
            whole["sampling"] = ", ".join(f"{key} {each:g}" for key, each in given.items())
        value = without(value, WHOLE) | whole | {"table": dict(whole), "same": checks}
    listed = {key: each for key, each in value.items() if isinstance(each, list)}
    tables = without(listed, ("rows", "notes", "files"))
    names = [key for key, each in tables.items() if all(isinstance(row, dict) for row in each)]
    if len(rows) == 1:
        known = [name for name in ("verifier", "scheme") if rows[0].get(name)]
        return {**whole, **rows[0], **{name: [without(row, known) for row in value[name]] for name in names}}
    schemes = {row.get("shape"): row.get("scheme") for row in rows}
    tables = {name: [{"scheme": schemes.get(row.get("shape")), **row} for row in value[name]] for name in names}
    return {**value, **tables}


def without(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def truth(value: Any) -> bool | None:
    """Whether a verdict says lossless; None where it does not say that."""
    word = re.split(r"\W", str(value).lower(), maxsplit=1)[0]
    return value if isinstance(value, bool) else LOSSLESS.get(word, number(value))


def identity(value: Any) -> str:
    """A name as it is printed: `delayed(K=2, L1=0, L2=1)`, `top-p 0.9`."""
    if isinstance(value, dict):
        inner = ", ".join(f"{key}={each}" for key, each in value.items() if key != "name")
        return f"{value.get('name')}({inner})" if inner else str(value.get("name"))
    text = re.sub(r"(top_p|temperature)=0?\.", r"\1 0.", str(value).strip("'"))
    return text.replace("top_p", "top-p")


def number(value: Any) -> Any:
    """The number, or truth, that a value or its text is; None for anything else."""
    if isinstance(value, str) and value in ("True", "False"):
        return value == "True"
    if isinstance(value, str) and re.fullmatch(r"-?\d+(/\d+)?", value):
        return Fraction(value)
    if isinstance(value, str) and re.fullmatch(r"[-+]?\d*\.?\d+(e[-+]?\d+)?", value):
        return float(value)
    return value if isinstance(value, (bool, int, float)) else None


def equal(one: Any, other: Any) -> bool:
    """Whether two readings are one number or one word; a float is equal up to rounding."""
    if isinstance(one, float) or isinstance(other, float):
        numbers = all(isinstance(each, (int, float, Fraction)) for each in (one, other))
        return numbers and math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(one == other)


def solved(value: Any) -> Any:
    """A number of a solver as a float, to the digits that it finds again."""
    return round(float(value), 9) if isinstance(value, (Fraction, float)) else value


class Compared(NamedTuple):
    """How many readings are the same in two recordings; of a place where others differ, how many and a text."""

    same: int
    different: list[tuple[int, str]]


def compared(before: Any, after: Any) -> Compared:
    """Compares the readings of two recordings. The second may say more of what a row is about, and have more rows."""
    old, new = gathered(before), gathered(after)
    same, different = 0, []
    for place, values in old.items():
        found = new.get(place) or fuller(place, new)
        read = solved if SOLVED.fullmatch(place.field) else (lambda value: value)
        pairs = [pair for pair in zip(values, found, strict=False) if not equal(*map(read, pair))]
        pairs += [(value, "nothing") for value in values[len(found) :]]
        same += len(values) - len(pairs)
        if pairs:
            different.append((len(pairs), f"{place}: {pairs[0][0]} before, {pairs[0][1]} after"))
    return Compared(same, different)


def fuller(place: Place, readings: dict[Place, list[Any]]) -> list[Any]:
    """The readings of the only place with the same field that is about this and more; nothing if there are several."""
    places = [each for each in readings if each.field == place.field and set(each.names) > set(place.names)]
    return readings[places[0]] if len(places) == 1 else []


def gathered(value: Any) -> dict[Place, list[Any]]:
    """Readings by what they are about, in their order."""
    found: dict[Place, list[Any]] = {}
    for place, each in readings(value):
        found.setdefault(place, []).append(each)
    return found
