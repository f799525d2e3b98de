"""Statements about laws: branching probabilities, the estimator, K-SEQ's tests, submodularity, path selection.

Each function returns None where its statement holds, else the values where it fails.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

from draftproof.experiments.claims.planted import STEPS
from draftproof.experiments.claims.statements import check_spec, verifier
from draftproof.lp_analysis import optimum
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.enumeration import verdicts
from draftproof.simulator.protocol import Context, DraftNode, DraftScheme, Vector
from draftproof.simulator.structures import Branch, branch_of
from draftproof.simulator.vectors import minimum
from draftproof.simulator.verdicts.lossless import block_law
from draftproof.verifiers._rho import smallest_rho

#: An optimum with a certified gap of at most this counts as known.
GAP = Fraction(1, 10**6)


def branching(spec: str, by: str, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether the branching law of `by` is the law of the next token of `spec` on every draft tree of one step."""
    branch = branch_of(verifier(by))
    assert branch is not None
    p, q = instance.target.row(()), instance.draft.row(())
    for tree, _ in outcomes(partial(scheme.draw, instance.draft), RATIONAL):
        law = RATIONAL.zeros(instance.vocab_size)
        run = verdicts(verifier(spec), tree, instance.target, instance.draft, RATIONAL)
        for (accepted, token), mass in run.items():
            law[(*accepted, token)[0]] += mass
        drafted = tree.root(instance.target, instance.draft).children
        claimed = branch(p, q, drafted)
        if claimed.tolist() != law.tolist():
            return f"{spec} on drafts {drafted}: {_row(law)}, not {_row(claimed)}"
    return None


def estimated(spec: str, distinct: bool, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether the product estimator has the block efficiency as its mean. distinct: whether equal drafts count once."""
    branch = branch_of(verifier(spec))
    assert branch is not None
    mean = RATIONAL.number(0)
    for tree, weight in outcomes(partial(scheme.draw, instance.draft), RATIONAL):
        mean += weight * _estimate(branch, tree.root(instance.target, instance.draft), distinct)
    efficiency = check_spec(spec, instance, scheme).block_efficiency
    return None if as_python(mean) == efficiency else f"{spec}: mean {as_python(mean)}, block efficiency {efficiency}"


def _estimate(branch: Branch, node: DraftNode, distinct: bool) -> Any:
    if not node.children:
        return 1
    law = branch(node.target, node.draft, node.children)
    tokens = dict.fromkeys(node.children) if distinct else node.children
    return 1 + sum(law[token] * _estimate(branch, node.child(token), distinct) for token in tokens)


def kseq_tests(falling: bool, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether the probability that K-SEQ's tests accept a draft never rises with `rho`, from the smallest allowed one.

    falling: False for "never falls".
    """
    p, q, k = instance.target.row(()), instance.draft.row(()), scheme.as_dict()["K"]
    least = smallest_rho(p, q, k)[0]
    points = [least + (k - least) * step / STEPS for step in range(STEPS + 1)]
    rates = [1 - (1 - minimum(p / rho, q).sum()) ** k for rho in points]
    for rho, one, other in zip(points, rates, rates[1:], strict=False):
        if (other > one) if falling else (other < one):
            return f"{as_python(one)} at rho = {as_python(rho)}, then {as_python(other)}"
    return None


def submodular(sign: int, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether `f(S) = P(a drafted path is in S)` has `f(S or T) + f(S and T) <= f(S) + f(T)`; sign -1: `>=`."""
    leaves = list(product(range(instance.vocab_size), repeat=scheme.depth))
    hit: dict[frozenset[Context], Any] = {}
    drawn = [(tree, weight) for tree, weight in outcomes(partial(scheme.draw, instance.draft), RATIONAL)]
    sets = [frozenset(paths) for count in range(len(leaves) + 1) for paths in combinations(leaves, count)]
    for paths in sets:
        hit[paths] = sum((weight for tree, weight in drawn if any(leaf in tree for leaf in paths)), RATIONAL.number(0))
    for one, other in combinations(sets, 2):
        gap = hit[one] + hit[other] - hit[one | other] - hit[one & other]
        if sign * gap < 0:
            return f"sets of paths {sorted(one)} and {sorted(other)}: {as_python(gap)}"
    return None


def antichains(size: int, depth: int) -> Iterator[tuple[Context, ...]]:
    """Every antichain: a set of contexts, without the root, of which none is a prefix of another."""

    def below(context: Context) -> list[tuple[Context, ...]]:
        if len(context) == depth:
            return [(), (context,)]
        parts = [below((*context, token)) for token in range(size)]
        joined = [tuple(item for part in chosen for item in part) for chosen in product(*parts)]
        return joined + ([(context,)] if context else [])

    yield from below(())


def within_budget(specs: Sequence[str], fewer: int, instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether `sum D(c) <= 1 - (1 - sum q(c))^(K - fewer)` over every antichain, for each of these verifiers."""
    assert isinstance(scheme, Delayed)
    for spec in specs:
        reach = _reach(spec, instance, scheme)
        mass = _masses(instance, scheme)
        for chain in antichains(instance.vocab_size, scheme.depth):
            taken, drafted = sum(reach[c] for c in chain), sum(mass[c] for c in chain)
            if taken > 1 - (1 - drafted) ** (scheme.K - fewer):
                return f"{spec} reaches {chain} with {as_python(taken)}, drafted with {as_python(drafted)} a path"
    return None


def _reach(spec: str, instance: Instance, scheme: DraftScheme) -> dict[Context, Any]:
    law = block_law(verifier(spec), instance.target, instance.draft, scheme)
    size = instance.vocab_size
    return {
        context: masses[place]
        for depth, masses in enumerate(law.reach)
        for place, context in enumerate(product(range(size), repeat=depth))
    }


def _masses(instance: Instance, scheme: DraftScheme) -> dict[Context, Any]:
    mass: dict[Context, Any] = {(): RATIONAL.number(1)}
    for depth in range(scheme.depth):
        for context in product(range(instance.vocab_size), repeat=depth):
            row = instance.draft.row(context)
            mass |= {(*context, token): mass[context] * row[token] for token in range(instance.vocab_size)}
    return mass


def selection_suffices(specs: Sequence[str], instance: Instance, scheme: DraftScheme) -> str | None:
    """Whether selecting a path by a random path order and verifying it as a block attains the optimum, up to `GAP`."""
    from draftproof.experiments.inputs.verifiers import evaluator

    bounds = optimum(instance.target, instance.draft, scheme)
    best = evaluator(verifier("optimum"), "rational", "auto").check(instance.target, instance.draft, scheme)
    if not best.lossless or bounds.upper - best.block_efficiency > GAP:
        return f"path selection attains {best.block_efficiency}, the bound is {bounds.upper}"
    for spec in specs:
        efficiency = check_spec(spec, instance, scheme).block_efficiency
        if efficiency > bounds.upper:
            return f"{spec} {efficiency} exceeds {bounds.upper}"
    return None


def _row(row: Vector) -> str:
    return "(" + ", ".join(str(as_python(value)) for value in row) + ")"
