"""torch operations along dimensions: sums, running sums, extremes, orders and searches. Needs torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.lazy import torch
from draftproof.simulator.symbolic.arrays.arrays import (
    accumulate,
    along_axis,
    elementwise,
    fold,
    rows_along_axis,
    tested,
)
from draftproof.simulator.symbolic.arrays.rules import bisected, increasing, searchsorted
from draftproof.simulator.symbolic.numbers import race
from draftproof.simulator.symbolic.numbers.functions import BINARY, TESTS
from draftproof.simulator.symbolic.torch.memory import Tensors
from draftproof.simulator.symbolic.where import refused_operation


def _dims(x: Any, dim: Any) -> list[int]:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(x.dim()))
    return sorted({d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)}) if x.dim() else []


def _given(names: tuple[str, ...], args: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The arguments after the first tensor by their names."""
    return dict(zip(names, args[1:], strict=False)) | options


_ALONG = ("dim", "keepdim")


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        x, given = args[0], _given(_ALONG, args, options)
        keep = given.get("keepdim", False)
        result = tensors.values(x)
        for d in reversed(_dims(x, given.get("dim"))):
            result = along_axis(function, result, d)
            result = np.expand_dims(result, d) if keep else result
        return tensors.wrap(result, options.get("dtype") or x.dtype, x.device)

    return rule


def _mean(tensors: Tensors, args: Any, options: Any) -> Any:
    x = args[0]
    dims = _dims(x, _given(_ALONG, args, options).get("dim"))
    count = int(np.prod([x.shape[d] for d in dims]))
    total = _reduction(fold("add"))(tensors, args, options)
    return tensors.wrap(elementwise(lambda v: v / count, tensors.values(total)), total.dtype, x.device)


def _run(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        result = (
            rows_along_axis(function, tensors.values(args[0]), args[1]) if args[0].dim() else tensors.values(args[0])
        )
        return tensors.wrap(result, options.get("dtype") or args[0].dtype, args[0].device)

    return rule


def indices(array: Any, device: Any) -> Any:
    """A tensor of whole numbers."""
    return torch.from_numpy(np.asarray(array).astype(np.int64)).to(device)


def _argbest(choose: Callable[..., Any]) -> Callable[..., Any]:
    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        given = _given(_ALONG, args, options)
        dim, keep = given.get("dim"), given.get("keepdim", False)
        places = along_axis(choose, tensors.values(args[0]), dim if args[0].dim() else None)
        return indices(np.expand_dims(places, dim) if keep and dim is not None else places, args[0].device)

    return rule


def _best(choose: Callable[..., Any], function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`max` and `min`: of everything, along a dimension with indices, or of two tensors."""

    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        if len(args) > 1 and isinstance(args[1], torch.Tensor):
            result = elementwise(BINARY[name], tensors.values(args[0]), tensors.values(args[1]))
            return tensors.wrap(result, torch.result_type(args[0], args[1]), args[0].device)
        given = _given(_ALONG, args, options)
        if "dim" not in given:
            return _reduction(function)(tensors, args, options)
        places = _argbest(choose)(tensors, args, options)
        dim, keep = given["dim"], given.get("keepdim", False)
        index = places if keep else places.unsqueeze(dim)
        result = np.take_along_axis(tensors.values(args[0]), index.cpu().numpy(), dim)
        values = tensors.wrap(result if keep else result.squeeze(dim), args[0].dtype, args[0].device)
        return values, places

    return rule


def _sort(tensors: Tensors, args: Any, options: Any) -> Any:
    names = ("stable", "dim") if any(isinstance(argument, bool) for argument in args[1:2]) else ("dim", "descending")
    given = _given(names, args, options)
    return _ordered(tensors, args[0], given.get("dim", -1), given.get("descending", False), None)


def _topk(tensors: Tensors, args: Any, options: Any) -> Any:
    given = _given(("k", "dim", "largest"), args, options)
    return _ordered(tensors, args[0], given.get("dim", -1), given.get("largest", True), given["k"])


def _ordered(tensors: Tensors, x: Any, dim: int, descending: bool, count: int | None) -> Any:
    values = tensors.values(x)
    places = rows_along_axis(lambda row: _order(row, descending, count), values, dim).astype(np.int64)
    return tensors.wrap(np.take_along_axis(values, places, dim), x.dtype, x.device), indices(places, x.device)


def _order(row: Any, descending: bool, count: int | None) -> list[int]:
    if count is None:
        return race.argsort(row, descending)
    left = list(range(len(row)))
    order = []
    for _ in range(count):
        numbers = [] if descending else [i for i in left if not race.is_nan(row[i])]  # NaN counts as the largest
        among = numbers or left
        order.append(among[(race.argmax if descending else race.argmin)([row[i] for i in among])])
        left.remove(order[-1])
    return order


def _searchsorted(tensors: Tensors, args: Any, options: Any) -> Any:
    edges, values = tensors.values(args[0]), tensors.values(args[1])
    side = options.get("side") or ("right" if options.get("right", False) else "left")
    if options.get("sorter") is not None:
        raise refused_operation("torch searchsorted with a sorter")
    if edges.ndim == 1:
        places = _places(list(edges), values, side)
    else:
        rows = [_places(list(edges[i]), values[i], side) for i in np.ndindex(*edges.shape[:-1])]
        places = np.array(rows).reshape(values.shape)
    kind = torch.int32 if options.get("out_int32", False) else torch.int64
    return indices(places, args[0].device).to(kind)


def _places(row: list[Any], values: Any, side: str) -> Any:
    if increasing(row):
        return searchsorted(row, values, side)
    # As torch searches, which shows in a row that is not sorted, or has a NaN in it.

    def place(x: Any) -> int:
        passed: Callable[[Any], bool] = (lambda edge: not edge >= x) if side == "left" else (lambda edge: not edge > x)
        return bisected(passed, row, 0, len(row))

    return elementwise(place, values).astype(np.int64)


def _nonzero(tensors: Tensors, args: Any, options: Any) -> Any:
    return indices(np.argwhere(tested(TESTS["not_equal"], tensors.values(args[0]), 0)), args[0].device)


def _matmul(tensors: Tensors, args: Any, options: Any) -> Any:
    product = np.matmul(tensors.values(args[0]), tensors.values(args[1]))
    return tensors.wrap(np.asarray(product, dtype=object), torch.result_type(args[0], args[1]), args[0].device)


def _any_all(name: str) -> Callable[..., Any]:
    def rule(tensors: Tensors, args: Any, options: Any) -> Any:
        truth = torch.from_numpy(np.asarray(tested(TESTS["not_equal"], tensors.values(args[0]), 0)))
        return getattr(torch, name)(truth.to(args[0].device), *args[1:], **options)

    return rule


RULES: dict[str, Callable[..., Any]] = {
    "sum": _reduction(fold("add")), "prod": _reduction(fold("multiply")), "mean": _mean,
    "amax": _reduction(fold("maximum")), "amin": _reduction(fold("minimum")),
    "cumsum": _run(accumulate("add")), "cumprod": _run(accumulate("multiply")),
    "argmax": _argbest(race.argmax), "argmin": _argbest(race.argmin),
    "max": _best(race.argmax, fold("maximum"), "maximum"), "min": _best(race.argmin, fold("minimum"), "minimum"),
    "sort": _sort, "topk": _topk, "searchsorted": _searchsorted,
    "bucketize": lambda tensors, args, options: _searchsorted(tensors, (args[1], args[0]), options),
    "mm": _matmul, "mv": _matmul, "bmm": _matmul, "dot": _matmul,
    "any": _any_all("any"), "all": _any_all("all"), "nonzero": _nonzero,
}  # fmt: skip
