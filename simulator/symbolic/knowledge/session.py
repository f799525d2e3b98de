"""One call of an audited function: its random variables, its generators and the notes for the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz

from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.protocol import Coin
from draftproof.simulator.symbolic.knowledge.compare import count_below
from draftproof.simulator.symbolic.knowledge.memory import Memory
from draftproof.simulator.symbolic.knowledge.region import BoundaryEvent, Region, Reuse
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO
from draftproof.simulator.symbolic.numbers.forms import Linear
from draftproof.simulator.symbolic.numbers.seeds import SEED_VALUES, Seed, seed_value
from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import caller, refusal

#: The largest value below 1 of a generator with so many random bits: of numpy and torch.
LARGEST = {bits: ONE - fmpq(1, fmpz(2) ** bits) for bits in (53, 24)}
#: More equally likely outcomes than this are refused as too many to enumerate.
MAX_OUTCOMES = 4096
#: What `fresh` may be.
FRESH = (None, "seeds", "fetches", "races", "second races")


class Draw(NamedTuple):
    """One random number of a run: "uniform", "exponential" or "gumbel", a "choice" or a "seed".

    answer: its variable, the outcome, or the value of the seed. side: of an exponential variable, see `forms`. bits: of
    the generator. weights: of a choice.
    """

    kind: str
    answer: int
    side: int = 0
    bits: int = 53
    weights: tuple[Any, ...] = ()


class Stream:
    """The numbers of one generator, in order. key: its library and seed, None without a seed."""

    __slots__ = ("fetch", "key", "position")

    def __init__(self, key: Any, fetch: int) -> None:
        self.key = key
        self.fetch = fetch
        self.position = 0


class Session:
    """Random numbers of one call.

    reuse: random numbers that decide twice. boundary_events: coins with boundary values. notes: what the exact law
    assumes. tensors: the symbols in torch's tensors, where torch is loaded.
    draws: everything drawn, in order; None where a replay on real numbers is not possible. memory: what is found in
    memory that nothing was written to.
    """

    real = False  # whether it gives real numbers

    def __init__(
        self, coin: Coin, boundary: bool = False, fresh: str | None = None, boundary_coin: Coin | None = None
    ) -> None:
        if fresh not in FRESH:
            raise InvalidInput(f"fresh = {fresh!r}; give 'seeds', 'fetches', 'races', 'second races' or None")
        self.coin = coin
        self.region = Region(coin, boundary, boundary_coin)
        self.fresh = fresh
        self.memory = Memory()
        self.region.races_apart = fresh == "races"
        self.region.second_races_apart = fresh == "second races"
        self.tensors: Any = None
        self.failure: InvalidVerifier | None = None
        self.draws: list[Draw] | None = []
        self._named: dict[Any, Any] = {}
        self._streams: dict[int, tuple[Any, Stream]] = {}
        self._states: list[tuple[Any, str]] = []
        self._global: dict[str, Stream] = {}
        self._kinds: dict[Any, Any] = {}
        self._drawn: dict[tuple[str, str], int] = {}

    @property
    def reuse(self) -> list[Reuse]:
        return self.region.reuse

    @property
    def boundary_events(self) -> list[BoundaryEvent]:
        return self.region.events

    @property
    def notes(self) -> list[str]:
        return self.region.notes

    # Generators.
    def stream(self, key: Any) -> Stream:
        """A new generator; key: its library and seed, None if it has none."""
        if key is not None:
            self.region.note(
                f"the generator seeded at {caller()} counts as seeded anew at every call; "
                "with one seed for ever, every call sees the same numbers"
            )
        return Stream(None if self.fresh == "seeds" else key, self.region.next_fetch())

    def stream_of(self, owner: Any) -> Stream:
        """The stream of a generator object: by its seed if the call made it, else one of its own."""
        own: tuple[Any, Stream] | None = getattr(owner, "_draftproof_stream", None)
        if own is not None and own[0] is self:
            return own[1]
        owner = getattr(owner, "bit_generator", owner)  # several numpy generators may draw from one
        self.attach_source(owner, None)
        return self._streams[id(owner)][1]

    def attach(self, owner: Any, key: Any) -> None:
        """A generator object was made, or seeded, in this call."""
        owner._draftproof_stream = self, self.stream(key)

    def attach_source(self, source: Any, key: Any) -> None:
        """A generator draws from the bit generator `source`, which others may share."""
        if id(source) not in self._streams:
            self._streams[id(source)] = source, self.stream(key)
            self._states.append((source, _state(source)))

    def global_stream(self, library: str) -> Stream:
        """The generator behind the module functions of "python", "numpy" or "torch"."""
        if library not in self._global:
            self._global[library] = self.stream(None)
        return self._global[library]

    def seed_global(self, library: str, key: Any) -> None:
        """The module functions were seeded in this call."""
        self._global[library] = self.stream(key)

    # Draws.
    def uniform(self, stream: Stream, what: str, bits: int = 53) -> Any:
        """The next uniform number of a generator with so many random bits."""
        return Linear(
            0, ((self._drew("uniform", self._draw(stream, "uniform", what, LARGEST[bits]), 0, bits), ONE, 0),)
        )

    def placed_uniform(self, stream: Stream, position: int, what: str, bits: int = 53) -> Any:
        """The uniform number at a position of a counter-based generator."""
        self.draws = None  # kernels of Triton
        stream.position = position
        return self.uniform(stream, what, bits)

    def placed_seed(self, key: Any, position: int, what: str) -> Any:
        """The random whole number at a position of a counter-based generator, as a seed."""
        self.draws = None
        self.region.note("seeds that are random numbers of counter-based generators count as all different")
        return Seed(f"{what} number {position} of {_describe(key)}")

    def exponential(self, stream: Stream, what: str, inverse: bool = False) -> Any:
        """The next exponential number of rate 1; inverse: the generator computes `-log(1 - u)` of its next uniform."""
        if inverse and (stream.key is not None or self.region.boundary):
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
            line = caller()
            self._drawn[what, line] = self._drawn.get((what, line), -1) + 1
            return self.region.variable(f"{what} number {self._drawn[what, line]} drawn at {line}", largest)
        key = stream.key, kind, stream.position
        self._check_kind(stream, kind)
        stream.position += 1
        known = self._named.get(key)
        if known is None:
            known = self.region.variable(f"{what} number {key[2]} of {_describe(stream.key)}", largest)
            self._named[key] = known
        return self.region.refetch(known, stream.fetch, fresh=False)

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
        key = stream.key, "choice", stream.position, tuple(weights)
        self._check_kind(stream, key[3])
        stream.position += 1
        if key in self._named:
            outcome, line = self._named[key]
            reuse = Reuse(f"{what} number {key[2]} of {_describe(stream.key)}", line, caller())
            if reuse not in self.region.reuse:
                self.region.reuse.append(reuse)
            return int(outcome)
        outcome = int(self.coin.choose(list(weights)))
        self._named[key] = outcome, caller()
        return outcome

    def search(self, stream: Stream, weights: Sequence[Any], what: str) -> int:
        """Likewise, where the generator finds the index by comparing its next uniform with cumulative sums."""
        if stream.key is None:
            return self.choose(stream, weights, what)
        total = sum(weights, start=ZERO)
        if not total > 0:
            raise ValueError("the weights must be positive in sum")
        edges = [item / total for item in accumulate(weights)][:-1]
        return count_below(self.region, self.uniform(stream, what), edges, strict=False)

    def _check_kind(self, stream: Stream, kind: Any) -> None:
        """Two generators with one seed must draw the same kind of number at each place."""
        if self._kinds.setdefault((stream.key, stream.position), kind) != kind:
            raise refusal(
                f"two generators are {_describe(stream.key)} and draw different things from it, "
                "whose dependence cannot be followed"
            )

    def choose_uniform(self, stream: Stream, count: int, what: str) -> Any:
        """One of `count` equally likely indices; a `Seed` where there are enough values for one."""
        if count >= SEED_VALUES:
            return self._seed(stream, count, what)
        if count > MAX_OUTCOMES:
            raise refusal(f"{what} has {count:,} outcomes, too many to enumerate")
        return self.choose(stream, (ONE,) * count, what)

    def _seed(self, stream: Stream, count: int, what: str) -> Any:
        if stream.key is None:
            line = caller()
            self._drawn[what, line] = number = self._drawn.get((what, line), -1) + 1
            name = f"{what} number {number} drawn at {line}"
        else:
            self._check_kind(stream, ("seed", count))
            name = f"{what} number {stream.position} of {_describe(stream.key)}"
            stream.position += 1
        self.region.note(f"seeds of {count:,} values drawn at {caller()} count as all different")
        return self.random_seed(name)

    def random_seed(self, name: str) -> Any:
        """A random seed by its name; a real one where the session gives real numbers."""
        if self.draws is not None:
            self.draws.append(Draw("seed", len(self.draws)))
        return Seed(name)

    def given_seed(self, name: str, value: int) -> Any:
        """An argument of the function that is a seed."""
        return Seed(f"the argument {name}", value)

    # Watching.
    def moved(self) -> str | None:
        """The type of a numpy bit generator whose true state changed, which no recorded draw does; None for none."""
        return next((type(source).__name__ for source, state in self._states if _state(source) != state), None)

    def failed(self, error: InvalidVerifier) -> None:
        """Keep the first refusal, in case the function catches it."""
        self.failure = self.failure or error


def _state(source: Any) -> str:
    """The true state of a bit generator of numpy; nothing for other generators."""
    return str(source.state) if isinstance(source, np.random.BitGenerator) else ""


def _describe(key: Any) -> str:
    seed = key[1]
    if isinstance(seed, tuple) and len(seed) == 2 and isinstance(seed[0], str):  # that of a `Seed`: its name, an offset
        seed = seed[0] if seed[1] == 0 else f"{seed[0]} + {seed[1]}"
    return f"the {key[0]} generator with seed {seed}"


_stack: list[Session | None] = []


def current() -> Session | None:
    """The session of the running call, None outside of calls."""
    return _stack[-1] if _stack else None


def followed() -> bool:
    """Whether a call is running whose random numbers are symbols."""
    return bool(_stack) and _stack[-1] is not None and not _stack[-1].real


def enter(session: Session) -> None:
    """Make a session the current one."""
    _stack.append(session)


def leave() -> None:
    """Make the session before the current one; symbols of this session are refused from now on."""
    session = _stack.pop()
    if session is not None:
        session.region.closed = True


@contextmanager
def suspended() -> Iterator[None]:
    """Within it recording functions behave as the originals."""
    _stack.append(None)
    try:
        yield
    finally:
        _stack.pop()


def seed_key(library: str, seed: Any) -> Any:
    """The key of a generator, its library and seed; None without a seed."""
    if seed is None:
        return None
    _, key = seed_value(seed)
    if key is not seed:
        return library, key
    if isinstance(seed, Symbol):
        raise refusal("a generator is seeded with a random number, which cannot be followed")
    if isinstance(seed, (list, tuple, np.ndarray)):
        seed = tuple(np.ravel(np.asarray(seed)).tolist())
    if isinstance(seed, np.integer):
        seed = int(seed)
    return library, seed
