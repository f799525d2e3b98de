"""Coins as arguments: symbols in the shape and the library that the function expects."""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray
from draftproof.simulator.symbolic.decide.session import Session
from draftproof.simulator.symbolic.numbers.symbol import Symbol


class ArgumentCoins:
    """Gives coins as arguments of one call: random numbers of its session."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def numbers(self, kind: str, shape: Any, library: str = "numpy", dtype: Any = None) -> Any:
        """Random numbers to be handed to the function.

        kind: "uniform", "exponential" of rate 1, or "gumbel", minus the logarithm of exponential ones. library: "numpy"
        for an array, "torch" for a tensor, "python" for nested lists. A fetch is an index in brackets or a step of a
        loop; each counts for `reuse`.
        """
        sizes = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
        if library not in ("numpy", "torch", "python"):
            raise InvalidInput(f"library = {library!r}; give 'numpy', 'torch' or 'python'")
        bits = 24 if dtype is not None and "32" in str(dtype) else 53
        array = np.empty(sizes, dtype=object)
        for index in np.ndindex(*sizes):
            name = f"coin[{', '.join(map(str, index))}]" if index else "the coin"
            array[index] = self.session.argument(name, kind, bits)
        if library == "torch":
            if self.session.tensors is None:
                raise InvalidInput("coins as tensors need torch; import it before the call")
            return self.session.tensors.argument(array, dtype)
        if sizes == ():
            return array[()]
        if library == "python":
            return _Coins(self.session, array)
        if self.session.real:
            return array.astype(np.float64)
        coins = array.view(SymbolicArray)
        coins.fetches = self.session
        return coins

    def seed(self, name: str, value: int) -> Any:
        """A seed for the argument of that name."""
        return self.session.given_seed(name, value)


class _Coins(list[Any]):
    """A list of coins; every fetch from it has a number of its own."""

    def __init__(self, session: Session, coins: Any) -> None:
        super().__init__(_Coins(session, coin) if isinstance(coin, np.ndarray) else coin for coin in coins)
        self.session = session

    def __getitem__(self, index: Any) -> Any:
        coin = super().__getitem__(index)
        if isinstance(coin, Symbol):
            return coin.fetched(self.session.region.next_argument_fetch())
        return _Coins(self.session, coin) if isinstance(index, slice) else coin

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))
