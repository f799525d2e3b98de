"""Keys of `jax.random` and the bits drawn with them. Needs jax.

Keys are real: `split` and `fold_in` compute them as jax does. A drawn number is identified by key and position, so one
key used twice gives the same numbers, and different keys give independent ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.lazy import jax_core, jax_module
from draftproof.simulator.symbolic.knowledge.session import Session, Stream
from draftproof.simulator.symbolic.where import caller, refusal

#: By the number of random bits: those that stay in a uniform number.
MANTISSA = {32: 23, 64: 52}


class KeyName:
    """A key by its data; its text says how it was made."""

    def __init__(self, data: tuple[int, ...], label: str) -> None:
        self.data = data
        self.label = label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyName) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def __str__(self) -> str:
        return self.label


class Bits:
    """Random bits on their way to a float. step: 0 as drawn, 1 shifted to a mantissa, 2 with the exponent of 1."""

    __slots__ = ("_known", "_make", "choose", "step", "width")

    def __init__(self, width: int, make: Callable[[], Any], choose: Callable[[int], int], step: int = 0) -> None:
        self.width = width
        self.choose = choose
        self.step = step
        self._make = make
        self._known: Any = None

    def uniform(self) -> Any:
        """The uniform number whose first binary digits they are."""
        if self._known is None:
            self._known = self._make()
        return self._known

    def then(self) -> Bits:
        """The same bits at the next step."""
        return Bits(self.width, self.uniform, self.choose, self.step + 1)


class Keys:
    """All keys of one session. array: makes an array of jax of random numbers, given its type (None: the usual)."""

    def __init__(self, session: Session, array: Callable[[Any, Any], Any]) -> None:
        self.session = session
        self.array = array
        self._labels: dict[tuple[int, ...], str] = {}
        self._widths: dict[tuple[tuple[int, ...], int], int] = {}
        self._arguments = 0

    def is_random(self, value: Any) -> bool:
        """Whether this is an array of jax with a random element."""
        return isinstance(getattr(value, "values", None), np.ndarray) and isinstance(value, jax_core.Tracer)

    def argument(self, name: str) -> Any:
        """A key for an argument of that name, unlike every other."""
        self._arguments += 1
        data = np.array([0x9E3779B9, 0x7F4A7C15 + self._arguments], dtype=np.uint32)
        self._labels[tuple(data.tolist())] = name
        with jax_core.eval_context():
            return jax_module().random.wrap_key_data(data, impl="threefry2x32")

    def seeded(self, keys: Any, seeds: Any) -> None:
        """Keys were made of seeds in this call."""
        _check(keys)
        for data, seed in zip(_data(keys), np.ravel(np.asarray(seeds)).tolist(), strict=True):
            self._labels[data] = f"key({seed})"
        self.session.region.note(
            f"the key made at {caller()} counts as made anew at every call; "
            "with one seed for ever, every call sees the same numbers"
        )

    def split(self, keys: Any, parts_made: Any) -> None:
        """Keys were split."""
        _check(keys)
        made = np.array(_data(parts_made)).reshape(len(_data(keys)), -1, _WORDS)
        for data, parts in zip(_data(keys), made.tolist(), strict=True):
            for number, part in enumerate(parts):
                self._labels.setdefault(tuple(part), f"split({self._label(data)})[{number}]")

    def folded(self, keys: Any, messages: Any, folded_keys: Any) -> None:
        """Numbers were folded into keys."""
        _check(keys)
        numbers = np.broadcast_to(np.asarray(messages), keys.shape).ravel().tolist()
        for data, number, part in zip(_data(keys), numbers, _data(folded_keys), strict=True):
            self._labels.setdefault(part, f"fold_in({self._label(data)}, {number})")

    def bits(self, keys: Any, width: int, shape: tuple[int, ...]) -> Any:
        """An object array of `Bits`, of the shape of the keys and then the shape asked for."""
        _check(keys)
        rows = np.empty((len(_data(keys)), int(np.prod(shape, dtype=np.int64))), dtype=object)
        for row, data in zip(rows, _data(keys), strict=True):
            fetch = self.session.region.next_fetch()
            for place in range(len(row)):
                row[place] = self._drawn(data, place, width, fetch)
        return rows.reshape((*keys.shape, *shape))

    def _drawn(self, data: tuple[int, ...], place: int, width: int, fetch: int) -> Bits:
        if self._widths.setdefault((data, place), width) != width:
            raise refusal(f"the jax key {self._label(data)} is drawn from twice with different numbers of bits")
        self.session.draws = None
        key = None if self.session.fresh == "seeds" else ("jax", KeyName(data, self._label(data)))

        def stream() -> Stream:
            made = Stream(key, fetch)
            made.position = place
            return made

        return Bits(
            width,
            lambda: self.session.uniform(stream(), "uniform", MANTISSA.get(width, 23)),
            lambda count: self.session.choose_uniform(stream(), count, "whole number"),
        )

    def _label(self, data: tuple[int, ...]) -> str:
        return self._labels.get(data, str(data))


_WORDS = 2


def _data(keys: Any) -> list[tuple[int, ...]]:
    """The words of every key of an array."""
    return [tuple(element) for element in np.asarray(keys._base_array).reshape(-1, _WORDS).tolist()]


def _check(keys: Any) -> None:
    name = keys._impl.name
    if name != "threefry2x32" or not jax_module().config.jax_threefry_partitionable:
        what = f"jax keys of {name}" if name != "threefry2x32" else "jax without jax_threefry_partitionable"
        raise refusal(f"{what} cannot be followed", "use the default, threefry2x32 with jax_threefry_partitionable")
