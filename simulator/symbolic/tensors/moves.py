"""torch operations that only move elements: run by torch itself on the numbers of the elements. Needs torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.symbolic.tensors.table import Tensors
from draftproof.simulator.symbolic.where import refused_operation

#: Operation -> positions of indices and masks, which stay as they are.
MOVES: dict[str, tuple[int, ...]] = {
    "clone": (), "contiguous": (), "cat": (), "stack": (), "flip": (), "roll": (), "repeat": (), "tril": (), "triu": (),
    "constant_pad_nd": (), "diag": (), "diag_embed": (), "expand_copy": (), "view_copy": (), "slice_scatter": (),
    "select_scatter": (), "_reshape_copy": (), "repeat_interleave": (1,), "index": (1,), "index_select": (2,),
    "gather": (2,), "take": (1,), "masked_select": (1,), "index_put": (1,), "_unsafe_index": (1,), "index_put_": (1,),
    "_index_put_impl_": (1,), "scatter": (2,), "scatter_": (2,), "masked_fill": (1,), "masked_fill_": (1,),
    "index_fill": (2,), "index_fill_": (2,), "index_copy": (2,), "index_copy_": (2,), "masked_scatter": (1,),
}  # fmt: skip
#: Operation -> positions of values that are plain numbers.
_NUMBERS = {
    "masked_fill": (2,), "masked_fill_": (2,), "constant_pad_nd": (2,), "scatter": (3,), "scatter_": (3,),
    "index_fill": (3,), "index_fill_": (3,),
}  # fmt: skip


class _Catalogue:
    """Numbers for elements: 0 stands for zero, with which torch fills."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        self.elements: list[Any] = [0.0]
        self.dtype: Any = None

    def number(self, value: Any) -> int:
        self.elements.append(value)
        return len(self.elements) - 1

    def numbered(self, value: Any) -> Any:
        """A tensor of the numbers of its elements; lists one by one, anything else as it is."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.numbered(each) for each in value)
        if not isinstance(value, torch.Tensor):
            return value
        rank = value.is_floating_point(), value.dtype.itemsize
        if self.dtype is None or rank > (self.dtype.is_floating_point, self.dtype.itemsize):
            self.dtype = value.dtype
        start = len(self.elements)
        self.elements.extend(self.tensors.values(value).ravel())
        return torch.arange(start, len(self.elements), device=value.device).reshape(value.shape)

    def looked_up(self, numbers: Any) -> Any:
        table = np.empty(len(self.elements), dtype=object)
        table[:] = self.elements
        return np.asarray(table[numbers.cpu().numpy()], dtype=object)


def moved(tensors: Tensors, func: Any, name: str, args: Any, options: Any) -> Any:
    """The result of a move with random elements among what it moves."""
    if options.get("out") is not None or (name.startswith(("index_put", "_index_put")) and True in args[3:]):
        raise refused_operation(f"torch {name} with out= or accumulate=")
    catalogue = _Catalogue(tensors)
    kept, numbers = MOVES[name], _NUMBERS.get(name, ())
    inputs = []
    for i, each in enumerate(args):
        if i in kept:
            if any(tensors.is_random(index) for index in (each if isinstance(each, (list, tuple)) else [each])):
                raise refused_operation(f"an index or mask of torch {name}, which holds what was never set,")
            inputs.append(each)
        elif i in numbers and isinstance(each, (int, float)):
            inputs.append(catalogue.number(each))
        else:
            inputs.append(catalogue.numbered(each))
    found = func(*inputs, **{key: value for key, value in options.items() if key != "memory_format"})
    array = catalogue.looked_up(found)
    if name.endswith("_"):
        tensors.write(args[0], array)
        return args[0]
    return tensors.wrap(array, catalogue.dtype, found.device)
