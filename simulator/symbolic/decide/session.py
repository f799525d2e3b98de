"""One call of an audited function: its random variables, its generators and the notes for the report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, update_wrapper
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

from flint import fmpq, fmpz

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.generators import generator_state
from draftproof.simulator.protocol import Coin
from draftproof.simulator.symbolic.decide.compare import count_below
from draftproof.simulator.symbolic.decide.memory import Memory
from draftproof.simulator.symbolic.decide.region import AS_IT_IS, Region, Settings
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO
from draftproof.simulator.symbolic.numbers.forms import Linear
from draftproof.simulator.symbolic.numbers.seeds import SEED_VALUES, Seed, drawn_seed, seed_words, without_seeds
from draftproof.simulator.symbolic.numbers.stepped import Grid, Stepped
from draftproof.simulator.symbolic.where import caller, refusal

#: The largest value below 1 of a generator with so many random bits: of numpy and torch.
LARGEST = {bits: ONE - fmpq(1, fmpz(2) ** bits) for bits in (53, 24)}
#: More equally likely outcomes than this are refused as too many to enumerate.
MAX_OUTCOMES = 4096
#: More draws from generators with a constant seed in one call are a loop that may go on for ever.
MOST_TRUE_DRAWS = 100_000

#: Places of one sequence that are closer than this may be reached by draws from both.
WINDOW = 2**32


class Draw(NamedTuple):
    """One random number of a run: "uniform", "stepped", "exponential" or "gumbel", a "choice", a "seed", a "generator".

    answer: its variable, the outcome, the value of the seed, or whether the generator has a constant seed. side: of an
    exponential variable, see `forms`. bits: of the generator. weights: of a choice.
    """

    kind: str
    answer: int
    side: int = 0
    bits: int = 53
    weights: tuple[Any, ...] = ()


@dataclass
class Stream:
    """The numbers of one generator, in order.

    name: in words. key: of the sequence that its seed determines; None for a sequence of its own, which no other
    generator has. place: in that sequence. uniform: whether it gave uniform numbers only, one for each place. constant:
    the line where it got a seed that is the same in every call; then it gives the true numbers.
    """

    fetch: int
    name: str = ""
    key: Any = None
    place: int = 0
    uniform: bool = True
    constant: str | None = None

    def __post_init__(self) -> None:
        self.start = self.place


@dataclass
class _Number:
    """A number of a seeded sequence: its kind, and its variable or outcome once drawn, with the line of an outcome."""

    kind: Any
    drawn: Any = None
    line: str = ""


class Session:
    """Random numbers of one call.

    reuse: random numbers that decide twice. boundary_events: coins with boundary values. notes: what the exact law
    assumes. tensors: the symbols in torch's tensors, where torch is loaded.
    draws: everything drawn, in order; None where a replay on real numbers is not possible. memory: what is found in
    memory that nothing was written to. constants: generators with a constant seed that were drawn from, in words.
    """

    real = False  # whether it gives real numbers

    def __init__(self, coin: Coin, settings: Settings = AS_IT_IS, boundary_coin: Coin | None = None) -> None:
        self.coin = coin
        self.region = Region(coin, settings, boundary_coin)
        self.reuse, self.boundary_events, self.notes = self.region.reuse, self.region.events, self.region.notes
        self.settings = settings
        self.memory = Memory(settings.content)
        self.tensors: Any = None
        self.failure: InvalidVerifier | None = None
        self.draws: list[Draw] | None = []
        self.constants: dict[str, None] = {}
        self._true_draws = 0
        self._reseeded: dict[str, Callable[[], Any]] = {}
        self._named: dict[tuple[Any, int], _Number] = {}
        self._outer: dict[int, tuple[Any, Stream, Any]] = {}
        self._windows: dict[Any, list[Stream]] = {}
        self._global: dict[str, Stream] = {}
        self._drawn: dict[tuple[str, str], int] = {}

    # Generators.
    def seeded(self, library: str, *seeds: Any, key: Any = None, place: int = 0) -> Stream:
        """The stream of a generator that gets these seeds in this call; None stands for no seed.

        key: of the sequence, that of the seeds if not given. place: in that sequence.
        """
        given = [seed for seed in seeds if seed is not None]
        if not given:
            return Stream(self.region.next_fetch())
        plain = without_seeds(given)
        name = f"the {library} generator with seed {', '.join(map(seed_words, given))}"
        return self.derived(plain is given, name, (library, repr(plain)) if key is None else (library, key), place)

    def derived(self, constant: bool, name: str, key: Any, place: int = 0) -> Stream:
        """The stream of a generator with a seed, constant or not."""
        constant, fetch = self._is_constant(constant), self.region.next_fetch()
        if self.settings.apart == "seeds":
            return Stream(fetch)
        if constant:
            return Stream(fetch, name, constant=caller())
        stream = Stream(fetch, name, key, place)
        self._windows.setdefault(key, []).append(stream)
        return stream

    def _is_constant(self, constant: bool) -> bool:
        if self.draws is not None:
            self.draws.append(Draw("generator", constant))
        return constant

    def attach(self, owner: Any, stream: Stream) -> None:
        """A generator object was made, or seeded, in this call."""
        owner._draftproof_stream = self, stream

    def own_stream(self, owner: Any) -> Stream | None:
        """The stream of a generator object that this call made or seeded; None for any other."""
        session, stream = getattr(owner, "_draftproof_stream", (None, None))
        return stream if session is self else None

    def stream_of(self, owner: Any) -> Stream:
        """The stream of a generator object, of its own where the call did not make it."""
        stream = self.own_stream(owner)
        if stream is not None:
            return stream
        if id(owner) not in self._outer:
            now = _state(owner)
            if any(now == other for _, _, other in self._outer.values()):
                raise refusal(
                    f"two generators ({type(owner).__name__}) that were made before the call give the same numbers",
                    "give them different seeds, or use one",
                )
            self._outer[id(owner)] = owner, Stream(self.region.next_fetch()), now
        return self._outer[id(owner)][1]

    def global_stream(self, library: str, owner: Any) -> Stream:
        """The stream of the generator behind the module functions of "random", "numpy" or "torch"."""
        return self._global.get(library) or self.stream_of(owner)

    def seed_global(self, library: str, stream: Stream, state: tuple[Callable[[], Any], Callable[[Any], Any]]) -> bool:
        """The module functions were seeded in this call; whether the true generator must be.

        state: how the state of the true one is taken and put back.
        """
        self._global[library] = stream
        if stream.constant is not None:
            self._reseeded.setdefault(library, partial(state[1], state[0]()))
        return stream.constant is not None

    def restore_generators(self) -> None:
        """Put true global generators that were seeded back into the state that they had before."""
        for restore in self._reseeded.values():
            restore()

    def gives_true_numbers(self, stream: Stream) -> bool:
        """Whether a draw gives the true number, as the seed is constant; this is noted."""
        if stream.constant is None:
            return False
        what = f"the generator is seeded with a constant at {stream.constant}: every call draws the same numbers"
        self.constants[what] = None
        self.region.note(what)
        self._true_draws += 1
        if self._true_draws > MOST_TRUE_DRAWS:
            raise refusal(f"one call has {self._true_draws:,} draws with a constant seed: a loop may go on for ever")
        return True

    # Draws.
    def uniform(self, stream: Stream, what: str, bits: int = 53) -> Any:
        """The next uniform number of a generator with so many random bits."""
        kind = "uniform" if bits == 53 else f"uniform of {bits} bits"
        return Linear(0, ((self._drew("uniform", self._draw(stream, kind, what, LARGEST[bits]), 0, bits), ONE, 0),))

    def stepped(self, stream: Stream, grid: Grid, what: str) -> Any:
        """The next uniform number of 16 bits."""
        return Stepped(self._drew("stepped", self._draw(stream, f"uniform of {grid.dtype}", what, None), 0, 24), grid)

    def placed_uniform(self, stream: Stream, position: int, what: str, bits: int = 53) -> Any:
        """The uniform number at a position of a counter-based generator."""
        self.draws = None  # kernels of Triton
        stream.place = position
        return self.uniform(stream, what, bits)

    def placed_seed(self, name: str) -> Any:
        """The random whole number of this name of a counter-based generator, as a seed."""
        self.draws = None
        self.region.note("seeds that are random numbers of counter-based generators count as all different")
        return drawn_seed(name)

    def exponential(self, stream: Stream, what: str, inverse: bool = False) -> Any:
        """The next exponential number of rate 1; inverse: the generator computes `-log(1 - u)` of its next uniform."""
        if inverse and (stream.key is not None or self.settings.boundary):
            return Linear(
                1, ((self._drew("exponential", self._draw(stream, "uniform", what, LARGEST[53]), 1), ONE, 1),)
            )
        return Linear(1, ((self._drew("exponential", self._draw(stream, "exponential", what, None)), ONE, 0),))

    def argument(self, name: str, kind: str, bits: int) -> Any:
        """A coin that is an argument: "uniform", "exponential", "gumbel"."""
        variable = self.region.variable(name, LARGEST[bits] if kind == "uniform" else None)
        drawn = Linear(0 if kind == "uniform" else 1, ((self._drew(kind, variable, 0, bits), ONE, 0),))
        return -drawn.log() if kind == "gumbel" else drawn

    def _drew(self, kind: str, variable: Any, side: int = 0, bits: int = 53) -> Any:
        if self.draws is not None:
            self.draws.append(Draw(kind, variable.index, side, bits))
        return variable

    def _draw(self, stream: Stream, kind: str, what: str, largest: fmpq | None) -> Any:
        if stream.key is None:
            return self.region.variable(self._name_of_next(what), largest)
        number = self._taken(stream, kind)
        if number.drawn is None:
            number.drawn = self.region.variable(f"{what} number {stream.place - 1} of {stream.name}", largest)
        return self.region.refetch(number.drawn, stream.fetch)

    def choose(self, stream: Stream, weights: Sequence[Any], what: str) -> int:
        """An index with probability proportional to its weight (exact numbers)."""
        if len(weights) == 1:
            return 0
        outcome = self._chosen(stream, weights, what)
        if self.draws is not None:
            self.draws.append(Draw("choice", outcome, weights=tuple(weights)))
        return outcome

    def _chosen(self, stream: Stream, weights: Sequence[Any], what: str) -> int:
        if len(weights) > MAX_OUTCOMES:
            raise refusal(f"{what} has {len(weights):,} outcomes, too many to enumerate")
        if stream.key is None:
            return int(self.coin.choose(list(weights)))
        number = self._taken(stream, tuple(weights))
        if number.drawn is None:
            number.drawn, number.line = int(self.coin.choose(list(weights))), caller()
        else:
            self.region.note_reuse(f"{what} number {stream.place - 1} of {stream.name}", number.line)
        return int(number.drawn)

    def search(self, stream: Stream, weights: Sequence[Any], what: str) -> int:
        """Likewise, where the generator finds the index by comparing its next uniform with cumulative sums."""
        if stream.key is None:
            return self.choose(stream, weights, what)
        total = sum(weights, start=ZERO)
        if not total > 0:
            raise ValueError("the weights must be positive in sum")
        edges = [item / total for item in accumulate(weights)][:-1]
        return count_below(self.region, self.uniform(stream, what), edges, strict=False)

    def _taken(self, stream: Stream, kind: Any) -> _Number:
        """The next number of a stream, which goes on; two of one sequence must agree on its kind."""
        stream.uniform = stream.uniform and kind == "uniform"
        others = [other for other in self._windows.get(stream.key, ()) if abs(other.place - stream.place) < WINDOW]
        apart = any(other.start != stream.start for other in others)
        number = self._named.setdefault((stream.key, stream.place), _Number(kind))
        if number.kind != kind or (apart and not all(other.uniform for other in others)):
            raise refusal(
                f"two generators are {stream.name} and draw different things from it, "
                "whose dependence cannot be followed"
            )
        stream.place += 1
        return number

    def choose_uniform(self, stream: Stream, count: int, what: str) -> Any:
        """One of `count` equally likely indices; a `Seed` where there are enough values for one."""
        if count >= SEED_VALUES:
            return self._seed(stream, count, what)
        if count > MAX_OUTCOMES:
            raise refusal(f"{what} has {count:,} outcomes, too many to enumerate")
        return self.choose(stream, (ONE,) * count, what)

    def _seed(self, stream: Stream, count: int, what: str) -> Any:
        if stream.key is None:
            name = self._name_of_next(what)
        else:
            self._taken(stream, ("seed", count))
            name = f"{what} number {stream.place - 1} of {stream.name}"
        self.region.note(f"seeds of {count:,} values drawn at {caller()} count as all different")
        return self.random_seed(name, count)

    def _name_of_next(self, what: str) -> str:
        """The name of the next number of this kind that is drawn at the running line."""
        line = caller()
        self._drawn[what, line] = number = self._drawn.get((what, line), -1) + 1
        return f"{what} number {number} drawn at {line}"

    def random_seed(self, name: str, count: int = SEED_VALUES) -> Any:
        """A random seed by its name; a real one where the session gives real numbers."""
        if self.draws is not None:
            self.draws.append(Draw("seed", len(self.draws)))
        return drawn_seed(name, count)

    def given_seed(self, name: str, value: int) -> Any:
        """An argument of the function that is a seed."""
        return Seed(f"the argument {name}", value)

    # Watching.
    def moved(self) -> str | None:
        """The type of a generator whose true state changed, which no recorded draw does; None for none."""
        moved = (type(owner).__name__ for owner, _, before in self._outer.values() if _state(owner) != before)
        return next(moved, None)

    def failed(self, error: InvalidVerifier) -> None:
        """Keep the first refusal, in case the function catches it."""
        self.failure = self.failure or error


class _Calls(threading.local):
    """The sessions of a thread: what other threads draw is no part of a call."""

    def __init__(self) -> None:
        self.stack: list[Session | None] = []


_calls = _Calls()


def current() -> Session | None:
    """The session of the running call, None outside of calls."""
    stack = _calls.stack
    return stack[-1] if stack else None


def in_calls(original: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in whose place a call has `rule(session, *arguments)`."""

    def function(*arguments: Any, **options: Any) -> Any:
        session = current()
        return original(*arguments, **options) if session is None else rule(session, *arguments, **options)

    return update_wrapper(function, original, ("__name__", "__doc__"))


def refused_in_calls(original: Callable[..., Any], what: str, way_out: str = "") -> Callable[..., Any]:
    """The function, which is refused in a call."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise refusal(what, way_out)

    return in_calls(original, refused)


def true_only(
    original: Callable[..., Any],
    what: str,
    way_out: str = "",
    stream: Callable[[Session, Any], Stream] = Session.stream_of,
) -> Callable[..., Any]:
    """The method of a generator, which a call refuses unless its seed is constant, and so its numbers are true."""

    def rule(session: Session, generator: Any, *arguments: Any, **options: Any) -> Any:
        if not session.gives_true_numbers(stream(session, generator)):
            raise refusal(f"{what} cannot be followed", way_out)
        return original(generator, *arguments, **options)

    return in_calls(original, rule)


def followed() -> bool:
    """Whether a call is running whose random numbers are symbols."""
    session = current()
    return session is not None and not session.real


def enter(session: Session) -> None:
    """Make a session the current one."""
    _calls.stack.append(session)


def leave() -> None:
    """Make the session before the current one; symbols of this session are refused from now on."""
    session = _calls.stack.pop()
    if session is not None:
        session.region.closed = True


def _state(generator: Any) -> Any:
    with suspended():
        return generator_state(generator)


@contextmanager
def suspended() -> Iterator[None]:
    """Within it recording functions behave as the originals."""
    _calls.stack.append(None)
    try:
        yield
    finally:
        _calls.stack.pop()
