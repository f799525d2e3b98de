"""The fields of a row of each kind, checked where a row is read."""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from math import isclose, isfinite
from typing import Any, TypeAlias

from draftproof.simulator.drafts import SCHEMES, scheme_from_dict
from draftproof.simulator.errors import InvalidInput, cut

#: A check of a value: whether a field may have it.
Kind: TypeAlias = Callable[[Any], bool]

#: The largest whole number in a row: floats hold every whole number up to here.
LARGEST = 2**53
#: The deepest nesting of values.
DEPTH = 400
#: How far a float may be from the exact number that it repeats: the rounding of one division.
ROUNDING = 1e-12
_EXACT = re.compile(r"-?\d+(/0*[1-9]\d*)?")


def text(value: Any) -> bool:
    """Text."""
    return isinstance(value, str)


def line(value: Any) -> bool:
    """Printable text without line breaks, as in names."""
    return isinstance(value, str) and value.isprintable()


def flag(value: Any) -> bool:
    """A boolean."""
    return isinstance(value, bool)


def count(value: Any) -> bool:
    """A whole number of at least 0."""
    return type(value) is int and 0 <= value <= LARGEST


def number(value: Any) -> bool:
    """A finite number."""
    return (type(value) is int and abs(value) <= LARGEST) or (type(value) is float and isfinite(value))


def exact(value: Any) -> bool:
    """A fraction as text, or a float."""
    return number(value) or (isinstance(value, str) and _EXACT.fullmatch(value) is not None)


def optional(kind: Kind) -> Kind:
    """That kind, or None."""
    return lambda value: value is None or kind(value)


def many(kind: Kind, least: int = 0) -> Kind:
    """A list with at least `least` entries of that kind."""
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(kind, value))


def named(kind: Kind) -> Kind:
    """A mapping from names to values of that kind."""
    return lambda value: isinstance(value, dict) and all(map(kind, value.values()))


def names(kind: Kind) -> Kind:
    """A mapping, not empty, from names to values of that kind; each name is a `line`."""
    return lambda value: bool(value) and named(kind)(value) and all(map(line, value))


def fields(wanted: Mapping[str, Kind], rest: Kind | None = None) -> Kind:
    """A mapping with these fields; other fields are of the kind `rest`, or of any kind where that is None."""
    return lambda value: isinstance(value, dict) and wrong_field(value, wanted, rest) is None


def one_of(*values: str) -> Kind:
    """One of these words."""
    return lambda value: isinstance(value, str) and value in values


def scheme(value: Any) -> bool:
    """A draft scheme: a built-in one, or one from a file."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return False
    if "file" in value or value["name"] not in SCHEMES:
        given = value.get("parameters", {})
        return named(text)(given) and all(text(each) for key, each in value.items() if key != "parameters")
    return _is_built_in(json.dumps(value))


@lru_cache(maxsize=4096)
def _is_built_in(text: str) -> bool:
    """Whether the JSON of a scheme is one of the library; the rows of a store have few of them."""
    try:
        scheme_from_dict(json.loads(text))
    except InvalidInput:
        return False
    return True


_SAMPLING = optional(named(lambda value: value is None or number(value) or text(value)))
#: Fields of a source that say how tokens are drawn; `warp` is that of models.
SAMPLINGS = ("sampling", "draft_sampling", "told_sampling", "warp")
_SIZES = {"vocab_size": count, "denominator": count}


def source(value: Any) -> bool:
    """The source of instances, as in `World.source`."""
    if not isinstance(value, dict):
        return False
    sampled = all(_SAMPLING(value.get(key)) for key in SAMPLINGS)
    if "family" in value:
        parameters = {key: each for key, each in value.items() if key not in SAMPLINGS}
        return fields({**_SIZES, "family": text, "seed": count}, number)(parameters) and sampled
    after = {"root": text} if "root" in value else {"roots": count}
    orders = {"target_order": count, "draft_order": count, "text": text, **after}
    tokens = {"vocab_size": count, "roots": many(many(count)), "warp": _SAMPLING}
    wanted = {**_SIZES, **orders} if "text" in value else tokens if "pair" in value else {}
    return fields(wanted)(value) and sampled


def _exact_fields(names: tuple[str, ...], kind: Callable[[Kind], Kind] = lambda each: each) -> dict[str, Kind]:
    return {field: kind(each) for name in names for field, each in ((name, exact), (f"{name}_float", number))}


_LENGTHS = {**_exact_fields(("block_efficiency", "variance")), "depth_distribution": many(number, 1)}
_VERDICT = {
    "lossless": flag,
    **_exact_fields(("max_deviation",)),
    **_exact_fields(("total_variation",), optional),
}
_WHERE = {"scheme": scheme, "source": source, "options": many(text), "seconds": number}
_LAW = {
    **_WHERE, **_LENGTHS, **_VERDICT, "verifier": line, "spec": text, "shape": line, "nodes": count, "control": flag,
    "K": optional(count), "L1": optional(count), "L2": optional(count), "arithmetic": one_of("rational", "float64"),
    "engine": line, "assumed": flag, "rounding_decides": flag,
}  # fmt: skip
_ROOT = {"root": text, **_exact_fields(("weight",)), **_LENGTHS, **_VERDICT}
_BOUND = {**_WHERE, **_exact_fields(("lower", "upper", "gap")), "cut": flag}
_BY_ROOT = fields(dict.fromkeys(("predicted", "measured"), many(number, 1)))
_CELL = dict.fromkeys(("predicted", "measured", "total_error", "z"), number)

#: The fields that a row must have, by its `kind`. Rows of other kinds are not checked.
KINDS: Mapping[str, Mapping[str, Kind]] = {
    "law": {**_LAW, "roots": many(fields(_ROOT), 1)},
    "bound": _BOUND,
    "failure": {"verifier": line, "spec": text, "scheme": scheme, "error": text, "lossless": flag},
    "theorem": {
        "verifier": line, "vocab_size": count, "scheme": scheme, "verdict": one_of("proved"), "identities": count,
        "cells": count, "seconds": number,
    },
    "step": {"step": text, "result": fields({})},
    "cell": {**_CELL, "verifier": line, "shape": line, "blocks": count, "by_root": _BY_ROOT},
    "text": dict.fromkeys(("own", "plain"), many(number, 3)),
}  # fmt: skip
#: Optional fields.
_OPTIONAL = {**_exact_fields(("steady_state",)), "method": text}


def wrong_field(row: Mapping[str, Any], wanted: Mapping[str, Kind], rest: Kind | None = None) -> str | None:
    """An error for the first field that is missing or of the wrong kind; None where all are right."""
    for name, kind in wanted.items():
        if name not in row:
            return f"it has no {name}"
        if not kind(row[name]):
            return f"{name} = {cut(repr(row[name]), 60)} is of the wrong kind"
        repeated = name[:-6] if name.endswith("_float") else ""
        if repeated in wanted and not _same(row[repeated], row[name]):
            return f"{repeated} = {cut(repr(row[repeated]), 60)} is not its {name}"
    if rest is not None:
        for name, value in row.items():
            if name not in wanted and not rest(value):
                return f"{cut(name, 40)} = {cut(repr(value), 60)} is of the wrong kind"
    return None


def _same(value: Any, rounded: Any) -> bool:
    """Whether a float repeats an exact number."""
    if value is None or rounded is None:
        return value is rounded
    if value == rounded:
        return True
    top, _, bottom = str(value).partition("/")  # decimals, as whole numbers can have more digits than Python reads
    return number(rounded) and isclose(Decimal(top) / Decimal(bottom or 1), rounded, rel_tol=ROUNDING)


def check_row(row: Any) -> dict[str, Any]:
    """The row, if it has the fields of its kind; raises `InvalidInput` otherwise."""
    if not isinstance(row, dict) or not text(row.get("strong_id")):
        raise InvalidInput("it is no row: it has no strong_id")
    kind = str(row.get("kind"))
    if kind in KINDS:
        wanted = {**KINDS[kind], **{name: each for name, each in _OPTIONAL.items() if name in row}}
        if wrong := wrong_field(row, wanted):
            raise InvalidInput(f"a row of the kind {kind}: {wrong}")
    return row


def check_nesting(value: Any) -> None:
    """Raises `InvalidInput` for a value that is nested too deeply to be written as JSON again."""
    level = [value]
    for _ in range(DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise InvalidInput(f"its values are nested more than {DEPTH} deep")
