"""Whole numbers that seed generators: random ones with too many values to enumerate, and arguments called `seed`.

A generator of a known library makes of each seed numbers that are independent of those of other seeds. What code
computes of a seed by itself has no such law, and is refused instead of being taken for a constant.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import refusal, text_of

#: A random whole number with at least so many equally likely values may be a seed: two of them are rarely equal.
SEED_VALUES = 2**24


class Seed(Symbol):
    """A seed. name: in words. value: of an argument the one given, else one that stands for it: equal seeds have one.

    drawn: whether it is a random number. computed: whether it was computed from an argument; then only a generator may
    be made of it.
    """

    __slots__ = ("computed", "drawn", "name", "value")
    rank = 21

    def __init__(self, name: str, value: int, drawn: bool = False, computed: bool = False) -> None:
        self.name = name
        self.value = value
        self.drawn = drawn
        self.computed = computed

    def stands_for(self) -> type:
        """Always int."""
        return int

    def refuse(self, what: str) -> NoReturn:
        """Raise the refusal of a use other than as a seed."""
        raise refusal(
            f"{what} of {self.name}", "give it to a generator as its seed: nothing else makes random numbers of it"
        )

    def _computed(self, operation: Callable[[int, int], int], other: Any, reflected: bool) -> Any:
        number = other.value if isinstance(other, Seed) and not other.drawn else other
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            self.refuse("arithmetic")
        if self.drawn and (operation not in (operator.add, operator.sub) or (reflected and operation is operator.sub)):
            self.refuse("arithmetic")
        value = operation(int(number), self.value) if reflected else operation(self.value, int(number))
        return Seed(self.name, value, self.drawn, computed=True)

    def _compare(self, operation: str, other: Any) -> Any:
        if not isinstance(other, (int, float, Seed)):
            return NotImplemented
        if isinstance(other, Seed) and operation == "==" and (other.name, other.value) == (self.name, self.value):
            return True
        if self.drawn or self.computed or isinstance(other, Seed):
            self.refuse("a comparison")
        return _COMPARISONS[operation](self.value, other)

    def __bool__(self) -> bool:
        return bool(self._compare("==", 0) is False)

    def __repr__(self) -> str:
        return text_of(f"<{self.name}>", "a text is made of a seed")


_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
_ARITHMETIC = ("add", "sub", "mul", "mod", "floordiv", "xor", "and_", "or_", "lshift", "rshift")


def _binary(name: str, reflected: bool) -> Any:
    operation = getattr(operator, name)
    return lambda self, other: self._computed(operation, other, reflected)


def _refused(what: str) -> Any:
    return lambda self, *others: self.refuse(what)


for _name in _ARITHMETIC:
    _bare = _name.rstrip("_")
    setattr(Seed, f"__{_bare}__", _binary(_name, False))
    setattr(Seed, f"__r{_bare}__", _binary(_name, True))
for _name in ("truediv", "rtruediv", "pow", "rpow", "divmod", "neg", "abs", "invert", "round", "floor", "ceil"):
    setattr(Seed, f"__{_name}__", _refused("arithmetic"))
for _name in ("int", "trunc", "float", "index", "hash", "complex", "format"):
    setattr(Seed, f"__{_name}__", _refused(f"use as a number ({_name})"))
for _name in ("fetched", "as_array_element", "__copy__"):
    setattr(Seed, _name, lambda self, *others: self)
_RANDOM = (
    "shift", "scale", "raised", "log", "exp", "plus", "times", "minimum", "maximum", "sqrt", "as_python_float",
)  # fmt: skip
for _name in _RANDOM:
    setattr(Seed, _name, _refused("arithmetic"))


def drawn_seed(name: str, count: int = SEED_VALUES) -> Seed:
    """A random seed among so many, by its name."""
    return Seed(name, int.from_bytes(hashlib.sha256(name.encode()).digest(), "big") % count, drawn=True)


def without_seeds(value: Any) -> Any:
    """What a generator is given, with the values of seeds: the number, list or array itself where none is in it."""
    if isinstance(value, Seed):
        return value.value
    if isinstance(value, Symbol):
        raise refusal("a generator is seeded with a random number, which cannot be followed")
    if isinstance(value, (list, tuple)):
        plain = [without_seeds(item) for item in value]
        return value if all(new is old for new, old in zip(plain, value, strict=True)) else type(value)(plain)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([without_seeds(item) for item in value.ravel().tolist()]).reshape(value.shape)
    return value


def seed_words(value: Any) -> str:
    """A seed as messages name it."""
    if isinstance(value, Seed):
        return value.name if value.drawn else str(value.value)
    return f"({', '.join(map(seed_words, value))})" if isinstance(value, (list, tuple)) else str(value)
