"""Wide blocks of numbers of which few are random, as kernels have them: numpy computes all others at once.

A block is `real`, an array of numbers, with random ones at the flat indices `at`. A block that is random everywhere
(`at` is None) makes its numbers when they are asked for: the noise of a block of 8,192 lanes of which all but three are
masked costs three numbers, and comparisons of masked lanes are never decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.arrays.arrays import SymbolicArray, plain
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS, UNARY, is_random, where

#: From flat indices to the numbers there, as an object array.
Make = Callable[[Any], Any]
_NONE = np.empty(0, dtype=np.int64)


class Lanes:
    """A block; see the module. real: shape as the block. at: sorted flat indices, or None. make: see `Make`."""

    __array_priority__ = 3000.0

    def __init__(self, real: Any, at: Any, make: Make) -> None:
        self.real = real
        self.at = at
        self.make = make

    @classmethod
    def of(cls, values: Any, real: Any, at: Any) -> Any:
        """The block with these values (an object array) at these places; an array of numbers if none is random."""
        random = np.fromiter(map(is_random, values), dtype=bool, count=len(values))
        known = real.copy()
        known.reshape(-1)[at[~random]] = values[~random]
        if not random.any():
            return known
        places, symbols = at[random], values[random]

        def make(wanted: Any) -> Any:
            result = known.reshape(-1)[wanted].astype(object)
            nearest = np.searchsorted(places, wanted).clip(max=len(places) - 1)
            hit = places[nearest] == wanted
            result[hit] = symbols[nearest[hit]]
            return result

        return cls(known, places, make)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the block."""
        return tuple(self.real.shape)

    @property
    def size(self) -> int:
        """The number of lanes."""
        return int(self.real.size)

    @property
    def dtype(self) -> Any:
        """The type of its numbers."""
        return self.real.dtype

    def dense(self) -> Any:
        """All numbers in one array of objects."""
        values = self.real.astype(object)
        at = np.arange(self.size) if self.at is None else self.at
        values.reshape(-1)[at] = self.make(at)
        return values.view(SymbolicArray)

    def astype(self, dtype: Any, **options: Any) -> Lanes:
        """The same numbers; answers of comparisons become numbers."""
        convert = {"i": int, "u": int, "f": float}.get(np.dtype(dtype).kind) if self.dtype == np.bool_ else None
        make = self.make if convert is None else lambda at: _mapped(convert, self.make(at))
        return Lanes(self.real.astype(dtype), self.at, make)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(densified, inputs), **options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        fast = _REDUCTIONS.get(function.__name__)
        if fast is not None and self.real.ndim == 1 and not options.get("keepdims"):
            return fast(self)
        return function(*map(densified, arguments), **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dense(), name)

    def __getitem__(self, index: Any) -> Any:
        return self.dense()[index]

    def __len__(self) -> int:
        return len(self.real)

    def __bool__(self) -> bool:
        return bool(self.dense().all())


def densified(value: Any) -> Any:
    """A block as an array of objects, anything else as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(densified, value))
    return value.dense() if isinstance(value, Lanes) else value


def blocked(value: Any) -> Any:
    """An array of objects as a block, or as numbers if none is random; blocks and arrays of numbers as they are."""
    if isinstance(value, Lanes) or plain(value).dtype != object:
        return value
    array = plain(value)
    at = np.array([i for i, item in enumerate(array.flat) if is_random(item)], dtype=np.int64)
    known = array.copy()
    known.reshape(-1)[at] = 0.0
    return Lanes.of(array.reshape(-1)[at], known.astype(np.float64), at)


def _mapped(function: Callable[..., Any], *columns: Any) -> Any:
    made = np.empty(len(columns[0]), dtype=object)
    with np.errstate(all="ignore"):
        for place, numbers in enumerate(zip(*columns, strict=True)):
            made[place] = function(*numbers)
    return made


def _broadcast(block: Any, shape: tuple[int, ...]) -> tuple[Any, Make]:
    """Indices of random lanes, and the numbers by index, of a block that is broadcast to a shape."""
    random = isinstance(block, Lanes)
    source = block.make if random else lambda at: plain(block).reshape(-1)[at].astype(object)
    if block.shape == shape:
        return (block.at if random else _NONE), source
    index = np.broadcast_to(np.arange(block.size).reshape(block.shape), shape).reshape(-1)
    if not random:
        return _NONE, lambda at: source(index[at])
    if block.at is None or block.size == 1:  # random in every lane
        return None, lambda at: source(index[at])
    return np.flatnonzero(np.isin(index, block.at)), lambda at: source(index[at])


def taken(block: Any, shape: tuple[int, ...], at: Any) -> Any:
    """The numbers of a block that is broadcast to a shape, at flat indices, as an object array."""
    return _broadcast(blocked(block), shape)[1](at)


def elementwise(ufunc: Any, *inputs: Any) -> Any:
    """A ufunc of blocks and arrays, broadcast; comparisons are decided, except those of blocks made when asked for."""
    blocks = [blocked(item) for item in inputs]
    name = ufunc.__name__
    function = _FUNCTIONS.get(name)
    of_integers = name in _LOGICAL and any(item.dtype != np.bool_ for item in blocks)
    if function is None or of_integers or not any(isinstance(item, Lanes) for item in blocks):
        return ufunc(*map(densified, inputs))
    shape = np.broadcast_shapes(*(item.shape for item in blocks))
    with np.errstate(all="ignore"):
        real = np.asarray(ufunc(*(item.real if isinstance(item, Lanes) else item for item in blocks)))
    parts = [_broadcast(item, shape) for item in blocks]
    if name in _LOGICAL:
        at = _undecided(name, blocks, shape)
        real = np.broadcast_to(real, shape).copy()
        if at is not None:
            real.reshape(-1)[at] = [bool(item) for item in _mapped(function, *(make(at) for _, make in parts))]
            return real

    def made(at: Any) -> Any:
        return _mapped(function, *(make(at) for _, make in parts))

    if any(at is None for at, _ in parts):
        return Lanes(real, None, made)
    at = np.unique(np.concatenate([at for at, _ in parts]))
    return Lanes.of(made(at), real, at)


def _undecided(name: str, blocks: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Lanes in which a known answer leaves the result of `and` or `or` open; None where no answers are known."""
    known = [item for item in blocks if not isinstance(item, Lanes) and item.dtype == np.bool_]
    if not known:
        return None
    deciding = np.broadcast_to(known[0], shape).reshape(-1)
    return np.flatnonzero(deciding if name.endswith("and") else ~deciding)


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """`numpy.where`: of the numbers that it leaves out none is made."""
    blocks = [blocked(item) for item in (condition, x, y)]
    shape = np.broadcast_shapes(*(item.shape for item in blocks))
    with np.errstate(all="ignore"):
        real = np.where(*(item.real if isinstance(item, Lanes) else item for item in blocks))
    if not isinstance(blocks[1], Lanes) and not isinstance(blocks[2], Lanes) and not isinstance(blocks[0], Lanes):
        return real
    parts = [_broadcast(item, shape) for item in blocks]
    if isinstance(blocks[0], Lanes):
        return Lanes(real, None, lambda at: _mapped(where, *(make(at) for _, make in parts)))
    holds = np.broadcast_to(blocks[0], shape).reshape(-1)

    def made(at: Any) -> Any:
        result = np.empty(len(at), dtype=object)
        for side, (_, make) in ((holds[at], parts[1]), (~holds[at], parts[2])):
            result[side] = make(at[side])
        return result

    random = np.zeros(len(holds), dtype=bool)
    for side, (at, _) in ((holds, parts[1]), (~holds, parts[2])):
        if at is None:
            random |= side
        else:
            random[at] |= side[at]
    if random.all() and any(at is None for at, _ in parts[1:]):
        return Lanes(real, None, made)
    at = np.flatnonzero(random)
    return Lanes.of(made(at), real, at)


def _contenders(block: Lanes, largest: bool) -> tuple[list[int], list[Any]]:
    """The random lanes and the first of the best others, as floats, which decide a search; NaN is left out."""
    at = np.arange(block.size) if block.at is None else block.at
    lanes = dict(zip(at.tolist(), block.make(at).tolist(), strict=True))
    is_other = ~np.isnan(block.real)
    is_other[at] = False
    others = np.flatnonzero(is_other)
    if len(others):
        best = others[(np.argmax if largest else np.argmin)(block.real[others])]
        lanes[int(best)] = float(block.real[best])
    order = sorted(lane for lane, value in lanes.items() if is_random(value) or value == value)  # noqa: PLR0124 - NaN
    return order, [lanes[lane] for lane in order]


def _index_of_best(largest: bool) -> Callable[[Lanes], Any]:
    def search(block: Lanes) -> Any:
        order, values = _contenders(block, largest)
        return np.int64(order[race.argmax(values) if largest else race.argmin(values)])

    return search


def _extreme(name: str) -> Callable[[Lanes], Any]:
    def search(block: Lanes) -> Any:
        _, values = _contenders(block, name == "maximum")
        best = values[0]
        for value in values[1:]:
            best = BINARY[name](best, value)
        return best

    return search


def _total(block: Lanes) -> Any:
    at = np.arange(block.size) if block.at is None else block.at
    known = block.real.copy()
    known[at] = 0
    total: Any = known.sum().item()
    for value in block.make(at):
        total = total + value
    return total


#: Functions of numpy on blocks of one dimension.
_REDUCTIONS: dict[str, Callable[[Lanes], Any]] = {
    "nanargmax": _index_of_best(True), "nanargmin": _index_of_best(False),
    "nanmax": _extreme("maximum"), "nanmin": _extreme("minimum"), "sum": _total,
}  # fmt: skip
_LOGICAL = ("bitwise_and", "bitwise_or", "logical_and", "logical_or")
_FUNCTIONS: dict[str, Callable[..., Any]] = BINARY | UNARY | TESTS
_FUNCTIONS |= dict.fromkeys(("bitwise_and", "logical_and"), lambda x, y: bool(x) and bool(y))
_FUNCTIONS |= dict.fromkeys(("bitwise_or", "logical_or"), lambda x, y: bool(x) or bool(y))
