"""Real random numbers for an audited function that no exact audit can follow: it is run as it is, from a seed."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.symbolic.patches import replaced

#: Seeds of the function are below this.
_SEEDS = 2**31


class RealCoins:
    """Random numbers as arguments, as `ArgumentCoins` gives symbols. seed: whole numbers that determine them all."""

    def __init__(self, seed: Sequence[int]) -> None:
        self._generator = np.random.default_rng(list(seed))
        self.coin = SamplingCoin(self._generator)

    def numbers(self, kind: str, shape: Any, library: str = "numpy", dtype: Any = None) -> Any:
        """Random numbers of a kind; see `ArgumentCoins.numbers`."""
        if kind == "uniform":
            single = dtype is not None and "32" in str(dtype)  # rounding a float64 could give 1
            drawn: Any = self._generator.random(shape, np.float32 if single else np.float64)
        else:
            drawn = getattr(self._generator, kind)(size=shape)
        return in_library(drawn, library, dtype)

    def seed(self, name: str, value: int) -> int:
        """A new seed for the argument of that name."""
        return int(self._generator.integers(_SEEDS))

    @contextmanager
    def of_modules(self) -> Iterator[None]:
        """Within it `random`, `numpy.random` and torch draw from this seed; afterwards they are as before.

        Kernels of Triton may call functions of `libdevice`, which have no body in its interpreter.
        """
        torch: Any = sys.modules.get("torch")
        states = random.getstate(), np.random.get_state(), torch.get_rng_state() if torch else None
        words = [int(word) for word in self._generator.integers(2**32, size=8)]
        random.seed(sum(word << 32 * place for place, word in enumerate(words)))
        np.random.seed(words)
        if torch:
            torch.manual_seed(words[0] << 31 | words[1] >> 1)
        try:
            with _kernels():
                yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])
            if torch:
                torch.set_rng_state(states[2])


def _kernels() -> AbstractContextManager[None]:
    if "triton.runtime.interpreter" not in sys.modules:
        return nullcontext()
    from draftproof.simulator.symbolic.triton.kernels import of_libdevice  # noqa: PLC0415 - see above

    return replaced(of_libdevice())


def in_library(numbers: Any, library: str, dtype: Any) -> Any:
    """Numbers as lists of Python or as an array of numpy or torch."""
    array = np.asarray(numbers, dtype=dtype or np.float64)
    if library == "torch":
        return sys.modules["torch"].from_numpy(array)
    if library == "python":
        return array.tolist()
    if library == "numpy":
        return array if array.ndim else float(array)
    raise InvalidInput(f"library = {library!r}; give 'numpy', 'torch' or 'python'")
