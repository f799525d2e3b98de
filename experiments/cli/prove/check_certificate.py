"""Check a certificate of `draftproof prove --vocab any`: `python check_certificate.py FILE`. Needs nothing but Python.

A polynomial is a list of terms; `[-1, "p0", "q1", "q1"]` is minus p0 q1^2. A function is a list of polynomials by
number, a numerator and factors of a denominator; sums of products are multiplied out. Exit code 0: valid; 1: not.

On trust: that the scheme draws with these chances and the code has these verdicts (draftproof prove --verify runs
both), and that the cases and classes are all that there are.
"""

import json
import sys
from collections import Counter
from fractions import Fraction
from functools import cache, reduce
from typing import Any

ONE: Any = [()]  # the product of no functions; below, how the verdicts of each verifier enter the sum of a theorem
ENTERS: Any = {"lossless": [("-",)], "equals": [(), ("-",)], "dominates": [(), ("-",)]}


def require(true: bool, place: str, otherwise: str) -> None:
    """Reject the file unless this is true."""
    if not true:
        raise ValueError(f"{place}: {otherwise}")


def added(terms: Any) -> Any:
    """A polynomial: pairs of a monomial, the sorted names of its variables, and its coefficient, which is not 0."""
    total: Any = Counter()
    for monomial, value in terms:
        total[monomial] += value
    return frozenset(term for term in total.items() if term[1])


@cache
def product(*factors: Any) -> Any:
    """The product of polynomials; 1 if there are none."""
    one, other = (product(*factors[:-1]), factors[-1]) if factors else ([((), 1)], [((), 1)])
    return added((tuple(sorted(m + n)), a * b) for m, a in one for n, b in other)


class Checker:
    """One file. Functions are known by number; variables and minus 1 are functions, too, known by name.

    known: signs of polynomials, ">", ">=" or "="; variables, > 0, from where they come up: `p4` and `q4` of token 4 or
    of a class of tokens. tree: the nodes drafted so far, from the root on, and what masses of verdicts add up to.
    """

    def check(self, fields: Any) -> None:
        """Check all steps of a file; raises `ValueError`."""
        require(fields["format"] == "draftproof theorem for every vocabulary 3", "the file", "it has another format")
        polynomials = [added((tuple(sorted(m)), Fraction(a)) for a, *m in each) for each in fields["polynomials"]]
        self.functions: Any = dict(enumerate([polynomials[n] for n in each] for each in fields["functions"]))
        self.functions["-"], self.kind, self.counts = [added([((), -1)])], fields["kind"], Counter[str]()
        self.deepest, self.lengths = 0, set[int]()
        constants = {one: ">" for one in polynomials if all(not names and value > 0 for names, value in one)}
        for step in fields["steps"]:
            self.names, tree = step["names"], ([()], [ONE for _ in ENTERS[self.kind]])
            self.cases(constants | {added([]): "="}, "the start", step["cases"], tree, self.names, ONE, [])
        found, most = [len(step["names"]) for step in fields["steps"]], self.deepest + (self.kind != "dominates")
        require(found == sorted(self.lengths) == [*range(1, max([most, *found]) + 1)] != [], "the steps", "not all")

    def equal(self, known: Any, place: str, left: Any, right: Any) -> None:
        """Two sums of products are equal; their variables have come up, and their denominators are > 0."""
        self.counts[place.rpartition(", ")[2]] += 1
        found = [[self.functions[n] for n in factors] for factors in (*left, *(("-", *each) for each in right))]
        below = [Counter(den for _, *dens in factors for den in dens) for factors in found]
        common = reduce(Counter.__or__, below, Counter[Any]())
        names = {name for factors in found for each in factors for one in each for term, _ in one for name in term}
        require(all(added([((name,), 1)]) in known for name in names), place, f"one of {sorted(names)} may not occur")
        require(all(known.get(den) == ">" for den in common), place, "nothing says that all denominators are > 0")
        products = ((*(f[0] for f in each), *(common - den).elements()) for each, den in zip(found, below, strict=True))
        require(not added(term for each in products for term in product(*each)), place, "the two sides differ")

    def sign(self, known: Any, products: Any) -> str:
        """What the signs of the factors say of a sum of products."""
        signs = [s for f in products if "=" not in (s := {">", *(known.get(self.functions[n][0], "?") for n in f)})]
        return "=" if not signs else "?" if "?" in set().union(*signs) else ">" if {">"} in signs else ">="

    def cases(self, around: Any, place: str, cases: Any, tree: Any, names: Any, times: Any, less: Any) -> None:
        """In every case a sum times `times`, without `less`, is `rest`, and that is 0 or, at the end, as claimed."""
        require(bool(cases), place, "there are no cases")
        for number, case in enumerate(cases):
            here, pairs = f"{place}, case {number} of {names}", [*names, *case["pairs"]]
            new = {f"{side}{pair}": [added([((f"{side}{pair}",), 1)])] for pair in pairs for side in "pq"}
            known = around | {variable: ">" for [variable] in new.values()}
            require(len(known) == len(around) + 2 * len(pairs), here, f"{', '.join(new)}: not all are new")
            self.functions |= new
            for sign, name, *terms in case["where"]:  # a condition or, with terms, what follows from others
                one, minus = self.functions[name][0], product(self.functions[name][0], *self.functions["-"])
                if terms:
                    self.equal(known, f"{here}, signs that follow", [(name,)], terms)
                signs = [self.sign(known, terms)] if terms else [">", ">=", "="] * any(names for names, _ in one)
                require(sign in signs, here, f"nothing says that function {name} is {sign} 0")
                known |= {one: "=", minus: "="} if sign == "=" or sign == known.get(minus) == ">=" else {one: sign}
            if known[added([])] != ">":  # 0 > 0 says that there is nothing in this case
                value = [(*a, *b) for a in self.sum(known, here, case["sum"], tree) for b in times]
                self.equal(known, f"{here}, values in cases", value, [*less, *case["rest"]])
                wanted = "> >= =" if self.kind == "dominates" and not less else "="
                require(self.sign(known, case["rest"]) in wanted.split(), here, "nothing says that it is as claimed")

    def sum(self, known: Any, place: str, fields: Any, tree: Any) -> Any:
        """Products that add up to a sum, from which nothing that is drafted is left out."""
        if "verdicts" in fields:
            return self.leaf(known, place, fields, *tree)
        row, value, chances, (nodes, totals) = tuple(fields["row"]), list[Any](), list[Any](), tree
        require(row in nodes, place, f"{row} was not drafted")
        for part in fields["drafted"]:
            token, grown = part.get("token"), ([*nodes, (*row, part.get("token"))], totals)
            if "after" in part:
                value += [(part["chance"], *each) for each in self.sum(known, place, part["after"], grown)]
                chances.append((part["chance"],))
            elif "cases" in part:  # in each the chance of a new token, times what follows, is linear in its p and q
                (a, b), (c, d), p, q = part["chance"], part["linear"], f"p{token}", f"q{token}"
                self.cases(known, place, part["cases"], grown, [token], [(a, p), (b, q)], [(c, p), (d, q)])
                value += zip((c, d), part["masses"], strict=True)
                chances += zip((a, b), part["masses"], strict=True)
        self.equal(known, f"{place}, chances", chances, ONE)
        for masses in zip(*(part["masses"] for part in fields["drafted"]), strict=True):
            self.equal(known, f"{place}, rows of p and q", [(mass,) for mass in masses], ONE)
        return value

    def leaf(self, known: Any, place: str, fields: Any, nodes: Any, totals: Any) -> Any:
        """What the theorem counts of the verdicts on a tree and of what is drafted later."""
        later, context = fields.get("later", []), (*self.names[: -1 if (ends := self.kind != "dominates") else None],)
        if not later and any(n[:-1] == context[: len(n) - 1] and context[: len(n)] not in nodes for n in nodes[1:]):
            return []  # other tokens are drafted there than those of the context
        value, self.lengths, self.deepest = [], self.lengths | {len(self.names)}, max(self.deepest, *map(len, nodes))
        for part, (enters, masses, total) in enumerate(zip(ENTERS[self.kind], fields["verdicts"], totals, strict=True)):
            listed = [*([mass] for *_, mass in masses), *(each["masses"][part] for each in later)]
            self.equal(known, f"{place}, masses of verdicts", listed, total)
            for *accepted, token, mass in masses:
                require(tuple(accepted) in nodes, place, f"{accepted} was not drafted")
                if [*accepted, *[token] * ends][: None if self.kind == "equals" else len(self.names)] == self.names:
                    value.append((*enters, mass))
                if self.kind == "lossless" and tuple(accepted[: len(context)]) == context:
                    value.append((mass, f"p{self.names[-1]}"))
        for each in later:
            self.cases(known, place, each["cases"], (nodes, [[m] for m in each["masses"]]), [], ONE, [each["value"]])
        return [*value, *(each["value"] for each in later)]


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            (checker := Checker()).check(certificate := json.load(file))
    except Exception as error:
        sys.exit(f"REJECTED: {error!r:.300}")
    print("VALID for every V:", *(certificate[n] for n in ("verifier", "kind", "other", "scheme") if certificate[n]))
    print(*(f"{count:9,} {what}" for what, count in checker.counts.items()), __doc__.rpartition("\n\n")[2], sep="\n")
