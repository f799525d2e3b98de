"""The states of generators of Python, numpy and torch, to be compared: whether something has drawn from them."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from ctypes import string_at
from typing import Any

import numpy as np

#: Bytes of the 624 words and the position of a Mersenne Twister.
TWISTER = 625 * 4

# The originals, taken before anything replaces them.
_GENERATOR: Any = getattr(np.random, "get_bit_generator")  # noqa: B009
_GET_STATE: Any = getattr(np.random, "get_state")  # noqa: B009
_TWISTER = np.random.MT19937
_Random, _RandomState, _Generator, _BitGenerator = (
    random.Random, np.random.RandomState, np.random.Generator, np.random.BitGenerator,
)  # fmt: skip
#: The generators that functions of a module draw from.
SHARED: dict[str, Any] = {"random": vars(random)["_inst"], "numpy.random": vars(np.random.mtrand)["_rand"]}


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


def generators_of(*modules: str) -> Iterator[tuple[str, Any]]:
    """The generators that functions of these modules draw from, by module."""
    for name in modules:
        if name in SHARED:
            yield name, SHARED[name]
        elif name == "torch" and "torch" in sys.modules:
            yield name, sys.modules["torch"].default_generator


def is_shared(generator: Any) -> bool:
    """Whether functions of a module draw from this generator, in any thread."""
    return any(generator is shared for _, shared in generators_of(*SHARED, "torch"))


def is_generator(thing: Any) -> bool:
    """Whether it is a generator of Python, numpy or torch."""
    kinds = (_Random, _Random, _RandomState, _Generator, _BitGenerator)
    return isinstance(thing, kinds) or (type(thing).__name__, type(thing).__module__) == ("Generator", "torch._C")


def generator_state(generator: Any) -> Any:
    """Its state, _comparable; that of `random.SystemRandom` never changes."""
    if isinstance(generator, _Random):
        return _Random.getstate(generator)
    if generator is SHARED["numpy.random"]:
        return numpy_state()
    if isinstance(generator, _RandomState):
        return _comparable(_RandomState.get_state(generator, legacy=False))
    if isinstance(generator, _Generator):
        return _comparable(generator.bit_generator.state)
    if isinstance(generator, _BitGenerator):
        return _comparable(generator.state)
    return generator.get_state().numpy().tobytes()


def _comparable(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _comparable(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
