"""What one run knows about its random variables, and how a comparison splits that.

A variable is free within an interval of its uniform `u`, or belongs to a group of variables under joint linear
constraints (on level 0 in `u`, on level 1 in exponential variables). A comparison asks the coin with the exact
probability of the answer given everything known; a comparison that is already certain does not ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from flint import fmpq, fmpz

from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import Coin
from draftproof.simulator.symbolic.decide import compare
from draftproof.simulator.symbolic.decide.measure import measure
from draftproof.simulator.symbolic.numbers.exact import ONE, ZERO, exp, log
from draftproof.simulator.symbolic.numbers.symbol import Variable
from draftproof.simulator.symbolic.where import caller, refusal

#: A constraint: coefficients by variable, constant; the sum must be <= 0.
LinearConstraint: TypeAlias = tuple[dict[int, fmpq], fmpq]
#: Where the uniform of a variable may lie.
Interval: TypeAlias = tuple[fmpq, fmpq]


@dataclass
class Group:
    """Variables under joint constraints on one level, each on one side (see `forms`).

    mass: the probability of the whole group, where it is known without computing it.
    """

    level: int
    sides: dict[int, int]
    constraints: list[LinearConstraint] = field(default_factory=list)
    mass: fmpq | None = None

    def probability(self, intervals: Mapping[int, Interval]) -> fmpq:
        """The probability that all constraints hold and all variables lie in their intervals."""
        if self.mass is not None:
            return self.mass
        order = {i: position for position, i in enumerate(sorted(self.sides))}
        bounds = tuple(_bounds(self.level, intervals[i], self.sides[i]) for i in order)
        rows = []
        for coefficients, const in self.constraints:
            row = [ZERO] * len(order)
            for i, a in coefficients.items():
                row[order[i]] = a
            rows.append((tuple(row), const))
        return measure(self.level, bounds, tuple(rows))


def _bounds(level: int, interval: Interval, side: int) -> tuple[fmpq, fmpq | None]:
    low, high = interval
    if level == 0:
        return low, high
    if side:
        low, high = ONE - high, ONE - low
    return -log(high), (-log(low) if low > 0 else None)


def distinct(groups: Iterable[Group | None]) -> list[Group]:
    """The groups in order, each once."""
    listed: list[Group] = []
    for group in groups:
        if group is not None and not any(group is other for other in listed):
            listed.append(group)
    return listed


def union(
    level: int,
    groups: Sequence[Group],
    loose: Sequence[int],
    terms: Sequence[tuple[Variable, fmpq, int]],
    intervals: Mapping[int, Interval],
) -> Group:
    """One group of several groups and of variables without one. terms: of the constraint to come, with their sides.

    Raises `InvalidVerifier` where one variable occurs on both sides.
    """
    sides = {i: side for group in groups for i, side in group.sides.items()}
    for v, _, side in terms:
        if sides.setdefault(v.index, side) != side:
            raise refusal("-log(u) and -log(1 - u) of one random number are compared with others; that is refused")
    mass = ONE
    for group in groups:
        mass *= group.probability(intervals)
    for i in loose:
        mass *= intervals[i][1] - intervals[i][0]
    return Group(level, sides, [tie for group in groups for tie in group.constraints], mass)


@dataclass(frozen=True)
class Reuse:
    """A random number that decides twice: at the line `first` and at the line `again`.

    place: of a coin that is also a number of a race, a search for the largest or smallest, its place there.
    """

    what: str
    first: str
    again: str
    place: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        where = self.first if self.first == self.again else f"{self.first} and again {self.again}"
        return f"{self.what} decides at {where}"


@dataclass(frozen=True)
class BoundaryEvent:
    """A coin of this run with a boundary value (0, the largest float below 1, a threshold), compared at this line."""

    what: str
    value: fmpq
    line: str

    def __str__(self) -> str:
        return f"{self.what} is exactly {self.value} at {self.line}"


#: Weight of a boundary value beside the other values: only which results it leads to matters.
TINY = fmpq(1, 2**40)
#: Shares below it are rounding, where exponentials of constants are in a probability.
ROUNDING = fmpq(1, fmpz(2) ** 150)
#: In place of an exponential that is too small to be computed: a coin of exactly 0 is still below it.
CLOSEST = fmpq(1, fmpz(2) ** 100_000)
#: Boundary values in one run at most: more would multiply the runs and show nothing new.
CORNERS = 2


def _is_generated(known: _VariableState, value: fmpq) -> bool:
    """Whether the generator of a variable gives this number, a multiple of its smallest step."""
    return known.largest is not None and (value / (ONE - known.largest)).q == 1


@dataclass
class _VariableState:
    """What is known of one variable.

    largest: the largest value below 1 that its generator gives, None without boundary values. point: its exact value.
    decided: line and fetch of the first decision.
    """

    what: str
    largest: fmpq | None
    low: fmpq = ZERO
    high: fmpq = ONE
    group: Group | None = None
    point: fmpq | None = None
    boundary_asked: bool = False
    decided: tuple[str, int] | None = None


@dataclass(frozen=True)
class Settings:
    """Under which conditions a function is followed; each but the default is tried to find the cause of a wrong law.

    boundary: uniforms may also be exactly 0, the largest float below 1 or exactly the threshold of a comparison, as
    extra branches of tiny weight, at most two in one run. content: see `Memory`. apart: numbers that are independent of
    those that they are equal to otherwise: "seeds", of generators with one seed; "fetches", of each fetch of a coin
    that is an argument; "races", of a race, of coins before; "second races", of a race, of races before.
    """

    boundary: bool = False
    content: int = 0
    apart: str = ""


#: The conditions under which a function is judged.
AS_IT_IS = Settings()


class Region:
    """The variables of one run of the audited function.

    coin: answers the questions. boundary_coin: answers questions about boundary values, None for the coin.
    """

    def __init__(self, coin: Coin, settings: Settings = AS_IT_IS, boundary_coin: Coin | None = None) -> None:
        self.coin = coin
        self.boundary_coin = boundary_coin or coin
        self.settings = settings
        self.reuse: list[Reuse] = []
        self.events: list[BoundaryEvent] = []
        self.notes: list[str] = []
        self.closed = False
        self.in_arrays: set[int] = set()  # numbers that code has fetched from an array, where a division by 0 is none
        self.narrowed = False  # whether an array of random numbers may be of another type than float64
        self.raced_twice: list[tuple[str, str]] = []  # the lines of two races with one number
        self._raced: dict[int, str] = {}
        self._known: list[_VariableState] = []
        self._fetches = 0

    # Variables.
    def variable(self, what: str, largest: fmpq | None = None) -> Variable:
        """A new variable; largest: the largest value below 1 that its generator gives, None without boundary values."""
        self._known.append(_VariableState(what, largest if self.settings.boundary else None))
        return Variable(self, len(self._known) - 1)

    def next_fetch(self) -> int:
        """The number of a new fetch."""
        self._fetches += 1
        return self._fetches

    def next_argument_fetch(self) -> int | None:
        """The number of a new fetch of a coin that is an argument; None where that is another number each time."""
        return None if self.settings.apart == "fetches" else self.next_fetch()

    def refetch(self, variable: Variable, fetch: int | None) -> Variable:
        """The same variable under the number of another fetch; a new variable for None."""
        if fetch is None:
            known = self._known[variable.index]
            return self.variable(known.what, known.largest)
        return Variable(self, variable.index, fetch)

    def is_free(self, variable: Variable) -> bool:
        """Whether nothing is known about it yet."""
        self.check(variable)
        known = self._known[variable.index]
        untouched = known.low == 0 and known.high == 1 and known.group is None and known.point is None
        return untouched and (known.largest is None or known.boundary_asked)

    def interval(self, index: int) -> tuple[fmpq, fmpq]:
        """The interval in which the uniform of a variable lies, by its number."""
        known = self._known[index]
        return (known.low, known.high) if known.point is None else (known.point, known.point)

    def groups_of(self, indices: Iterable[int]) -> tuple[list[Group], list[int]]:
        """The groups that these variables belong to, and those that belong to none."""
        loose = [i for i in indices if self._known[i].group is None]
        return distinct(self._known[i].group for i in indices), loose

    def check(self, variable: Variable) -> None:
        """Refuse a variable of another call."""
        if variable.region is not self or self.closed:
            raise refusal("a random number of an earlier call is used: the function keeps state between calls")

    # Questions, about symbols those of `compare`.
    compare, floor, bounds, extreme = compare.compare, compare.floor, compare.bounds, compare.extreme

    def note_guard(self) -> None:
        """Note that a tiny constant, which guards against zero, is left out."""
        self.note(f"a constant below 1e-6 beside a random number is left out at {caller()}")

    def note(self, note: str) -> None:
        """Note something that the exact law assumes, once."""
        if note not in self.notes:
            self.notes.append(note)

    def note_reuse(self, what: str, first: str, place: int | None = None) -> None:
        """Note a random number that has decided at the line `first`, and decides again; place: see `Reuse`."""
        reuse = Reuse(what, first, caller(), place)
        if reuse not in self.reuse:
            self.reuse.append(reuse)

    def below(self, variable: Variable, threshold: fmpq, strict: bool) -> bool:
        """Whether its uniform is below a threshold (or equal, if not strict)."""
        self.check(variable)
        known = self._known[variable.index]
        self._ask_corners(known)
        if known.point is not None:
            return bool(known.point < threshold or (not strict and known.point == threshold))
        if threshold <= known.low or threshold >= known.high:
            if 0 < threshold < 1:  # an earlier decision makes it certain
                self._record(variable)
            return bool(threshold >= known.high)
        if known.group is not None:
            return self._decided(0, [(variable, ONE, 0)], -threshold)
        self._record(variable)
        heads = (threshold - known.low) / (known.high - known.low)
        if len(self.events) < CORNERS and _is_generated(known, threshold) and self.boundary_coin.choose([ONE, TINY]):
            self._fix(known, threshold)
            return not strict
        below = self.coin.flip(heads)
        if below:
            known.high = threshold
        else:
            known.low = threshold
        return below

    def choose_cell(self, variable: Variable, thresholds: Sequence[fmpq]) -> int | None:
        """Number of the sorted thresholds below its uniform, by one question; None where it takes several."""
        self.check(variable)
        known = self._known[variable.index]
        if self.settings.boundary or known.group is not None:
            return None
        edges = [known.low, *(min(max(t, known.low), known.high) for t in thresholds), known.high]
        widths = [b - a for a, b in pairwise(edges)]
        if any(0 < t < 1 for t in thresholds):
            self._record(variable)
        if sum(bool(width) for width in widths) == 1:
            return next(cell for cell, width in enumerate(widths) if width)
        cell = self.coin.choose(widths)
        known.low, known.high = edges[cell], edges[cell + 1]
        return cell

    def holds(self, level: int, terms: Sequence[tuple[Variable, fmpq, int]], const: fmpq, strict: bool) -> bool:
        """Whether `sum(a * x) + const` is below 0 (or equal, if not strict); level 0 or 1."""
        if len(terms) == 1:
            v, a, side = terms[0]
            t = -const / a
            if level == 1:  # E < t is u > exp(-t), F < t is u < 1 - exp(-t)
                if t <= 0:
                    return bool(a < 0)
                u = exp(-t) or (CLOSEST if self.settings.boundary else ZERO)
                t, a = (u, -a) if side == 0 else (ONE - u, a)
            return self.below(v, t, strict) if a > 0 else not self.below(v, t, not strict)
        for v, _, _ in terms:
            self.check(v)
            self._ask_corners(self._known[v.index])
        if any(self._known[v.index].point is not None for v, _, _ in terms):
            return self._without_points(level, terms, const, strict)
        return self._decided(level, terms, const)

    def race(self, variables: Sequence[tuple[Variable, int]], weights: Sequence[fmpq]) -> int:
        """The winner of an exponential race, the index of the smallest `x / weight` of free exponential variables.

        It has probability `weight / sum(weights)`. The variables then have the constraints that it implies.
        """
        for v, _ in variables:
            self._record(v)
        best = self.coin.choose(list(weights))
        total = sum(weights, start=ZERO)
        winner = variables[best][0].index
        group = Group(1, {v.index: side for v, side in variables}, mass=weights[best] / total)
        for (v, _), weight in zip(variables, weights, strict=True):
            self._known[v.index].group = group
            if v.index != winner:
                group.constraints.append(({winner: weight, v.index: -weights[best]}, ZERO))
        return best

    def in_race(self, place: int, value: Any) -> Any:
        """A number at a place of a race: a `Reuse` where it was a coin before, another one where `Settings` say so."""
        variables = value.variables()
        index = variables[0].index
        if index in self._raced and self.settings.apart == "second races":
            return value.fetched(None)
        known = self._known[index]
        narrowed = known.group is None and known.point is None and (known.low > 0 or known.high < 1)
        if known.decided is None or not narrowed or any(v.index != index for v in variables):
            return value
        if self.settings.apart == "races":
            return value.fetched(None)
        self.note_reuse(known.what, known.decided[0], place)
        return value

    def race_of(self, variables: Sequence[Variable]) -> None:
        """Note that these numbers are in the race that is running."""
        line = caller()
        twice = {(self._raced[v.index], line) for v in variables if v.index in self._raced}
        self.raced_twice += sorted(twice - set(self.raced_twice))
        self._raced |= {v.index: line for v in variables if v.index not in self._raced}

    # Helpers.
    def _without_points(self, level: int, terms: Any, const: fmpq, strict: bool) -> bool:
        rest = []
        for v, a, side in terms:
            point = self._known[v.index].point
            if point is None:
                rest.append((v, a, side))
                continue
            if level == 1:
                u = point if side == 0 else ONE - point
                if u <= 0:  # an infinite exponential variable
                    return bool(a < 0)
                point = -log(u)
            const += a * point
        if not rest:
            return bool(const < 0 or (not strict and const == 0))
        return self.holds(level, rest, const, strict)

    def _ask_corners(self, known: _VariableState) -> None:
        """In boundary mode, before the first comparison: whether the coin is exactly 0 or the largest float below 1."""
        if known.largest is None or known.boundary_asked:
            return
        known.boundary_asked = True
        if len(self.events) < CORNERS:
            answer = self.boundary_coin.choose([ONE, TINY, TINY])
            if answer:
                self._fix(known, (ZERO, known.largest)[answer - 1])

    def _fix(self, known: _VariableState, value: fmpq) -> None:
        known.point = value
        self.events.append(BoundaryEvent(known.what, value, caller()))

    def _record(self, variable: Variable) -> None:
        """Record that the variable decides at the running line; a second decision elsewhere is a `Reuse`."""
        known = self._known[variable.index]
        now = caller(), variable.fetch
        if known.decided is None:
            known.decided = now
        elif known.decided != now:
            self.note_reuse(known.what, known.decided[0])

    def _decided(self, level: int, terms: Sequence[tuple[Variable, fmpq, int]], const: fmpq) -> bool:
        groups = distinct(self._known[v.index].group for v, _, _ in terms)
        levels = {group.level for group in groups}
        if levels == {1} and level == 0:
            sides = {i: side for group in groups for i, side in group.sides.items()}
            terms, const = compare.raised_level(terms, const, sides)
            level = 1
        if levels - {level}:
            raise refusal("random numbers that are compared both as uniforms and as exponentials cannot be followed")
        members = {i for group in groups for i in group.sides} | {v.index for v, _, _ in terms}
        intervals = {i: (self._known[i].low, self._known[i].high) for i in members}
        loose = [v.index for v, _, _ in terms if self._known[v.index].group is None]
        tie: LinearConstraint = {v.index: a for v, a, _ in terms}, const
        try:
            whole = union(level, groups, loose, terms, intervals)
            mass = whole.probability(intervals)
            inside = Group(level, whole.sides, [*whole.constraints, tie]).probability(intervals)
        except TooLarge as error:
            raise refusal(str(error)) from None
        for v, _, _ in terms:
            self._record(v)
        noise = ROUNDING * mass if level == 1 else ZERO
        if inside <= noise or inside >= mass - noise:
            return bool(inside > noise)
        answer = self.coin.flip(inside / mass)
        whole.constraints.append(tie if answer else ({i: -a for i, a in tie[0].items()}, -const))
        whole.mass = inside if answer else mass - inside
        for i in whole.sides:
            self._known[i].group = whole
        return answer
