"""Check a certificate of `draftproof prove --vocab any`: `python check_certificate.py FILE`. Needs nothing but Python.

A certificate has polynomials, functions (a numerator over factors), and for every length of a context the cases of one
sum. The checker multiplies out: every sum is what it should be, every sign follows from signs that are known.
`simulator/theorems/any_vocabulary/certificate.py` describes the format.

On trust: trees, chances, verdicts (draftproof verify computes them again); that named tokens are listed once,
with their p and q; that cases and classes are all.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from typing import Any, NamedTuple

FORMAT = "draftproof theorem for every vocabulary 5"
LOSSLESS, EQUALS, DOMINATES = "lossless", "equals", "dominates"

#: The sorted names of variables, as often as they come.
Monomial = tuple[str, ...]
#: Monomials with their coefficients, none of which is 0.
Polynomial = frozenset[tuple[Monomial, Fraction]]
#: A function by its number in the file, a variable by its name, or `MINUS`.
Name = int | str
#: Names of functions that are multiplied; () is 1.
Product = tuple[Name, ...]
Sum = Sequence[Product]
#: The signs that are known of polynomials in a case: ">", ">=" or "=" 0.
Known = Mapping[Polynomial, str]
#: The tokens of a context.
Context = tuple[Any, ...]

MINUS = "-"  # the function -1
ONE: Sum = [()]
#: How the verdicts of each verifier enter the sum of a theorem: as they are, or subtracted.
ENTERS: Mapping[str, Sequence[Product]] = {
    LOSSLESS: [(MINUS,)],
    EQUALS: [(), (MINUS,)],
    DOMINATES: [(), (MINUS,)],
}


class Drafted(NamedTuple):
    """The tree that was drafted so far. totals: what the masses of the verdicts on it add up to, for each verifier."""

    nodes: Sequence[Context]
    totals: Sequence[Sum]


def require(true: bool, place: str, otherwise: str) -> None:
    """Reject the file unless this is true."""
    if not true:
        raise ValueError(f"{place}: {otherwise}")


def polynomial(terms: Iterable[tuple[Monomial, Fraction]]) -> Polynomial:
    """The sum of these terms."""
    total: dict[Monomial, Fraction] = {}
    for monomial, value in terms:
        total[monomial] = total.get(monomial, Fraction(0)) + value
    return frozenset((monomial, value) for monomial, value in total.items() if value)


ZERO = polynomial([])


def variable(name: str) -> Polynomial:
    """The polynomial that is one variable."""
    return polynomial([((name,), Fraction(1))])


@cache
def product(*factors: Polynomial) -> Polynomial:
    """The product of polynomials; 1 if there are none."""
    if not factors:
        return polynomial([((), Fraction(1))])
    *others, last = factors
    return polynomial((tuple(sorted(m + n)), a * b) for m, a in product(*others) for n, b in last)


def linear(functions: Sequence[Name], variables: Sequence[Name] | None) -> Sum:
    """The sum of functions, or where there are variables, of each function times its variable."""
    if variables is None:
        return [(function,) for function in functions]
    return list(zip(functions, variables, strict=True))


class Checker:
    """One file. counts: of equations by what they are about.

    names: the tokens of the step, which are the context and, but for dominance, the token after it. lengths: of the
    names for which verdicts were counted. deepest: the length of the longest node.
    """

    def check(self, fields: Any) -> None:
        """Raise an error unless the certificate is valid."""
        require(fields["format"] == FORMAT, "the file", "it has another format")
        polynomials = [
            polynomial((tuple(sorted(names)), Fraction(value)) for value, *names in terms)
            for terms in fields["polynomials"]
        ]
        self.functions: dict[Name, list[Polynomial]] = {MINUS: [polynomial([((), Fraction(-1))])]}
        for number, parts in enumerate(fields["functions"]):
            self.functions[number] = [polynomials[place] for place in parts]
        self.kind: str = fields["kind"]
        self.counts, self.lengths, self.deepest = Counter[str](), set[int](), 0
        known = {one: ">" for one in polynomials if all(not names and value > 0 for names, value in one)}
        known[ZERO] = "="
        for step in fields["steps"]:
            self.names: list[Any] = step["names"]
            start = Drafted([()], [ONE for _ in ENTERS[self.kind]])
            self.check_cases(known, "the start", step["cases"], start, self.names, ONE, [])
        self.check_lengths([len(step["names"]) for step in fields["steps"]])

    def check_lengths(self, given: Sequence[int]) -> None:
        """Check that there is a step for every length of names up to the longest that a verdict can tell of."""
        longest = self.deepest if self.kind == DOMINATES else self.deepest + 1
        wanted = [*range(1, max([longest, *given]) + 1)]
        complete = bool(wanted) and given == wanted and sorted(self.lengths) == wanted
        require(complete, "the steps", "not all")

    def check_cases(
        self,
        around: Known,
        place: str,
        cases: Sequence[Any],
        drafted: Drafted,
        tokens: Sequence[Any],
        times: Sum,
        value: Sum,
    ) -> None:
        """Check in every case that a sum, times `times`, is `value` and its `rest`, which is 0 or as claimed.

        tokens: whose p and q come up in the cases. The claim is made where there is no `value`, at the start of a step.
        """
        require(bool(cases), place, "there are no cases")
        for number, case in enumerate(cases):
            here = f"{place}, case {number} of {tokens}"
            known = self.with_variables(around, here, [*tokens, *case["pairs"]])
            for condition in case["where"]:
                known = self.with_condition(known, here, *condition)
            if known[ZERO] == ">":  # 0 > 0 says that there is nothing in this case
                continue
            total = [(*one, *other) for one in self.sum_of(known, here, case["sum"], drafted) for other in times]
            self.check_equal(known, here, "values in cases", total, [*value, *case["rest"]])
            allowed = [">", ">=", "="] if self.kind == DOMINATES and not value else ["="]
            require(self.sign(known, case["rest"]) in allowed, here, "nothing says that it is as claimed")

    def with_variables(self, around: Known, place: str, tokens: Sequence[Any]) -> Known:
        """What is known where the p and q of these tokens come up: they are > 0."""
        new = {f"{side}{token}": variable(f"{side}{token}") for token in tokens for side in "pq" if type(token) is int}
        known = {**around, **dict.fromkeys(new.values(), ">")}
        require(len(known) == len(around) + 2 * len(tokens), place, f"{', '.join(new)}: not all are new")
        self.functions.update((name, [own]) for name, own in new.items())
        return known

    def with_condition(self, known: Known, place: str, sign: str, name: Name, *terms: Product) -> Known:
        """What is known with a condition of a case or, where there are terms, with a sign that follows from others."""
        one = self.functions[name][0]
        minus = product(one, *self.functions[MINUS])
        if terms:
            self.check_equal(known, place, "signs that follow", [(name,)], terms)
            possible = [self.sign(known, terms)]
        else:  # a constant has the sign that it has
            possible = [">", ">=", "="] if any(names for names, _ in one) else []
        require(sign in possible, place, f"nothing says that function {name} is {sign} 0")
        if sign == "=" or sign == known.get(minus) == ">=":
            return {**known, one: "=", minus: "="}
        return {**known, one: sign}

    def sign(self, known: Known, products: Sum) -> str:
        """What the signs of factors say of a sum of products: ">", ">=", "=", or "?" for nothing."""
        factors = [{">", *(known.get(self.functions[name][0], "?") for name in names)} for names in products]
        factors = [signs for signs in factors if "=" not in signs]  # the others are 0
        if not factors:
            return "="
        if any("?" in signs for signs in factors):
            return "?"
        return ">" if {">"} in factors else ">="

    def check_equal(self, known: Known, place: str, what: str, left: Sum, right: Sum) -> None:
        """Check that two sums of products are equal, over their common denominator. what: counted under this name."""
        self.counts[what] += 1
        place = f"{place}, {what}"
        products = [*left, *((MINUS, *names) for names in right)]
        factors = [[self.functions[name] for name in names] for names in products]
        denominators = [Counter(below for _, *belows in one for below in belows) for one in factors]
        common = reduce(Counter.__or__, denominators, Counter[Polynomial]())
        names = {
            name
            for one in factors
            for function in one
            for part in function
            for monomial, _ in part
            for name in monomial
        }
        require(all(variable(name) in known for name in names), place, f"one of {sorted(names)} may not occur")
        require(all(known.get(below) == ">" for below in common), place, "nothing says that all denominators are > 0")
        terms: list[tuple[Monomial, Fraction]] = []
        for one, own in zip(factors, denominators, strict=True):
            terms += product(*(numerator for numerator, *_ in one), *(common - own).elements())
        require(not polynomial(terms), place, "the two sides differ")

    def sum_of(self, known: Known, place: str, fields: Any, drafted: Drafted) -> Sum:
        """The sum of a case: of the verdicts on the tree, or of all tokens that may be drafted next."""
        if "verdicts" in fields:
            return self.sum_of_verdicts(known, place, fields, drafted)
        parts, chances, value = fields["parts"], list[Product](), list[Product]()
        above = {tuple(part["node"][:-1]) for part in parts}
        require(above in [{node} for node in drafted.nodes], place, "its row was not drafted")
        for part in parts:
            if "chance" not in part:  # never drafted
                continue
            *_, token = node = tuple(part["node"])
            # The chance of a token, times what follows, is a function. A new token is any of a class: then it is linear
            # in its p and q, and its sum over the class is linear in their masses.
            own, of_class = ((f"p{token}", f"q{token}"), part["masses"]) if part["new"] else (None, None)
            below = Drafted([*drafted.nodes, node], drafted.totals)
            tokens, times = [token] if part["new"] else [], linear(part["chance"], own)
            self.check_cases(known, place, part["cases"], below, tokens, times, linear(part["linear"], own))
            chances += linear(part["chance"], of_class)
            value += linear(part["linear"], of_class)
        p, q = ([(part["masses"][side],) for part in parts] for side in (0, 1))
        for added in (chances, p, q):
            self.check_equal(known, place, "chances and rows of p and q", added, ONE)
        return value

    def sum_of_verdicts(self, known: Known, place: str, fields: Any, drafted: Drafted) -> Sum:
        """What the verdicts on a tree, and those that come later, where more is drafted, add to the sum."""
        later, names, nodes = fields.get("later", []), self.names, drafted.nodes
        context = tuple(names if self.kind == DOMINATES else names[:-1])
        if not later and any(leaves(node, context, nodes) for node in nodes):
            return []  # other tokens are drafted there than those of the context
        self.lengths.add(len(names))
        self.deepest = max(self.deepest, *map(len, nodes))
        value: list[Product] = []
        verifiers = zip(ENTERS[self.kind], fields["verdicts"], drafted.totals, strict=True)
        for number, (enters, masses, total) in enumerate(verifiers):
            added = [*((mass,) for *_, mass in masses), *((part["masses"][number],) for part in later)]
            self.check_equal(known, place, "masses of verdicts", added, total)
            for *accepted, token, mass in masses:
                require(tuple(accepted) in nodes, place, f"{accepted} was not drafted")
                if self.is_counted(accepted, token):
                    value.append((*enters, mass))
                if self.kind == LOSSLESS and tuple(accepted[: len(context)]) == context:
                    value.append((mass, f"p{names[-1]}"))
        for part in later:
            below = Drafted(nodes, [[(mass,)] for mass in part["masses"]])
            self.check_cases(known, place, part["cases"], below, [], ONE, [(part["value"],)])
            value.append((part["value"],))
        return value

    def is_counted(self, accepted: Sequence[Any], token: Any) -> bool:
        """Whether a verdict is what the names say: keeps the context, puts out the names first, or is that verdict."""
        if self.kind == DOMINATES:
            return list(accepted[: len(self.names)]) == self.names
        text = [*accepted, token]
        return (text if self.kind == EQUALS else text[: len(self.names)]) == self.names


def leaves(node: Context, context: Context, nodes: Sequence[Context]) -> bool:
    """Whether a node was drafted beside the context, whose own token there was not."""
    depth = len(node)
    return depth > 0 and node[:-1] == context[: depth - 1] and context[:depth] not in nodes


def main(file: str) -> None:
    """Print what a certificate shows, or exit with 1 and the reason why it is none."""
    checker = Checker()
    try:
        with open(file, encoding="utf-8") as opened:
            fields = json.load(opened)
        checker.check(fields)
    except Exception as error:
        sys.exit(f"{'NOT READ' if isinstance(error, OSError) else 'REJECTED'}: {error!r:.300}")
    print("VALID for every V, p, q:", {n: fields.get(n) for n in ("verifier", "kind", "other", "scheme", "assumed")})
    for what, count in checker.counts.items():
        print(f"{count:9,} {what}")
    print((__doc__ or "").rpartition("\n\n")[2])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
