"""torch's random operations, each by its name in aten. Needs torch."""

from __future__ import annotations

import functools
import math
import weakref
from itertools import accumulate
from typing import Any, NoReturn

import numpy as np
from flint import fmpq

from draftproof.simulator.lazy import torch, torch_module
from draftproof.simulator.numbers import real
from draftproof.simulator.symbolic.decide.session import Session, Stream, current, in_calls, refused_in_calls, true_only
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, as_float
from draftproof.simulator.symbolic.numbers.seeds import without_seeds
from draftproof.simulator.symbolic.numbers.stepped import Grid
from draftproof.simulator.symbolic.where import caller, refusal


def _recording_generator(base: Any) -> Any:
    def make(self: Any, device: Any = "cpu") -> None:
        _recording[self._cdata] = self
        session = current()
        if session is not None:  # one without a seed always starts from the same numbers
            session.attach(self, session.seeded("torch", int(base.initial_seed(self))))

    def manual_seed(self: Any, seed: Any) -> Any:
        session = current()
        if session is not None:
            session.attach(self, session.seeded("torch", seed))
        base.manual_seed(self, without_seeds(seed))
        return self

    def seed(session: Session, self: Any) -> Any:
        session.attach(self, session.seeded("torch"))
        return _seed_taken(session)

    unseen = [name for name in dir(base) if name.partition("_")[0] in ("get", "set", "clone", "graphsafe", "initial")]
    methods = {name: true_only(getattr(base, name), f"torch.Generator.{name}") for name in unseen}
    methods |= {"__init__": make, "manual_seed": manual_seed, "seed": in_calls(base.seed, seed)}
    return type("Generator", (base,), methods | {"__doc__": "A torch generator that an audit can follow."})


def _seed_taken(session: Session) -> Any:
    """The seed that a generator takes from the operating system."""
    return session.random_seed(f"the seed taken at {caller()}")


def _manual_seed(original: Any) -> Any:
    def rule(session: Session, seed: Any) -> Any:
        return original(seed) if _seed_global(session, seed) else torch.default_generator

    return in_calls(original, rule)


def _seed(session: Session) -> Any:
    _seed_global(session, None)
    return _seed_taken(session)


def _seed_global(session: Session, seed: Any) -> bool:
    usual = torch.default_generator
    return session.seed_global("torch", session.seeded("torch", seed), (usual.get_state, usual.set_state))


#: Recording generators by the address of what torch knows them by: an operation sees another Python object.
_recording: Any = weakref.WeakValueDictionary()


@functools.cache
def recording_class() -> Any:
    """The class that takes the place of `torch.Generator`."""
    return _recording_generator(type(torch.default_generator))


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for torch's seeds and generators."""
    torch = torch_module()
    replaced: list[tuple[Any, str, Any]] = [(torch, "Generator", recording_class())]
    for holder in (torch, torch.random):
        replaced.append((holder, "manual_seed", _manual_seed(holder.manual_seed)))
        replaced.append((holder, "seed", in_calls(holder.seed, _seed)))
        for name in ("get_rng_state", "set_rng_state"):
            replaced.append((holder, name, refused_in_calls(getattr(holder, name), f"torch.{name} cannot be followed")))
    return replaced


def recording_of(value: Any) -> Any:
    """A recording generator for one made before the call; None for anything else."""
    made, usual = recording_class(), torch.default_generator
    if isinstance(value, made.__base__) and not isinstance(value, made) and value is not usual:
        copied = made(device=value.device)
        made.__base__.set_state(copied, made.__base__.get_state(value))
        return copied
    return None


def stream(session: Session, generator: Any) -> Stream:
    """The numbers of the generator that an operation was given, or of the global one."""
    if generator is None or generator._cdata == torch.default_generator._cdata:
        return session.global_stream("torch", torch.default_generator)
    known = _recording.get(generator._cdata)
    if known is None:
        raise refusal("a torch.Generator that was made before the call is used", "make it in the function")
    return session.stream_of(known)


def refused(name: str) -> Any:
    """The rule for a random operation that cannot be enumerated."""

    def rule(*_: Any, **__: Any) -> NoReturn:
        raise refusal(f"torch {name.rstrip('_')} cannot be enumerated")

    return rule


def _new(make: Any, like: Any, options: Any) -> Any:
    """A tensor of a size, or like another one, as the options say."""
    return make(like, **{key: options[key] for key in ("dtype", "device", "layout") if options.get(key) is not None})


def _on_new(rule: Any) -> Any:
    """The rule of an operation that fills a tensor, for the one that fills another tensor like it."""
    return lambda session, tensor, *args, **options: rule(session, torch.empty_like(tensor), *args, **options)


def _fill(session: Session, tensor: Any, generator: Any, make: Any) -> Any:
    source = stream(session, generator)
    array = np.empty(tuple(tensor.shape), dtype=object)
    for index in np.ndindex(*array.shape):
        array[index] = make(source)
    session.tensors.write(tensor, array)
    return tensor


@functools.cache
def _grid(dtype: Any) -> Grid:
    """The uniform numbers of 16 bits: those of 32 bits, rounded, where 0 takes the place of 1."""

    def rounded(numbers: Any) -> Any:
        coarse = numbers.to(dtype)
        return torch.where(coarse == 1, 0, coarse)

    one, two = (recording_class().__base__() for _ in range(2))
    if not torch.equal(torch.rand(1000, dtype=dtype, generator=one), rounded(torch.rand(1000, generator=two))):
        raise refusal(f"this version of torch makes random numbers of {dtype} otherwise, which cannot be followed")
    values, counts = (torch.arange(2**24) * 2.0**-24).to(dtype).unique_consecutive(return_counts=True)
    whole = [int(count) for count in counts]
    shares = [whole[0] + whole[-1], *whole[1:-1]]
    numbers = tuple(fmpq(*float(value).as_integer_ratio()) for value in values[:-1])
    return Grid(dtype, numbers, tuple(fmpq(total, 2**24) for total in accumulate(shares, initial=0)))


def _uniform_(session: Session, tensor: Any, low: Any = 0, high: Any = 1, generator: Any = None, **_: Any) -> Any:
    whole = (low, high) == (0, 1)
    if whole and tensor.dtype.itemsize < 4:
        grid = _grid(tensor.dtype)
        return _fill(session, tensor, generator, lambda source: session.stepped(source, grid, "torch uniform"))
    bits, width = 53 if tensor.dtype == torch.float64 else 24, real(high) - real(low)

    def make(source: Any) -> Any:
        u = session.uniform(source, "torch uniform", bits)
        return u if whole else u * (as_float(width) if session.real else width) + low

    return _fill(session, tensor, generator, make)


def _rand(make: Any) -> Any:
    """The rule of an operation that makes a tensor of uniform numbers, with the memory that this takes."""

    def rule(session: Session, like: Any, generator: Any = None, **options: Any) -> Any:
        return _uniform_(session, _new(getattr(torch, make), like, options), generator=generator)

    return rule


def _exponential_(session: Session, tensor: Any, rate: Any = 1, generator: Any = None, **_: Any) -> Any:
    return _fill(session, tensor, generator, lambda source: session.exponential(source, "torch exponential") / rate)


def _weights(session: Session, tensor: Any, what: str) -> Any:
    if session.tensors.is_random(tensor):
        raise refusal(f"{what} with random probabilities cannot be followed exactly")
    return tensor.detach().cpu().double().numpy()


def _bernoulli_(session: Session, tensor: Any, p: Any = 0.5, generator: Any = None, **_: Any) -> Any:
    source = stream(session, generator)
    given = _weights(session, p, "torch bernoulli") if isinstance(p, torch.Tensor) else p
    heads = np.broadcast_to(given, tuple(tensor.shape))
    result = np.empty(heads.shape)
    for index in np.ndindex(*heads.shape):
        chance = real(float(heads[index]))
        if not 0 <= float(heads[index]) <= 1:
            raise RuntimeError(f"torch.bernoulli was given {float(heads[index])}; it must lie in [0, 1]")
        result[index] = session.choose(source, (ONE - chance, chance), "torch bernoulli")
    session.tensors.write(tensor, result)
    return tensor


def _bernoulli(session: Session, tensor: Any, p: Any = None, generator: Any = None, **_: Any) -> Any:
    return _bernoulli_(session, torch.empty_like(tensor), tensor if p is None else p, generator)


def _multinomial(
    session: Session, tensor: Any, count: int, replacement: bool = False, generator: Any = None, **_: Any
) -> Any:
    probabilities = _weights(session, tensor, "torch multinomial")
    source = stream(session, generator)
    rows = probabilities.reshape(-1, probabilities.shape[-1])
    drawn = [_row(session, source, row.tolist(), count, replacement) for row in rows]
    shape = (*probabilities.shape[:-1], count)
    return torch.tensor(drawn, dtype=torch.int64, device=tensor.device).reshape(shape)


def _row(session: Session, source: Any, row: list[float], count: int, replacement: bool) -> list[int]:
    if not (all(math.isfinite(w) and w >= 0 for w in row) and sum(row) > 0):
        raise RuntimeError(f"torch.multinomial was given {row}; probabilities must be finite and >= 0, not all 0")
    weights = [real(w) for w in row]
    if not replacement and sum(1 for w in weights if w) < count:
        raise RuntimeError(f"torch.multinomial was asked for {count} samples without replacement from {row}")
    drawn: list[int] = []
    for _ in range(count):
        drawn.append(session.choose(source, weights, "torch multinomial"))
        if not replacement:
            weights[drawn[-1]] = ZERO
    return drawn


def _whole_numbers(session: Session, tensor: Any, generator: Any, low: int, high: int) -> Any:
    source = stream(session, generator)
    values = [low + session.choose_uniform(source, high - low, "torch randint") for _ in range(tensor.numel())]
    session.tensors.write(tensor, np.array(values, dtype=object).reshape(tuple(tensor.shape)))
    return tensor


def _randint(session: Session, *ends_and_size: Any, generator: Any = None, **options: Any) -> Any:
    low, high, size = ends_and_size if len(ends_and_size) == 3 else (0, *ends_and_size)
    made = _new(torch.empty, size, options | {"dtype": options.get("dtype") or torch.int64})
    return _whole_numbers(session, made, generator, low, high)


def _random_(session: Session, tensor: Any, *ends: Any, generator: Any = None, **_: Any) -> Any:
    if not ends or ends[-1] is None:
        missing = "an upper end" if ends else "a range"
        raise refusal(f"torch random_ without {missing} has too many outcomes to enumerate")
    low, high = ends if len(ends) == 2 else (0, *ends)
    return _whole_numbers(session, tensor, generator, low, high)


def _randperm(session: Session, count: int, generator: Any = None, **options: Any) -> Any:
    source, left = stream(session, generator), list(range(count))
    drawn = [left.pop(session.choose_uniform(source, len(left), "torch randperm")) for _ in range(count)]
    return torch.tensor(drawn, dtype=options.get("dtype") or torch.int64, device=options.get("device"))


RULES: dict[str, Any] = {
    "rand": _rand("empty"),
    "rand_like": _rand("empty_like"),
    "uniform": _on_new(_uniform_),
    "uniform_": _uniform_,
    "exponential": _on_new(_exponential_),
    "exponential_": _exponential_,
    "bernoulli": _bernoulli,
    "bernoulli_": _bernoulli_,
    "multinomial": _multinomial,
    "randint": _randint,
    "randint_like": _on_new(_random_),
    "random_": _random_,
    "randperm": _randperm,
}
