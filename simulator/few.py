"""Long rows that are positive at few tokens, as whoever made them tells: to subtract one changes few numbers."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

#: Of rows of fewer tokens nothing is kept: to pass over them is as quick.
LONG = 2048


class Few(NamedTuple):
    """tokens: an index of a row that is 0 outside of them. masses: the row there."""

    tokens: Any
    masses: Any


#: By the identity of a row: the row, how often it was changed, and its tokens.
_told: dict[int, tuple[weakref.ref[Any], Any, Few]] = {}


def tell_tokens(row: Any, tokens: Any) -> None:
    """Note where a row is positive, for `few_tokens`. Nobody may change it in place, unless it counts changes."""
    if len(row) >= LONG:
        place = id(row)
        _told[place] = weakref.ref(row, lambda _: _told.pop(place, None)), _changes(row), Few(tokens, row[tokens])


def few_tokens(row: Any) -> Few | None:
    """What was told of a row."""
    told = _told.get(id(row))
    return told[2] if told is not None and told[0]() is row and told[1] == _changes(row) else None


def _changes(row: Any) -> Any:
    """How often a tensor was changed; None for what does not count this."""
    return row._version if hasattr(row, "is_inference") and not row.is_inference() else None
