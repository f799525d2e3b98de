"""torch operations on tensors with symbols, by their names in aten; one in no table is refused. Needs torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.symbolic.arrays.elements import elementwise, tested
from draftproof.simulator.symbolic.numbers.functions import TESTS, UNARY, is_random
from draftproof.simulator.symbolic.torch.memory import Tensors
from draftproof.simulator.symbolic.torch.rules import COMPARISONS, RULES
from draftproof.simulator.symbolic.where import refused_operation

#: Operations that only move elements.
MOVES = {
    "clone", "contiguous", "cat", "stack", "flip", "roll", "repeat", "tril", "triu", "constant_pad_nd", "diag",
    "diag_embed", "expand_copy", "view_copy", "slice_scatter", "select_scatter", "_reshape_copy", "repeat_interleave",
    "index", "index_select", "gather", "take", "masked_select", "index_put", "_unsafe_index", "index_put_",
    "_index_put_impl_", "scatter", "scatter_", "masked_fill", "masked_fill_", "index_fill", "index_fill_",
    "index_copy", "index_copy_", "masked_scatter",
}  # fmt: skip
#: Names of their arguments that say where; these stay as they are.
_WHERE = ("index", "indices", "mask", "repeats")


def moved(tensors: Tensors, func: Any, name: str, args: Any, options: Any) -> Any:
    """The result of a move with random elements among what it moves: torch moves whole numbers in their places."""
    if options.get("out") is not None or (name.startswith(("index_put", "_index_put")) and True in args[3:]):
        raise refused_operation(f"torch {name} with out= or accumulate=")
    elements: list[Any] = [0.0]  # of which torch itself takes the first, 0, to fill
    types = []

    def numbered(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(numbered, value))
        if not isinstance(value, torch.Tensor):
            return value
        types.append(value.dtype)
        first = len(elements)
        elements.extend(tensors.values(value).ravel())
        return torch.arange(first, len(elements), device=value.device).reshape(value.shape)

    inputs = []
    for argument, parameter in zip(args, func._schema.arguments, strict=False):
        if parameter.name in _WHERE:
            if any(map(tensors.is_random, argument if isinstance(argument, (list, tuple)) else [argument])):
                raise refused_operation(f"an index or mask of torch {name}")
            inputs.append(argument)
        elif parameter.name == "value" and isinstance(argument, (int, float)):
            elements.append(argument)
            inputs.append(len(elements) - 1)
        else:
            inputs.append(numbered(argument))
    places = func(*inputs, **{key: value for key, value in options.items() if key != "memory_format"})
    table = np.empty(len(elements), dtype=object)
    table[:] = elements
    array = np.asarray(table[places.cpu().numpy()], dtype=object)
    if name.endswith("_"):
        tensors.write(args[0], array)
        return args[0]
    return tensors.wrap(array, max(types, key=lambda kind: (kind.is_floating_point, kind.itemsize)), places.device)


#: The real operation is right: the result shares the memory, or does not depend on the numbers.
_AS_IS = {
    "_unsafe_view", "empty_like", "zeros_like", "ones_like", "full_like", "new_empty", "new_zeros", "new_ones",
    "new_full", "new_empty_strided", "set_", "resize_", "is_same_size",
}  # fmt: skip
#: Options that say where a result goes, and not which it is.
_PLACES = {"out", "dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking"}


def apply(tensors: Tensors, func: Any, args: Any, options: Any) -> Any:
    """One operation with a random element among its arguments; raises `InvalidVerifier` if it has no rule."""
    name = func._schema.name.removeprefix("aten::")
    if name == "view" and func._overloadname == "dtype":
        raise refused_operation("torch view as another type")
    if _shares_memory(func) or name in _AS_IS:
        return func(*args, **options)
    if name in MOVES:
        return moved(tensors, func, name, args, options)
    base = name.removesuffix("_")
    target = args[0] if name != base else options.get("out")
    wanted = options.get("dtype")
    dtype = wanted or (args[0].dtype if base == "_to_copy" else _dtype(args))
    inputs = [tensors.values(item) if isinstance(item, torch.Tensor) else item for item in args]
    if base == "_to_copy":
        result: Any = _cast(inputs[0], args[0], dtype)
    elif base in ("copy", "fill"):
        result = _cast(np.broadcast_to(inputs[1], inputs[0].shape), args[1], args[0].dtype)
    elif base in RULES:
        if base in COMPARISONS and dtype.itemsize < 4:
            inputs = [_rounded(values, dtype) for values in inputs]
        result = RULES[base](*inputs, **{key: value for key, value in options.items() if key not in _PLACES})
    else:
        raise refused_operation(f"torch {base}")
    if target is not None:
        return _written(tensors, base, target, result, target is not args[0])
    device = options.get("device") or next(item for item in args if isinstance(item, torch.Tensor)).device

    def made(array: Any) -> Any:  # indices and answers keep their own type
        if array.dtype.kind in "Of":
            return tensors.wrap(array, dtype, device)
        return torch.from_numpy(array).to(device=device, dtype=wanted)

    return tuple(map(made, result)) if isinstance(result, tuple) else made(np.asarray(result))


def _written(tensors: Tensors, name: str, target: Any, result: Any, resized: bool) -> Any:
    if not isinstance(target, torch.Tensor) or isinstance(result, tuple):
        raise refused_operation(f"torch {name} with out=")
    if resized and tuple(target.shape) != np.shape(result):
        target.resize_(np.shape(result))
    tensors.write(target, result)
    return target


def _shares_memory(func: Any) -> bool:
    """Whether the operation only gives another view."""
    returns = func._schema.returns
    return bool(returns) and all(
        returned.alias_info is not None and not returned.alias_info.is_write for returned in returns
    )


def _dtype(args: Any) -> Any:
    """The type of the result, by torch's own promotion; a float type in any case."""
    promoted = None
    for argument in args:
        if isinstance(argument, torch.Tensor) and argument.dtype != torch.bool:
            promoted = argument if promoted is None else torch.empty((), dtype=torch.result_type(promoted, argument))
            if argument.dim():
                promoted = torch.empty((1,), dtype=promoted.dtype)
    return promoted.dtype if promoted is not None and promoted.is_floating_point() else torch.get_default_dtype()


def _rounded(values: Any, dtype: Any) -> Any:
    """The numbers of an argument in this type."""
    return elementwise(lambda x: x if is_random(x) else torch.tensor(float(x)).double().to(dtype).item(), values)


def _cast(values: Any, source: Any, dtype: Any) -> Any:
    """The elements of a tensor as those of a tensor of another type; random floats are decided for any other."""
    if dtype.is_floating_point or not (isinstance(source, torch.Tensor) and source.is_floating_point()):
        return values
    if dtype == torch.bool:
        return tested(TESTS["not_equal"], values, 0)
    return elementwise(UNARY["trunc"], values).astype(np.int64)
