"""Numbers, rows, nodes and coins for user-defined verifiers and schemes in an exact run.

`fmpq` answers `==` with False for any float, `Fraction` or `Decimal`, so a comparison in user code could be wrong
without an error. User code therefore gets `Exact` numbers, which compare with all of these. The library computes with
`fmpq`; numbers are converted where a call of user code begins and ends.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import as_python, unmasked
from draftproof.simulator.numbers import comparable
from draftproof.simulator.protocol import Coin, Context, DraftNode, TokenProcess, Vector

#: Errors of what `Exact` numbers do not do in the current run of a thread, kept in case user code catches them.
_of_thread = threading.local()


def _refuse(error: TypeError) -> None:
    getattr(_of_thread, "refused", []).append(error)


@contextmanager
def raising_unsupported_operations() -> Iterator[None]:
    """Raise the first error of an operation that `Exact` numbers do not have, even if user code caught it."""
    refused: list[TypeError] = []
    _of_thread.refused = refused
    yield
    if refused:
        raise refused[0]


def _arithmetic(operate: Callable[[Any, Any], Any]) -> tuple[Callable[[Exact, Any], Any], Callable[[Exact, Any], Any]]:
    def forwards(self: Exact, other: Any) -> Any:
        return of(self._plain, _plain(other))

    def reflected(self: Exact, other: Any) -> Any:
        return of(_plain(other), self._plain)

    def of(left: Any, right: Any) -> Any:
        try:
            value = operate(left, right)
        except TypeError as error:
            _refuse(error)
            raise
        return Exact(value) if type(value) is fmpq else NotImplemented

    return forwards, reflected


def _comparison(operate: Callable[[Any, Any], Any]) -> Callable[[Exact, Any], Any]:
    def compare(self: Exact, other: Any) -> Any:
        if type(other) is Exact:
            return operate(self._plain, other._plain)
        if type(other) is int:
            return operate(self._plain, other)
        try:
            number = comparable(other)
        except TypeError as error:
            _refuse(error)
            raise
        if number is None:
            return NotImplemented
        return operate(0.0, number) if type(number) is float else operate(self._plain, number)  # infinite or NaN

    return compare


class Exact:
    """A rational with the arithmetic of `fmpq` and the comparisons and hash of `Fraction`.

    In comparisons a float is the dyadic number that it stands for. Arithmetic takes `Fraction`s; with floats it raises
    `TypeError`.
    """

    __slots__ = ("_plain",)

    def __init__(self, plain: fmpq) -> None:
        self._plain = plain

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return fmpq

    __add__, __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv)
    __pow__, __rpow__ = _arithmetic(operator.pow)
    __floordiv__, __rfloordiv__ = _arithmetic(operator.floordiv)
    __mod__, __rmod__ = _arithmetic(operator.mod)
    __divmod__, __rdivmod__ = _arithmetic(divmod)

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)

    def __hash__(self) -> int:
        return hash(self._plain)

    def __bool__(self) -> bool:
        return bool(self._plain)

    def __neg__(self) -> Exact:
        return Exact(-self._plain)

    def __pos__(self) -> Exact:
        return self

    def __abs__(self) -> Exact:
        return Exact(abs(self._plain))

    def __float__(self) -> float:
        return float(self._plain)

    def __int__(self) -> int:
        return int(self._plain)

    __trunc__ = __int__

    def __floor__(self) -> int:
        return math.floor(as_python(self._plain))

    def __ceil__(self) -> int:
        return math.ceil(as_python(self._plain))

    def __round__(self, digits: int | None = None) -> Any:
        rounded = round(Fraction(as_python(self._plain)), digits)
        return rounded if digits is None else Exact(fmpq(rounded.numerator, rounded.denominator))

    @property
    def numerator(self) -> int:
        return int(self._plain.p)

    @property
    def denominator(self) -> int:
        return int(self._plain.q)

    p, q = numerator, denominator

    def __str__(self) -> str:
        return str(self._plain)

    def __repr__(self) -> str:
        return repr(self._plain)

    def __format__(self, specification: str) -> str:
        return format(float(self), specification) if specification else str(self)

    def __copy__(self) -> Exact:
        return self

    def __deepcopy__(self, memory: Any) -> Exact:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Exact, (self._plain,)


def to_user(value: Any) -> Any:
    """A number, an array, or nested tuples and lists of them, with `Exact` in place of `fmpq`."""
    return _mapped(value, to_user, _exact)


def from_user(value: Any) -> Any:
    """The same with `fmpq` in place of `Exact`: what user code returned."""
    if isinstance(value, Iterator):
        return map(from_user, value)
    return _mapped(value, from_user, _plain)


def with_user_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user-defined function on `Exact` numbers as a function on `fmpq`."""
    return lambda *arguments: from_user(function(*to_user(arguments)))


def _exact(value: Any) -> Any:
    return Exact(value) if type(value) is fmpq else value


def _plain(value: Any) -> Any:
    if type(value) is Fraction:
        return fmpq(value.numerator, value.denominator)
    return value._plain if type(value) is Exact else value


def _mapped(value: Any, whole: Callable[[Any], Any], one: Callable[[Any], Any]) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value
        result = np.empty(value.size, dtype=object)
        result[:] = [one(entry) for entry in value.ravel().tolist()]
        return result.reshape(value.shape)
    if type(value) in (tuple, list):
        return type(value)(map(whole, value))
    return one(value)


class UserCoin:
    """A coin for user code, which takes `Exact` numbers."""

    def __init__(self, coin: Coin) -> None:
        self._coin = coin

    def flip(self, probability: Any) -> bool:
        return self._coin.flip(_plain(probability))

    def choose(self, weights: Any) -> int:
        shown = unmasked(weights)
        return self._coin.choose(from_user(shown if hasattr(shown, "tolist") else list(shown)))


class UserRows:
    """A process with `Exact` rows for a user-defined scheme; see `TokenProcess`."""

    def __init__(self, process: TokenProcess) -> None:
        self._process = process
        self.vocab_size = process.vocab_size

    def row(self, context: Context) -> Vector:
        """The row of a context, read-only."""
        return _copied(to_user(self._process.row(context)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return to_user(getattr(self._process, name))


class NodeView:
    """A node of a draft tree with other rows; see `DraftNode`. rows: gives `p` and `q` of a node.

    law: makes an entry of the node's `laws` that is not `q` itself the one that is shown; None where all are its `q`.
    """

    __slots__ = ("_below", "_law", "_node", "_rows", "children", "context", "draft", "target")

    def __init__(
        self,
        node: DraftNode,
        rows: Callable[[DraftNode], tuple[Vector, Vector]],
        law: Callable[[Vector], Vector] | None = None,
    ) -> None:
        self._node, self._rows, self._law = node, rows, law
        self._below: dict[int, NodeView] = {}
        self.context, self.children = node.context, node.children
        self.target, self.draft = rows(node)

    @property
    def laws(self) -> tuple[Vector, ...]:
        """See `DraftNode.laws`."""
        if self._law is None:
            return (self.draft,) * len(self.children)
        return tuple(self.draft if law is self._node.draft else self._law(law) for law in self._node.laws)

    def child(self, token: int) -> NodeView:
        """The node after a drafted token."""
        if token not in self._below:
            self._below[token] = type(self)(self._node.child(token), self._rows, self._law)
        return self._below[token]

    def __repr__(self) -> str:
        return repr(self._node)


def user_rows() -> Callable[[DraftNode], tuple[Vector, Vector]]:
    """Rows of nodes for a user-defined verifier: in its numbers, read-only, and copied so that runs share no array."""
    converted: dict[Context, tuple[Vector, Vector]] = {}

    def rows(node: DraftNode) -> tuple[Vector, Vector]:
        if node.context not in converted:
            converted[node.context] = to_user(node.target), to_user(node.draft)
        target, draft = converted[node.context]
        return _copied(target), _copied(draft)

    return rows


def user_law(law: Vector) -> Vector:
    """An entry of `DraftNode.laws` as `user_rows` makes rows."""
    return _copied(to_user(law))


def _copied(row: Vector) -> Vector:
    """A read-only copy of a row."""
    if not isinstance(row, np.ndarray):
        return row
    copied = row.copy()
    copied.setflags(write=False)
    return copied
