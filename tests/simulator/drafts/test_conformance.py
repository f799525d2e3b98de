"""Every scheme of the registry: trees, counts, plain data, smaller ones, and what it declares of its draws, exactly."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest

from draftproof.simulator.arithmetic import RATIONAL, as_python
from draftproof.simulator.coins import outcomes
from draftproof.simulator.drafts import SCHEMES, scheme_from_dict
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Context, DraftNode, Draws
from draftproof.simulator.verdicts.cases import CASES, SizedScheme, case_instances

#: Whether a fact holds for the law of the trees of one draft.
Holds = Callable[[dict[DraftTree, Fraction], Instance], bool]


def drawn(case: SizedScheme, instance: Instance) -> list[tuple[Any, Any]]:
    """Every tree that is drawn, once for each way to draw it, with the probability of this way."""
    return list(outcomes(lambda coin: case[1].draw(instance.draft, coin), RATIONAL))


def law(trees: list[tuple[Any, Any]], instance: Instance, told: bool = False) -> dict[Any, Fraction]:
    """The probability of every tree, as pairs of context and children; told: each child as token and law."""
    found: dict[Any, Fraction] = {}
    for tree, mass in trees:
        root = tree.root(instance.target, instance.draft)
        key = tuple(
            (context, tuple(zip(tokens, laws(root, context), strict=True)) if told else tokens)
            for context, tokens in sorted(tree.children.items())
            if tokens
        )
        found[key] = found.get(key, Fraction(0)) + as_python(mass)
    assert sum(found.values()) == 1
    return found


def laws(root: DraftNode, context: Context) -> list[tuple[Fraction, ...]]:
    for token in context:
        root = root.child(token)
    return [tuple(Fraction(as_python(mass)) for mass in each) for each in root.laws]


def siblings(trees: dict[Any, Fraction]) -> dict[Context, dict[tuple[int, ...], Fraction]]:
    """For each node with children, how much probability each list of them has."""
    found: dict[Context, dict[tuple[int, ...], Fraction]] = {}
    for tree, mass in trees.items():
        for context, tokens in tree:
            at = found.setdefault(context, {})
            at[tokens] = at.get(tokens, Fraction(0)) + mass
    return found


def row(instance: Instance, context: Context) -> list[Fraction]:
    return [Fraction(as_python(mass)) for mass in instance.draft.row(context)]


def first_path_from_q(trees: dict[Any, Fraction], instance: Instance) -> bool:
    """Of the trees that draft a token after the same start of the first path, each token has its share."""
    starts: dict[Context, dict[int, Fraction]] = {}
    for tree, mass in trees.items():
        drafted, context = dict(tree), ()
        while context in drafted:
            token = drafted[context][0]
            shares = starts.setdefault(context, {})
            shares[token] = shares.get(token, Fraction(0)) + mass
            context = (*context, token)
    return all(
        shares.get(x, Fraction(0)) == sum(shares.values()) * mass
        for context, shares in starts.items()
        for x, mass in enumerate(row(instance, context))
    )


def in_turn(
    trees: dict[Any, Fraction], instance: Instance, laws: Callable[..., list[list[Fraction]]], most: int = 99
) -> bool:
    """Each of the first tokens of a list, given those before it and that there is one, has one of these laws."""
    for context, lists in siblings(trees).items():
        q = row(instance, context)
        for length in range(1, min(max(map(len, lists)), most) + 1):
            for before in {tokens[: length - 1] for tokens in lists if len(tokens) >= length}:
                here = {t: m for t, m in lists.items() if len(t) >= length and t[: length - 1] == before}
                total = sum(here.values())
                masses = [sum((m for t, m in here.items() if t[length - 1] == x), Fraction(0)) for x in range(len(q))]
                if [mass / total for mass in masses] not in laws(q, before):
                    return False
    return True


def left(q: list[Fraction], before: tuple[int, ...]) -> list[list[Fraction]]:
    rest = [Fraction(0) if x in before else mass for x, mass in enumerate(q)]
    return [[mass / sum(rest) for mass in rest]] if sum(rest) else []


def from_q(q: list[Fraction], before: tuple[int, ...]) -> list[list[Fraction]]:
    return [q, *left(q, before)]


def or_uniform(q: list[Fraction], before: tuple[int, ...]) -> list[list[Fraction]]:
    untried = len(q) - len(set(before))
    uniform = [[Fraction(x not in before, untried) for x in range(len(q))]] if untried and not left(q, before) else []
    return [*from_q(q, before), *uniform]


def or_likeliest(q: list[Fraction], before: tuple[int, ...]) -> list[list[Fraction]]:
    rest = [(-mass, x) for x, mass in enumerate(q) if x not in before]
    return [*left(q, before), *([[Fraction(x == min(rest)[1]) for x in range(len(q))]] if rest else [])]


def independent(trees: dict[Any, Fraction], instance: Instance) -> bool:
    for context, lists in siblings(trees).items():
        q, total = row(instance, context), sum(lists.values())
        for length in set(map(len, lists)):
            here = sum(mass for tokens, mass in lists.items() if len(tokens) == length)
            for tokens in product(range(len(q)), repeat=length):
                expected = here
                for token in tokens:
                    expected *= q[token]
                if len(set(map(len, lists))) == 1 and lists.get(tokens, 0) != expected:
                    return False
        assert total > 0
    return True


def independent_branches(trees: dict[Any, Fraction], instance: Instance) -> bool:
    """Of the trees that are equal but for the tokens of one node and what is below it, these have the product law."""
    found: dict[Any, dict[tuple[int, ...], Fraction]] = {}
    for tree, mass in trees.items():
        for context, drafts in tree:
            rest = tuple(entry for entry in tree if entry[0][: len(context)] != context)
            tokens, told = zip(*drafts, strict=True)
            here = found.setdefault((context, told, rest), {})
            here[tokens] = here.get(tokens, Fraction(0)) + mass
    return all(
        lists.get(tokens, Fraction(0))
        == sum(lists.values()) * prod(law[x] for law, x in zip(told, tokens, strict=True))
        for (_, told, _), lists in found.items()
        for tokens in product(range(len(told[0])), repeat=len(told))
    )


def from_laws(trees: dict[Any, Fraction], instance: Instance) -> bool:
    """Each draft of a node has its told law given those before, or what is left of it where all have the same law."""
    found: dict[Any, dict[int, Fraction]] = {}
    for tree, mass in trees.items():
        for context, drafts in tree:
            for place, (token, law) in enumerate(drafts):
                here = found.setdefault((context, drafts[:place], law, len({law for _, law in drafts})), {})
                here[token] = here.get(token, Fraction(0)) + mass
    return all(
        any(
            all(shares.get(x, Fraction(0)) * sum(left) == sum(shares.values()) * mass for x, mass in enumerate(left))
            for left in (law, *([[0 if x in dict(before) else m for x, m in enumerate(law)]] if laws == 1 else []))
        )
        for (_, before, law, laws), shares in found.items()
    )


def distinct(trees: dict[Any, Fraction], instance: Instance) -> bool:
    return all(len(set(tokens)) == len(tokens) for tree in trees for _, tokens in tree)


def one_random_sibling(trees: dict[Any, Fraction], instance: Instance) -> bool:
    """Any two lists of a node differ in at most one token as sets, and the common ones are the likeliest."""
    for lists in siblings(trees).values():
        sets = [frozenset(tokens) for tokens in lists]
        common = frozenset.intersection(*sets)
        if any(len(tokens - common) > 1 for tokens in sets):
            return False
    return True


def one_from_rest(trees: dict[Any, Fraction], instance: Instance) -> bool:
    """The first child is the likeliest token; where there are others, the last has the law of `q` without it."""
    for context, lists in siblings(trees).items():
        q = row(instance, context)
        likeliest = min((-mass, x) for x, mass in enumerate(q))[1]
        several = {tokens: mass for tokens, mass in lists.items() if len(tokens) > 1}
        last = [sum((m for tokens, m in several.items() if tokens[-1] == x), Fraction(0)) for x in range(len(q))]
        if any(tokens[0] != likeliest for tokens in lists):
            return False
        if several and [[mass / sum(last) for mass in last]] != left(q, (likeliest,)):
            return False
    return True


def one_path(trees: dict[Any, Fraction], instance: Instance) -> bool:
    return all(len(tokens) == 1 for tree in trees for _, tokens in tree)


def fixed_branches(trees: dict[Any, Fraction], instance: Instance) -> bool:
    """A node has the same children in every tree that has it, or single ones: the trunk."""
    return all(len(lists) == 1 or set(map(len, lists)) == {1} for lists in siblings(trees).values())


def fixed_lengths(trees: dict[Any, Fraction], instance: Instance) -> bool:
    """Every leaf of every tree is equally deep."""
    deep = {
        len(context) + 1
        for tree in trees
        for context, tokens in tree
        for token in tokens
        if (*context, token) not in dict(tree)
    }
    return len(deep) <= 1


FACTS: dict[Draws, Holds] = {
    Draws.FIRST_PATH_FROM_Q: first_path_from_q,
    Draws.FIRST_CHILD_FROM_Q: lambda trees, instance: in_turn(trees, instance, lambda q, before: [q], most=1),
    Draws.SIBLINGS_FROM_LAWS: from_laws,
    Draws.SIBLINGS_IN_TURN: lambda trees, instance: in_turn(trees, instance, or_uniform),
    Draws.SIBLINGS_FROM_Q: lambda trees, instance: in_turn(trees, instance, from_q),
    Draws.INDEPENDENT_BRANCHES: independent_branches,
    Draws.INDEPENDENT_SIBLINGS: independent,
    Draws.FIXED_LENGTHS: fixed_lengths,
    Draws.DISTINCT_SIBLINGS: distinct,
    Draws.LEFT_OR_LIKELIEST: lambda trees, instance: in_turn(trees, instance, or_likeliest),
    Draws.ONE_RANDOM_SIBLING: one_random_sibling,
    Draws.ONE_PATH: one_path,
    Draws.ONE_FROM_REST: one_from_rest,
    Draws.FIXED_BRANCHES: fixed_branches,
}


#: Facts about trees with the laws that they tell.
TOLD = {Draws.SIBLINGS_FROM_LAWS, Draws.INDEPENDENT_BRANCHES}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_has_plain_data_and_smaller_schemes(name: str) -> None:
    for _, scheme in CASES[name]:
        assert scheme_from_dict(scheme.as_dict()) == scheme
        smaller = scheme.reductions()
        assert scheme in smaller
        assert len(set(smaller)) == len(smaller)
        assert all(each.depth <= scheme.depth and each.nodes <= scheme.nodes for each in smaller)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_draws_what_it_counts_and_declares(name: str) -> None:
    for case in CASES[name]:
        for instance in case_instances(case, 2):
            trees = drawn(case, instance)
            assert len(trees) == case[1].count(instance.draft)
            for tree, _ in trees:
                assert max((len(context) + 1 for context in tree.children), default=0) <= case[1].depth
                assert sum(len(set(tokens)) for tokens in tree.children.values()) <= case[1].nodes
            laws = {told: law(trees, instance, told) for told in (False, True)}
            for fact, holds in FACTS.items():
                if fact in SCHEMES[name].draws:
                    assert holds(laws[fact in TOLD], instance), f"{case[1]} declares {fact}"


@pytest.mark.parametrize("fact", FACTS, ids=str)
def test_each_fact_fails_for_some_scheme_that_does_not_declare_it(fact: Draws) -> None:
    """The checks above can say no."""
    assert any(
        not FACTS[fact](law(drawn(case, instance), instance, fact in TOLD), instance)
        for name in SCHEMES
        if fact not in SCHEMES[name].draws
        for case in CASES[name]
        for instance in case_instances(case, 2)
    )
