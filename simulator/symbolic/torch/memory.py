"""The symbols in torch's tensors. Needs torch.

A tensor with symbols is a real tensor with NaN in their places. The symbols are in an object array as long as the
tensor's storage, so that views and in-place operations find them through the memory they share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.symbolic.arrays.elements import boxed, fetched, tested
from draftproof.simulator.symbolic.numbers.functions import is_random
from draftproof.simulator.symbolic.numbers.nondeterministic import Nondeterministic
from draftproof.simulator.symbolic.numbers.seeds import Seed
from draftproof.simulator.symbolic.numbers.stepped import Stepped
from draftproof.simulator.symbolic.where import refusal, refused_operation


class _Store:
    """Symbols of one storage; None where the real memory holds the value.

    argument: whether every fetch has a number of its own. copied: whether it is a copy of a part of an argument, where
    torch would share the memory.
    """

    __slots__ = ("argument", "copied", "flat", "storage")

    def __init__(self, size: int, storage: Any) -> None:
        self.flat = np.full(size, None, dtype=object)
        self.storage = storage  # keeps it alive, so that no other gets its address
        self.argument = False
        self.copied = False


class Tensors:
    """All tensors of one session that hold random numbers."""

    def __init__(self, session: Any, torch: Any) -> None:
        self.session = session
        self.torch = torch
        self.stores: dict[int, _Store] = {}
        self._seen_by_numpy: dict[int, Any] = {}
        self._lent: dict[int, tuple[Any, int]] = {}

    def store_of(self, tensor: Any) -> _Store | None:
        """The store of a tensor's storage, if any element of it was ever random."""
        return self.stores.get(tensor.untyped_storage()._cdata)

    def view(self, store: _Store, tensor: Any) -> Any:
        """The part of the store that a tensor shows, as a view."""
        offset, shape = tensor.storage_offset(), tuple(tensor.shape)
        if tensor.is_contiguous():
            return store.flat[offset : offset + tensor.numel()].reshape(shape)
        strides = tuple(8 * step for step in tensor.stride())
        return np.lib.stride_tricks.as_strided(store.flat[offset:], shape, strides)

    def is_random(self, value: Any) -> bool:
        """Whether this is a tensor with a random element."""
        if not self.stores or not isinstance(value, self.torch.Tensor):
            return False
        store = self.store_of(value)
        return store is not None and any(element is not None for element in self.view(store, value).flat)

    def values(self, value: Any) -> Any:
        """The elements of a tensor, or a number, as object array of Python numbers and symbols."""
        if not isinstance(value, self.torch.Tensor):
            return boxed(value)
        known = value.detach()
        known = known.cpu() if known.device.type != "cpu" else known
        known = known.double() if known.is_floating_point() else known
        real = known.numpy().astype(object)
        store = self.store_of(value)
        if store is None:
            return real
        symbols = self.view(store, value)
        if real.shape == ():
            return real if symbols[()] is None else boxed(symbols[()])
        missing: Any = None
        return np.where(np.equal(symbols, missing), real, symbols)

    def wrap(self, array: Any, dtype: Any, device: Any = None) -> Any:
        """A new tensor with these elements."""
        tensor = self.torch.full(array.shape, self._filler(dtype), dtype=dtype, device=device)
        self.write(tensor, array)
        return tensor

    @staticmethod
    def _filler(dtype: Any) -> Any:
        """What stands in the memory in place of a symbol."""
        return float("nan") if dtype is None or dtype.is_floating_point else 0

    def write(self, tensor: Any, array: Any) -> None:
        """Put these elements into a tensor, in place; it must hold floats if one of them is random."""
        array = np.broadcast_to(array, tuple(tensor.shape))
        random = tested(is_random, array)
        nothing: Any = None
        symbols, real = np.where(random, array, nothing), np.where(random, self._filler(tensor.dtype), array)
        known = real.astype(np.float64 if tensor.is_floating_point() else np.int64)
        if any(not isinstance(element, (Nondeterministic, Seed)) for element in array[random]):
            self._check_target(tensor, symbols)
        store = self.store_of(tensor)
        if store is not None and store.copied:
            raise refusal("writing into a part of an array of coins, which would change the array", "clone it first")
        tensor.copy_(self.torch.from_numpy(known).to(device=tensor.device, dtype=tensor.dtype))
        if store is None and random.any():
            storage = tensor.untyped_storage()
            store = self.stores[storage._cdata] = _Store(storage.nbytes() // tensor.element_size(), storage)
        if store is not None:
            self.view(store, tensor)[...] = symbols

    def unwritten(self, tensor: Any) -> Any:
        """The tensor with what is found in its memory, which was allocated and not written to; see `Memory`."""
        if tensor.layout == self.torch.strided:
            kind = np.dtype(np.float64 if tensor.is_floating_point() else str(tensor.dtype).removeprefix("torch."))
            numbers = self.session.memory.unwritten(tensor.shape, kind)
            tensor.copy_(self.torch.from_numpy(numbers))
        return tensor

    def written(self, tensor: Any) -> None:
        """All of a tensor was written by torch itself."""
        store = self.store_of(tensor)
        if store is not None:
            self.view(store, tensor)[...] = None

    def share(self, tensor: Any) -> None:
        """Mark that an array of numpy, or other Python memory, shares the memory of this tensor."""
        if isinstance(tensor, self.torch.Tensor) and tensor.device.type == "cpu":
            storage = tensor.untyped_storage()
            self._seen_by_numpy[storage._cdata] = storage

    def lend(self, tensor: Any) -> None:
        """Let a kernel read and write the memory of this tensor by its address."""
        storage = tensor.untyped_storage()
        self._lent[storage._cdata] = storage, tensor.element_size()

    def lent(self, addresses: Any) -> bool:
        """Whether all these addresses are in memory that kernels may use."""
        left = np.ones(len(addresses), dtype=bool)
        for storage, size in self._lent.values():
            left &= ~_places(storage, size, addresses)[0]
        return not left.any()

    def random_at(self, addresses: Any) -> bool:
        """Whether there is a symbol at one of these addresses."""
        symbols = self.symbols_at(addresses)
        return symbols is not None and _any(symbols)

    def symbols_at(self, addresses: Any) -> Any:
        """The symbols at these addresses, as an object array with None where there is none; None if there are none."""
        result = None
        for storage, size in self._lent.values():
            store = self.stores.get(storage._cdata)
            if store is None:
                continue
            inside, places = _places(storage, size, addresses)
            if inside.any():
                result = np.full(len(addresses), None, dtype=object) if result is None else result
                result[inside] = store.flat[places]
        return result

    def put_all(self, addresses: Any, symbols: Any) -> None:
        """Put symbols at such addresses, None where the memory itself holds the value; symbols: None if all are."""
        left = np.ones(len(addresses), dtype=bool)
        for storage, size in self._lent.values():
            store = self.stores.get(storage._cdata)
            if store is None and symbols is None:
                continue
            inside, places = _places(storage, size, addresses)
            if not inside.any():
                continue
            left &= ~inside
            if store is None and _any(symbols[inside]):
                store = self.stores[storage._cdata] = _Store(storage.nbytes() // size, storage)
            if store is not None:
                store.flat[places] = None if symbols is None else symbols[inside]
        if symbols is not None and _any(symbols[left]):
            raise refusal("a kernel stores a random number outside of the tensors that it was given")

    def _check_target(self, tensor: Any, symbols: Any) -> None:
        """Refuse a tensor that cannot hold symbols, or whose memory is shared with numpy."""
        if not tensor.is_floating_point():
            raise refused_operation(f"storing in a tensor of {tensor.dtype}")
        rounded = (x for x in symbols.flat if x is not None and not (isinstance(x, Stepped) and x.is_of(tensor.dtype)))
        if tensor.element_size() < 4 and any(rounded):  # 2^-8 and 2^-11: no rounding that could be left out
            raise refused_operation(f"rounding to {tensor.dtype}")
        if tensor.untyped_storage()._cdata in self._seen_by_numpy:
            raise refusal("random numbers are stored in a tensor whose memory is shared with numpy", "copy it first")

    def argument(self, array: Any, dtype: Any) -> Any:
        """A tensor of coins; every fetch from it has a number of its own."""
        kind = getattr(self.torch, dtype) if isinstance(dtype, str) else (dtype or self.torch.float64)
        return self._counted(self.wrap(array, kind), False)

    def _counted(self, tensor: Any, copied: bool) -> Any:
        store = self.store_of(tensor)
        if store is not None:
            store.argument, store.copied = True, copied
        return tensor

    def fetched(self, tensor: Any) -> Any:
        """The result of `coins[i]`: the same symbols, under a new fetch, see `next_argument_fetch`."""
        symbols = fetched(self.values(tensor), self.session.region.next_argument_fetch())
        return self._counted(self.wrap(symbols, tensor.dtype, tensor.device), True)

    def item(self, tensor: Any) -> Any:
        """The one element of a tensor, as Python number or symbol."""
        array = self.values(tensor)
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        return array.ravel()[0]


def _any(symbols: Any) -> bool:
    return any(symbol is not None for symbol in symbols)


def _places(storage: Any, size: int, addresses: Any) -> tuple[Any, Any]:
    """Which addresses are in a storage of elements of this size, and their elements."""
    offsets = addresses.astype(np.int64) - storage.data_ptr()
    inside = (offsets >= 0) & (offsets < storage.nbytes())
    return inside, offsets[inside] // size
