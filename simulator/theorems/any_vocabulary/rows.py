"""Rows of a run for every vocabulary size: one pair of coefficients for each class, not one number for each token."""

from __future__ import annotations

import fractions
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.theorems.algebra.polynomials import NEGATIVE, POSITIVE, ZERO
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.any_vocabulary.tokens import Context, Token, asked_by_others
from draftproof.simulator.theorems.proof.numbers import MEMORY, Number, refusal
from draftproof.simulator.theorems.proof.watch import HasState

if TYPE_CHECKING:
    from draftproof.simulator.theorems.any_vocabulary.runs import ClassRun


_not_linear = refusal("a row took part in what is not linear")


class Entries:
    """What has an entry for each token of a row, of which code may do nothing but what a class of this kind adds."""

    __slots__ = ("context", "of_run")
    context: Context
    of_run: ClassRun

    __len__ = refusal("the length of a row was asked for")
    __iter__ = refusal("the entries of a row were visited one by one")
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _compared = refusal(
        "the entries of a row were compared for equality, or with what is no row of the same node and not 0"
    )
    __hash__ = refusal("a row was hashed")
    __pow__ = __rpow__ = __ipow__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = (
        _not_linear
    )
    __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = _not_linear
    __rlshift__ = __rshift__ = __rrshift__ = __ifloordiv__ = __imod__ = __imatmul__ = __rtruediv__ = _not_linear
    __abs__ = __invert__ = __delitem__ = __contains__ = __bool__ = __reversed__ = _not_linear
    __int__ = __float__ = __complex__ = __index__ = __round__ = __array__ = _not_linear
    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __imul__ = _not_linear
    __truediv__ = __itruediv__ = __neg__ = __pos__ = __copy__ = __getitem__ = __setitem__ = _not_linear
    __repr__ = __str__ = __format__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __dir__ = __sizeof__ = refusal(
        "the inside of a row was looked at"
    )

    def __getattribute__(self, name: str) -> Any:
        if name not in _SHOWN and asked_by_others(_BETWEEN):
            if name == "__class__" or hasattr(np.ndarray, name) or hasattr(ClassRow, name):
                self.of_run.refuse(f"a row was asked for {name!r}")
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            self.of_run.refuse(f"a row was asked for {name!r}")
        raise AttributeError(name)


class ClassRow(Entries):
    """A row `a p + b q` with its own `(a, b)` for every class, and other values at some named tokens.

    It takes part in what is linear in `p` and `q` and treats all tokens of a class alike: sums, differences, multiples,
    `max(row, 0)`, `min(row, row)`, `row * (row > row)`, the sum of its entries, the entry of a named token. All else is
    refused with its line: its length, an order of its entries, products of rows.
    """

    __slots__ = ("_fixed", "terms", "values")
    dtype = np.dtype(object)

    def __init__(
        self,
        run: ClassRun,
        context: Context,
        terms: Mapping[int, tuple[Number, Number]],
        values: Mapping[Token, Number],
        fixed: bool = False,
    ) -> None:
        """fixed: it is the row of a node, which may not be changed."""
        self.of_run, self.context, self.terms, self.values = run, context, terms, dict(values)
        self._fixed = fixed

    @classmethod
    def of(cls, run: ClassRun, context: Context, side: str) -> ClassRow:
        """The row of the target, "p", or of the draft, "q"."""
        one, zero = run.number(1), run.number(0)
        pair = (one, zero) if side == "p" else (zero, one)
        return cls(run, context, dict.fromkeys(run.case.rows[context], pair), {}, fixed=True)

    def named(self) -> list[Token]:
        """The named tokens of this row."""
        return [token for token, named in self.of_run.case.names.items() if named.row == self.context]

    def _form(self, number: int, masses: tuple[Ratio, Ratio]) -> Number:
        """`a p + b q` of a class at these masses."""
        a, b = self.terms[number]
        value: Number = a * self.of_run.evaluated(masses[0]) + b * self.of_run.evaluated(masses[1])
        return value

    def _named(self, token: Token) -> Number:
        return self._form(self.of_run.case.names[token].of_class, self.of_run.case.masses(token))

    def _token(self, index: Any) -> Token:
        if type(index) is not Token or index not in self.of_run.case.names:
            self.of_run.refuse(f"a row was indexed by {index!r}, not by a drafted token,")
        if self.of_run.case.names[index].row != self.context:
            self.of_run.refuse("a row was indexed by a token of another row")
        return index

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and index == slice(None) and not asked_by_others():
            return self  # changes of the one would be changes of the other
        token = self._token(index)
        return self.values[token] if token in self.values else self._named(token)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._changed(self)
        self.values[self._token(index)] = value if type(value) is Number else self.of_run.number(value)

    def sum(self, axis: Any = None, *others: Any, **keywords: Any) -> Number:
        """The sum of all entries."""
        plain = all(value is None or value is False for value in (*others, *keywords.values()))
        if not plain or {*keywords} - {"dtype", "out", "keepdims"} or not (axis is None or (type(axis), axis) in _LAST):
            self.of_run.refuse("a sum with further arguments was asked for")
        case, total = self.of_run.case, self.of_run.number(0)
        for number in self.terms:
            total = total + self._form(number, (case.classes[number].target, case.classes[number].draft))
        for token, value in self.values.items():
            total = total + value - self._named(token)
        return total

    def listed(self) -> tuple[list[Token], list[Number]]:
        """For a choice: the named tokens and one without a name, with their weights."""
        for number, (a, b) in self.terms.items():
            if self.of_run.form_in(number, a, b, NEGATIVE):
                self.of_run.fail(InvalidVerifier("the coin was asked to choose with a negative weight"))
        total = self.of_run.number(0)
        for number in self.terms:
            total = total + self._form(number, self.of_run.case.rest(number))
        named = self.named()
        weights = [self[token] for token in named]
        if any(weight < 0 for weight in weights):
            self.of_run.fail(InvalidVerifier("the coin was asked to choose with a negative weight"))
        return [*named, Token.other(self.context)], [*weights, total]

    def clamp(self, min: Any = None, max: Any = None, *others: Any, **keywords: Any) -> ClassRow:
        """`max(row, 0)`."""
        if others or keywords or max is not None or not isinstance(min, (int, float, np.number)) or min != 0:
            self.of_run.refuse("a row was clamped at something that is not 0")
        zero = self.of_run.number(0)
        terms = {n: (zero, zero) if self._is_cut(n) else pair for n, pair in self.terms.items()}
        values = {token: zero if value < 0 else value for token, value in self.values.items()}
        return ClassRow(self.of_run, self.context, terms, values)

    clip = clamp

    def _is_cut(self, number: int) -> bool:
        """Whether `max(row, 0)` is 0 in a class; entries that are 0 anyway may count as either."""
        a, b = self.terms[number]
        known = self.of_run.case.classes[number]
        if not (a.as_ratio.is_zero or b.as_ratio.is_zero) and known.ratio is None:
            allowed = known.allowed(-b.as_ratio / a.as_ratio)
            if not allowed & NEGATIVE or not allowed & POSITIVE:
                rises = self.of_run.holds(a, POSITIVE)
                return bool(allowed & (NEGATIVE if rises else POSITIVE))
        return self.of_run.form_in(number, a, b, NEGATIVE)

    def minimum(self, other: Any) -> ClassRow:
        """The smaller of two rows, token by token."""
        if not isinstance(other, ClassRow):
            self.of_run.refuse("the minimum of a row and a number was asked for")
        return self - (self - other).clamp(min=0)

    def __add__(self, other: Any) -> ClassRow:
        if isinstance(other, int) and other == 0:  # where Python's sum begins
            return self.copy()
        if not isinstance(other, ClassRow) or other.context != self.context:
            self.of_run.refuse("what is no row of the same node was added to a row")
        terms = {n: (a + other.terms[n][0], b + other.terms[n][1]) for n, (a, b) in self.terms.items()}
        values = {token: self[token] + other[token] for token in {**self.values, **other.values}}
        return ClassRow(self.of_run, self.context, terms, values)

    def __mul__(self, factor: Any) -> ClassRow:
        if isinstance(factor, Comparison):
            return factor.where_true(self)
        if isinstance(factor, ClassRow):
            self.of_run.refuse("two rows were multiplied")
        if type(factor) is not Number:
            factor = self.of_run.number(factor)
        terms = {n: (a * factor, b * factor) for n, (a, b) in self.terms.items()}
        return ClassRow(
            self.of_run, self.context, terms, {token: value * factor for token, value in self.values.items()}
        )

    def __truediv__(self, factor: Any) -> ClassRow:
        if isinstance(factor, ClassRow):
            self.of_run.refuse("a row was divided by a row")
        return self.__mul__(self.of_run.number(1) / factor)

    def __neg__(self) -> ClassRow:
        return self.__mul__(-1)

    def __sub__(self, other: Any) -> ClassRow:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> ClassRow:
        return self.__neg__().__add__(other)

    __radd__, __rmul__ = __add__, __mul__

    def _where(self, other: Any, mask: int) -> Comparison:
        """Where the sign of this row without another one, or of itself, is in a mask."""
        if isinstance(other, ClassRow) and other.context == self.context:
            return (self - other)._where(0, mask)
        if type(other) is not int or other != 0:
            self._compared(other)
        answers = {n: self.of_run.form_in(n, a, b, mask) for n, (a, b) in self.terms.items()}
        return Comparison(
            self, answers, {token: self.of_run.holds(value, mask) for token, value in self.values.items()}
        )

    def __gt__(self, other: Any) -> Any:
        return self._where(other, POSITIVE)

    def __ge__(self, other: Any) -> Any:
        return self._where(other, POSITIVE | ZERO)

    def __lt__(self, other: Any) -> Any:
        return self._where(other, NEGATIVE)

    def __le__(self, other: Any) -> Any:
        return self._where(other, NEGATIVE | ZERO)

    def copy(self) -> ClassRow:
        """A row that may be changed."""
        return ClassRow(self.of_run, self.context, self.terms, self.values)

    __copy__ = __pos__ = copy

    def _changed(self, new: ClassRow) -> ClassRow:
        """This row with the entries of another one in their place."""
        if self._fixed:
            self.of_run.refuse("a row of a node was changed in place")
        self.terms, self.values = new.terms, dict(new.values)
        return self

    def __iadd__(self, other: Any) -> ClassRow:
        return self._changed(self.__add__(other))

    def __isub__(self, other: Any) -> ClassRow:
        return self._changed(self.__sub__(other))

    def __imul__(self, factor: Any) -> ClassRow:
        return self._changed(self.__mul__(factor))

    def __itruediv__(self, factor: Any) -> ClassRow:
        return self._changed(self.__truediv__(factor))

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """numpy's functions of two rows, or of a row and a number."""
        if method == "__call__" and not keywords and len(inputs) == 2:
            one, other = inputs
            if function in (np.maximum, np.fmax) and not (isinstance(one, ClassRow) and isinstance(other, ClassRow)):
                return one.clamp(min=other) if isinstance(one, ClassRow) else other.clamp(min=one)
            if function is np.minimum and isinstance(one, ClassRow):
                return one.minimum(other)
            operators = {np.add: "__add__", np.subtract: "__sub__", np.multiply: "__mul__", np.divide: "__truediv__"}
            if function in operators and isinstance(one, ClassRow):
                return getattr(one, operators[function])(other)
        self.of_run.refuse(f"numpy's {function.__name__} was applied to a row")


class Comparison(Entries):
    """Where one row is above or below another, or 0: yes or no for each class. It may be multiplied with a row.

    answers: by class; values: at tokens where the rows had values of their own.
    """

    __slots__ = ("answers", "values")

    def __init__(self, row: ClassRow, answers: Mapping[int, bool], values: Mapping[Token, bool]) -> None:
        self.of_run, self.context, self.answers, self.values = row.of_run, row.context, answers, values

    def where_true(self, row: ClassRow) -> ClassRow:
        """A row with 0 where the answer is no."""
        if row.of_run is not self.of_run:
            row.of_run.fail(HasState(MEMORY))
        if row.context != self.context:
            self.of_run.refuse("a row was multiplied with a comparison of rows of another node")
        zero, names = self.of_run.number(0), self.of_run.case.names
        terms = {n: pair if self.answers[n] else (zero, zero) for n, pair in row.terms.items()}
        yes = {
            token: self.values.get(token, self.answers[names[token].of_class]) for token in (*row.values, *self.values)
        }
        return ClassRow(self.of_run, self.context, terms, {token: row[token] if yes[token] else zero for token in yes})

    def __mul__(self, row: Any) -> Any:
        if not isinstance(row, ClassRow):
            self.of_run.refuse("a comparison of rows was multiplied with what is no row")
        return self.where_true(row)

    __rmul__ = __mul__

    __invert__ = refusal("a comparison of rows was inverted, not written as the opposite one,")
    sum = refusal("a comparison of rows was summed, not a row times it,")  # that is the number of tokens

    def __array_ufunc__(self, function: Any, *_: Any, **__: Any) -> Any:
        self.of_run.refuse(f"numpy's {function.__name__} was applied to a comparison of rows")


#: What code outside of the library may ask of a row.
_SHOWN = frozenset(("sum", "clip", "copy", "dtype"))
#: Code that asks for the class of a row where others ask `isinstance`.
_BETWEEN = ("<frozen abc>", fractions.__file__)
#: The axes of a row.
_LAST = ((int, 0), (int, -1))
