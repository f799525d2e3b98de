"""Check a certificate of `draftproof prove --vocab any`: `python check_certificate.py FILE`. Needs nothing but Python.

It adds up all sums of the file as polynomials over the rationals. Exit 0: valid; 1: rejected; 2: not such a file.
"""

import json
import re
import sys
from collections import Counter
from fractions import Fraction
from functools import cache, reduce
from itertools import chain
from operator import or_
from typing import Any

FORMAT, VERIFIERS = "draftproof theorem for every vocabulary 1", {"lossless": 1, "equals": 2, "dominates": 2}
SHOWS = {"lossless": ("=",), "equals": ("=",), "dominates": ("=", ">", ">=")}
MIRRORED = {"<": ">", ">": "<", "!=": "!=", "<=": ">=", ">=": "<=", "=": "="}
TRUST = """On trust: that the scheme draws with these chances and the code has these verdicts (draftproof prove --verify
runs both), that the cases and classes are all that there are, and what the solver said:"""
SLOTS: dict[str, int] = {}


class Rejected(Exception):
    """Something is not as claimed."""


def require(true: bool, place: str, otherwise: str) -> None:
    """Reject the file unless this is true."""
    if not true:
        raise Rejected(f"{place}: {otherwise[:200]}")


def collected(terms: Any) -> dict[int, Fraction]:
    """A polynomial: coefficients by monomial, a whole number with 32 bits for the power of each variable."""
    total: dict[int, Fraction] = {}
    for monomial, value in terms:
        total[monomial] = total.get(monomial, Fraction(0)) + value
    return {monomial: value for monomial, value in total.items() if value}


@cache
def polynomial(text: str) -> dict[int, Fraction]:
    """Read `3/10*p0*q1^2 - 1`."""
    terms = []
    for term in text.replace("- ", "-").replace("+ ", "").split(" "):
        monomial, value = 0, Fraction(-1 if term[0] == "-" else 1)
        for factor in term.removeprefix("-").split("*"):
            if found := re.fullmatch(r"([pq]\d+)(?:\^(\d\d?))?", factor):
                monomial += int(found[2] or 1) << 32 * SLOTS.setdefault(found[1], len(SLOTS))
            else:
                value *= Fraction(factor)
        terms.append((monomial, value))
    return collected(terms)


@cache
def product(factors: tuple[str, ...]) -> dict[int, Fraction]:
    """A product of polynomials."""
    one, other = (product(factors[:-1]), polynomial(factors[-1])) if factors else ({0: Fraction(1)}, {0: Fraction(1)})
    return collected((m + n, a * b) for m, a in one.items() for n, b in other.items())


def key(*products: tuple[str, ...]) -> Any:
    """A sum of products; equal sums have equal keys."""
    return frozenset(collected(term for factors in products for term in product(factors).items()).items())


class Checker:
    """One file. A factor of a product is a function, by its place in the file, or a polynomial as text."""

    def __init__(self, fields: Any) -> None:
        if fields["format"] != FORMAT or fields["kind"] not in VERIFIERS:
            raise ValueError(f"its format is {fields['format']!r}, its kind {fields['kind']!r}")
        self.kind, self.steps, self.deepest, self.trusted = fields["kind"], fields["steps"], 0, list[str]()
        self.functions: Any = {place: (num, Counter(den)) for place, (num, den) in enumerate(fields["functions"])}
        self.claims, self.counts = dict[Any, str](), Counter[str]()

    def parts(self, factors: Any) -> Any:
        """Numerators, and the factors of all denominators."""
        found = [(each, Counter()) if isinstance(each, str) else self.functions[each] for each in factors]
        return [num for num, _ in found], sum((den for _, den in found), Counter())

    def cleared(self, sides: Any) -> list[list[tuple[str, ...]]]:
        """The sides of an equation times their common denominator, as sums of products of polynomials."""
        found = [[self.parts(factors) for factors in side] for side in sides]
        common = reduce(or_, (den for side in found for _, den in side), Counter[str]())
        return [[(*num, *(common - den).elements()) for num, den in side] for side in found]

    def claim(self, where: Any, what: str, *sides: Any) -> None:
        """Two sums of products are equal, their variables have come up, and no denominator is 0."""
        place, scope, known = where
        self.counts[what] += 1
        found = [self.parts(factors) for side in sides for factors in side]
        names = {name for num, den in found for name in re.findall(r"[pq]\d+", " ".join((*num, *den)))}
        require(names <= scope, place, f"{what}: {sorted(names - scope)} may not occur")
        zero = [text for _, den in found for text in den if known.get(key((text,))) not in ("<", ">", "!=")]
        require(not zero, place, f"{what}: nothing says that {zero} are not 0")
        if sides not in self.claims:
            self.claims[sides] = f"{place}, {what}"
            require(len({key(*side) for side in self.cleared(sides)}) == 1, place, f"{what}: the two sides differ")

    def case(self, fields: Any, where: Any, number: int) -> Any:
        """Its place, the variables that have come up, how polynomials compare with 0."""
        where = place, scope, known = f"{where[0]}, case {number}", set(where[1]), dict(where[2])
        self.counts["cases"] += 1
        for left, relation, right in (re.split(" (<=|>=|!=|<|>|=) ", text) for text in fields["where"]):
            known[key((left,), ("-1", right))], known[key((right,), ("-1", left))] = relation, MIRRORED[relation]
            scope |= set(re.findall(r"[pq]\d+", f"{left} {right}"))
        for text, relation, times, terms in fields["therefore"]:
            if terms is None:
                self.trusted.append(f"{place}: {text} {relation} 0 if {', '.join(fields['where'])}")
            else:
                self.claim(where, f"{relation} 0 by conditions", ((text, *times),), tuple(map(tuple, terms)))
                factors = {each: re.fullmatch(r"[1-9]\d*(/\d+)?", each) for each in chain(times, *terms)}
                signs = {each: ">" if number else known.get(key((each,))) for each, number in factors.items()}
                found = [{signs[each] for each in factors} for factors in terms]
                shown = all("=" in each or (relation != "=" and each <= {">", ">="}) for each in found)
                shown &= all(signs[each] == ">" for each in times) and relation in ("=", ">", ">=")
                shown &= relation != ">" or {">"} in found
                require(shown, place, f"nothing says that {text} {relation} 0")
            known[key((text,))], known[key(("-1", text))] = relation, MIRRORED[relation]
        return where

    def sum(self, fields: Any, where: Any, step: Any, path: tuple[str, ...]) -> None:
        """It has its value, and nothing that can be drafted is left out."""
        if "leaf" in fields:
            return self.leaf(fields, where, step, path)
        value, chances = list[Any](), list[Any]()
        for number, part in enumerate(fields["drafted"]):
            if "after" in part:
                value.append((part["chance"], part["after"]["value"]))
                chances.append((part["chance"],))
                self.sum(part["after"], where, step, (*path, part["token"]))
            elif "cases" in part:
                value += zip(part["linear"], part["masses"], strict=True)
                chances += zip(part["chance"], part["masses"], strict=True)
                self.new(part, (f"{where[0]}, class {number}", *where[1:]), step, path)
        self.claim(where, "values of sums", ((fields["value"],),), tuple(value))
        self.claim(where, "chances", tuple(chances), (("1",),))
        for row in zip(*(part["masses"] for part in fields["drafted"]), strict=True):
            self.claim(where, "rows of p and q", tuple((each,) for each in row), (("1",),))

    def new(self, fields: Any, where: Any, step: Any, path: tuple[str, ...]) -> None:
        """In every case the chance of the token times what follows is linear in the token's own variables."""
        (p, q), (a, b), (c, d) = fields["variables"], fields["chance"], fields["linear"]
        new = re.fullmatch(r"p\d+ q\d+", f"{p} {q}") and not {p, q} & where[1]
        names = (*path, *step["context"], *(step["token"] or ()))
        require(bool(new) and fields["token"] not in names, where[0], f"{fields['token']} with {p} and {q} are not new")
        if not fields["cases"]:
            self.trusted.append(f"{where[0]}: there is no such token")
            require(self.functions[c][0] == self.functions[d][0] == "0", where[0], "something follows no token")
        for number, each in enumerate(fields["cases"]):
            inside, value = self.case(each, (where[0], where[1] | {p, q}, where[2]), number), each["sum"]["value"]
            zero = [inside[2].get(key((self.functions[one][0],))) for one in each["differs"]]
            require({*zero} <= {"="}, inside[0], "the difference is not 0")
            right = ((c, p), (d, q), *((one,) for one in each["differs"]))
            self.claim(inside, "sums after new tokens", ((a, p, value), (b, q, value)), right)
            self.sum(each["sum"], inside, step, (*path, fields["token"]))

    def leaf(self, fields: Any, where: Any, step: Any, path: tuple[str, ...]) -> None:
        """The masses of the verdicts on a tree add up to 1, and the value is what the theorem counts."""
        drafted = {tuple(context): tokens for context, tokens in fields["leaf"]["drafted"]}
        context, token, verdicts = tuple(step["context"]), step["token"], fields["leaf"]["verdicts"]
        end = context if token is None else (*context, token[0])

        def reached(path: tuple[str, ...]) -> bool:
            return all(each in drafted.get(path[:n], ()) for n, each in enumerate(path))

        tree = Counter(each for tokens in drafted.values() for each in tokens)
        require(tree == Counter(path) and all(map(reached, drafted)), where[0], "this is not the tree that was drafted")
        require(len(verdicts) == reached(context) * VERIFIERS[self.kind], where[0], "verdicts are missing")
        self.deepest = max(self.deepest, *(len(each) + 1 for each in drafted))
        sides: Any = [[(fields["value"],)], []]
        for number, masses in enumerate(verdicts):
            self.claim(where, "masses of verdicts", tuple((mass,) for *_, mass in masses), (("1",),))
            for accepted, correction, mass in masses:
                require(reached(tuple(accepted)), where[0], f"{accepted} is not drafted")
                block = (*accepted, correction)
                if len(accepted) >= len(context) and block[: len(context)] == context:
                    hit = block[: len(end)] == end and (self.kind != "equals" or len(block) == len(end))
                    self.counts["verdicts that the theorem is about"] += hit
                    sides[1 - number] += [(mass,)] * hit if self.kind != "lossless" else [(mass, token[1])]
                    sides[0] += [(mass,)] * (hit and self.kind == "lossless")
        self.claim(where, "values of leaves", *map(tuple, sides))

    def check(self) -> None:
        """Check every step; raises `Rejected`."""
        for step in self.steps:
            before = self.counts["verdicts that the theorem is about"]
            for number, each in enumerate(step["cases"]):
                where = self.case(each, (f"after {len(step['context'])} named tokens", set(), {key(): "="}), number)
                num, den = self.functions[each["sum"]["value"]]
                sign = where[2].get(key((num, *(den.elements() if self.kind == "dominates" else ()))))
                require(sign in SHOWS[self.kind], where[0], f"the sum is not as the theorem says: {num}")
                self.sum(each["sum"], where, step, ())
            token = re.fullmatch(r"p\d+", (step["token"] or ["", "p0"])[1])
            require(
                bool(token) and self.counts["verdicts that the theorem is about"] > before,
                "the steps",
                f"no verdict is about {step['context']} and {step['token']}",
            )
        lengths = [len(step["context"]) for step in self.steps]
        wanted = [*range(self.kind == "dominates", self.deepest + 1)]
        require(lengths == wanted, "the steps", "a length of the context is missing")


def main(path: str) -> int:
    """Check a file and say what was checked."""
    try:
        with open(path, encoding="utf-8") as file:
            fields = json.load(file)
        checker = Checker(fields)
        checker.check()
    except (
        Rejected,
        OSError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        rejected = isinstance(error, Rejected)
        print(f"REJECTED: {error}" if rejected else f"{path} is no such certificate: {error!r:.200}")
        return 1 if rejected else 2
    about = (f"{name} {fields[name]}" for name in ("verifier", "kind", "other", "scheme") if fields[name])
    print("VALID for every V:", *about)
    print(f"{len(checker.functions)} functions, {len(checker.claims)} different equations between their products")
    print(*(f"  {count:7,} {what}" for what, count in checker.counts.items()), sep="\n")
    print(TRUST, *checker.trusted or ["nothing"], sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
