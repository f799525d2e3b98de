"""The fields of a row of each kind, checked where a row is read: whoever changes a row may have made its digest too."""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias

from draftproof.simulator.drafts import SCHEMES, scheme_from_dict
from draftproof.simulator.errors import InvalidInput, cut

#: Whether a field may have a value.
Check: TypeAlias = Callable[[Any], bool]

#: The largest whole number in a row: floats hold every whole number up to here.
LARGEST = 2**53
#: The deepest nesting of values.
DEPTH = 400
_EXACT = re.compile(r"-?\d+(/0*[1-9]\d*)?")


def text(value: Any) -> bool:
    """Text."""
    return isinstance(value, str)


def flag(value: Any) -> bool:
    """A boolean."""
    return isinstance(value, bool)


def number(value: Any) -> bool:
    """A finite number."""
    return (type(value) is int and abs(value) <= LARGEST) or (type(value) is float and isfinite(value))


def count(value: Any) -> bool:
    """A whole number of at least 0."""
    return type(value) is int and 0 <= value <= LARGEST


def exact(value: Any) -> bool:
    """A fraction as text, or a float."""
    return number(value) or (isinstance(value, str) and _EXACT.fullmatch(value) is not None)


def optional(check: Check) -> Check:
    """The same, or None."""
    return lambda value: value is None or check(value)


def many(check: Check, least: int = 0) -> Check:
    """A list with at least `least` of them."""
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(check, value))


def named(check: Check) -> Check:
    """A mapping from names to such values."""
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def fields(wanted: Mapping[str, Check]) -> Check:
    """A mapping with these fields among others."""
    return lambda value: isinstance(value, dict) and wrong_field(value, wanted) is None


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


#: Fields of a source that say how tokens are drawn; `warp` is that of models.
SAMPLINGS = ("sampling", "draft_sampling", "told_sampling", "warp")
_SAMPLING = optional(named(lambda value: value is None or number(value) or text(value)))


def source(value: Any) -> bool:
    """The source of instances, as in `World.source`."""
    if not isinstance(value, dict) or not all(_SAMPLING(value.get(name)) for name in SAMPLINGS):
        return False
    others = {name: each for name, each in value.items() if name not in SAMPLINGS}
    numbers = [each for name, each in others.items() if name != "family"]
    families = text(others.get("family")) and all(map(number, numbers))
    sizes = all(count(others[name]) for name in ("vocab_size", "seed", "denominator") if name in others)
    return sizes and (families if "family" in others else text(others.get("text", "")))


def _twice(names: tuple[str, ...], kind: Callable[[Check], Check] = lambda check: check) -> dict[str, Check]:
    """Exact numbers, each with a field of its float."""
    return {field: kind(each) for name in names for field, each in ((name, exact), (f"{name}_float", number))}


_LENGTHS = {**_twice(("block_efficiency", "variance")), "depth_distribution": many(number, 1)}
_VERDICT = {"lossless": flag, **_twice(("max_deviation",)), **_twice(("total_variation",), optional)}
_WHERE = {"scheme": scheme, "source": source, "options": many(text), "seconds": number}
_ROOT = {"root": text, **_twice(("weight",)), **_LENGTHS, **_VERDICT}

#: The fields that a row must have, by its `kind`. Rows of other kinds are not checked.
KINDS: Mapping[str, Mapping[str, Check]] = {
    "law": {
        **_WHERE, **_LENGTHS, **_VERDICT, "verifier": text, "spec": text, "shape": text, "nodes": count,
        "control": flag, "K": optional(count), "L1": optional(count), "L2": optional(count), "arithmetic": text,
        "engine": text, "assumed": flag, "rounding_decides": flag, "roots": many(fields(_ROOT), 1),
    },
    "bound": {**_WHERE, **_twice(("lower", "upper", "gap")), "cut": flag},
    "failure": {"verifier": text, "spec": text, "scheme": scheme, "error": text, "lossless": flag},
    "theorem": {
        "verifier": text, "vocab_size": count, "scheme": scheme, "verdict": lambda value: value == "proved",
        "identities": count, "cells": count, "seconds": number,
    },
    "step": {"step": text, "result": fields({})},
    "cell": {
        **dict.fromkeys(("predicted", "measured", "total_error", "z"), number), "verifier": text, "shape": text,
        "blocks": count, "by_root": fields(dict.fromkeys(("predicted", "measured"), many(number, 1))),
    },
    "text": dict.fromkeys(("own", "plain"), many(number, 3)),
}  # fmt: skip
#: Fields that a row may have.
_OPTIONAL = {**_twice(("steady_state",)), "method": text}


def wrong_field(row: Mapping[str, Any], wanted: Mapping[str, Check]) -> str | None:
    """An error for the first field that is missing or of the wrong kind; None where all are right."""
    for name, check in wanted.items():
        if name not in row:
            return f"it has no {name}"
        if not check(row[name]):
            return f"{name} = {cut(repr(row[name]), 60)} is of the wrong kind"
    return None


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
