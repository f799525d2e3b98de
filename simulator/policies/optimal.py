"""The best policy on a Markov pair, and simpler ones: the best static action, and two that look one block ahead.

The end of a block is the start of the next, so the best action is not the best for its block. With the gain `g` and
the relative values `h` of a policy, Howard's step takes at every state

    argmax over a of  tokens(a, s) - g times(a) + sum ends(a, s, s') h(s'),

and a policy that no step changes has the largest ratio of all policies, with memory and random ones included.
"""

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.policies.chains import assert_one_class, gain_and_bias, stationary
from draftproof.simulator.policies.markov_pair import Tables
from draftproof.simulator.policies.value import best_position, static_values, value

#: In float64 a step must gain more than this, tokens a block being about one: smaller gains may be rounding.
STEP = 1e-11
#: More steps are a fault: each policy is strictly better than the one before, and a few steps are usual.
MOST_STEPS = 1_000
#: An exhaustive search is refused for more policies.
MOST_POLICIES = 20_000


@dataclass(frozen=True)
class Best:
    """choice: the action at every state, `(S,)`. advantages: `(A, C)`, what an action loses against it, 0 or less.

    gain: tokens per time. steps: how often the policy was changed.
    """

    choice: Any
    advantages: Any
    gain: Any
    steps: int


def best_static(tables: Tables) -> Any:
    """The best static action, as a choice for every state, `(S,)`."""
    position = best_position(value.rate for value in static_values(tables))
    return np.full(tables.pair.states, position)


def best_ratio(tables: Tables) -> Any:
    """The greedy policy: at every state the action of the most tokens per time in this block, `(S,)`."""
    return _tiled(tables, _first_best(tables.tokens / tables.times[:, None]))


def best_block(tables: Tables) -> Any:
    """At every state the action of the largest `tokens - g times`, `g` being this policy's long-run rate, `(S,)`.

    Optimal where it does not matter in which state a block ends. Where the iteration for `g` finds no fixed point, the
    best policy on its way.
    """
    choice, rate = best_static(tables), None
    seen: dict[tuple[int, ...], Any] = {}
    while tuple(choice.tolist()) not in seen:
        rate = value(tables, choice, "the greedy policy").rate
        seen[tuple(choice.tolist())] = rate
        gains = tables.tokens - tables.pair.arithmetic.number(rate) * tables.times[:, None]
        choice = _tiled(tables, _first_best(gains))
    own = tuple(choice.tolist())
    best = own if seen[own] == rate else max(seen, key=lambda policy: seen[policy])
    return np.array(best)


def policy_iteration(tables: Tables) -> Best:
    """The best policy, from the best static one; exact in rationals. Raises as `value` does."""
    histories = np.arange(tables.pair.histories)
    choice = best_static(tables)[: tables.pair.histories]
    least = tables.pair.arithmetic.number(0 if tables.pair.arithmetic.exact else STEP)
    for step in range(MOST_STEPS):
        moves = tables.moves[choice, histories]
        assert_one_class(moves, "a policy on the way to the best")
        gain, bias = gain_and_bias(moves, tables.tokens[choice, histories], tables.times[choice])
        worth = tables.tokens - gain * tables.times[:, None] + tables.moves @ bias
        advantages = worth - worth[choice, histories]
        better = _first_best(advantages)
        improves = np.asarray(advantages[better, histories] > least, dtype=bool)
        if not improves.any():
            return Best(_tiled(tables, choice), advantages, gain, step)
        choice = np.where(improves, better, choice)
    raise InvalidInput(f"the best policy was not found in {MOST_STEPS:,} steps; this is a fault, please report it")


@dataclass(frozen=True)
class Outlook:
    """rate: tokens per time. starts: `(S,)`. worth: of one block of each action, then this policy, `(A, S)`."""

    rate: Any
    starts: Any
    worth: Any


def outlook(tables: Tables, choice: Any, what: str = "this policy") -> Outlook:
    """The value at every state of one block of each action, then the choice again: policies are fitted to it."""
    states, histories = tables.pair.states, tables.pair.histories
    history = np.arange(states) % histories
    moves = tables.ends[choice, history]
    assert_one_class(moves, what)
    gain, bias = gain_and_bias(moves, tables.tokens[choice, history], tables.times[choice])
    worth = tables.tokens - gain * tables.times[:, None] + tables.ends @ bias
    return Outlook(gain, stationary(moves), worth[:, history])


def exhaustive(tables: Tables) -> tuple[Any, Any]:
    """The best of all functions of the history, by trying each: its choice and its rate.

    Raises `TooLarge` for more than `MOST_POLICIES` of them.
    """
    count = prod([len(tables.actions)] * tables.pair.histories)
    if count > MOST_POLICIES:
        raise TooLarge(f"{count:,} policies are too many to try; use policy_iteration")
    best: tuple[Any, Any] | None = None
    for by_history in product(range(len(tables.actions)), repeat=tables.pair.histories):
        choice = _tiled(tables, np.array(by_history))
        rate = value(tables, choice).rate
        if best is None or rate > best[1]:
            best = choice, rate
    assert best is not None
    return best


def _first_best(worth: Any) -> Any:
    """The position of the largest entry in each column, the first among equals."""
    return np.array([best_position(column) for column in worth.T])


def _tiled(tables: Tables, by_history: Any) -> Any:
    return np.tile(by_history, tables.pair.states // tables.pair.histories)
