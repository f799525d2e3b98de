"""Whether a region has a point: by z3, which answers with a point or with a proof that there is none.

A question about one atom concerns only conditions that share variables with it, directly or through others; the other
coordinates of the current point stay as they are. Answers are kept; "empty" is kept with the conditions that prove it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self, TypeAlias

from flint import fmpq

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.theorems.algebra.polynomials import (
    NEGATIVE,
    POSITIVE,
    ZERO,
    Condition,
    Point,
    Polynomial,
    Ring,
    rational,
)
from draftproof.simulator.theorems.algebra.regions import Region


class Empty(Enum):
    """In place of a point: there is none, or it is not known whether there is one."""

    YES = "empty"
    UNKNOWN = "unknown"


#: The name and number of an atom, and the signs that it may have.
Named: TypeAlias = tuple[str, int, int]
#: Conditions that contradict one another, by the names of their atoms.
Core = frozenset[tuple[str, int]]
#: Known points that are moved, at most, before the solver is asked.
NUDGES = 4
#: Parts of the way from the tie, where the atom is zero, to the end of the unit interval: a variable is moved to the
#: simplest number between three quarters of such a part and all of it.
STEPS = ((1, 4), (1, 2), (1, 32), (3, 4), (1, 512))
#: Seconds for a question where it is kept track of what contradicts what.
TRACKED = 2.0


@dataclass
class Oracle:
    """Answers about regions of one ring. seconds: for one question. `asked` counts the questions that z3 was asked."""

    ring: Ring
    seconds: float = 10.0
    asked: int = 0
    cores: dict[str, list[Core]] = field(default_factory=dict)
    solved: dict[Core, Any] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    #: By number of the point and of the atom.
    _signs: dict[tuple[int, int], int] = field(default_factory=dict)
    _answers: dict[frozenset[Condition], dict[int, Any] | Empty] = field(default_factory=dict)
    _texts: dict[int, tuple[str, list[str]]] = field(default_factory=dict)

    def for_ring(self, ring: Ring) -> Self:
        """An oracle for another ring with the answers of z3, which depend only on the conditions, but without points.

        So its answers depend only on its own questions.
        """
        return type(self)(ring, self.seconds, cores=self.cores, solved=self.solved)

    def account(self) -> dict[str, Any]:
        """The number of its questions, as plain data."""
        return {"asked": self.asked}

    def absorb(self, account: Mapping[str, Any]) -> None:
        """Add the account of another."""
        self.asked += account["asked"]

    def find(self, region: Region, atom: int, start: Point) -> Point | Empty:
        """A point of `region`. start: a point that meets all conditions but, perhaps, that on `atom`."""
        if region.allowed(atom) == 0 or self._is_contradiction(region, atom):
            return Empty.YES
        answer = self._answer(region, atom, start)
        if isinstance(answer, Empty):
            return answer
        point = tuple(answer.get(position, value) for position, value in enumerate(start))
        if point not in region:
            return Empty.UNKNOWN
        self.points.append(point)
        return point

    def point_in(self, region: Region, start: Point) -> Point | None:
        """A point of a region, all of whose conditions may be new. start: where values that do not matter come from."""
        answer = self._solve(frozenset(region))
        if isinstance(answer, Empty):
            return None
        point = tuple(answer.get(position, value) for position, value in enumerate(start))
        return point if point in region else None

    def is_empty(self, region: Region, atom: int) -> bool:
        """Whether it is proved that `region` has no point; atom: the one whose condition is new."""
        if region.allowed(atom) == 0 or self._is_contradiction(region, atom):
            return True
        return self._answer(region, atom) is Empty.YES

    def _answer(self, region: Region, atom: int, start: Point | None = None) -> dict[int, Any] | Empty:
        """Values for the variables that the question concerns."""
        conditions = self._connected(region, atom)
        if conditions not in self._answers:
            known = self._known(conditions, atom, start)
            self._answers[conditions] = self._solve(conditions) if known is None else known
        return self._answers[conditions]

    def _known(self, conditions: frozenset[Condition], atom: int, start: Point | None) -> dict[int, Any] | None:
        """The values at a point that was found before, or beside one, if it meets these conditions."""
        point = None if start is None else nudged(self.ring, conditions, atom, start)
        others = sorted((condition for condition in conditions if condition[0] != atom), reverse=True)
        wanted = next(mask for number, mask in conditions if number == atom)
        tries = NUDGES
        for place in range(len(self.points) - 1, -1, -1):  # the newest point first
            if point is not None:
                break
            if all(self._sign(place, other) & mask for other, mask in others):
                if self._sign(place, atom) & wanted:
                    point = self.points[place]
                elif tries:
                    tries -= 1
                    point = nudged(self.ring, conditions, atom, self.points[place])
        return None if point is None else {position: point[position] for position in self._variables(conditions)}

    def _sign(self, place: int, atom: int) -> int:
        sign = self._signs.get((place, atom))
        if sign is None:
            sign = self._signs[place, atom] = self.ring.sign_at(atom, self.points[place])
        return sign

    def _variables(self, conditions: Iterable[Condition]) -> frozenset[int]:
        return frozenset[int]().union(*(self.ring.support(number) for number, _ in conditions))

    def _is_contradiction(self, region: Region, atom: int) -> bool:
        """Whether conditions of the region, that on the atom among them, imply those of a known contradiction."""
        known = self.cores.get(self.ring.name(atom), ())
        return any(all(region.allowed_by_name(name) & ~mask == 0 for name, mask in core) for core in known)

    def _connected(self, region: Region, atom: int) -> frozenset[Condition]:
        """The conditions that share variables with an atom, directly or through others."""
        reached = set(self.ring.support(atom))
        waiting = {condition: self.ring.support(condition[0]) for condition in region}
        linked: list[Condition] = []
        grown = True
        while grown:
            linking = [condition for condition, variables in waiting.items() if variables & reached]
            for condition in linking:
                reached |= waiting.pop(condition)
            linked += linking
            grown = bool(linking)
        return frozenset(linked)

    def _solve(self, conditions: frozenset[Condition]) -> dict[int, Any] | Empty:
        named = frozenset((self.ring.name(number), mask) for number, mask in conditions)
        if named not in self.solved:
            self.solved[named] = self._ask_solver(conditions)
        answer: dict[int, Any] | Empty = self.solved[named]
        return answer

    def _ask_solver(self, conditions: frozenset[Condition]) -> dict[int, Any] | Empty:
        """What z3 says. Neither what it was asked before nor the numbers of atoms play a part."""
        z3 = solver_module()
        listed = sorted((self.ring.name(number), number, mask) for number, mask in conditions)
        self.asked += 1
        answer, solver, needed = self._of_solver(z3, listed)
        if answer == z3.sat:
            return self._rational(z3, solver.ctx, solver.model(), conditions)
        if answer != z3.unsat:
            return Empty.UNKNOWN
        core = frozenset((name, mask) for name, _, mask in needed)
        for name, _ in core:
            self.cores.setdefault(name, []).append(core)
        return Empty.YES

    def _of_solver(self, z3: Any, listed: list[Named]) -> tuple[Any, Any, list[Named]]:
        """The answer to conditions, the solver that has it, and which of them contradict each other.

        What z3 does with conditions that are tracked can take for ever where it is quick without; so it is asked again
        without, and then all of them are taken to be needed.
        """
        tracked = self._tracked(z3, z3.SolverFor("QF_NRA", ctx=z3.Context()), listed, TRACKED)
        if tracked[0] in (z3.sat, z3.unsat):
            return tracked
        solver = z3.Tactic("qfnra-nlsat", ctx=z3.Context()).solver()
        solver.set("timeout", int(self.seconds * 1000))
        solver.add(*self._read(z3, solver.ctx, listed))
        return solver.check(), solver, listed

    def _tracked(self, z3: Any, solver: Any, listed: list[Named], seconds: float) -> tuple[Any, Any, list[Named]]:
        """`_of_solver` for a solver that tells which conditions contradict each other."""
        solver.set("timeout", int(seconds * 1000))
        solver.set("unsat_core", True)
        for place, formula in enumerate(self._read(z3, solver.ctx, listed)):
            solver.assert_and_track(formula, f"c{place}")
        answer = solver.check()
        core = solver.unsat_core() if answer == z3.unsat else ()
        return answer, solver, [listed[int(str(name)[1:])] for name in core]

    def _rational(self, z3: Any, context: Any, model: Any, conditions: Iterable[Condition]) -> dict[int, Any] | Empty:
        """The values of a model if they are rational; unknown otherwise."""
        values: dict[int, Any] = {}
        for position in self._variables(conditions):
            value = model.eval(z3.Real(f"x{position}", context), model_completion=True)
            if not z3.is_rational_value(value):
                return Empty.UNKNOWN
            values[position] = fmpq(value.numerator_as_long(), value.denominator_as_long())
        return values

    def _read(self, z3: Any, context: Any, listed: Sequence[Named]) -> list[Any]:
        """Conditions in z3's language, read from text: to call it for every operation takes longer than its answer."""
        declared = "".join(
            f"(declare-const x{position} Real)"
            for position in sorted(self._variables((number, mask) for _, number, mask in listed))
        )
        asserted = "".join(f"(assert {self._formula(number, mask)})" for _, number, mask in listed)
        return list(z3.parse_smt2_string(declared + asserted, ctx=context))

    def _formula(self, atom: int, mask: int) -> str:
        """A condition on a product is one on its factors: of those with an even exponent only zeros matter."""
        if atom not in self._texts:
            factors = self.ring.factors(self.ring.atoms[atom])[1]
            texts = [(as_text(self.ring, self.ring.atoms[part]), exponent % 2) for part, exponent in factors]
            odd = " ".join(["1.0", *(text for text, is_odd in texts if is_odd)])
            self._texts[atom] = f"(* {odd})", [text for text, is_odd in texts if not is_odd]
        return condition_text(*self._texts[atom], mask)


def condition_text(odd: str, even: Sequence[str], mask: int) -> str:
    """A condition on the sign of `odd` times the squares of `even` in SMT-LIB's language."""
    sign = {
        NEGATIVE: f"(< {odd} 0.0)",
        ZERO: f"(= {odd} 0.0)",
        POSITIVE: f"(> {odd} 0.0)",
        NEGATIVE | ZERO: f"(<= {odd} 0.0)",
        ZERO | POSITIVE: f"(>= {odd} 0.0)",
        NEGATIVE | POSITIVE: f"(distinct {odd} 0.0)",
    }[mask]
    if mask & ZERO:
        return " ".join(["(or", sign, *(f"(= {text} 0.0)" for text in even)]) + ")"
    return " ".join(["(and", sign, *(f"(distinct {text} 0.0)" for text in even)]) + ")"


def as_text(ring: Ring, polynomial: Polynomial) -> str:
    """A polynomial in SMT-LIB's language; variables are `x0, x1, ..`."""
    terms = []
    for exponents, coefficient in ring.terms(polynomial).items():
        names = [f"x{position}" for position, exponent in enumerate(exponents) for _ in range(int(exponent))]
        size = f"(/ {abs(int(coefficient.p))}.0 {int(coefficient.q)}.0)"
        terms.append(" ".join(["(*", size if coefficient > 0 else f"(- {size})", *names]) + ")")
    return " ".join(["(+ 0.0", *terms]) + ")"


def solver_module() -> Any:
    """z3; raises `InvalidInput` where it is not installed."""
    try:
        import z3  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise InvalidInput(
            "theorems need the solver z3: pip install 'draftproof[prove]' (or z3-solver), and try again"
        ) from None
    return z3


def nudged(ring: Ring, conditions: frozenset[Condition], atom: int, start: Point) -> Point | None:
    """A point that meets all conditions and differs from `start` in one variable; None where none is found so."""
    wanted = next(mask for number, mask in conditions if number == atom)
    polynomial = ring.atoms[atom]
    for position in sorted(ring.support(atom)):
        if polynomial.degrees()[position] != 1:
            continue
        slope = ring.at(polynomial.derivative(position), start)
        if slope == 0:
            continue
        tie = start[position] - ring.at(polynomial, start) / slope
        touched = [(number, mask) for number, mask in conditions if position in ring.support(number)]
        for value in _candidates(tie, slope, wanted):
            point = (*start[:position], value, *start[position + 1 :])
            if all(ring.sign_at(number, point) & mask for number, mask in touched):
                return point
    return None


def _candidates(tie: Any, slope: Any, wanted: int) -> Iterator[Any]:
    """Values of a variable with which the atom has a wanted sign; `tie` is where it is zero."""
    for sign, up in ((POSITIVE, slope > 0), (NEGATIVE, slope < 0)):  # up: the sign is that above the tie
        end = rational(1 if up else 0)
        if wanted & sign and (end > tie) == up:
            low = max(tie, rational(0)) if up else min(tie, rational(1))
            for part, whole in STEPS:
                middle = low + (end - low) * rational(part, whole)
                yield simplest_between(*sorted((middle, low + (end - low) * rational(3 * part, 4 * whole))))
    if wanted & ZERO:
        yield tie


def simplest_between(low: Any, high: Any) -> Any:
    """The rational with the smallest denominator in an interval of numbers that are not negative."""
    floor = low.floor()
    if low in (floor, high):
        return low
    if floor < high.floor() or high == floor + 1:
        return rational(int(floor) + 1)
    return floor + 1 / simplest_between(1 / (high - floor), 1 / (low - floor))
