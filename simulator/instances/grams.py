"""Counts of n-grams, from a text or from a table that was counted before.

Symbols are ranked: most frequent first, ties in code point order. With `V` tokens the first `V - 1` symbols are
tokens `0..V-2` and every other symbol is token `V - 1`. A table over all symbols therefore serves every `V`: ranks
above `V - 1` merge. `n` is the number of different grams.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput


def ranked(text: str) -> str:
    """The different symbols of a text, most frequent first, ties in code point order."""
    counts = Counter(text)
    return "".join(sorted(counts, key=lambda symbol: (-counts[symbol], symbol)))


def text_digest(text: str) -> str:
    """Hash of a text: 16 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class GramTable:
    """Grams of `m + 1` symbols; all orders up to `m` and all vocabularies follow.

    symbols: the different ones, as `ranked`. grams: ranks, shape `(n, m + 1)`. times: how often each occurs, shape
    `(n,)`. ending: the last `m` ranks of the text; shorter grams that begin there are not counted in `grams`. digest:
    hash of the text.
    """

    symbols: str
    grams: Any
    times: Any
    ending: Any
    digest: str

    @property
    def length(self) -> int:
        """How many symbols the text has."""
        return int(self.times.sum()) + len(self.ending)

    @property
    def max_order(self) -> int:
        """The longest context that can be counted."""
        return int(self.grams.shape[1]) - 1

    def counts(self, vocab_size: int, order: int) -> Any:
        """Shape `(V**order, V)`: how often each token follows each context, for orders of at most `max_order`."""
        heads, times = self.grams[:, : order + 1], self.times
        if order < self.max_order:
            tail = np.lib.stride_tricks.sliding_window_view(self.ending, order + 1)
            heads, times = np.concatenate([heads, tail]), np.concatenate([times, np.ones(len(tail), dtype=np.int64)])
        return _tally(heads, times, vocab_size)

    @classmethod
    def of(cls, text: str, order: int, repeated: bool = False) -> GramTable:
        """The table of a text with more than `order` symbols, for contexts of up to `order` symbols.

        repeated: whether grams that come again stay apart, which takes less time and more room.
        """
        symbols = ranked(text)
        rank = {symbol: number for number, symbol in enumerate(symbols)}
        ranks = np.array([rank[symbol] for symbol in text], dtype=np.int64)
        grams = np.lib.stride_tricks.sliding_window_view(ranks, order + 1)
        times: Any = np.ones(len(grams), dtype=np.int64)
        if not repeated:
            grams, times = np.unique(grams, axis=0, return_counts=True)
        return cls(symbols, grams, times, ranks[len(text) - order :], text_digest(text))

    @property
    def checksum(self) -> str:
        """Hash of everything the table holds: 64 hexadecimal digits, the same on every machine."""
        parts = [self.symbols.encode(), self.digest.encode()]
        parts += [np.ascontiguousarray(part, dtype="<i8").tobytes() for part in (self.grams, self.times, self.ending)]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the table as compressed numpy arrays: numbers only, symbols as code points, the digest as bytes."""
        np.savez_compressed(
            path,
            symbols=np.array([ord(symbol) for symbol in self.symbols], dtype=np.uint32),
            grams=self.grams.astype(np.uint8 if len(self.symbols) <= 256 else np.uint32),
            times=self.times.astype(np.uint32),
            ending=self.ending.astype(np.uint32),
            digest=np.frombuffer(bytes.fromhex(self.digest), dtype=np.uint8),
        )

    @classmethod
    def load(cls, path: str | Path, checksum: str) -> GramTable:
        """A table that was saved; raises `InvalidInput` if it has another checksum."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as parts:
                grams, times, ending = (parts[name].astype(np.int64) for name in ("grams", "times", "ending"))
                symbols = "".join(chr(point) for point in parts["symbols"])
                table = cls(symbols, grams, times, ending, parts["digest"].tobytes().hex())
        except Exception as error:  # whatever a damaged archive makes numpy, zipfile or zlib raise
            raise InvalidInput(f"cannot read the table of counts {path}: {error}; install draftproof again") from None
        if table.checksum != checksum:
            raise InvalidInput(
                f"the table of counts {path} has another checksum than it should; install draftproof again"
            )
        return table


def _tally(grams: Any, times: Any, vocab_size: int) -> Any:
    """`times` of each gram of ranks, shape `(n, o + 1)`, as a table over tokens of shape `(V**o, V)`."""
    order = grams.shape[1] - 1
    index = np.zeros(len(grams), dtype=np.int64)
    for column in range(order + 1):
        index = index * vocab_size + np.minimum(grams[:, column], vocab_size - 1)
    total = np.zeros(vocab_size ** (order + 1), dtype=np.int64)
    np.add.at(total, index, times)
    return total.reshape(-1, vocab_size)
