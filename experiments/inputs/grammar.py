"""The grammar of verifiers, schemes and worlds: `NAME` or `NAME:key=value,..`, with ranges of whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from typing import Any

from draftproof.simulator.errors import InvalidInput, TooLarge, cut

#: Most texts that the ranges of one text stand for.
MOST_TEXTS = 1_000_000
_RANGE = re.compile(r"(?<==)(\d{1,9})\.\.(\d{1,9})(?=,|$)")


def expand(text: str, most: int = MOST_TEXTS) -> list[str]:
    """The texts that a text with ranges stands for: `"delayed:K=1..2,L2=1..2"` has four; raises `InvalidInput`."""
    parts = _RANGE.split(text)  # text, first, last, text, first, last, text
    ranges = [range(int(first), int(last) + 1) for first, last in zip(parts[1::3], parts[2::3], strict=True)]
    count = 1
    for values in ranges:
        count *= len(values)
    if count == 0:
        raise InvalidInput(f"a range in {cut(repr(text))} is empty; write the smaller number first")
    if count > most:
        raise TooLarge(f"{cut(repr(text))} stands for {count:,} of them, more than {most:,}; give smaller ranges")
    made = []
    for numbers in product(*ranges):
        ends = [f"{number}{rest}" for number, rest in zip(numbers, parts[3::3], strict=True)]
        made.append(parts[0] + "".join(ends))
    return made


def once(given: Iterable[Any]) -> list[Any]:
    """Texts and objects without those that are given again."""
    return list({one if isinstance(one, str) else id(one): one for one in given}.values())


def parse_assignments(rest: str, name: str, spec: str) -> dict[str, str]:
    """`key=value,..` as texts by key. spec: the whole text, for errors; raises `InvalidInput`."""
    parameters: dict[str, str] = {}
    for assignment in filter(None, rest.split(",")):
        key, equals, value = assignment.partition("=")
        if not equals:
            raise InvalidInput(f"{assignment!r} in {spec!r} is no parameter; write {name}:key=value")
        if key.strip() in parameters:
            raise InvalidInput(f"{spec!r} gives {key.strip()!r} twice; give it once")
        parameters[key.strip()] = value.strip()
    return parameters
