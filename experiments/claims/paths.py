"""Quantities of drafted paths: the estimator, sets of paths that are hit, budgets of antichains, K-SEQ's tests."""

from collections.abc import Iterator
from functools import partial
from itertools import combinations, product
from typing import Any

from draftproof.experiments.claims.planted import KSeq
from draftproof.experiments.claims.runs import SCHEMES, verifier
from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Context, DraftNode, DraftScheme
from draftproof.simulator.structures import Branch, branch_of
from draftproof.simulator.vectors import minimum
from draftproof.simulator.verdicts.lossless import block_law


def estimate(instance: Instance, scheme: DraftScheme, spec: str) -> Any:
    """The mean over draft trees of 1 plus the sum over drafted nodes of the products of branching probabilities.

    Equal drafts of a node count once; behind `every draft of ` each counts.
    """
    name = spec.removeprefix("every draft of ")
    branch = branch_of(verifier(name))
    assert branch is not None
    trees = outcomes(partial(scheme.draw, instance.draft), RATIONAL)
    roots = ((tree.root(instance.target, instance.draft), weight) for tree, weight in trees)
    return as_python(sum(weight * _estimate(branch, root, name == spec) for root, weight in roots))


def _estimate(branch: Branch, node: DraftNode, distinct: bool) -> Any:
    if not node.children:
        return 1
    law = branch(node.target, node.draft, node.children)
    tokens = dict.fromkeys(node.children) if distinct else node.children
    return 1 + sum(law[token] * _estimate(branch, node.child(token), distinct) for token in tokens)


def kseq_tests(instance: Instance, scheme: DraftScheme, step: str) -> Any:
    """The probability that K-SEQ's tests accept a draft, at this step of its `rho`."""
    p, q, k = instance.target.row(()), instance.draft.row(()), scheme.as_dict()["K"]
    return as_python(1 - (1 - minimum(p / KSeq(int(step)).rho(p, q, k), q).sum()) ** k)


def hits(instance: Instance, scheme: DraftScheme, which: str) -> Any:
    """The `largest` or `smallest` of `f(S or T) + f(S and T) - f(S) - f(T)` over sets of paths S and T.

    `f(S)` is the probability that a path of S is drafted.
    """
    leaves = list(product(range(instance.vocab_size), repeat=scheme.depth))
    drawn = list(outcomes(partial(scheme.draw, instance.draft), RATIONAL))
    sets = [frozenset(paths) for count in range(len(leaves) + 1) for paths in combinations(leaves, count)]
    hit = {
        paths: sum((weight for tree, weight in drawn if any(leaf in tree for leaf in paths)), RATIONAL.number(0))
        for paths in sets
    }
    gaps = (hit[one] + hit[other] - hit[one | other] - hit[one & other] for one, other in combinations(sets, 2))
    return as_python({"largest": max, "smallest": min}[which](-gap for gap in gaps))


def over_budget(instance: Instance, scheme: DraftScheme, spec: str) -> Any:
    """The largest `sum D(c) - (1 - (1 - sum q(c))^K)` over antichains of contexts c.

    `D(c)` is the probability that a verifier accepts c, `q(c)` that a path drafts it. Behind
    `fewer,` the budget is that of one path fewer.
    """
    name = spec.removeprefix("fewer,")
    paths = (scheme if name == spec else SCHEMES["fewer"](scheme)).as_dict()["K"]
    law = block_law(verifier(name), instance.target, instance.draft, scheme)
    contexts = [list(product(range(instance.vocab_size), repeat=depth)) for depth in range(scheme.depth + 1)]
    reached = {
        c: mass
        for level, masses in zip(contexts, law.reach, strict=False)
        for c, mass in zip(level, masses, strict=True)
    }
    drafted: dict[Context, Any] = {(): RATIONAL.number(1)}
    for context in (context for level in contexts[1:] for context in level):
        drafted[context] = drafted[context[:-1]] * instance.draft.row(context[:-1])[context[-1]]
    chains = list(antichains(instance.vocab_size, scheme.depth))
    over = (
        sum(reached[c] for c in chain) - 1 + (1 - sum(drafted[c] for c in chain)) ** paths for chain in chains if chain
    )
    return as_python(max(over))


def antichains(size: int, depth: int) -> Iterator[tuple[Context, ...]]:
    """Every antichain: a set of contexts, without the root, of which none is a prefix of another."""

    def below(context: Context) -> list[tuple[Context, ...]]:
        if len(context) == depth:
            return [(), (context,)]
        parts = [below((*context, token)) for token in range(size)]
        joined = [tuple(item for part in chosen for item in part) for chosen in product(*parts)]
        return joined + ([(context,)] if context else [])

    yield from below(())
