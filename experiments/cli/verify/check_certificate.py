"""Check a certificate of `draftproof prove --vocab any`: `python check_certificate.py FILE`. Needs nothing but Python.

On trust: trees, chances, verdicts (draftproof verify computes them again); that named tokens are listed once,
with their p and q; that cases and classes are all.
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
    """One file. known: the signs of polynomials in a case. tree: the nodes drafted so far, what masses add up to."""

    def check(self, fields: Any) -> None:
        """Raise an error unless the certificate is valid."""
        require(fields["format"] == "draftproof theorem for every vocabulary 5", "the file", "it has another format")
        polynomials = [added((tuple(sorted(m)), Fraction(a)) for a, *m in each) for each in fields["polynomials"]]
        listed = enumerate([polynomials[n] for n in each] for each in fields["functions"])  # numerator, denominators
        self.functions: Any = {"-": [added([((), -1)])], **dict(listed)}
        self.kind, self.counts, self.deepest, self.lengths = fields["kind"], Counter[str](), 0, set[int]()
        constants = {one: ">" for one in polynomials if all(not names and value > 0 for names, value in one)}
        for step in fields["steps"]:
            self.names, tree = step["names"], ([()], [ONE for _ in ENTERS[self.kind]])
            self.cases(constants | {added([]): "="}, "the start", step["cases"], tree, self.names, ONE, [])
        found, most = [len(step["names"]) for step in fields["steps"]], self.deepest + (self.kind != "dominates")
        require(found == sorted(self.lengths) == [*range(1, max([most, *found]) + 1)] != [], "the steps", "not all")

    def equal(self, known: Any, place: str, left: Any, right: Any) -> None:
        """Check that two sums of products are equal."""
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
        """What the signs of factors say of a sum of products."""
        signs = [s for f in products if "=" not in (s := {">", *(known.get(self.functions[n][0], "?") for n in f)})]
        return "=" if not signs else "?" if "?" in set().union(*signs) else ">" if {">"} in signs else ">="

    def cases(self, around: Any, place: str, cases: Any, tree: Any, names: Any, times: Any, less: Any) -> None:
        """Check that in every case a sum, times `times`, is `less` and its `rest`, which is 0 or as claimed."""
        require(bool(cases), place, "there are no cases")
        for number, case in enumerate(cases):
            here, pairs = f"{place}, case {number} of {names}", [*names, *case["pairs"]]
            new = {f"{side}{n}": [added([((f"{side}{n}",), 1)])] for n in pairs for side in "pq" if type(n) is int}
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
                value = [(*a, *b) for a in self.sum(known, here, case["sum"], *tree) for b in times]
                self.equal(known, f"{here}, values in cases", value, [*less, *case["rest"]])
                signs = [">", ">=", "="] if self.kind == "dominates" and not less else ["="]
                require(self.sign(known, case["rest"]) in signs, here, "nothing says that it is as claimed")

    def sum(self, known: Any, place: str, fields: Any, nodes: Any, totals: Any) -> Any:
        """Products that add up to a sum."""
        if "verdicts" in fields:
            return self.counted(known, place, fields, nodes, totals)
        value, chances, parts = list[Any](), list[Any](), fields["parts"]
        require({(*part["node"][:-1],) for part in parts} in [{n} for n in nodes], place, "its row was not drafted")
        for part in (each for each in parts if "chance" in each):
            node, new = tuple(part["node"]), part["node"][-1:] * part["new"]
            # the chance of a token, times what follows, is a function or, of a new one, linear in its p and q
            of = [[f"p{token}", f"q{token}"] for token in new]
            times, less = ([*zip(part[name], *of, strict=True)] for name in ("chance", "linear"))
            chances += zip(part["chance"], *(part["masses"] for _ in new), strict=True)
            value += zip(part["linear"], *(part["masses"] for _ in new), strict=True)
            self.cases(known, place, part["cases"], ([*nodes, node], totals), new, times, less)
        for each in [chances, *([(part["masses"][side],) for part in parts] for side in (0, 1))]:
            self.equal(known, f"{place}, chances and rows of p and q", each, ONE)
        return value

    def counted(self, known: Any, place: str, fields: Any, nodes: Any, totals: Any) -> Any:
        """Products that add up to what the verdicts on a tree, and those that come later, add to a sum."""
        later, context = fields.get("later", []), (*self.names[: -1 if (ends := self.kind != "dominates") else None],)
        if not later and any(n[:-1] == context[: len(n) - 1] and context[: len(n)] not in nodes for n in nodes[1:]):
            return []  # other tokens are drafted there than those of the context
        value, self.lengths, self.deepest = [], self.lengths | {len(self.names)}, max(self.deepest, *map(len, nodes))
        for part, (enters, masses, total) in enumerate(zip(ENTERS[self.kind], fields["verdicts"], totals, strict=True)):
            listed = [*([mass] for *_, mass in masses), *((each["masses"][part],) for each in later)]
            self.equal(known, f"{place}, masses of verdicts", listed, total)
            for *accepted, token, mass in masses:
                require((kept := tuple(accepted)) in nodes, place, f"{accepted} was not drafted")
                if [*accepted, *[token] * ends][: None if self.kind == "equals" else len(self.names)] == self.names:
                    value.append((*enters, mass))
                value += [(mass, f"p{self.names[-1]}")] * (self.kind == "lossless" and kept[: len(context)] == context)
        for each in later:
            tree = nodes, [[(mass,)] for mass in each["masses"]]
            self.cases(known, place, each["cases"], tree, [], ONE, [(each["value"],)])
            value.append((each["value"],))
        return value


if __name__ == "__main__":
    try:
        (checker := Checker()).check(fields := json.load(open([*sys.argv, ""][1], encoding="utf-8")))  # noqa: SIM115
    except Exception as error:
        sys.exit(f"{'NOT READ' if isinstance(error, OSError) else 'REJECTED'}: {error!r:.300}")
    print("VALID for every V, p, q:", {n: fields.get(n) for n in ("verifier", "kind", "other", "scheme", "assumed")})
    print(*(f"{count:9,} {what}" for what, count in checker.counts.items()), __doc__.rpartition("\n\n")[2], sep="\n")
