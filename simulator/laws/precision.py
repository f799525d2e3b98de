"""Low precision, audited exactly: the verifier computes in rounded numbers, its coin takes them as rationals.

The draft tree is drawn from the exact `q`. The verifier sees both rows rounded to a precision and computes in it as
numpy or torch do (both add up float16 and bfloat16 in float32 and round the sum once). A float is a dyadic fraction,
and the coin takes the verifier's probabilities and weights as exactly these fractions; as in a sampler, a probability
outside [0, 1] is clamped, a negative weight counts as 0, and weights are normalised. So the law of the block is exact,
and its distance from the exact target is the cost of rounding, in the rows and in the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import frexp, inf, isnan
from types import MappingProxyType
from typing import Any

import numpy as np
from flint import fmpq

from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, as_python
from draftproof.simulator.coins import EnumeratingCoin, outcomes
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.laws.guarded import guarded, verdicts
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.laws.trials import EnumerationSize
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.progress import Progress
from draftproof.simulator.protocol import Context, DraftNode, DraftScheme, Vector, Verifier
from draftproof.simulator.sampling_coin import SamplingCoin
from draftproof.simulator.tables import TableProcess, check_table_size, context_index

#: Rows over this denominator are exact in every precision here: bfloat16 has every whole number up to 2^8.
EXACT_DENOMINATOR = 2**8


@dataclass(frozen=True)
class Precision:
    """A kind of binary floating-point number. bits: significant bits, the leading one included."""

    name: str
    bits: int
    of_torch: bool = False

    def rounded(self, rows: Any) -> Any:
        """Exact rows, of any shape, rounded by way of float64: a numpy array, for bfloat16 a torch tensor."""
        floats = FLOAT64.vector(rows)
        if not self.of_torch:
            return floats.astype(self.name)
        torch = _torch(self.name)
        return torch.from_numpy(floats).to(getattr(torch, self.name))

    def exactly(self, rows: Any) -> Any:
        """Exact rows as the rationals that rounding makes of them."""
        values = [_rational(value) for value in self.rounded(rows).reshape(-1).tolist()]
        return RATIONAL.vector(values).reshape(rows.shape)

    def holds(self, process: TableProcess) -> bool:
        """Whether every row of an exact process is exact in this precision."""
        return all((self.exactly(table) == table).all() for table in process.tables)

    def has(self, number: float) -> bool:
        """Whether this precision has the digits of a finite float."""
        return (frexp(number)[0] * 2.0**self.bits).is_integer()

    def check_kind(self, value: Any) -> None:
        """Raises for a float array or scalar of another precision; Python's floats pass."""
        kind = _kind(value.dtype) if hasattr(value, "dtype") else self.name
        if "float" in kind and kind != self.name:
            raise _InvalidNumber(f"{kind} numbers come from another precision than that of the {self.name} rows")


PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        precision.name: precision
        for precision in (
            Precision("float64", 53),
            Precision("float32", 24),
            Precision("float16", 11),
            Precision("bfloat16", 8, of_torch=True),
        )
    }
)


def precision_named(name: str) -> Precision:
    """The precision of that name; raises `InvalidInput` for any other, or where what it needs is not installed."""
    if name not in PRECISIONS:
        raise InvalidInput(f"unknown precision {name!r}; choose from {', '.join(PRECISIONS)}")
    if PRECISIONS[name].of_torch:
        _torch(name)
    return PRECISIONS[name]


class RoundedProcess:
    """A process whose rows are rounded to a precision: what a verifier sees of an exact one."""

    def __init__(self, process: TableProcess, precision: Precision) -> None:
        self.vocab_size = process.vocab_size
        self._tables = [precision.rounded(table) for table in process.tables]
        self._rows: dict[Context, Vector] = {}

    def row(self, context: Context) -> Vector:
        """The row of `context`."""
        if context not in self._rows:
            self._rows[context] = self._tables[len(context)][context_index(context, self.vocab_size)]
        return self._rows[context]


class LowPrecisionCoin(EnumeratingCoin):
    """An enumerating coin that takes low-precision numbers as the rationals they are; see the module.

    Raises `InvalidVerifier` for NaN, weights that are infinite or all 0, and numbers that no computation in this
    precision gives.
    """

    def __init__(self, precision: Precision) -> None:
        super().__init__(RATIONAL)
        self._precision = precision

    def flip(self, probability: Any) -> bool:
        """See `Coin.flip`; clamps to [0, 1]."""
        try:
            heads = self._plain(probability)
        except _InvalidNumber as reason:
            raise self._finding(f"flip({probability})", reason) from None
        return super().flip(_rational(min(max(heads, 0), 1)))

    def choose(self, weights: Any) -> int:
        """See `Coin.choose`; a negative weight counts as 0."""
        try:
            numbers = [max(weight, 0) for weight in self._all_plain(weights)]
            if not 0 < max(numbers, default=0) < inf:
                raise _InvalidNumber("weights must be finite and not all 0")
        except _InvalidNumber as reason:
            asked = ", ".join(str(float(weight)) for weight in weights)
            raise self._finding(f"choose([{asked}])", reason) from None
        return super().choose([_rational(number) for number in numbers])

    def _all_plain(self, weights: Any) -> list[int | float]:
        if hasattr(weights, "tolist"):
            self._precision.check_kind(weights)
            weights = weights.tolist()
        return [self._plain(weight) for weight in weights]

    def _plain(self, value: Any) -> int | float:
        """The number itself, as Python has it."""
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, int):
            return number
        if not isinstance(number, float):
            raise _InvalidNumber(f"{value!r} is no {self._precision.name} number")
        if isnan(number):
            raise _InvalidNumber("not a number")
        self._precision.check_kind(value)
        if abs(number) < inf and not self._precision.has(number):
            raise _InvalidNumber(
                f"{number!r} has more digits than {self._precision.name}: it comes from another precision"
            )
        return number

    def _finding(self, question: str, reason: _InvalidNumber) -> InvalidVerifier:
        return InvalidVerifier(f"question {self._next + 1} to the coin, {question}: {reason}")


class _InvalidNumber(Exception):
    """A number that no computation in the precision gives, or no probability or weight."""


class Breakdown(InvalidVerifier):
    """A verifier whose arithmetic breaks in a precision, so that it has no law there.

    tree: drafted tokens by context of the first draft tree on which it happens. reason: the question and what is wrong.
    probability: that the draft tree is one on which it can happen.
    """

    def __init__(self, tree: Mapping[Context, tuple[int, ...]], reason: str, probability: Fraction) -> None:
        self.tree = tree
        self.reason = reason
        self.probability = probability
        drafted = "; ".join(f"after {context} {', '.join(map(str, tokens))}" for context, tokens in tree.items())
        super().__init__(f"{reason} [drafted {drafted or 'nothing'}]")


def low_precision_law(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    precision: Precision,
    progress: Progress | None = None,
) -> BlockLaw:
    """The exact block law of a verifier that computes in `precision`, to be compared with the exact `target`.

    target, draft: exact tables, down to depth `L` and `L - 1`. progress: called with 1 after each draft tree.
    Raises `Breakdown` where there is no law, after all draft trees; `TooLarge` for one that would not fit in memory.
    """
    if not (target.arithmetic.exact and draft.arithmetic.exact):
        raise InvalidInput(
            "the rows hold floats; a precision is audited against exact ones: see draftproof.simulator.rationalise"
        )
    rounded = RoundedProcess(target, precision), RoundedProcess(draft, precision)
    size = target.vocab_size
    check_table_size(size, scheme.depth, RATIONAL)
    correction = [RATIONAL.zeros(size**depth, size) for depth in range(scheme.depth + 1)]
    broken = fmpq(0)
    first: tuple[Mapping[Context, tuple[int, ...]], str] | None = None
    for tree, weight in outcomes(lambda coin: scheme.draw(draft, coin), RATIONAL):
        try:
            with np.errstate(all="ignore"):  # overflow and 0/0 are findings here
                masses = verdicts(verifier, tree, *rounded, RATIONAL, LowPrecisionCoin(precision))
        except InvalidVerifier as error:
            first = first or (dict(_drafted(tree.root(target, draft))), " ".join(str(error).split()))
            broken += weight
        else:
            for (accepted, token), mass in masses.items():
                correction[len(accepted)][context_index(accepted, size), token] += weight * mass
        if progress:
            progress(1)
    if first is not None:
        raise Breakdown(*first, Fraction(as_python(broken)))
    return BlockLaw(correction, RATIONAL)


def estimate_precision_size(
    verifier: Verifier,
    target: TableProcess,
    draft: TableProcess,
    scheme: DraftScheme,
    precision: Precision,
    generator: np.random.Generator,
    samples: int = 6,
    cap: int = 200,
) -> EnumerationSize:
    """How much work `low_precision_law` is, from the runs on `samples` draft trees (at most `cap` runs on each)."""
    rounded = RoundedProcess(target, precision), RoundedProcess(draft, precision)
    runs = 0
    for _ in range(samples):
        root = scheme.draw(draft, SamplingCoin(generator)).root(*rounded)
        try:
            with np.errstate(all="ignore"):
                for _ in islice(outcomes(guarded(verifier, root), RATIONAL, LowPrecisionCoin(precision)), cap):
                    runs += 1
        except InvalidVerifier:  # what is wrong on a tree is found out with the law
            runs += 1
    return EnumerationSize(scheme.count(draft), runs / samples)


def rows_bias(target: TableProcess, precision: Precision) -> Fraction:
    """The total variation of `L + 1` tokens that rounding the rows causes without any arithmetic.

    It is the distance between the exact target and the rounded one, each row divided by its sum. A lossless verifier
    that sees rounded rows has this bias where its blocks have full length, and less where they end sooner.
    """
    wanted = given = RATIONAL.zeros(1) + 1
    for table in target.tables:
        seen = precision.exactly(table)
        wanted = (wanted.reshape(-1, 1) * table).reshape(-1)
        given = (given.reshape(-1, 1) * (seen / seen.sum(axis=1, keepdims=True))).reshape(-1)
    return Fraction(as_python(abs(given - wanted).sum() / 2))


def _drafted(node: DraftNode) -> list[tuple[Context, tuple[int, ...]]]:
    """Drafted tokens by context, parents before children."""
    below = [entry for token in dict.fromkeys(node.children) for entry in _drafted(node.child(token))]
    return [(node.context, node.children), *below] if node.children else []


@lru_cache
def _kind(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _rational(number: int | float) -> Any:
    return fmpq(*number.as_integer_ratio())


def _torch(name: str) -> Any:
    return torch_module(name, f", or leave {name} out")
