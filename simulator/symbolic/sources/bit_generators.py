"""What generators of numpy draw from, recorded: `SeedSequence`, `PCG64`, `Philox` and the other bit generators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.symbolic.decide.session import Session, Stream, current, in_calls, suspended, true_only
from draftproof.simulator.symbolic.numbers.seeds import Seed, without_seeds
from draftproof.simulator.symbolic.where import refusal

_Default: Any = np.random.PCG64
_Philox: Any = np.random.Philox
_KINDS: tuple[Any, ...] = (_Default, _Philox, np.random.PCG64DXSM, np.random.SFC64, np.random.MT19937)
_Sequence: Any = np.random.SeedSequence
#: Numbers of 64 bits that one counter of Philox gives.
_A_COUNTER = 4


def _kind(source: Any) -> Any:
    """The class of numpy that a bit generator is of."""
    return next((kind for kind in _KINDS if isinstance(source, kind)), type(source))


def _state(source: Any) -> Any:
    return _kind(source).state.__get__(source)


def _sequence_of(source: Any) -> tuple[Any, int]:
    """What equal sequences of a bit generator have in common, and the place in it that its next number has."""
    kind, state = _kind(source).__name__, _state(source)["state"]
    if kind != "Philox":
        return (kind, str(state)), 0
    counter = sum(int(word) << 64 * i for i, word in enumerate(state["counter"]))
    return (kind, str(state["key"])), _A_COUNTER * counter


def _derived(session: Session, source: Any, parent: Stream, name: str) -> Any:
    """A bit generator whose state comes from the seed of a generator or sequence that this call made."""
    if parent.key is None and parent.constant is None:
        session.attach(source, session.seeded(name))
    else:
        session.attach(source, session.derived(parent.constant is not None, name, *_sequence_of(source)))
    return source


def _spawned(session: Session, source: Any, count: int) -> list[Any]:
    """Bit generators that are independent of this one and of each other."""
    kind, stream = _RECORDING[_kind(source)], session.own_stream(source)
    if stream is None:  # made before the call: every call has others
        return [kind() for _ in range(count)]
    with suspended():
        made = [kind(sequence) for sequence in source.seed_seq.spawn(count)]
    return [_derived(session, child, stream, f"a generator spawned by {stream.name}") for child in made]


def _recording(base: Any) -> Any:
    def make(self: Any, *arguments: Any, **options: Any) -> None:
        session = current()
        given = (*arguments, *options.values())
        plain = {name: without_seeds(value) for name, value in options.items()}
        unseeded = all(value is None for value in given)
        with suspended():  # numpy may ask the operating system, whose seeds differ from run to run
            base.__init__(self, *((0,) if session is not None and unseeded else without_seeds(arguments)), **plain)
        if session is None:
            return
        sequences = (session.own_stream(seed) for seed in given if isinstance(seed, _Sequence))
        sequence = next(filter(None, sequences), None)
        if sequence is not None:
            _derived(session, self, sequence, sequence.name)
        else:
            key, place = _sequence_of(self)
            session.attach(self, session.seeded(base.__name__, *given, key=key, place=place))

    def jumped(session: Session, self: Any, jumps: int = 1) -> Any:
        with suspended():
            made = base.jumped(self, jumps)
        stream = session.own_stream(self)
        if stream is None:
            raise refusal(
                f"a generator is jumped from a {base.__name__} that was made before the call, which cannot be followed",
                "spawn it: that gives another one in every call",
            )
        return _derived(session, made, stream, f"{stream.name} jumped {jumps} times")

    def advance(session: Session, self: Any, delta: int) -> Any:
        stream = session.stream_of(self)
        if stream.constant is not None:
            base.advance(self, delta)
        elif stream.key is not None:
            if not stream.uniform:
                raise refusal("a generator advances whose numbers took unknown places of it, which cannot be followed")
            words = _A_COUNTER if base is _Philox else 1
            stream.place = stream.start = (-(-stream.place // words) + int(delta)) * words
        return self

    made = {"__init__": make, "__doc__": f"A `{base.__name__}` that an audit can follow."}
    rules: dict[str, Callable[..., Any]] = {"spawn": _spawned, "jumped": jumped, "advance": advance}
    made |= {name: in_calls(getattr(base, name), rule) for name, rule in rules.items() if hasattr(base, name)}

    def own(original: Callable[..., Any], name: str) -> Any:
        return true_only(original, f"{name} of a bit generator", "draw from its generator: rng.random()")

    made |= {name: own(getattr(base, name), name) for name in ("random_raw", "__reduce__")}
    for name in ("state", "ctypes", "cffi"):
        made[name] = property(own(getattr(base, name).__get__, name), own(getattr(base, name).__set__, name))
    return type(base.__name__, (base,), made)


class RecordingSequence(_Sequence):  # type: ignore[misc]
    """A `SeedSequence` that an audit can follow."""

    def __init__(self, entropy: Any = None, **options: Any) -> None:
        session = current()
        with suspended():
            super().__init__(without_seeds(entropy), **options)
        if session is not None:
            key = self.entropy, self.spawn_key, self.pool_size
            session.attach(self, session.seeded("numpy", entropy, key=str(key)))

    def spawn(self, n_children: int) -> list[Any]:
        """See `numpy.random.SeedSequence`."""
        session = current()
        stream = None if session is None else session.own_stream(self)
        if session is not None and stream is None:  # made before the call: every call has others
            return [RecordingSequence() for _ in range(n_children)]
        with suspended():
            made = list(super().spawn(n_children))
        for child in made:
            if session is not None and stream is not None:
                session.attach(child, stream)
        return made

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """See `numpy.random.SeedSequence`; seeds where they follow from a seed."""
        session = current()
        stream = None if session is None else session.own_stream(self)
        words = super().generate_state(n_words, dtype)
        if session is None or session.real or stream is None or session.gives_true_numbers(stream):
            return words
        name = f"a word of {stream.name or 'a sequence without a seed'}"
        return np.array([Seed(name, word, drawn=True) for word in words.tolist()], dtype=object)


_RECORDING = {kind: _recording(kind) for kind in _KINDS}


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for the bit generators of `numpy.random`."""
    classes = [*_RECORDING.items(), (_Sequence, RecordingSequence)]
    return [(np.random, kind.__name__, recording) for kind, recording in classes]


def default(seed: Any) -> Any:
    """The bit generator that numpy makes of a seed."""
    return _RECORDING[_Default](seed)
