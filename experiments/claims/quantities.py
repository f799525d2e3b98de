"""Exact numbers that claims hold against one another, beside block efficiencies and certified bounds.

Each is a function of the instance, the draft scheme and the text behind `NAME:` in the ledger. Where a claim is about
several roots (strings), it is a tuple.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from flint import arb

from draftproof.experiments.claims import formulas, growth, noise, paths, strings
from draftproof.experiments.claims.runs import checked, efficiency, fractions, verifier
from draftproof.lp_analysis import long_run
from draftproof.simulator.arithmetic import as_python
from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.vectors import minimum
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers import make
from draftproof.verifiers.lossy.cactus import raised, tested_row

Set: TypeAlias = tuple[int, ...]
Quantity = Callable[[Instance, DraftScheme, str], Any]


def formula(instance: Instance, scheme: DraftScheme, name: str) -> Any:
    """1 plus a closed form of `formulas` for the acceptance rate of one step, with as many drafts as the scheme has."""
    drafts = scheme.as_dict().get("K", 2)
    return 1 + as_python(getattr(formulas, name)(instance.target.row(()), instance.draft.row(()), drafts))


def times_block(instance: Instance, scheme: DraftScheme, more: str) -> Any:
    """1 plus `K + more` times what block verification accepts."""
    return 1 + (scheme.as_dict()["K"] + int(more)) * (efficiency("block", instance, scheme) - 1)


def mean_accuracies(instance: Instance, scheme: DraftScheme, contexts: str) -> Any:
    """1 plus the sum over depths of the products of acceptance rates, each a mean over contexts.

    contexts: `accepted`, those of drafts that were accepted so far; else those that the target writes.
    """
    total, product, masses = Fraction(1), Fraction(1), np.array([1], dtype=object)
    for p, q in zip(instance.target.tables, instance.draft.tables[: scheme.depth], strict=False):
        both = minimum(p, q)
        product *= Fraction(as_python((masses * both.sum(axis=1)).sum() / (masses.sum() or 1)))
        total, masses = total + product, (masses[:, None] * (both if contexts == "accepted" else p)).reshape(-1)
    return total


def price(instance: Instance, scheme: DraftScheme, spec: str) -> Fraction:
    """What a verifier brings above block verification, over its bias; 0 where it brings no more."""
    check = checked(spec, instance, scheme)
    more = Fraction(check.block_efficiency) - efficiency("block", instance, scheme)
    assert check.total_variation is not None
    assert more <= 0 or check.total_variation > 0  # a verifier without bias brings no more than block
    return max(more, Fraction(0)) / (Fraction(check.total_variation) or 1)


def beside_mixture(instance: Instance, scheme: DraftScheme, text: str) -> Fraction:
    """The total variation of a part `eta` of a rule and the mixture of its law and `p` with this weight, at the root.

    The rule accepts everything. text: `ETA target` or `ETA residual`, where it would correct from.
    """
    eta, recovery = text.split()
    p, q = instance.target.row(()), instance.draft.row(())
    part, whole = (
        make("slack", eps=1, eta=weight, target=weight if recovery == "target" else 0).surrogate(p, q)  # type: ignore[attr-defined]
        for weight in (Fraction(eta), Fraction(1))
    )
    weight = Fraction(eta)
    mixed = p + (whole - p) * weight.numerator / weight.denominator
    return Fraction(as_python(abs(part - mixed).sum())) / 2


def beyond_divergence(instance: Instance, _: DraftScheme, highest: str) -> int:
    """How many rows that Cactus tests tokens with, raised to at most `highest`, diverge by more than `d` from `p`."""
    p, beyond = instance.target.row(()), 0
    for d in (Fraction(1, 100), Fraction(1, 10), Fraction(3, 4)):
        high = raised(p, d)
        for token in range(len(p)):
            if 0 < p[token] < 1 and as_python(high[token]) <= Fraction(highest):
                row = tested_row(p, high[token], token)
                parts = [arb(x) * (arb(x) / arb(y)).log() for x, y in zip(row, p, strict=True) if x > 0]
                beyond += sum(parts, arb(0)) > arb(d.numerator) / d.denominator
    return beyond


def long_run_tokens(instance: Instance, scheme: DraftScheme, spec: str) -> Fraction | float:
    """The mean tokens a block of a verifier, each block where the last one ended.

    The source has the rows of the instance after each last token.
    """
    assert isinstance(scheme, Delayed)
    return Evaluator(verifier(spec)).steady_state(*_source(instance), scheme).efficiency


def long_run_bound(instance: Instance, scheme: DraftScheme, _: str) -> Fraction:
    """What no lossless verifier exceeds in that long run."""
    return long_run(*_source(instance), scheme).upper


def _source(instance: Instance) -> tuple[MarkovProcess, MarkovProcess]:
    return MarkovProcess(instance.target.tables[1], (0,)), MarkovProcess(instance.draft.tables[1], (0,))


def by_sets(instance: Instance, scheme: DraftScheme, which: str) -> Fraction:
    """The optimum of one step on `iid` or on `stratified` branches: `2 + min over sets S of P(S is drafted) - p(S)`."""
    return min(_bounds(instance, _laws(instance, scheme, which)).values())


def optima_equal(instance: Instance, scheme: DraftScheme, _: str) -> bool:
    """Whether both optima are equal."""
    return by_sets(instance, scheme, "iid") == by_sets(instance, scheme, "stratified")


def drafted_alike(instance: Instance, scheme: DraftScheme, which: str) -> bool:
    """Whether some set has one mass in all pieces, or all mass of q.

    which: `all` sets, or those that are `tight` for i.i.d. branches.
    """
    together = _bounds(instance, _laws(instance, scheme, "iid"))
    pieces, least = _laws(instance, scheme, "stratified"), min(together.values())
    sets = [some for some, bound in together.items() if which == "all" or bound == least]
    q = fractions(instance.draft.row(()))
    return any(len({_mass(law, some) for law in pieces}) == 1 or _mass(q, some) == 1 for some in sets)


def _laws(instance: Instance, scheme: DraftScheme, which: str) -> list[list[Fraction]]:
    """The law of each branch."""
    assert isinstance(scheme, Stratified)
    q = instance.draft.row(())
    return [fractions(q if which == "iid" else piece.law(q)) for piece in scheme.pieces(scheme.K)]


def _bounds(instance: Instance, laws: Sequence[Sequence[Fraction]]) -> dict[Set, Fraction]:
    """For every set of tokens the most tokens of a block if it is tight."""
    p = fractions(instance.target.row(()))
    sets = chain.from_iterable(combinations(range(len(p)), size) for size in range(len(p) + 1))
    return {some: 3 - _mass(p, some) - prod((1 - _mass(law, some) for law in laws), start=Fraction(1)) for some in sets}


def _mass(law: Sequence[Fraction], some: Set) -> Fraction:
    return sum((law[token] for token in some), start=Fraction(0))


QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        "formula": formula,
        "times_block": times_block,
        "L": lambda instance, scheme, _: scheme.depth,
        "L(L+1)/2": lambda instance, scheme, _: Fraction(scheme.depth * (scheme.depth + 1), 2),
        "mean_accuracies": mean_accuracies,
        "price": price,
        "beside_mixture": beside_mixture,
        "beyond_divergence": beyond_divergence,
        "estimate": paths.estimate,
        "hits": paths.hits,
        "over_budget": paths.over_budget,
        "kseq_tests": paths.kseq_tests,
        "slots": growth.slots,
        "drafted_mass": growth.drafted_mass,
        "largest_mass": growth.largest_mass,
        "accepted_of_tree": growth.accepted_of_tree,
        "different_trees": growth.different_trees,
        "outputs_differ": noise.outputs_differ,
        "long_run": long_run_tokens,
        "long_run_bound": long_run_bound,
        "by_sets": by_sets,
        "optima_equal": optima_equal,
        "drafted_alike": drafted_alike,
        "string_lossy": strings.lossy,
        "string_tokens": strings.tokens,
        "string_accepted": strings.accepted,
        "string_formula": strings.formula,
    }
)
