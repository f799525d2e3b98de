"""`numpy.random`, recorded: the module's functions, `RandomState`, `default_rng` and `Generator`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from draftproof.simulator.numbers import real
from draftproof.simulator.symbolic.arrays.arrays import note_narrow_type, wrapped
from draftproof.simulator.symbolic.decide.session import Session, Stream, current, suspended, true_only
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO
from draftproof.simulator.symbolic.numbers.functions import UNARY
from draftproof.simulator.symbolic.numbers.seeds import Seed, without_seeds
from draftproof.simulator.symbolic.sources import bit_generators
from draftproof.simulator.symbolic.sources.python import Library, assert_plain
from draftproof.simulator.symbolic.where import refusal


def _shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*(np.shape(parameter) for parameter in parameters))
    return tuple(int(n) for n in np.ravel(size))


def _filled(shape: tuple[int, ...], make: Callable[[], Any]) -> Any:
    if shape == ():
        return make()  # a float of Python
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        result[index] = make()
    return wrapped(result)


def _integers_filled(size: Any, make: Callable[[], Any]) -> Any:
    numbers = [make() for _ in range(1 if size is None else math.prod(_shape(size)))]
    if any(isinstance(number, Seed) for number in numbers):
        return numbers[0] if size is None else wrapped(np.array(numbers, dtype=object).reshape(_shape(size)))
    return np.int64(numbers[0]) if size is None else np.array(numbers, dtype=np.int64).reshape(_shape(size))


def _random(s: Session, g: Stream, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    if out is not None:
        raise refusal("random numbers cannot be stored in an array of floats (out=)")
    if np.dtype(dtype).itemsize < 4:
        raise TypeError(f"Unsupported dtype {dtype} for random")
    bits = 24 if np.dtype(dtype) == np.float32 else 53
    note_narrow_type(dtype)
    numbers = _filled(_shape(size), lambda: s.uniform(g, "numpy uniform", bits))
    return numbers.astype(dtype) if s.real and np.shape(numbers) else numbers


def _uniform(s: Session, g: Stream, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    u = _filled(_shape(size, low, high), lambda: s.uniform(g, "numpy uniform"))
    return u * (np.asarray(high) - np.asarray(low)) + low


def _exponential(s: Session, g: Stream, scale: Any = 1.0, size: Any = None, inverse: bool = False) -> Any:
    return _filled(_shape(size, scale), lambda: s.exponential(g, "numpy exponential", inverse)) * scale


def _standard_exponential(
    s: Session, g: Stream, size: Any = None, *rest: Any, inverse: bool = False, **options: Any
) -> Any:
    return _exponential(s, g, 1.0, size, inverse)


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
    "exponential": partial(_exponential, inverse=True),
    "standard_exponential": partial(_standard_exponential, inverse=True),
    "rand": lambda s, g, *shape: _random(s, g, shape or None),
    "random_sample": _random,
    "ranf": _random,
    "sample": _random,
    "randint": lambda s, g, low, high=None, size=None, dtype=int: _integers(s, g, low, high, size),
}


#: The methods that numpy's own code of a method calls.
_CALLED = {
    "choice": ("random", "integers", "random_sample", "randint", "rand", "permutation", "shuffle"),
    "rand": ("random_sample",),
    "permutation": ("shuffle",),
}
_CALLED_OLD = _CALLED | {"random": ("random_sample",)}


def _stream_of(session: Session, generator: Any) -> Stream:
    """The stream of a generator: its own, or that of the bit generator, which it may share with others."""
    if generator is GLOBAL_STATE:
        return session.global_stream("numpy", generator._bit_generator)
    own = session.own_stream(generator)
    return own or session.stream_of(generator._bit_generator)


def _methods(base: Any, library: Library) -> dict[str, Any]:
    names = [name for name in dir(base) if not name.startswith("_") and callable(getattr(base, name))]
    recorded = {name: library.method(name, getattr(base, name)) for name in names if name != "seed"}
    copies = "a copy of a numpy generator", "make two generators, or use one", _stream_of
    return recorded | {name: true_only(getattr(base, name), *copies) for name in ("__reduce__", "__getstate__")}


def _legacy_stream(session: Session, seed: Any = None) -> Stream:
    """The stream of a `RandomState` with this seed; its first number tells equal sequences."""
    plain = without_seeds(seed)
    return session.seeded("numpy", seed, key=None if plain is seed else _first_number(plain))


def _first_number(seed: Any) -> bytes:
    with suspended():
        return bytes(_RandomState(seed).bytes(8))


def _make_state(self: Any, seed: Any = None) -> None:
    session = current()
    with suspended():  # numpy asks the operating system even where a seed is given
        _RandomState.__init__(self, 0 if session is not None and seed is None else without_seeds(seed))
    if session is not None and not isinstance(seed, np.random.BitGenerator):
        session.attach(self, _legacy_stream(session, seed))


def _seed_state(self: Any, seed: Any = None) -> None:
    session = current()
    if session is not None:
        session.attach(self, _legacy_stream(session, seed))
    with suspended():  # without a seed numpy asks the operating system
        _RandomState.seed(self, without_seeds(seed))


_Generator: Any = np.random.Generator
_RandomState: Any = np.random.RandomState


def _spawned(self: Any, n_children: int) -> list[Any]:
    return [type(self)(source) for source in self.bit_generator.spawn(n_children)]


#: How the true state of the global generator is taken and put back.
STATE: Any = getattr(np.random, "get_state"), getattr(np.random, "set_state")  # noqa: B009
_LEGACY = Library(
    "numpy.random {}", OLD, lambda: RecordingState, _CALLED_OLD, _stream_of, _legacy_stream, lambda: GLOBAL_STATE,
    STATE,
)  # fmt: skip
_GENERATORS = _LEGACY._replace(rules=NEW, kind=lambda: RecordingGenerator, called=_CALLED)

RecordingGenerator: Any = type(
    "Generator",
    (_Generator,),
    _methods(_Generator, _GENERATORS) | {"spawn": _spawned, "__doc__": "A numpy generator that an audit can follow."},
)
RecordingState: Any = type(
    "RandomState",
    (_RandomState,),
    _methods(_RandomState, _LEGACY)
    | {"__init__": _make_state, "seed": _seed_state, "__doc__": "A numpy `RandomState` that an audit can follow."},
)


#: In place of the generator behind the functions of the module, which other libraries take as an object.
GLOBAL_STATE: Any = RecordingState(np.random.mtrand._rand._bit_generator)


def recorded_default_rng(seed: Any = None) -> Any:
    """`numpy.random.default_rng` with a recording generator."""
    if isinstance(seed, RecordingGenerator):
        return seed
    source = getattr(seed, "_bit_generator", seed)
    return RecordingGenerator(source if isinstance(source, np.random.BitGenerator) else bit_generators.default(seed))


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for `numpy.random`."""
    module: Any = np.random
    replaced: list[tuple[Any, str, Any]] = [
        (module, "Generator", RecordingGenerator),
        (module, "RandomState", RecordingState),
        (module, "default_rng", recorded_default_rng),
        (module.mtrand, "_rand", GLOBAL_STATE),
        *bit_generators.replacements(),
    ]
    names = [name for name in dir(_RandomState) if not name.startswith("_")] + ["ranf", "sample"]
    for name in dict.fromkeys(names):
        original = getattr(module, name, None)
        if callable(original):
            replaced.append((module, name, _LEGACY.function(name, original)))
    return replaced


def recording_of(value: Any) -> Any:
    """A recording object for a generator made before the call; None for anything else."""
    for base, recording in ((_Generator, RecordingGenerator), (_RandomState, RecordingState)):
        if isinstance(value, base) and not isinstance(value, recording):
            assert_plain(value, base)
            if base is _Generator:
                source = getattr(np.random, type(value._bit_generator).__name__)(0)
                source.state = value._bit_generator.state
                return recording(source)
            made = recording(0)
            _RandomState.set_state(made, _RandomState.get_state(value))
            return made
    return None
