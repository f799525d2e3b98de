"""A run is repeated on real numbers, to find code that treats symbols differently from numbers.

The real numbers are chosen such that all decisions of the run stay as they were. On them the function must return the
same result.
"""

from __future__ import annotations

import gc
import math
import os
import random
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, takewhile
from types import FrameType
from typing import Any

from flint import fmpq

from draftproof.simulator.origins import is_audited, is_generated
from draftproof.simulator.symbolic.decide.region import Region
from draftproof.simulator.symbolic.decide.session import Draw, Session, Stream
from draftproof.simulator.symbolic.numbers.exact import ZERO, as_float
from draftproof.simulator.symbolic.numbers.seeds import SEED_VALUES
from draftproof.simulator.symbolic.numbers.stepped import Grid
from draftproof.simulator.symbolic.where import refusal

#: Points that are tried until one fulfils the constraints of a group.
TRIES = 400
#: The part of an interval at each end in which no point is chosen, by bits: rounding may decide there.
MARGIN = {53: 1e-4, 24: 1e-2}
#: Intervals and slacks narrower than this, by bits of the generator, may be rounding.
NARROW = {53: 1e-9, 24: 1e-4}
#: The largest difference of two probabilities that may be rounding, as that of bfloat16.
ROUNDING = fmpq(1, 2**6)
_SAMPLER = random.Random(0)
_uniform = random.Random.random  # not replaced in a call


class Replay(Session):
    """A session that gives real numbers: the draws of another run, at a point."""

    real = True

    def __init__(self, draws: Sequence[Draw], point: Mapping[int, float]) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self._left = iter(draws)
        self._point = point

    def uniform(self, stream: Stream, what: str, bits: int = 53) -> Any:
        """The next number of the other run."""
        return self._number("uniform")

    def stepped(self, stream: Stream, grid: Grid, what: str) -> float:
        """Likewise, of 16 bits."""
        return grid.at(self._number("stepped"))

    def exponential(self, stream: Stream, what: str, inverse: bool = False) -> Any:
        """Likewise, exponential of rate 1."""
        return self._number("exponential")

    def argument(self, name: str, kind: str, bits: int) -> Any:
        """Likewise, a coin that is an argument."""
        return self._number(kind)

    def choose(self, stream: Stream, weights: Sequence[Any], what: str) -> int:
        """The outcome of the other run, if it had these weights."""
        if len(weights) == 1:
            return 0
        draw = self._next("choice")
        if not _alike(draw.weights, weights):
            raise refusal("it draws with other probabilities when it gets real numbers, which cannot be followed")
        return int(draw.answer)

    def random_seed(self, name: str, count: int = SEED_VALUES) -> int:
        """The value of the other run."""
        return int(self._next("seed").answer)

    def _is_constant(self, constant: bool) -> bool:
        return bool(self._next("generator").answer)

    def given_seed(self, name: str, value: int) -> int:
        """The value itself."""
        return value

    def search(self, stream: Stream, weights: Sequence[Any], what: str) -> int:
        """Likewise; a seeded generator finds the outcome with its next uniform."""
        if stream.key is None:
            return self.choose(stream, weights, what)
        total = sum(weights, start=ZERO)
        edges = [as_float(item / total) for item in accumulate(weights)][:-1]
        return bisect_right(edges, self._number("uniform"))

    def _number(self, kind: str) -> float:
        draw = self._next(kind)
        u = self._point[draw.answer]
        if kind in ("uniform", "stepped"):
            return u
        rate_one = -math.log(1 - u if draw.side else u)
        return -math.log(rate_one) if kind == "gumbel" else rate_one

    def _next(self, kind: str) -> Draw:
        draw = next(self._left, None)
        if draw is None or draw.kind != kind:
            raise refusal("it draws other random numbers when it gets real ones, which cannot be followed")
        return draw


def same_choices(some: Sequence[Draw], others: Sequence[Draw]) -> bool:
    """Whether two runs chose with the same probabilities."""
    one, other = ([draw.weights for draw in draws if draw.kind == "choice"] for draws in (some, others))
    return len(one) == len(other) and all(map(_alike, one, other))


def _alike(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether weights are proportional, up to the rounding of any precision."""
    if len(some) != len(others):
        return False
    one, other = sum(some, start=ZERO), sum(others, start=ZERO)
    return all(abs(a * other - b * one) <= ROUNDING * one * other for a, b in zip(some, others, strict=True))


def point_of(region: Region, draws: Sequence[Draw], part: int = 0, parts: int = 1) -> dict[int, float] | None:
    """Real numbers, by variable, with which a run makes the same decisions; None where none are found.

    part, parts: numbers without joint constraints come from this part of their interval, cut into so many.
    """
    bits = {draw.answer: draw.bits for draw in draws if draw.kind not in ("choice", "seed", "generator")}
    grouped, loose = region.groups_of(bits)
    point: dict[int, float] = {}
    for i in loose:
        one = _inside(region, i, bits[i], part, parts)
        if one is None:
            return None
        point[i] = one
    for group in grouped:
        for _ in range(TRIES):
            inside = {i: _inside(region, i, bits.get(i, 53)) for i in group.sides}
            tried = {i: u for i, u in inside.items() if u is not None}
            if len(tried) < len(inside):
                return None
            values = {i: _on_level(group.level, u, group.sides[i]) for i, u in tried.items()}
            narrowest = max(NARROW[bits.get(i, 53)] for i in group.sides)
            if all(_sum(tie, values) < -narrowest for tie in group.constraints):
                point |= tried
                break
        else:
            return None
    return point


def _sum(tie: Any, values: Mapping[int, float]) -> float:
    coefficients, const = tie
    terms = {i: as_float(a) * values[i] for i, a in coefficients.items()}
    size = sum(map(abs, terms.values())) + abs(as_float(const))
    return (sum(terms.values()) + as_float(const)) / size if size else 0.0


def _on_level(level: int, u: float, side: int) -> float:
    return u if level == 0 else -math.log(1 - u if side else u)


def _inside(region: Region, index: int, bits: int, part: int = 0, parts: int = 1) -> float | None:
    """A number that the generator can give, well inside the interval of a variable."""
    low, high = map(as_float, region.interval(index))
    if high - low < NARROW[bits] * high:
        return None
    margin = MARGIN[bits]
    u = low + (high - low) * (margin + (1 - 2 * margin) * (part + _uniform(_SAMPLER)) / parts)
    u = math.ldexp(math.floor(math.ldexp(u, bits)), -bits)
    return u if low < u < high else None


@contextmanager
def _steps(seen: list[tuple[str, int, int]]) -> Iterator[None]:
    """Within it `seen` gets every instruction of the audited code: file, line, offset."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not is_audited(frame.f_code.co_filename) or is_generated(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen.append((frame.f_code.co_filename, frame.f_lineno, frame.f_lasti))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Within it no garbage is collected: that runs callbacks of other packages, at any instruction."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def last_common_line(one: Callable[[], Any], other: Callable[[], Any]) -> str:
    """`FILE:line` of the last instruction that two runs have in common."""
    walks: list[list[tuple[str, int, int]]] = [[], []]
    with _no_collection():
        for walk, run in zip(walks, (one, other), strict=True):
            with _steps(walk):
                run()
    common = [here for here, there in takewhile(lambda pair: pair[0] == pair[1], zip(*walks, strict=False))]
    return f"{os.path.basename(common[-1][0])}:{common[-1][1]}" if common else "unknown line"
