"""What numpy's generators draw, by the names of their methods, for a session and one of its streams."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import real
from draftproof.simulator.symbolic.arrays.arrays import narrow, wrapped
from draftproof.simulator.symbolic.knowledge.session import Session, Stream
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO
from draftproof.simulator.symbolic.numbers.functions import UNARY
from draftproof.simulator.symbolic.where import refusal


def _shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*(np.shape(each) for each in parameters))
    return tuple(int(n) for n in np.ravel(size))


def _filled(shape: tuple[int, ...], make: Callable[[], Any]) -> Any:
    if shape == ():
        return make()  # a float of Python
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        result[index] = make()
    return wrapped(result)


def _integers_filled(size: Any, make: Callable[[], int]) -> Any:
    if size is None:
        return np.int64(make())
    shape = _shape(size)
    return np.array([make() for _ in range(math.prod(shape))], dtype=np.int64).reshape(shape)


def _random(s: Session, g: Stream, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    if out is not None:
        raise refusal("random numbers cannot be stored in an array of floats (out=)")
    if np.dtype(dtype).itemsize < 4:
        raise TypeError(f"Unsupported dtype {dtype} for random")
    bits = 24 if np.dtype(dtype) == np.float32 else 53
    narrow(dtype)
    found = _filled(_shape(size), lambda: s.uniform(g, "numpy uniform", bits))
    return found.astype(dtype) if s.real and np.shape(found) else found


def _rand(s: Session, g: Stream, *shape: int) -> Any:
    return _random(s, g, shape or None)


def _uniform(s: Session, g: Stream, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    u = _filled(_shape(size, low, high), lambda: s.uniform(g, "numpy uniform"))
    return u * (np.asarray(high) - np.asarray(low)) + low


def _exponential(s: Session, g: Stream, scale: Any = 1.0, size: Any = None) -> Any:
    return _filled(_shape(size, scale), lambda: s.exponential(g, "numpy exponential")) * scale


def _old_exponential(s: Session, g: Stream, scale: Any = 1.0, size: Any = None) -> Any:
    return _filled(_shape(size, scale), lambda: s.exponential(g, "numpy exponential", inverse=True)) * scale


def _old_standard_exponential(s: Session, g: Stream, size: Any = None) -> Any:
    return _old_exponential(s, g, 1.0, size)


def _standard_exponential(s: Session, g: Stream, size: Any = None, *rest: Any, **options: Any) -> Any:
    return _exponential(s, g, 1.0, size)


def _gumbel(s: Session, g: Stream, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    noise = _filled(_shape(size, loc, scale), lambda: -UNARY["log"](s.exponential(g, "numpy gumbel", inverse=True)))
    return noise * scale + loc


def _choice(
    s: Session, g: Stream, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
    shuffle: bool = True,
) -> Any:  # fmt: skip
    pool = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
    count = pool.shape[axis]
    weights = [ONE] * count if p is None else [real(weight) for weight in np.asarray(p).tolist()]
    if len(weights) != count:
        raise ValueError("'a' and 'p' must have same size")
    coarse = np.finfo(p.dtype).eps if isinstance(p, np.ndarray) and p.dtype.kind == "f" else 0.0
    slack = max(np.finfo(np.float64).eps, coarse) ** 0.5  # as numpy has it
    if p is not None and not (abs(float(np.sum(p, dtype=np.float64)) - 1) <= slack and np.min(p) >= 0):
        raise ValueError(f"probabilities {np.asarray(p).tolist()} are negative, NaN or do not sum to 1")
    shape = _shape(size)
    if not (replace or shuffle or p is not None) and math.prod(shape) > 1:
        raise refusal("numpy choice without shuffling gives an order that only numpy's algorithm decides")
    drawn = []
    for _ in range(math.prod(shape)):
        drawn.append((s.search if p is not None and replace else s.choose)(g, weights, "numpy choice"))
        if not replace:
            weights = [ZERO if i == drawn[-1] else weight for i, weight in enumerate(weights)]
    if size is None:
        return np.take(pool, drawn[0], axis=axis)
    return np.take(pool, np.array(drawn, dtype=np.int64).reshape(shape), axis=axis)


def _integers(
    s: Session, g: Stream, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
) -> Any:
    first, last = (0, low) if high is None else (low, high)
    if np.ndim(first) or np.ndim(last):
        raise refusal("numpy integers with arrays of bounds cannot be enumerated")
    count = int(last) + int(endpoint) - int(first)
    if count <= 0:
        raise ValueError("low >= high")
    return _integers_filled(size, lambda: int(first) + s.choose_uniform(g, count, "numpy integers"))


def _randint(s: Session, g: Stream, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
    return _integers(s, g, low, high, size)


def _multinomial(s: Session, g: Stream, n: Any, pvals: Any, size: Any = None) -> Any:
    rows = np.asarray(pvals)
    shape = np.broadcast_shapes(np.shape(n), rows.shape[:-1]) if size is None else _shape(size)
    numbers = np.broadcast_to(n, shape)
    rows = np.broadcast_to(rows, (*shape, rows.shape[-1]))
    counts = np.zeros(rows.shape, dtype=np.int64)
    for index in np.ndindex(*shape):
        weights = [real(weight) for weight in rows[index].tolist()]
        weights[-1] = ONE - sum(weights[:-1], start=ZERO)  # numpy gives the last one what is left
        if float(weights[-1]) < -1e-12:
            raise ValueError("sum(pvals[:-1]) > 1.0")
        weights[-1] = max(weights[-1], ZERO)
        for _ in range(int(numbers[index])):
            counts[(*index, s.choose(g, weights, "numpy multinomial"))] += 1
    return counts


def _binomial(s: Session, g: Stream, n: int, p: Any, size: Any = None) -> Any:
    heads = real(p)
    if heads is None:
        raise refusal("numpy binomial with arrays of probabilities cannot be enumerated")
    weights = [math.comb(n, k) * heads**k * (ONE - heads) ** (n - k) for k in range(n + 1)]
    return _integers_filled(size, lambda: s.choose(g, weights, "numpy binomial"))


def _shuffle(s: Session, g: Stream, x: Any, axis: int = 0) -> None:
    if isinstance(x, np.ndarray):
        x[...] = np.take(x, _order(s, g, x.shape[axis]), axis=axis)
    else:
        x[:] = [x[i] for i in _order(s, g, len(x))]


def _permutation(s: Session, g: Stream, x: Any, axis: int = 0) -> Any:
    pool = np.arange(x) if np.ndim(x) == 0 else np.asarray(x)
    return np.take(pool, _order(s, g, pool.shape[axis]), axis=axis)


def _order(s: Session, g: Stream, count: int) -> list[int]:
    left = list(range(count))
    return [left.pop(s.choose_uniform(g, len(left), "numpy shuffle")) for _ in range(count)]


#: What the old and the new interface share: (session, stream, *arguments).
_SHARED: dict[str, Callable[..., Any]] = {
    "random": _random,
    "uniform": _uniform,
    "exponential": _exponential,
    "standard_exponential": _standard_exponential,
    "gumbel": _gumbel,
    "choice": _choice,
    "multinomial": _multinomial,
    "binomial": _binomial,
    "shuffle": _shuffle,
    "permutation": _permutation,
}
#: Methods of `Generator`.
NEW = _SHARED | {"integers": _integers}
#: Methods of `RandomState` and functions of the module.
OLD = _SHARED | {
    "exponential": _old_exponential,
    "standard_exponential": _old_standard_exponential,
    "rand": _rand,
    "random_sample": _random,
    "ranf": _random,
    "sample": _random,
    "randint": _randint,
}
