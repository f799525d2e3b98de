"""The best any verifier can do at one node: a largest exact flow from sets of drafts to tokens.

[sun2023spectr] pose the program, [khisti2025multi] and [hu2025towards] analyse it. At a node with `k` drafts from `q`:
1. Only the set `S` of different drafted tokens matters; `P(S)` is its probability. Where the drafts are independent
   with laws of their own, as `DraftNode.laws` tells, so it is of these.
2. Send as much mass as possible from the sets to the tokens in them, at most `P(S)` from `S`, at most `p(y)` to `y`.
3. Given `S`, return `y` with probability `flow(S, y)/P(S)`; with what is left draw from normalised `p` minus all flow.

The flow is found by augmenting paths in the arithmetic of the run, so it is exact for rationals, and the acceptance
rate is the optimum of one step, `min over sets T of [p(not T) + 1 - prod_i (1 - q_i(T))]` with the law `q_i` of the
`i`-th draft.

Where the sets are too many to list, i.i.d. drafts get scores instead, which need one pass over the rows: the law `r` of
the draft taken has the largest overlap with `p` that classes of tokens of like `p/q` allow, see `verifiers._scores`. It
is accepted with probability `min(1, p/r)`, else the token is drawn from normalised `(p - r)+`. Drafts with laws of
their own are one layer of `layer_transport`.

counts: how many drafts have each of `n` laws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import comb, prod
from operator import or_
from typing import Any, ClassVar

from draftproof.simulator.errors import UnsupportedTree
from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Source, Vector, Verdict
from draftproof.simulator.residual import residual
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import entries, joined, layers, one_hot, stacked, stacked_layers
from draftproof.verifiers._classes import WHOLE, groups_of
from draftproof.verifiers._layers import Scored
from draftproof.verifiers._programs import check_numbers, memoised
from draftproof.verifiers._scores import Scores, joint_law, scored
from draftproof.verifiers._top_down import walk
from draftproof.verifiers.layer_transport import LayerTransport


@dataclass(frozen=True)
class OptimalTransport:
    """See the module."""

    card: ClassVar[Card] = Card(
        name="optimal_transport",
        title="Optimal transport at every node",
        source=Source("sun2023spectr", "the optimal-transport program, equation 6"),
        needs=Draws.INDEPENDENT_BRANCHES,
        exchangeable=True,
        departs=(
            "The program is solved as a maximum flow from sets of drafts, without a solver, so that it is exact; by "
            "classes of tokens where the sets are too many, which accepts a trace less than the optimum."
        ),
    )

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a node of the tree and draw a correction token."""
        return walk(root, coin, _next_token, lambda node: node)

    @property
    def structure(self) -> TopDown:
        return TopDown(branch=branch, child_law=child_law)


def branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    """Law of the next token given the drafts, shape `(n.., V)`."""
    return stacked(lambda target, draft: _branch(target, draft, drafted), p, q)


def child_law(p: Vector, q: Vector, k: int) -> Any:
    """Joint law of the next token and the number of `k` i.i.d. drafts that equal it, shape `(k + 1, n.., V)`.

    The drafts have the set `S` and `m` of them equal `y` in `S` with probability `C(k, m) q(y)^m` times that of
    `k - m` drafts having the set `S` without `y`.
    """
    return stacked_layers(lambda target, draft: _child_law(target, draft, k), p, q)


def _next_token(p: Vector, node: DraftNode, drafted: tuple[int, ...], coin: Coin) -> int:
    groups = groups_of(node)
    laws, counts = [group.law for group in groups], tuple(len(group.drafted) for group in groups)
    if not can_list_sets(laws, counts):
        if len(groups) > 1:
            return _solve_layer(node, coin)
        return one_step(p, laws[0], len(drafted)).next_token(p, laws[0], drafted, coin)
    masses, flow, rest = transport(p, joined(laws), counts)
    drafts = tuple(sorted(set(drafted)))
    sent = sent_from(flow, drafts)
    missing = masses[drafts] - sum(sent.values())
    rejected = missing if missing > 0 and max(rest) > 0 else 0  # rounding may leave one side of nothing
    choice = coin.choose([*sent.values(), rejected])
    return list(sent)[choice] if choice < len(sent) else coin.choose(rest)


def _solve_layer(node: DraftNode, coin: Coin) -> int:
    step = LayerTransport().step([Scored(node, 1)])
    (means,) = step.means.values()
    taken = coin.choose([*step.scores.values(), max(1 - sum(step.scores.values()), 0)])
    if taken < len(step.scores):
        return list(step.scores)[taken][-1]
    return coin.choose(residual(node.target, means(WHOLE)))


def one_step(p: Vector, q: Vector, k: int) -> Scores:
    """The scores of a node with `k` drafts; the sum of p may be less than 1."""
    return scored(p, q, (*[0] * (k - 1), 1))


def _child_law(p: Vector, q: Vector, k: int) -> Vector:
    if not can_list_sets([q], (k,)):
        return joint_law(one_step(p, q, k), p, q, k)
    masses, flow, rest = transport(p, q, (k,))
    fewer = [set_masses([entries(q)] * drafts) for drafts in range(k)]
    spare = sum(rest)
    law = layers([p * 0] * (k + 1))
    for drafts, mass in masses.items():
        if not mass > 0:  # too small for floats
            continue
        missing = mass - sum(flow[drafts].values())
        for token in range(len(p)):
            share = missing * rest[token] / spare if spare > 0 else mass * 0
            if token not in drafts:
                law[0, token] += share
                continue
            others = tuple(other for other in drafts if other != token)
            given = (flow[drafts].get(token, 0) + share) / mass
            for equal in range(1, k + 1):
                beside = fewer[k - equal].get(others, 0)
                law[equal, token] += comb(k, equal) * q[token] ** equal * beside * given
    return law


def _branch(p: Vector, q: Vector, drafted: Sequence[int]) -> Vector:
    if not can_list_sets([q], (len(drafted),)):
        return one_step(p, q, len(drafted)).branch(p, q, drafted)
    masses, flow, rest = transport(p, q, (len(drafted),))
    drafts = tuple(sorted(set(drafted)))
    law = p * 0
    for token, sent in sent_from(flow, drafts).items():
        law = law + sent / masses[drafts] * one_hot(p, token)
    spare = sum(rest)
    missing = 1 - law.sum()
    for token, mass in enumerate(rest):
        law[token] = law[token] + (missing * mass / spare if spare > 0 else mass * 0)
    return law


Set = tuple[int, ...]

#: Memory of one set, with its mass and its flow, in floats.
NUMBERS_A_SET = 100
#: More sets than four drafts from twelve tokens make are not listed.
MOST_LISTED_SETS = sum(comb(12, n) for n in range(1, 5))


def can_list_sets(laws: Sequence[Vector], counts: tuple[int, ...]) -> bool:
    """Whether the sets of drafts are few enough to be listed; a row that carries gradients needs the list."""
    return getattr(laws[0], "requires_grad", False) or _sets(laws, counts) <= MOST_LISTED_SETS


def _sets(laws: Sequence[Vector], counts: tuple[int, ...]) -> int:
    """How many different sets the drafts may make, at most."""
    drafted = [law > 0 for law in laws]
    by_law = prod(_up_to(int(tokens.sum()), k) for tokens, k in zip(drafted, counts, strict=True))
    return by_law if len(laws) == 1 else min(by_law, _up_to(int(reduce(or_, drafted).sum()), sum(counts)))


def _up_to(tokens: int, k: int) -> int:
    """The sets of at most `k` of so many tokens."""
    return sum(comb(tokens, n) for n in range(1, min(k, tokens) + 1))


@memoised
def transport(
    p: Vector, laws: Vector, counts: tuple[int, ...]
) -> tuple[dict[Set, Any], dict[Set, dict[int, Any]], list[Any]]:
    """`P(S)` for every set of drafts, a largest flow out of it by token, and what remains of `p`; raises `TooLarge`.

    laws: one after the other, shape `(n V,)`.
    """
    rest, rows = entries(p), list(laws.reshape(len(counts), -1))
    check_numbers(f"the flow from sets of {sum(counts)} drafts", float(_sets(rows, counts)) * NUMBERS_A_SET, laws)
    masses = set_masses([entries(row) for row, k in zip(rows, counts, strict=True) for _ in range(k)])
    left = dict(masses)
    flow: dict[Set, dict[int, Any]] = {drafts: {} for drafts in masses}
    for drafts in masses:  # small sets first: they have the least choice
        while left[drafts] > 0 and (path := _augmenting(drafts, flow, rest)) is not None:
            _push(path, flow, left, rest)
    return masses, flow, rest


def sent_from(flow: Mapping[Set, dict[int, Any]], drafts: Set) -> dict[int, Any]:
    """The flow out of a set of drafts; raises `UnsupportedTree` for drafts that a told q cannot have drawn."""
    if drafts not in flow:
        raise UnsupportedTree(
            f"optimal_transport has no plan for the drafts {drafts}, which have probability 0 under the q that it is "
            "told; take specinfer or traversal there"
        )
    return flow[drafts]


def set_masses(laws: Sequence[list[Any]]) -> dict[Set, Any]:
    """The probability that draws, one from each law, give exactly this set of tokens; smallest sets first."""
    masses: dict[Set, Any] = {(): 1}
    for q in laws:
        grown: dict[Set, Any] = {}
        for drafts, mass in masses.items():
            for token, chance in enumerate(q):
                if chance > 0:
                    larger = drafts if token in drafts else tuple(sorted((*drafts, token)))
                    grown[larger] = grown.get(larger, 0) + mass * chance
        masses = grown
    return dict(sorted(masses.items(), key=lambda item: (len(item[0]), item[0])))


def _augmenting(start: Set, flow: dict[Set, dict[int, Any]], rest: list[Any]) -> list[tuple[Set, int]] | None:
    """A shortest augmenting path of (set, token) steps that ends at a token with mass left."""
    chains = [[(start, token)] for token in start]
    seen = set(start)
    for chain in chains:  # grows while it is walked: breadth first
        token = chain[-1][1]
        if rest[token] > 0:
            return chain
        for drafts, sent in flow.items():
            if sent.get(token, 0) > 0:
                for other in drafts:
                    if other not in seen:
                        seen.add(other)
                        chains.append([*chain, (drafts, other)])
    return None


def _push(path: list[tuple[Set, int]], flow: dict[Set, dict[int, Any]], left: dict[Set, Any], rest: list[Any]) -> None:
    """Send as much as fits along the path: each later set sends less to the token before it and more to its own."""
    start, end = path[0][0], path[-1][1]
    taken = [(drafts, token) for (drafts, _), (_, token) in zip(path[1:], path, strict=False)]
    amount = min(left[start], rest[end], *(flow[drafts][token] for drafts, token in taken))
    for drafts, token in taken:
        flow[drafts][token] = flow[drafts][token] - amount  # not in place: an entry may be a view of its row
    for drafts, token in path:
        flow[drafts][token] = flow[drafts].get(token, 0) + amount
    left[start] = left[start] - amount
    rest[end] = rest[end] - amount
