"""The state of numpy's global generator, to be compared: whether something has drawn from it."""

from __future__ import annotations

from ctypes import string_at
from typing import Any

import numpy as np

#: Bytes of the 624 words and the position of a Mersenne Twister.
TWISTER = 625 * 4

# The originals, taken before anything replaces them.
_GENERATOR: Any = getattr(np.random, "get_bit_generator")  # noqa: B009
_GET_STATE: Any = getattr(np.random, "get_state")  # noqa: B009
_TWISTER = np.random.MT19937


class _NumpyState:
    """Gives the state, of whatever kind the generator is.

    numpy copies the state of a Mersenne Twister word by word, which takes longer than many a run of a verifier: its
    words are read where they are. They are the whole state unless a second normal number waits beside them, and none
    comes there while the words stay as they are.
    """

    def __init__(self) -> None:
        self._alone: tuple[Any, bytes] = None, b""  # a Twister and its words when no number waited

    def __call__(self) -> Any:
        generator = _GENERATOR()
        if not isinstance(generator, _TWISTER):
            return _comparable(_GET_STATE(legacy=False))
        words = string_at(generator.ctypes.state_address, TWISTER)
        if self._alone[0] is not generator or self._alone[1] != words:
            whole = _GET_STATE(legacy=False)
            if whole["has_gauss"]:
                return _comparable(whole)
            self._alone = generator, words
        return words


numpy_state = _NumpyState()


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _comparable(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
