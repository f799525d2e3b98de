"""The best policy of a world, and what falls short of it: the best static action, and two that look one block ahead.

The end of a block is the start of the next, so the best action is not the best for its block. With the gain `g` and
the relative values `h` of a policy, Howard's step takes at every state

    argmax over a of  tokens(a, s) - g times(a) + sum ends(a, s, s') h(s'),

and a policy that no step changes has the largest ratio of all policies, those that remember or toss coins included.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.policies.chains import assert_one_class, gain_and_bias, stationary
from draftproof.simulator.policies.value import best_position, static_values, value
from draftproof.simulator.policies.world import Tables

#: In float64 a step must gain so much, of about one token a block; rounding alone could change actions for ever.
STEP = 1e-11
#: Steps after which something is wrong: each is strictly better, and a handful is usual.
MOST_STEPS = 1_000
#: Policies that an exhaustive search goes through.
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
    """The choice of the action that is best where it is taken for ever, `(S,)`."""
    position = best_position(value.rate for value in static_values(tables))
    return np.full(tables.world.states, position)


def best_ratio(tables: Tables) -> Any:
    """At every state the action of the most tokens per time in this block, `(S,)`: greedy, and worth little praise."""
    return _tiled(tables, _first_best(tables.tokens / tables.times[:, None]))


def best_block(tables: Tables) -> Any:
    """At every state the action that is best for this block at the going rate, `(S,)`.

    It takes the largest `tokens - g times` with its own long-run rate `g`; optimal where it does not matter in which
    state a block ends. Where no rate is its own, the best policy that was met.
    """
    choice, rate = best_static(tables), None
    seen: dict[tuple[int, ...], Any] = {}
    while tuple(choice.tolist()) not in seen:
        rate = value(tables, choice, "the greedy policy").rate
        seen[tuple(choice.tolist())] = rate
        gains = tables.tokens - tables.world.arithmetic.number(rate) * tables.times[:, None]
        choice = _tiled(tables, _first_best(gains))
    own = tuple(choice.tolist())
    best = own if seen[own] == rate else max(seen, key=lambda policy: seen[policy])
    return np.array(best)


def policy_iteration(tables: Tables) -> Best:
    """The best policy, from the best static one; exact in rationals. Raises as `value` does."""
    cores = np.arange(tables.world.cores)
    choice = best_static(tables)[: tables.world.cores]
    least = tables.world.arithmetic.number(0 if tables.world.arithmetic.exact else STEP)
    for step in range(MOST_STEPS):
        moves = tables.moves[choice, cores]
        assert_one_class(moves, "a policy on the way to the best")
        gain, bias = gain_and_bias(moves, tables.tokens[choice, cores], tables.times[choice])
        worth = tables.tokens - gain * tables.times[:, None] + tables.moves @ bias
        advantages = worth - worth[choice, cores]
        better = _first_best(advantages)
        improves = np.asarray(advantages[better, cores] > least, dtype=bool)
        if not improves.any():
            return Best(_tiled(tables, choice), advantages, gain, step)
        choice = np.where(improves, better, choice)
    raise InvalidInput(f"the best policy was not found in {MOST_STEPS:,} steps; this is a fault, please report it")


@dataclass(frozen=True)
class Outlook:
    """rate: tokens per time. starts: `(S,)`. worth: `(A, S)`, one block of each action and then this policy again."""

    rate: Any
    starts: Any
    worth: Any


def outlook(tables: Tables, choice: Any, what: str = "this policy") -> Outlook:
    """What one step away from a choice brings, at every state: what policies that know less are fitted to."""
    states, cores = tables.world.states, tables.world.cores
    core = np.arange(states) % cores
    moves = tables.ends[choice, core]
    assert_one_class(moves, what)
    gain, bias = gain_and_bias(moves, tables.tokens[choice, core], tables.times[choice])
    worth = tables.tokens - gain * tables.times[:, None] + tables.ends @ bias
    return Outlook(gain, stationary(moves), worth[:, core])


def exhaustive(tables: Tables) -> tuple[Any, Any]:
    """The best of all policies that look at the core, by trying each: its choice and its rate.

    Raises `TooLarge` for more than `MOST_POLICIES` of them.
    """
    count = prod([len(tables.actions)] * tables.world.cores)
    if count > MOST_POLICIES:
        raise TooLarge(f"{count:,} policies are too many to try; use policy_iteration")
    best: tuple[Any, Any] | None = None
    for by_core in product(range(len(tables.actions)), repeat=tables.world.cores):
        choice = _tiled(tables, np.array(by_core))
        rate = value(tables, choice).rate
        if best is None or rate > best[1]:
            best = choice, rate
    assert best is not None
    return best


def _first_best(worth: Any) -> Any:
    """The position of the largest entry in each column, the first among equals."""
    return np.array([best_position(column) for column in worth.T])


def _tiled(tables: Tables, by_core: Any) -> Any:
    return np.tile(by_core, tables.world.states // tables.world.cores)
