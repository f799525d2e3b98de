"""The module `random`, recorded: functions, and `Random` objects."""

from __future__ import annotations

import _random as _written_in_c
import random as _random
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from draftproof.simulator.generators import SHARED
from draftproof.simulator.numbers import real
from draftproof.simulator.symbolic.decide.session import Session, Stream, current, in_calls, suspended
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, as_float
from draftproof.simulator.symbolic.numbers.seeds import Seed, without_seeds
from draftproof.simulator.symbolic.where import NotFollowed, refusal


def _choice(s: Session, g: Stream, seq: Sequence[Any]) -> Any:
    if not len(seq):
        raise IndexError("Cannot choose from an empty sequence")
    return seq[s.choose_uniform(g, len(seq), "random.choice")]


def _choices(
    s: Session,
    g: Stream,
    population: Sequence[Any],
    weights: Any = None,
    *,
    cum_weights: Any = None,
    k: int = 1,
) -> list[Any]:
    if cum_weights is not None:
        weights = [b - a for a, b in zip([0, *cum_weights], cum_weights, strict=False)]
    weights = weights.tolist() if hasattr(weights, "tolist") else weights
    numbers = [ONE] * len(population) if weights is None else [real(weight) for weight in weights]
    if len(numbers) != len(population):
        raise ValueError("The number of weights does not match the population")
    if any(type(number) is float for number in numbers):
        raise ValueError(f"Total of weights must be finite, not that of {weights}")
    if not sum(numbers, start=ZERO) > 0:
        raise ValueError("Total of weights must be greater than zero")
    if min(numbers) < 0:  # Python does not look, and bisects what is not sorted
        return [population[_bisected(s, g, list(accumulate(numbers)))] for _ in range(k)]
    return [population[s.search(g, numbers, "random.choices")] for _ in range(k)]


def _bisected(s: Session, g: Stream, edges: list[Any]) -> int:
    edges = list(map(as_float, edges)) if s.real else edges
    x = s.uniform(g, "random.choices") * edges[-1]
    low, high = 0, len(edges) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if x < edges[middle] else (middle + 1, high)
    return low


def _randrange(s: Session, g: Stream, start: int, stop: int | None = None, step: int = 1) -> Any:
    numbers = range(start) if stop is None else range(start, stop, step)
    if not numbers:
        raise ValueError(f"empty range in randrange({start}, {stop}, {step})")
    index = s.choose_uniform(g, len(numbers), "random.randrange")
    if isinstance(index, Seed):
        return index + numbers.start if numbers.step == 1 else index.refuse("a step")
    return numbers[index]


def _shuffle(s: Session, g: Stream, x: Any) -> None:
    for i in range(len(x) - 1, 0, -1):
        j = s.choose_uniform(g, i + 1, "random.shuffle")
        x[i], x[j] = x[j], x[i]


def _sample(s: Session, g: Stream, population: Sequence[Any], k: int, *, counts: Any = None) -> list[Any]:
    pool = list(population)
    if counts is not None:
        pool = [value for value, count in zip(pool, counts, strict=True) for _ in range(count)]
    if not 0 <= k <= len(pool):
        raise ValueError("Sample larger than population or is negative")
    return [pool.pop(s.choose_uniform(g, len(pool), "random.sample")) for _ in range(k)]


#: Recorded functions: (session, generator, *arguments).
RECORDED: dict[str, Callable[..., Any]] = {
    "random": lambda s, g: s.uniform(g, "random.random"),
    "uniform": lambda s, g, a, b: a + (b - a) * s.uniform(g, "random.uniform"),
    "expovariate": lambda s, g, lambd=1.0: s.exponential(g, "random.expovariate", inverse=True) / lambd,
    "choice": _choice,
    "choices": _choices,
    "randrange": _randrange,
    "randint": lambda s, g, a, b: _randrange(s, g, a, b + 1),
    "getrandbits": lambda s, g, k: s.choose_uniform(g, 2**k, "random.getrandbits"),
    "shuffle": _shuffle,
    "sample": _sample,
    "_randbelow": lambda s, g, n: s.choose_uniform(g, n, "random._randbelow"),
}
_Random = _random.Random
_PUBLIC = [name for name in dir(_Random) if not name.startswith("_") and name not in ("seed", "VERSION")]


#: The methods that Python's own code of a method calls.
_CALLED = {
    **dict.fromkeys(("choices", "uniform", "expovariate"), ("random",)),
    **dict.fromkeys(("choice", "shuffle", "sample", "randrange"), ("_randbelow", "getrandbits")),
    "randint": ("randrange", "_randbelow", "getrandbits"),
}


def overrides(generator: Any, base: Any, names: Iterable[str]) -> bool:
    """Whether a generator, or its class, has one of these methods of its own, in place of that of a base class."""
    own = getattr(generator, "__dict__", {})
    return any(name in own or getattr(type(generator), name, None) is not getattr(base, name, None) for name in names)


class Library(NamedTuple):
    """Random functions of a module or a kind of generator, as they are recorded.

    name: of the function in messages, to be formatted. rules: by function: (session, stream, *arguments). kind: gives
    the recording class. called: the methods that the library's own code of a method calls. stream: of a generator in a
    session; seeded: of a seed, with the arguments of `seed`. shared: gives the generator of the module's functions.
    state: how its true state is taken and put back.
    """

    name: str
    rules: dict[str, Callable[..., Any]]
    kind: Callable[[], Any]
    called: dict[str, tuple[str, ...]]
    stream: Callable[[Session, Any], Stream]
    seeded: Callable[..., Stream]
    shared: Callable[[], Any]
    state: tuple[Callable[[], Any], Callable[[Any], Any]]

    def apply(self, name: str, session: Session, stream: Stream, arguments: Any, options: Any) -> Any:
        """What a function draws."""
        if name not in self.rules:
            raise refusal(f"{self.name.format(name)} cannot be enumerated")
        return self.rules[name](session, stream, *arguments, **options)

    def method(self, name: str, original: Any) -> Any:
        """A recording method of a generator."""
        called = self.called.get(name, ())

        def rule(session: Session, generator: Any, *arguments: Any, **options: Any) -> Any:
            if overrides(generator, self.kind(), called):
                return original(generator, *arguments, **options)
            stream = self.stream(session, generator)
            if session.gives_true_numbers(stream):
                return original(generator, *arguments, **options)
            return self.apply(name, session, stream, arguments, options)

        return in_calls(original, rule)

    def function(self, name: str, original: Any) -> Any:
        """A recording function of the module."""

        def rule(session: Session, *arguments: Any, **options: Any) -> Any:
            if name == "seed":
                made = self.seeded(session, *arguments, **options)
                library = self.name.partition(".")[0]
                if session.seed_global(library, made, self.state):
                    original(*arguments, **options)
                return None
            stream = self.stream(session, self.shared())
            if session.gives_true_numbers(stream):
                return original(*arguments, **options)
            return self.apply(name, session, stream, arguments, options)

        return in_calls(original, rule)


def _seeded(session: Session, a: Any = None, version: int = 2) -> Stream:
    """The stream of a generator with this seed; its first number tells equal sequences."""
    plain = without_seeds(a)
    return session.seeded("random", a, key=None if plain is a else _Random(plain).getrandbits(64))


def _stream(session: Session, generator: Any) -> Stream:
    return session.global_stream("random", generator) if generator is SHARED["random"] else session.stream_of(generator)


#: How the true state of the global generator is taken and put back.
STATE: Any = _random.getstate, _random.setstate
_LIBRARY = Library(
    "random.{}", RECORDED, lambda: RecordingRandom, _CALLED, _stream, _seeded, lambda: SHARED["random"],
    STATE,
)  # fmt: skip


def _seed_method(self: Any, a: Any = None, version: int = 2) -> None:
    session = current()
    if session is not None:
        session.attach(self, _seeded(session, a))
    _Random.seed(self, without_seeds(a), version)


def _make(self: Any, x: Any = None) -> None:
    session = current()
    with suspended():  # it seeds itself
        _Random.__init__(self, 0 if session is not None and x is None else without_seeds(x))
    if session is not None:
        session.attach(self, _seeded(session, x))


RecordingRandom: Any = type(
    "Random",
    (_Random,),
    {name: _LIBRARY.method(name, getattr(_Random, name)) for name in (*_PUBLIC, "_randbelow")}
    | {"seed": _seed_method, "__init__": _make, "__doc__": "`random.Random` whose numbers an audit can follow."},
)


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for the module `random`."""
    replaced: list[tuple[Any, str, Any]] = [(holder, "Random", RecordingRandom) for holder in (_random, _written_in_c)]
    for name in [*_PUBLIC, "seed"]:
        original = getattr(_random, name, None)
        if original is not None:
            replaced.append((_random, name, _LIBRARY.function(name, original)))
    return replaced


def recording_of(value: Any) -> Any:
    """A recording object for a `random.Random` made before the call; None for anything else."""
    if not isinstance(value, _Random) or isinstance(value, (RecordingRandom, _random.SystemRandom)):
        return None
    assert_plain(value, _Random)
    made = RecordingRandom(0)
    _Random.setstate(made, _Random.getstate(value))
    return made


def assert_plain(generator: Any, base: Any) -> None:
    """Raise `NotFollowed` for a generator with methods of its own that was made before the call."""
    own = [vars(generator) if hasattr(generator, "__dict__") else {}, *map(vars, type(generator).__mro__)]
    if any(name in attributes for attributes in own[: -len(base.__mro__)] for name in dir(base) if name[0] != "_"):
        raise NotFollowed(
            f"a {type(generator).__name__} with methods of its own was made before the call; make it in the function, "
            "or in its file"
        )
