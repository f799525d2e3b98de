"""Layer transport for trees whose children are drawn without replacement: all sets of tokens, listed and raced.

New here; the sweep is that of `layer_transport`. A node with as many children as it has tokens always has the same
children. From a layer whose nodes draw sets of different tokens:
1. For each node the sets that it may draw are listed with their probabilities.
2. One drafted pair of node and token is chosen with probability proportional to whole weights. Its law `r` is a sum
   over all combinations of sets of the nodes; where these are too many, a node is chosen first, with probability
   proportional to its score, then one of its drafts.
3. `v <- v (t/r)^(3/2)`, repeated, makes `r/t` as equal as weights can, and `min(t, r)` near its largest sum.

Lossless for all weights, with `r` computed for the weights that are used. Shapes: `n` nodes, `V` tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import comb, prod
from typing import Any, ClassVar, TypeAlias

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.vectors import joined, minimum, top_tokens, without
from draftproof.verifiers._classes import number
from draftproof.verifiers._equalised import POWER, ROUNDS
from draftproof.verifiers._layers import Scored, Step, portion, sweep
from draftproof.verifiers._programs import check_numbers, memoised, posed
from draftproof.verifiers._race import SPAN

#: Different tokens, sorted, and the probability that exactly these are drafted.
Sets: TypeAlias = Mapping[tuple[int, ...], Any]
#: Lists the sets of `k` tokens that a node with draft `q` may have.
Listing: TypeAlias = Callable[[Vector, int], Sets]

#: The weights of step 3, shape `(n, V)`, from target masses, draft masses and a key; see `race_weights`.
Solver: TypeAlias = Callable[[Vector, Vector, tuple[Any, ...]], Any]

#: The bits that a weight keeps; enough that on a layer of deterministic drafts rounding costs next to nothing.
BITS = 20
#: Rounds end where none changes a weight by more than this share, less than the bits that it keeps.
SETTLED = 2.0**-24
#: Nodes with more combinations of sets than this are given a race one by one.
MOST_TOGETHER = 4096


def without_replacement_sets(q: Vector, k: int) -> Sets:
    """`k` tokens, each from `q` without those already drawn; raises `TooLarge` for too many sets."""
    drawable = [token for token, mass in enumerate(q.tolist()) if mass > 0]
    check_numbers("a layer of sets", float(sum(comb(len(drawable), size) for size in range(k + 1))) * 2**10, q)
    sets: dict[tuple[int, ...], Any] = {(): 1}
    for _ in range(k):
        larger: dict[tuple[int, ...], Any] = {}
        for tokens, mass in sets.items():
            left = sum(q[token] for token in drawable if token not in tokens)
            for token in drawable:
                if token not in tokens:
                    key = tuple(sorted((*tokens, token)))
                    larger[key] = larger.get(key, 0) + mass * q[token] / left
        sets = larger or sets  # a tree of another scheme may hold a token twice
    return sets


def greedy_sets(q: Vector, k: int) -> Sets:
    """The `k - 1` most probable tokens and one from the rest of `q`."""
    top = top_tokens(q, k - 1)
    for token in top:
        q = without(q, token)
    return {tuple(sorted({*top, token})): mass for token, mass in enumerate(q) if mass > 0}


def race_weights(target_mass: Vector, draft: Vector, key: tuple[Any, ...]) -> Any:
    """Whole weights, shape `(n, V)`; a pure function of the numbers rounded to `DECIMALS`."""
    return _weights(posed(target_mass), _listed(posed(draft), key), len(key) - 1)


@dataclass(frozen=True)
class LayerWithoutReplacement:
    """See the module. Any tree whose nodes draw different tokens, their number a function of the drafts above."""

    card: ClassVar[Card] = Card(
        name="layer_without_replacement",
        title="Layer transport without replacement",
        source=None,
        needs=Draws.DISTINCT_SIBLINGS,
        max_vocab=20,
    )

    #: Gives the weights of the drafted sets; see `race_weights`.
    solver: Solver = field(default=race_weights, repr=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return sweep(root, coin, self.step)

    def step(self, layer: Sequence[Scored]) -> Step:
        """The rule of the sweep."""
        return set_step(layer, without_replacement_sets, self.solver)


@dataclass(frozen=True)
class SetNode:
    """A node with children as the program sees it: its score, and rows of masses by place, here by token."""

    node: DraftNode
    score: Any
    target_mass: Vector
    draft: Vector

    def place(self, token: int) -> int:
        """The place of a drafted token."""
        return token

    def mass(self, law: Vector, token: int) -> Any:
        """`r` of a drafted token, given that of the places."""
        return law[token]

    def mean(self, law: Vector, share: Any, part: slice) -> Vector:
        """A part of `m(c, .)`. share: that of the layer, by which the score was divided."""
        return share * minimum(self.score * self.node.target[part], law[part])


def set_step(layer: Sequence[Scored], listing: Listing, solver: Solver = race_weights) -> Step:
    """Steps 1 to 3 for the nodes of a layer that have children; solver: gives the weights of step 3."""
    forks = [scored for scored in layer if scored.node.children]
    nodes = [SetNode(fork.node, fork.score, fork.score * fork.node.target, fork.node.draft) for fork in forks]
    return nodes_step(nodes, listing, MOST_TOGETHER, solver)


def nodes_step(nodes: Sequence[SetNode], listing: Listing, most_together: int, solver: Solver = race_weights) -> Step:
    """`set_step` for nodes of any kind; those with more combinations of sets than `most_together` race one by one."""
    default = solver is race_weights
    count = _counted if default else _count
    counts = (count(node.draft, node.draft, (listing, len(node.node.children))) for node in nodes)
    scores: dict[Context, Any] = {}
    means: dict[Context, Callable[[slice], Vector]] = {}
    if len(nodes) < 2 or prod(counts) <= most_together:
        groups = [(1, nodes)]
    else:
        total = sum(node.score for node in nodes)
        shares = [node.score / total for node in nodes]
        groups = [
            (share, [replace(node, score=total, target_mass=node.target_mass / share)])
            for node, share in zip(nodes, shares, strict=True)
        ]
    for share, group in groups:
        target_mass, draft = joined([node.target_mass for node in group]), joined([node.draft for node in group])
        key = (listing, *(len(node.node.children) for node in group))
        weights, law = _race_of(target_mass, draft, key) if default else race_of(target_mass, draft, key, solver)
        laws = law.reshape(len(group), -1)
        scores |= _scores(group, weights.tolist(), laws, share)
        means |= {node.node.context: partial(node.mean, row, share) for node, row in zip(group, laws, strict=True)}
    return Step(scores, means)


def _count(_: Vector, q: Vector, key: tuple[Listing, int]) -> int:
    """How many sets a node may draw; key: the listing and `k`."""
    listing, k = key
    return len(listing(q, k))


_counted = memoised(_count)


def _scores(group: Sequence[SetNode], weights: Sequence[Any], laws: Sequence[Vector], share: Any) -> dict[Context, Any]:
    """The scores of the drafted pairs of a group."""
    drafted = [
        (node, law, token, row[node.place(token)])
        for node, law, row in zip(group, laws, weights, strict=True)
        for token in node.node.children
    ]
    total = sum(weight for *_, weight in drafted)
    scores = {}
    for node, law, token, weight in drafted:
        due, mass = node.score * number(node.node.target[token]), node.mass(law, token)
        if weight > 0 and due > 0 and mass > 0:
            rate = due / mass if due < mass else mass * 0 + 1
            scores[*node.node.context, token] = portion(share * rate, weight, total)
    return scores


def race_of(
    target_mass: Vector, draft: Vector, key: tuple[Any, ...], solver: Solver = race_weights
) -> tuple[Any, Vector]:
    """Whole weights, shape `(n, V)`, and their law, shape `(n V,)`; key: the listing and `k_c` for each node."""
    weights = solver(target_mass, draft, key)
    return weights, _law(weights, _listed(draft, key), draft)


_race_of = memoised(race_of)


def _listed(draft: Any, key: tuple[Any, ...]) -> list[Sets]:
    """The sets of every node."""
    listing, *numbers = key
    size = len(draft) // len(numbers)
    return [listing(draft[place * size : (place + 1) * size], k) for place, k in enumerate(numbers)]


def _weights(target_mass: Any, sets: Sequence[Sets], n: int) -> Any:
    """Step 3."""
    size = len(target_mass) // n
    check_numbers("a layer of sets", float(prod(map(len, sets))) * len(target_mass), target_mass)
    chances = np.array([prod(masses) for masses in product(*(part.values() for part in sets))], dtype=np.float64)
    drafted = np.zeros((len(chances), n, size), dtype=bool)
    for draw, tokens in enumerate(product(*sets)):
        for place, part in enumerate(tokens):
            drafted[draw, place, list(part)] = True
    drafted = drafted.reshape(len(chances), -1) & (target_mass > 0)
    possible, some = drafted.any(axis=0), drafted.any(axis=1)
    weights = np.where(possible, 1.0, 0.0)
    if possible.any():
        weights[possible] = _balanced(target_mass[possible], drafted[some][:, possible] * 1.0, chances[some])
    mantissas, exponents = np.frexp(weights)
    whole = np.ldexp(np.rint(np.ldexp(mantissas, BITS)), exponents + SPAN).astype(np.int64)
    return whole.reshape(n, size)


def _balanced(target_mass: Any, drafted: Any, chances: Any) -> Any:
    """The weights of pairs that may be drafted. drafted: 1 where a combination of sets has the pair, else 0."""
    weights = np.ones(len(target_mass))
    for turn in range(ROUNDS):
        before = weights
        law = weights * ((chances / (drafted @ weights)) @ drafted)
        weights = weights * (target_mass / law) ** POWER
        weights = np.maximum(weights / weights.max(), 2.0**-SPAN)
        if turn % 4 == 3 and (abs(weights - before) <= SETTLED * weights).all():
            break
    return weights


def _law(weights: Any, sets: Sequence[Sets], like: Vector) -> Vector:
    """`r`, in the arithmetic of the drafts."""
    law = [mass * 0 for mass in like.tolist()] if not is_tensor(like) else [0.0] * len(like)
    size, weights = weights.shape[1], weights.tolist()
    for drawn in product(*(part.items() for part in sets)):
        pairs = [(place, token) for place, (tokens, _) in enumerate(drawn) for token in tokens]
        total = sum(weights[place][token] for place, token in pairs)
        if total > 0:
            chance = prod((mass for _, mass in drawn[1:]), start=drawn[0][1])
            for place, token in pairs:
                law[place * size + token] = law[place * size + token] + portion(chance, weights[place][token], total)
    if is_tensor(like):
        return like.new_tensor([float(mass) for mass in law])
    return RATIONAL.vector(law) if like.dtype == object else np.array(law, dtype=like.dtype)
