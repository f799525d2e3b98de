"""`numpy.random`, recorded: the functions of old, `RandomState`, `default_rng` and `Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from draftproof.simulator.symbolic.knowledge.session import Session, Stream, current, seed_key, suspended
from draftproof.simulator.symbolic.sources.numpy_draws import NEW, OLD
from draftproof.simulator.symbolic.where import refusal


def _apply(table: dict[str, Any], name: str, s: Session, g: Stream, arguments: Any, options: Any) -> Any:
    if name not in table:
        raise refusal(f"numpy.random {name} cannot be enumerated")
    return table[name](s, g, *arguments, **options)


def _recorded_method(table: dict[str, Any], name: str, original: Any) -> Any:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        session = current()
        if session is None:
            return original(self, *arguments, **options)
        return _apply(table, name, session, session.stream_of(self), arguments, options)

    method.__name__ = name
    return method


def _methods(base: Any, table: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in dir(base) if not name.startswith("_") and callable(getattr(base, name))]
    found = {name: _recorded_method(table, name, getattr(base, name)) for name in names if name != "seed"}
    return found | {name: _uncopied(getattr(base, name)) for name in ("__reduce__", "__getstate__")}


def _uncopied(original: Any) -> Any:
    def method(self: Any) -> Any:
        if current() is not None:
            raise refusal("a copy of a numpy generator cannot be followed", "make two generators, or use one")
        return original(self)

    return method


def _make_generator(self: Any, bit_generator: Any) -> None:
    _Generator.__init__(self, bit_generator)
    session = current()
    if session is not None:
        sequence = getattr(bit_generator, "seed_seq", None)
        entropy = (getattr(sequence, "entropy", None), getattr(sequence, "spawn_key", ()))
        key = None if entropy[0] is None else seed_key(type(bit_generator).__name__, entropy[0])
        session.attach_source(bit_generator, key and (*key, entropy[1]))


def _make_state(self: Any, seed: Any = None) -> None:
    session = current()
    with suspended():  # numpy asks the operating system even where a seed is given
        _RandomState.__init__(self, 0 if session is not None else seed)
    if session is not None:
        session.attach(self, seed_key("numpy", seed))


def _seed_state(self: Any, seed: Any = None) -> None:
    session = current()
    if session is None:
        _RandomState.seed(self, seed)
    else:
        session.attach(self, seed_key("numpy", seed))


_Generator: Any = np.random.Generator
_RandomState: Any = np.random.RandomState
_DEFAULT_RNG = np.random.default_rng

RecordingGenerator: Any = type(
    "Generator",
    (_Generator,),
    _methods(_Generator, NEW) | {"__init__": _make_generator, "__doc__": "A numpy generator that an audit can follow."},
)
RecordingState: Any = type(
    "RandomState",
    (_RandomState,),
    _methods(_RandomState, OLD)
    | {"__init__": _make_state, "seed": _seed_state, "__doc__": "A numpy `RandomState` that an audit can follow."},
)


def recorded_default_rng(seed: Any = None) -> Any:
    """`numpy.random.default_rng` with a recording generator."""
    if isinstance(seed, RecordingGenerator):
        return seed
    if current() is None:
        return RecordingGenerator(_DEFAULT_RNG(seed).bit_generator)
    if seed is None:
        source = np.random.PCG64(0)
        current().attach_source(source, None)  # type: ignore[union-attr]
        return RecordingGenerator(source)
    seed_key("numpy", seed)  # refuses a random seed
    return RecordingGenerator(seed if isinstance(seed, np.random.BitGenerator) else np.random.PCG64(seed))


def _recorded_function(name: str, original: Any) -> Any:
    def function(*arguments: Any, **options: Any) -> Any:
        session = current()
        if session is None:
            return original(*arguments, **options)
        if name == "seed":
            seed = arguments[0] if arguments else options.get("seed")
            return session.seed_global("numpy", seed_key("numpy", seed))
        return _apply(OLD, name, session, session.global_stream("numpy"), arguments, options)

    function.__name__ = name
    return function


def replacements() -> list[tuple[Any, str, Any]]:
    """(holder, name, what to put there) for `numpy.random`."""
    module: Any = np.random
    found: list[tuple[Any, str, Any]] = [
        (module, "Generator", RecordingGenerator),
        (module, "RandomState", RecordingState),
        (module, "default_rng", recorded_default_rng),
    ]
    names = [name for name in dir(_RandomState) if not name.startswith("_")] + ["ranf", "sample"]
    for name in dict.fromkeys(names):
        original = getattr(module, name, None)
        if callable(original):
            found.append((module, name, _recorded_function(name, original)))
    return found


def swapped(value: Any) -> Any:
    """A recording object for a generator made before the call; None for anything else."""
    if isinstance(value, _Generator) and not isinstance(value, RecordingGenerator):
        return RecordingGenerator(np.random.PCG64(0))
    if isinstance(value, _RandomState) and not isinstance(value, RecordingState):
        return RecordingState(0)
    return None


def state() -> Any:
    """The true state of numpy's global generator."""
    kind, key, position, *rest = _GET_STATE()
    return kind, key.tobytes(), position, *rest


# The originals, taken before they are replaced.
_GET_STATE: Any = getattr(np.random, "get_state")  # noqa: B009
_SET_STATE: Any = getattr(np.random, "set_state")  # noqa: B009

#: How the true state of the global generator is taken and put back.
STATE: Any = _GET_STATE, _SET_STATE
