"""torch operations on symbols, by their names in aten; an operation in no table is refused. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.symbolic.arrays.arrays import elementwise, tested
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS, UNARY, is_random, where
from draftproof.simulator.symbolic.torch.memory import Tensors
from draftproof.simulator.symbolic.torch.reductions import RULES as REDUCTIONS
from draftproof.simulator.symbolic.torch.reductions import indices
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
    """Whole numbers for elements, which torch then moves; 0 is the element 0.0, with which torch fills."""

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
            return type(value)(self.numbered(item) for item in value)
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
    for i, argument in enumerate(args):
        if i in kept:
            if any(
                tensors.is_random(index) for index in (argument if isinstance(argument, (list, tuple)) else [argument])
            ):
                raise refused_operation(f"an index or mask of torch {name}")
            inputs.append(argument)
        elif i in numbers and isinstance(argument, (int, float)):
            inputs.append(catalogue.number(argument))
        else:
            inputs.append(catalogue.numbered(argument))
    places = func(*inputs, **{key: value for key, value in options.items() if key != "memory_format"})
    array = catalogue.looked_up(places)
    if name.endswith("_"):
        tensors.write(args[0], array)
        return args[0]
    return tensors.wrap(array, catalogue.dtype, places.device)


_UNARY = {
    "neg": "negative", "reciprocal": "reciprocal", "log": "log", "log1p": "log1p", "exp": "exp", "expm1": "expm1",
    "sqrt": "sqrt", "square": "square", "abs": "absolute", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "round": "rint", "log2": "log2", "positive": "positive",
}  # fmt: skip
_BINARY = {
    "mul": "multiply", "pow": "power", "minimum": "minimum", "maximum": "maximum", "fmin": "fmin", "fmax": "fmax",
    "remainder": "remainder", "floor_divide": "floor_divide", "clamp_min": "maximum", "clamp_max": "minimum",
}  # fmt: skip
_TESTS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit", "logical_not": "logical_not",
}  # fmt: skip
#: The real operation is right: the result shares the memory, or does not depend on the numbers.
_AS_IS = {
    "_unsafe_view", "empty_like", "zeros_like", "ones_like", "full_like", "new_empty", "new_zeros", "new_ones",
    "new_full", "new_empty_strided", "set_", "resize_", "is_same_size",
}  # fmt: skip


def apply(tensors: Tensors, func: Any, args: Any, options: Any) -> Any:
    """One operation with a random element among its arguments; raises `InvalidVerifier` if it has no rule."""
    name = func._schema.name.removeprefix("aten::")
    if name == "view" and func._overloadname == "dtype":
        raise refused_operation("torch view as another type")
    if _shares_memory(func) or name in _AS_IS:
        return func(*args, **options)
    if name in MOVES:
        return moved(tensors, func, name, args, options)
    if name in _WRITES:
        _WRITES[name](tensors, args, options)
        return args[0]
    into = options.get("out")
    options = {key: value for key, value in options.items() if key != "out"}
    base = name.removesuffix("_")
    rule = _RULES.get(base)
    if rule is None:
        raise refused_operation(f"torch {base}")
    result = rule(tensors, args, options)
    target = args[0] if name != base else into
    if target is None:
        return result
    if not isinstance(target, torch.Tensor) or not isinstance(result, torch.Tensor):
        raise refused_operation(f"torch {base} with out=")
    if into is not None and target.shape != result.shape:
        target.resize_(result.shape)
    tensors.write(target, tensors.values(result))
    return target


def _shares_memory(func: Any) -> bool:
    """Whether the operation only gives another view."""
    returns = func._schema.returns
    return bool(returns) and all(
        returned.alias_info is not None and not returned.alias_info.is_write for returned in returns
    )


def _first(args: Any) -> Any:
    return next(argument for argument in args if isinstance(argument, torch.Tensor))


def _dtype(args: Any) -> Any:
    """The type of the result, by torch's own promotion; a float type in any case."""
    promoted = None
    for argument in args:
        if isinstance(argument, torch.Tensor):
            promoted = argument if promoted is None else torch.empty((), dtype=torch.result_type(promoted, argument))
            if argument.dim():
                promoted = torch.empty((1,), dtype=promoted.dtype)
    return promoted.dtype if promoted is not None and promoted.is_floating_point() else torch.get_default_dtype()


def _map(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        if any(value not in (None, 0) for value in options.values()):
            raise refused_operation(f"torch with {', '.join(options)}")
        result = elementwise(function, *(tensors.values(argument) for argument in args))
        return tensors.wrap(result, _dtype(args), _first(args).device)

    return rule


def _test(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        dtype = _dtype(args)
        truth = tested(function, *(_compared(tensors.values(argument), dtype) for argument in args))
        return torch.from_numpy(np.asarray(truth)).to(_first(args).device)

    return rule


def _compared(values: Any, dtype: Any) -> Any:
    """The elements of an argument of a comparison, in which torch rounds numbers to 16 bits."""
    if dtype.itemsize >= 4:
        return values
    return elementwise(lambda x: x if is_random(x) else torch.tensor(float(x)).double().to(dtype).item(), values)


def _sum_rule(sign: int, reflected: bool = False) -> Callable[..., Any]:
    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        x, y = (args[1], args[0]) if reflected else args[:2]
        alpha = options.get("alpha", args[2] if len(args) > 2 else 1)
        scaled = (
            tensors.values(y) if alpha * sign == 1 else elementwise(lambda v: v * (alpha * sign), tensors.values(y))
        )
        result = elementwise(BINARY["add"], tensors.values(x), scaled)
        return tensors.wrap(result, _dtype(args), _first(args).device)

    return rule


def _div(tensors: Tensors, args: Any, options: Any) -> Any:
    quotient = elementwise(BINARY["divide"], tensors.values(args[0]), tensors.values(args[1]))
    mode = options.get("rounding_mode")
    if mode is not None:
        quotient = elementwise(UNARY[mode], quotient)
    return tensors.wrap(quotient, _dtype(args), _first(args).device)


def _clamp(tensors: Tensors, args: Any, options: Any) -> Any:
    low = args[1] if len(args) > 1 else options.get("min")
    high = args[2] if len(args) > 2 else options.get("max")
    result = tensors.values(args[0])
    if low is not None:
        result = elementwise(BINARY["maximum"], result, tensors.values(low))
    if high is not None:
        result = elementwise(BINARY["minimum"], result, tensors.values(high))
    return tensors.wrap(result, args[0].dtype, args[0].device)


def _where(tensors: Tensors, args: Any, options: Any) -> Any:
    result = elementwise(where, *(tensors.values(argument) for argument in args))
    return tensors.wrap(result, _dtype(args[1:]), args[0].device)


def _to_copy(tensors: Tensors, args: Any, options: Any) -> Any:
    x, dtype = args[0], options.get("dtype") or args[0].dtype
    device = options.get("device") or x.device
    values = tensors.values(x)
    if dtype.is_floating_point:
        return tensors.wrap(values, dtype, device)
    if dtype == torch.bool:
        return torch.from_numpy(np.asarray(tested(TESTS["not_equal"], values, 0))).to(device)
    return indices(elementwise(UNARY["trunc"], values), device).to(dtype)


def _copy_into(tensors: Tensors, args: Any, options: Any) -> None:
    target, source = args[0], args[1]
    if not target.is_floating_point() and isinstance(source, torch.Tensor) and source.is_floating_point():
        source = _to_copy(tensors, (source,), {"dtype": target.dtype}) if tensors.is_random(source) else source
    tensors.write(target, tensors.values(source))


_WRITES: dict[str, Callable[..., None]] = {
    "copy_": _copy_into,
    "fill_": _copy_into,
    "zero_": lambda tensors, args, options: tensors.write(args[0], tensors.values(0.0)),
}
_RULES: dict[str, Callable[..., Any]] = {
    **{name: _map(UNARY[rule]) for name, rule in _UNARY.items()},
    **{name: _map(BINARY[rule]) for name, rule in _BINARY.items()},
    **{name: _test(TESTS[rule]) for name, rule in _TESTS.items()},
    **REDUCTIONS,
    "add": _sum_rule(1),
    "sub": _sum_rule(-1),
    "rsub": _sum_rule(-1, reflected=True),
    "div": _div,
    "true_divide": _div,
    "rsqrt": _map(lambda x: UNARY["reciprocal"](UNARY["sqrt"](x))),
    "clamp": _clamp,
    "where": _where,
    "_to_copy": _to_copy,
    "sign": _map(lambda x: float(x > 0) - float(x < 0)),  # of NaN it is 0 here
}
