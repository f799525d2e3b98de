"""`numpy.empty` and `empty_like` for the code under audit: floats that nothing was written to are known as such.

Whole numbers are filled with one that is no token and no index, since arrays of them must stay what numpy indexes with.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray
from draftproof.simulator.symbolic.knowledge.session import followed
from draftproof.simulator.symbolic.numbers.unset import Unset
from draftproof.simulator.symbolic.where import caller, is_audited


def _recorded(original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        made = original(*arguments, **options)
        if not followed() or not is_audited(sys._getframe(1).f_code.co_filename):
            return made
        if made.dtype.kind in "iu":
            made.fill(np.iinfo(made.dtype).min if made.dtype.kind == "i" else np.iinfo(made.dtype).max)
        if made.dtype.kind != "f":
            return made
        array = np.empty(made.shape, dtype=object)
        array.fill(Unset(caller()))
        return array.view(SymbolicArray)

    function.__name__ = original.__name__
    return function


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for numpy's makers of arrays that are not filled."""
    return [(np, name, _recorded(getattr(np, name))) for name in ("empty", "empty_like")]
