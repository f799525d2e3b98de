"""Path transport: at every node the mixture of token orders with the largest acceptance, then block verification.

New here; the choice of one draft before its verification follows [khisti2025multi]. On a delayed tree with `K` i.i.d.
branches, carry along the path the mass `r_k(c)` with which `c` is selected with `k` branches alive, and the reach
`D(c)`:
1. On the trunk the path has the law `q`. Where it forks all `K` branches are alive.
2. At a node choose for every `k` a mixture of token orders. An order selects the best token present, so token `y` with
   `m` alive copies has probability `C(k,m) q(y)^m A(y)^(k-m)`, where `A(y)` is the mass ranked below it.
3. The mixtures are those that maximise `sum_y min(D(c) p(y|c), r(c, y))`; of several optima the one with the least
   `sum_{m,y} r_m(c, y)^2`. Where `D(c) p(y|c) = r(c) q(y|c)` for every token, the first alive branch is taken instead.
4. Draw an order for the number of branches that are alive, go to its best token, and go on with `r_m(c, y)` and
   `D(c, y) = min(r(c, y), D(c) p(y|c))`.
5. Run block verification on the path with `r(c, y)/r(c)` in place of `q`, where `r = sum_k r_k`.

Lossless for any mixtures, as long as `r` is the law that they induce. So the weights of the solver are rounded to
multiples of 1/1024 first and `r` is computed from what was rounded. Every number it needs is on the path.

For vocabularies of more than 20 tokens drafts get scores instead of orders, one law of scores whatever the number of
branches alive, which need one pass over the rows: see `verifiers._scores`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import comb
from typing import Any, ClassVar, TypeAlias

from draftproof.simulator.protocol import Card, Coin, DraftNode, Draws, Vector, Verdict
from draftproof.simulator.residual import capped, is_tensor
from draftproof.simulator.structures import OnePath, Selection
from draftproof.simulator.vectors import layers, stacked_layers
from draftproof.verifiers._classes import number
from draftproof.verifiers._paths import (
    Drawn,
    at_rejection,
    child_weights,
    conditional,
    count_iid_branches,
    verify_drawn,
)
from draftproof.verifiers._programs import memoised
from draftproof.verifiers._scores import Scores, scored, winning_shares
from draftproof.verifiers._token_orders import DENOMINATOR, Mixture, node_mixtures, rounded

#: The weight `D(c)/r(c)`; below the fork also `r_k(c)/r(c)` for `k = 1..K`.
State: TypeAlias = tuple[Any, ...]


#: The mixture of orders for each number of branches alive, from two on; None for the first alive branch.
Mixtures: TypeAlias = tuple[Mixture, ...] | None

#: Vocabularies up to this size have mixtures of orders.
MOST_TOKENS = 20


def mixtures(p: Vector, q: Vector, state: State) -> Mixtures:
    """Step 3."""
    if len(state) <= 2 or not any(share > 0 for share in state[2:]):
        return None
    weight, *alive = rounded(state)
    return node_mixtures(weight, tuple(alive), rounded(p.tolist()), rounded(q.tolist()))


@dataclass(frozen=True)
class PathTransport:
    """See the module. Raises `UnsupportedTree` unless the branches are i.i.d.

    Programs are solved in float64 with rows rounded to 10 decimals, whatever the arithmetic of the run.
    """

    card: ClassVar[Card] = Card(
        name="path_transport",
        title="Path transport: node-wise mixtures of token orders",
        source=None,
        needs=Draws.INDEPENDENT_PATHS,
    )

    #: Step 3; see `mixtures`.
    solver: Callable[[Vector, Vector, State], Mixtures] = field(default=mixtures, repr=False)

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the selected path and draw a correction token."""
        count_iid_branches(root)
        path, laws = [root], []
        state: State = (1,)
        while path[-1].children:
            node = path[-1]
            state = _forked(state, len(node.children))
            go = _scored_choice if _is_long(node.draft, state) else partial(_ordered_choice, self.solver)
            token, law, shares = go(node, state, coin)
            weight = capped(state[0] * node.target[token], law.mass)
            state = (weight, *(conditional(share, law.mass) for share in shares))
            laws.append(law)
            path.append(node.child(token))
        return verify_drawn(path, laws, coin)

    @property
    def structure(self) -> OnePath:
        return OnePath(child_weights, at_rejection, Selection(_select_root, partial(_select, self.solver)))


def _select_root(like: Vector) -> State:
    """See `Selection`: the weight at the root."""
    return (like,)


def _select(
    solver: Callable[[Vector, Vector, State], Mixtures], state: State, p: Vector, q: Vector, paths: int
) -> tuple[Vector, tuple[Vector, ...]]:
    """See `Selection`: steps 2 to 4 for many prefixes, one after the other."""
    if paths == 1:
        return q, (child_weights(state[0], p, q),)
    if len(state) == 1:
        state = (state[0], *(state[0] * 0 for _ in range(paths - 1)), state[0] * 0 + 1)

    def one(target: Vector, draft: Vector, *parts: Vector) -> Any:
        law, shares = _step(solver, target, draft, tuple(part[0] for part in parts))
        return layers([law, *shares])

    law, *shares = stacked_layers(one, p, q, *state)
    safe = law + (law <= 0)
    return law, (child_weights(state[0], p, law), *(share / safe for share in shares))


def _forked(state: State, alive: int) -> State:
    """The state where the trunk forks: all branches are alive."""
    return (*state, *[0] * (alive - 1), 1) if len(state) == 1 and alive > 1 else state


def _is_long(row: Vector, state: State) -> bool:
    """Whether drafts get scores at this node: below the fork, in a large vocabulary."""
    return len(state) > 1 and row.shape[-1] > MOST_TOKENS


def _ordered_choice(
    solver: Callable[[Vector, Vector, State], Mixtures], node: DraftNode, state: State, coin: Coin
) -> tuple[int, Drawn, list[Any]]:
    """Steps 2 to 4: the token, its law, and `r_m(c, y)/r(c)`."""
    law, shares = _step(solver, node.target, node.draft, state)
    token = _selected(node, solver(node.target, node.draft, state), len(node.children), coin)
    return token, Drawn.of(law, token), [share[token] for share in shares]


def _scored_choice(node: DraftNode, state: State, coin: Coin) -> tuple[int, Drawn, list[Any]]:
    """The same by scores."""
    scores = _scores(node.target, node.draft, state)
    token = node.children[coin.choose(scores.chances(node.children)) if len(node.children) > 1 else 0]
    mass = node.draft[token : token + 1]
    mass = mass.double().cpu().numpy() if is_tensor(mass) else mass  # few numbers are quicker to compute with here
    shares = winning_shares(scores, [token], mass)
    law = mass[0] * scores.rates([token])[0]
    return token, Drawn(law, partial(scores.law, node.draft)), [share[0] for share in shares]


def _scores(p: Vector, q: Vector, state: State) -> Scores:
    weight, *alive = (number(part) for part in state)
    return scored(p, q, tuple(alive), weight)


def _selected(node: DraftNode, chosen: Mixtures, alive: int, coin: Coin) -> int:
    """Step 4: the token that the drawn order, or the first alive branch, leads to."""
    if alive == 1 or chosen is None:
        return node.children[0]
    mixture = chosen[alive - 2]
    order = mixture.orders[coin.choose(mixture.units) if len(mixture.units) > 1 else 0]
    return max(node.children, key=order.index)


def _step(
    solver: Callable[[Vector, Vector, State], Mixtures], p: Vector, q: Vector, state: State
) -> tuple[Vector, tuple[Vector, ...]]:
    """`_computed_step`, remembered for the default solver."""
    return _default_step(p, q, state) if solver is mixtures else _computed_step(p, q, state, solver)


def _computed_step(
    p: Vector, q: Vector, state: State, solver: Callable[[Vector, Vector, State], Mixtures] = mixtures
) -> tuple[Vector, tuple[Vector, ...]]:
    """`r(c, y)/r(c)` and, for `m = 1..K`, `r_m(c, y)/r(c)`, each of shape `(V,)`; on the trunk `q` alone."""
    if len(state) == 1:
        return q, ()
    if _is_long(q, state):
        scores = _scores(p, q, state)
        return scores.law(q), tuple(winning_shares(scores, range(len(q)), q))
    _, *alive = state
    chosen = solver(p, q, state)
    shares = [q * 0 for _ in alive]
    for k, share in enumerate(alive, start=1):
        if share > 0:
            moments = _first_branch(q, k) if chosen is None or k == 1 else _moments(q, chosen[k - 2], k)
            for m in range(1, k + 1):
                shares[m - 1] = shares[m - 1] + share * comb(k, m) * q**m * moments[k - m]
    law = shares[0]
    for share in shares[1:]:
        law = law + share
    return law, tuple(shares)


_default_step = memoised(_computed_step)


def _moments(q: Vector, mixture: Mixture, k: int) -> list[Vector]:
    """The mean of `A(y)^j` over the mixture, for `j = 0..k-1`."""
    moments = [q * 0 for _ in range(k)]
    for units, order in zip(mixture.units, mixture.orders, strict=True):
        places = sorted(range(len(order)), key=order.__getitem__)
        ranked = q[list(order)]
        below = (ranked.cumsum(0) - ranked)[places]
        power = q * 0 + units
        for j in range(k):
            moments[j] = moments[j] + power
            power = power * below
    return [moment / DENOMINATOR for moment in moments]


def _first_branch(q: Vector, k: int) -> list[Vector]:
    """In place of the moments where the first alive branch is selected: `m` of `k` copies hold it with chance `m/k`."""
    return [(1 - q) ** j * (k - j) / k for j in range(k)]
