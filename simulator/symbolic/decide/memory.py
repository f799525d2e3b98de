"""What is found in memory that nothing was written to: numbers that are made up.

A function must not depend on them. So its law is computed with several `CONTENTS`, and must be the same with each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.where import caller

#: Ways of making numbers up: between 0 and 1, far below 0, far above 1.
CONTENTS = range(3)
_RANGES = ((1.0, 0.0), (-1000.0, -1000.0), (1000.0, 1000.0))
#: Numbers side by side are made from multiples of this, so that no two are equal.
_GOLDEN = (5**0.5 - 1) / 2


class Memory:
    """Memory in one call. content: one of `CONTENTS`. places: where memory was read or left as it is, in words."""

    def __init__(self, content: int = 0) -> None:
        self.content = content
        self.places: dict[str, None] = {}
        self._taken = 0

    def unwritten(self, shape: Sequence[int], dtype: Any, how: str = "memory taken") -> Any:
        """An array of this type of numpy, as if found in memory; how: it came to be read, in words."""
        self.places[f"{how} at {caller()}"] = None
        size = int(np.prod(shape))
        parts = (np.arange(self._taken + 1, self._taken + size + 1) * _GOLDEN) % 1
        self._taken += size
        scale, start = _RANGES[self.content]
        numbers: Any = scale * parts + start
        if dtype.kind == "b":
            numbers = parts < (self.content + 1) / 4
        elif dtype.kind in "iu":
            whole = np.iinfo(dtype)
            numbers = np.clip(numbers if self.content else 2 * parts, whole.min, whole.max)
        return numbers.astype(dtype).reshape(tuple(shape))
