"""One case of a proof for every vocabulary size: what is known of named tokens, of classes of tokens, and of signs.

The tokens of a row are cut into classes. All tokens of a class give the same answer to every question that was asked
about a form `a p(y) + b q(y)`, where `a` and `b` do not depend on `y`. A class has two sums, `P` of the target and `Q`
of the draft, over all its tokens, the named ones among them; none is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from draftproof.simulator.errors import TooLarge
from draftproof.simulator.theorems.algebra.oracle import Oracle
from draftproof.simulator.theorems.algebra.polynomials import (
    ANY,
    NEGATIVE,
    POSITIVE,
    ZERO,
    Polynomial,
    Ring,
    mirrored,
    sign_of,
)
from draftproof.simulator.theorems.algebra.ratios import Ratio
from draftproof.simulator.theorems.algebra.regions import Question, Region, vanishes
from draftproof.simulator.theorems.any_vocabulary.tokens import Context, Token


@dataclass(frozen=True)
class Threshold:
    """The sign of `p(y) - ratio q(y)` is in `mask` for all tokens of a class."""

    ratio: Ratio
    mask: int


@dataclass(frozen=True)
class TokenClass:
    """Tokens of a row. target, draft: their sums `P` and `Q`. thresholds: by the key of their ratio."""

    row: Context
    target: Ratio
    draft: Ratio
    thresholds: Mapping[str, Threshold]

    @property
    def ratio(self) -> Ratio | None:
        """`p/q` of all its tokens, where that is known."""
        return next((threshold.ratio for threshold in self.thresholds.values() if threshold.mask == ZERO), None)

    def allowed(self, ratio: Ratio) -> int:
        """The signs of `p - ratio q` that are left."""
        known = self.thresholds.get(ratio.key)
        return ANY if known is None else known.mask

    def answered(self, ratio: Ratio, mask: int) -> TokenClass:
        """The tokens of which the sign of `p - ratio q` is in a mask."""
        return replace(self, thresholds={**self.thresholds, ratio.key: Threshold(ratio, mask)})


@dataclass(frozen=True)
class Named:
    """A named token: its row, the number of its class, and the position of its `p` among the variables, before `q`."""

    row: Context
    of_class: int
    first: int


@dataclass(frozen=True)
class Ask:
    """A question that a case leaves open. scope: how many tokens are drafted before it can be asked."""

    scope: int


@dataclass(frozen=True)
class AskSign(Ask):
    """Whether the sign of an atom is in a mask."""

    atom: int
    mask: int


@dataclass(frozen=True)
class AskClass(Ask):
    """Of which tokens of a class the sign of `p - ratio q` is in a mask."""

    of_class: int
    ratio: Ratio
    mask: int


@dataclass(frozen=True)
class Case:
    """What is known. rows: the numbers of a row's classes. classes: by number. names: by token.

    scopes, homes: for every variable in use, how many tokens had been drafted when it came up, and its row.
    """

    region: Region
    oracle: Oracle
    rows: Mapping[Context, tuple[int, ...]]
    classes: Mapping[int, TokenClass]
    names: Mapping[Token, Named]
    scopes: tuple[int, ...] = ()
    homes: tuple[Context, ...] = ()
    next_class: int = 0

    @classmethod
    def start(cls, ring: Ring, oracle: Oracle) -> Case:
        """Nothing is known but the row of the root."""
        return cls(Region(ring, {}), oracle, {}, {}, {}).with_row(())

    @property
    def ring(self) -> Ring:
        """The ring of its variables."""
        return self.region.ring

    def variable(self, position: int) -> Ratio:
        """One of its variables."""
        return Ratio(self.ring, self.ring.variables[position])

    def with_row(self, row: Context) -> Case:
        """A further row: one class with sums 1."""
        one = Ratio(self.ring, self.ring.one)
        number = self.next_class
        return replace(
            self,
            rows={**self.rows, row: (number,)},
            classes={**self.classes, number: TokenClass(row, one, one, {})},
            next_class=number + 1,
        )

    def with_pair(self, scope: int, row: Context) -> tuple[Case, int]:
        """Two more variables."""
        first = len(self.scopes)
        if first + 2 > len(self.ring.variables):
            raise TooLarge(f"this proof needs more than {first} variables; take a shape with fewer drafted tokens")
        return replace(self, scopes=(*self.scopes, scope, scope), homes=(*self.homes, row, row)), first

    def with_name(self, row: Context, of_class: int, scope: int) -> tuple[Case, Token]:
        """Name a further token of a class; the row after it comes with it."""
        case, first = self.with_pair(scope, row)
        token = Token(len(case.names), row)
        region = case.region
        for variable in case.ring.variables[first : first + 2]:
            region = region.with_signs(case.ring.atom(variable), POSITIVE)
            region = region.with_signs(case.ring.atom(variable - 1), NEGATIVE)
        case = replace(case, region=region, names={**case.names, token: Named(row, of_class, first)})
        case = case._with_rest(of_class)
        for threshold in case.classes[of_class].thresholds.values():
            case = case._with_threshold(token, threshold)
        return case.with_row((*row, token)), token

    def named_in(self, of_class: int) -> list[Token]:
        """The named tokens of a class."""
        return [token for token, named in self.names.items() if named.of_class == of_class]

    def variables(self, token: Token) -> tuple[Ratio, Ratio]:
        """The variables of a named token."""
        first = self.names[token].first
        return self.variable(first), self.variable(first + 1)

    def masses(self, token: Token) -> tuple[Ratio, Ratio]:
        """`p` and `q` of a named token; where its class says `p = ratio q`, without the variable of `p`."""
        p, q = self.variables(token)
        ratio = self.classes[self.names[token].of_class].ratio
        return (p if ratio is None else ratio * q), q

    def rest(self, of_class: int) -> tuple[Ratio, Ratio]:
        """The sums of the tokens of a class without the named ones."""
        target, draft = self.classes[of_class].target, self.classes[of_class].draft
        for token in self.named_in(of_class):
            p, q = self.masses(token)
            target, draft = target - p, draft - q
        return target, draft

    def _with_rest(self, of_class: int) -> Case:
        """Tokens without a name have sums that are not negative, and the signs of their class, or there are none."""
        case, (target, draft) = self, self.rest(of_class)
        for rest in (target, draft):
            case = case.assuming(rest, POSITIVE | ZERO)
        for threshold in case.classes[of_class].thresholds.values():
            case = case.assuming(target - threshold.ratio * draft, signs_of_sums(threshold.mask) | ZERO)
        return case

    def _with_threshold(self, token: Token, threshold: Threshold) -> Case:
        p, q = self.variables(token)
        return self.assuming(p - threshold.ratio * q, threshold.mask)

    def assuming(self, ratio: Ratio, mask: int) -> Case:
        """The points where the sign of a function is in a mask; all points if the sign of its denominator is open."""
        if ratio.constant is not None or mask == ANY:
            return self
        if self.has_sign(ratio.den, NEGATIVE):
            mask = mirrored(mask)
        elif not self.has_sign(ratio.den, POSITIVE):
            return self
        if ratio.num.is_constant():
            possible = sign_of(ratio.num.leading_coefficient()) & mask
            return self if possible else replace(self, region=self.region.with_signs(self.ring.atom(ratio.den), 0))
        if ratio.num.leading_coefficient() < 0:
            mask = mirrored(mask)
        return replace(self, region=self.region.with_signs(self.ring.atom(ratio.num), mask))

    def has_sign(self, polynomial: Polynomial, mask: int) -> bool:
        """Whether the sign of a polynomial is known to be in a mask; any sign is in a case without points."""
        if 0 in self.region.masks.values():
            return True
        answer = self.region.ask((polynomial,), mask)
        if isinstance(answer, Question):
            return self.oracle.is_empty(self.region.with_signs(answer.atom, ANY & ~answer.mask), answer.atom)
        return answer

    def form_of(self, polynomial: Polynomial) -> tuple[Token, Polynomial, Polynomial] | None:
        """A named token and `(a, b)` where a polynomial is `a p + b q` of that token: one of the longest row.

        Neither `a` nor `b` may depend on rows after that token.
        """
        support = self.ring.support(self.ring.atom(polynomial))
        forms = []
        for token, named in self.names.items():
            if named.first in support or named.first + 1 in support:
                p, q = self.ring.variables[named.first], self.ring.variables[named.first + 1]
                a, b = polynomial.derivative(named.first), polynomial.derivative(named.first + 1)
                below = any(above is token for position in support for above in self.homes[position])
                if a * p + b * q == polynomial and not (a.is_zero() or b.is_zero() or below):
                    forms.append((len(named.row), named.first, token, a, b))
        return max(forms, key=lambda form: form[:2])[2:] if forms else None

    def scope_of(self, ratio: Ratio) -> int:
        """How many tokens had been drafted when the last of its variables came up."""
        return max((self.scopes[position] for position in self.used(ratio.num, ratio.den)), default=0)

    def used(self, *parts: Polynomial) -> list[int]:
        """The positions of the variables that occur in polynomials."""
        return [at for part in parts for at, degree in enumerate(part.degrees()[: len(self.scopes)]) if degree > 0]

    def scope_of_class(self, of_class: int) -> int:
        """The same for a class."""
        tokens = self.classes[of_class]
        of_row = max((self.scopes[self.names[token].first] for token in tokens.row), default=0)
        return max(of_row, self.scope_of(tokens.target), self.scope_of(tokens.draft))

    def is_new(self, ask: Ask, before: Case, context: Context) -> bool:
        """Whether a question is about rows from a context on, or about what was not there in the case before."""
        rows, parts = list[Context](), list[Polynomial]()
        if isinstance(ask, AskClass):
            if ask.of_class >= before.next_class:
                return True
            rows, parts = [self.classes[ask.of_class].row], [ask.ratio.num, ask.ratio.den]
        elif isinstance(ask, AskSign):
            parts = [self.ring.atoms[ask.atom]]
        used = self.used(*parts)
        rows += [self.homes[at] for at in used]
        return max(used, default=-1) >= len(before.scopes) or any(row[: len(context)] == context for row in rows)

    def until(self, scope: int) -> Region:
        """The conditions on what came up before further tokens were drafted."""
        known = {position for position, since in enumerate(self.scopes) if since <= scope}
        return Region(self.ring, {atom: mask for atom, mask in self.region if self.ring.support(atom) <= known})

    def answers(self, ask: Ask) -> Iterator[Case]:
        """The cases into which a question divides this one, without those that are shown to be impossible."""
        if isinstance(ask, AskSign):
            for side in (ask.mask, ANY & ~ask.mask):
                regions = {sign: self.region.with_signs(ask.atom, side & sign) for sign in (NEGATIVE, ZERO, POSITIVE)}
                mask = sum(sign for sign, region in regions.items() if not self.oracle.is_empty(region, ask.atom))
                if mask:
                    yield replace(self, region=self.region.with_signs(ask.atom, mask))
        elif isinstance(ask, AskClass):
            yield from self._divided(ask)

    def _divided(self, ask: AskClass) -> Iterator[Case]:
        """All tokens of the class give one answer, or some the one and some the other."""
        old, named = self.classes[ask.of_class], self.named_in(ask.of_class)
        allowed = old.allowed(ask.ratio)
        masks = allowed & ask.mask, allowed & ~ask.mask
        for mask in masks:
            yield from self._with_classes(ask, {ask.of_class: old.answered(ask.ratio, mask)}, {})
        case, first = self.with_pair(ask.scope, old.row)
        part = case.variable(first), case.variable(first + 1)
        if ZERO in masks:
            part = ask.ratio * part[1], part[1]
        sums = [part, (old.target - part[0], old.draft - part[1])]
        if masks[1] == ZERO:
            sums.reverse()
        numbers = case.next_class, case.next_class + 1
        parts = {
            number: replace(old.answered(ask.ratio, mask), target=target, draft=draft)
            for number, mask, (target, draft) in zip(numbers, masks, sums, strict=True)
        }
        case = replace(case, next_class=numbers[1] + 1)
        for sides in product(numbers, repeat=len(named)):
            yield from case._with_classes(ask, parts, dict(zip(named, sides, strict=True)))

    def _with_classes(
        self, ask: AskClass, parts: Mapping[int, TokenClass], moved: Mapping[Token, int]
    ) -> Iterator[Case]:
        """The case in which these classes stand for the one that was asked about, unless it is impossible."""
        row = self.classes[ask.of_class].row
        classes = {number: old for number, old in self.classes.items() if number != ask.of_class} | dict(parts)
        places = [number for old in self.rows[row] for number in (parts if old == ask.of_class else (old,))]
        names = {
            token: replace(named, of_class=moved[token]) if token in moved else named
            for token, named in self.names.items()
        }
        case = replace(self, names=names, classes=classes, rows={**self.rows, row: tuple(places)})
        new: list[int] = []
        for number, part in parts.items():
            threshold = part.thresholds[ask.ratio.key]
            signs = (part.target, POSITIVE), (part.draft, POSITIVE)
            for ratio, mask in (*signs, (part.target - ask.ratio * part.draft, signs_of_sums(threshold.mask))):
                if ratio.constant is None:
                    case = case.assuming(ratio, mask)
                    new.append(case.ring.atom(ratio.num))
                elif not sign_of(ratio.constant) & mask:
                    return
            for token in case.named_in(number):
                p, q = case.variables(token)
                form = p - ask.ratio * q
                if form.constant is None:
                    case = case._with_threshold(token, threshold)
                    new.append(case.ring.atom(form.num))
                elif not sign_of(form.constant) & threshold.mask:  # the ratio is that of this token
                    return
            case = case._with_rest(number)
        asked = [atom for atom in new if atom in case.region.masks]
        if 0 not in case.region.masks.values() and not any(self.oracle.is_empty(case.region, atom) for atom in asked):
            yield case

    def equal(self, one: Ratio, other: Ratio) -> bool:
        """Whether two functions are shown to be equal in this case, or the case to be impossible."""
        if one.key == other.key:
            return True
        if not all(any(self.has_sign(part.den, mask) for mask in (POSITIVE, NEGATIVE)) for part in (one, other)):
            return False  # a quotient that may be 0 / 0 in this case
        rest = self.reduced(one - other)
        if rest.is_zero or vanishes(rest.num, self.region):
            return True
        if rest.num.is_constant():
            return self.is_impossible()
        atom = self.ring.atom(rest.num)
        return self.oracle.is_empty(self.region.with_signs(atom, NEGATIVE | POSITIVE), atom)

    def is_impossible(self) -> bool:
        """Whether the solver shows that there is no p, q and V of this case."""
        return any(self.oracle.is_empty(self.region, atom) for atom, _ in self.region)

    def reduced(self, value: Ratio) -> Ratio:
        """The same function where the equations of the case hold, with fewer variables: the last ones are replaced."""

        def nonzero(slope: Polynomial) -> bool:
            return any(self.has_sign(slope, mask) for mask in (POSITIVE, NEGATIVE))

        equations = [self.ring.atoms[atom] for atom, mask in self.region if mask == ZERO]
        while equations:
            equation = equations.pop()
            position = self.solvable(equation, nonzero)
            if position is not None:
                num, den = (remainder(self.ring, part, equation, position) for part in (value.num, value.den))
                value = value if den.is_zero else num / den
                others = [remainder(self.ring, other, equation, position) for other in equations]
                equations = [other.num for other in others if not other.is_zero]
        return value

    def solvable(self, equation: Polynomial, nonzero: Callable[[Polynomial], bool]) -> int | None:
        """The last variable of an equation that is linear in it; None unless its coefficient is shown to be not 0."""
        for position in range(len(self.scopes) - 1, -1, -1):
            slope = equation.derivative(position)
            if not slope.is_zero() and slope.degrees()[position] <= 0:
                return position if nonzero(slope) else None
        return None


def divided(
    ring: Ring, polynomial: Polynomial, equation: Polynomial, position: int
) -> tuple[Polynomial, Polynomial, Polynomial]:
    """`(rest, factor, quotient)`: `factor * polynomial = quotient * equation + rest`, a variable is not in `rest`.

    equation: is linear in it. factor: a power of its coefficient there.
    """
    slope = equation.derivative(position)
    rest, factor, quotient = polynomial, ring.one, ring.zero
    while not rest.is_zero() and (degree := int(rest.degrees()[position])) > 0:
        lead = rest
        for count in range(1, degree + 1):
            lead = lead.derivative(position) / count
        lead = lead * ring.variables[position] ** (degree - 1)
        rest, factor, quotient = rest * slope - lead * equation, factor * slope, quotient * slope + lead
    return rest, factor, quotient


def remainder(ring: Ring, polynomial: Polynomial, equation: Polynomial, position: int) -> Ratio:
    """What a polynomial is where a linear equation holds, without the variable."""
    rest, factor, _ = divided(ring, polynomial, equation, position)
    return Ratio.quotient(ring, rest, factor)


def signs_of_sums(mask: int) -> int:
    """The signs that a sum of numbers with these signs may have."""
    return ANY if mask == NEGATIVE | POSITIVE else mask
