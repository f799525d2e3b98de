"""Whole numbers that seed generators: random ones with too many values to enumerate, and arguments called `seed`.

A generator of a known library makes of each seed numbers that are independent of those of other seeds. What code
computes of a seed by itself has no such law, and is refused instead of being taken for a constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from draftproof.simulator.symbolic.numbers.symbol import Symbol
from draftproof.simulator.symbolic.where import refusal, text_of

#: A random whole number with at least so many equally likely values may be a seed: two of them are rarely equal.
SEED_VALUES = 2**24


class Seed(Symbol):
    """A seed. name: in words. known: its value, None for a random one. offset: what was added to a random one.

    mixed: whether it was computed from a known seed; then only a generator may be made of it.
    """

    __slots__ = ("known", "mixed", "name", "offset")
    rank = 21

    def __init__(self, name: str, known: int | None = None, offset: int = 0, mixed: bool = False) -> None:
        self.name = name
        self.known = known
        self.offset = offset
        self.mixed = mixed

    @property
    def key(self) -> Any:
        """Equal for equal seeds."""
        return (self.name, self.offset) if self.known is None else self.known

    def stands_for(self) -> type:
        """Always int."""
        return int

    def refuse(self, what: str) -> NoReturn:
        """Raise the refusal of a use other than as a seed."""
        raise refusal(
            f"{what} of {self.name}", "give it to a generator as its seed: nothing else makes random numbers of it"
        )

    def _computed(self, operation: Callable[[int, int], int], other: Any, swapped: bool) -> Any:
        number = other.known if isinstance(other, Seed) else other
        if isinstance(number, bool) or not isinstance(number, int):
            self.refuse("arithmetic")
        if self.known is not None:
            value = operation(number, self.known) if swapped else operation(self.known, number)
            return Seed(self.name, value, mixed=True)
        if operation is operator.add:
            return Seed(self.name, offset=self.offset + number)
        if operation is operator.sub and not swapped:
            return Seed(self.name, offset=self.offset - number)
        self.refuse("arithmetic")

    def _compare(self, operation: str, other: Any) -> Any:
        if not isinstance(other, (int, float, Seed)):
            return NotImplemented
        if isinstance(other, Seed) and operation == "==" and other.key == self.key:
            return True
        if self.known is None or self.mixed or isinstance(other, Seed):
            self.refuse("a comparison")
        return _COMPARISONS[operation](self.known, other)

    def __bool__(self) -> bool:
        return bool(self._compare("==", 0) is False)

    def __repr__(self) -> str:
        return text_of(f"<{self.name}>", "a text is made of a seed")


_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
_ARITHMETIC = ("add", "sub", "mul", "mod", "floordiv", "xor", "and_", "or_", "lshift", "rshift")


def _binary(name: str, swapped: bool) -> Any:
    operation = getattr(operator, name)
    return lambda self, other: self._computed(operation, other, swapped)


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
for _name in (
    "shift",
    "scale",
    "raised",
    "log",
    "exp",
    "plus",
    "times",
    "minimum",
    "maximum",
    "sqrt",
    "as_python_float",
):
    setattr(Seed, _name, _refused("arithmetic"))


def seed_value(seed: Any) -> Any:
    """A seed, or a list of them, as a number that any generator takes, and as a hashable key."""
    if isinstance(seed, Seed):
        return 0, seed.key
    if isinstance(seed, (list, tuple)) and any(isinstance(item, Seed) for item in seed):
        return 0, tuple(item.key if isinstance(item, Seed) else int(item) for item in seed)
    return seed, seed
