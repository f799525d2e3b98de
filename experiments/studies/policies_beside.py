"""Questions beside the ladder of policies: depth, labels from sampled trees, delay, and how drafts drift away.

Each function gives the fields of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.policies.actions import shapes
from experiments.shared.latency import TimeModel
from simulator.coins import SamplingCoin
from simulator.laws.estimator import tree_efficiency
from simulator.policies.chains import stationary
from simulator.policies.optimal import best_block, best_static, policy_iteration
from simulator.policies.policy import Action
from simulator.policies.value import best_position, value
from simulator.policies.world import Tables, World
from simulator.protocol import DraftScheme
from verifiers import make

#: The published actions: branches, trunk and branch lengths, 233 different trees.
PUBLISHED = {"K": range(1, 5), "L1": range(9), "L2": range(9)}
#: Depths at which they are cut, and times of a target pass.
CUTS, TARGET_TIMES = (2, 4, 6, 8, 12, 16), (4, 10, 30)
#: Trees that a label rests on; of the largest number all are drawn once, and smaller labels are parts of them.
TREES = (4, 16)
#: Drafted tokens of the shapes that are compared by delay.
BUDGETS = (4, 6)
#: Depths of the drift.
DRIFT = 8


def depth(world: Callable[[], World], verifier: str, times: Callable[[float], TimeModel]) -> dict[str, Any]:
    """The gain over the best static action, by the depth of the shapes and the time of a target pass."""
    actions = [Action(scheme, make(verifier)) for scheme in shapes(PUBLISHED, None)]
    tables = world().tables(actions, lambda _: 1)
    found = []
    for cut in CUTS:
        kept = tables.only([i for i, action in enumerate(actions) if action.scheme.depth <= cut])
        for target in TARGET_TIMES:
            timed = _timed(kept, times(target))
            choice = best_static(timed)
            static = value(timed, choice)
            best = policy_iteration(timed)
            values = value(timed, best.choice), value(timed, best_block(timed))
            found.append(
                {
                    "depth": cut,
                    "target_time": target,
                    "actions": len(timed.actions),
                    "static": str(timed.actions[choice[0]].scheme),
                    "static_tokens": float(static.tokens),
                    "gain": float(values[0].rate / static.rate - 1),
                    "gain_in_tokens": float(values[0].tokens / static.tokens - 1),
                    "greedy_loses": float(1 - values[1].rate / values[0].rate),
                    "used": values[0].used,
                }
            )
    return {"cuts": found}


def labels(
    world: Callable[[], World], verifier: str, schemes: Sequence[DraftScheme], times: TimeModel
) -> dict[str, Any]:
    """Choosing for every state by labels from a few sampled trees: what the labels promise and what comes of it.

    A label is the mean of `E[tau + 1 | tree]` over so many trees. promised: the rate with the labels put in place of
    the block efficiencies; got: the exact rate of the same choice; both over the best static action.
    """
    place = world()
    tables = _timed(place.tables([Action(scheme, make(verifier)) for scheme in schemes], lambda _: 1), times)
    static = float(value(tables, best_static(tables)).rate)
    drawn = _efficiencies(tables, max(TREES), np.random.default_rng(0))
    found = []
    for trees in TREES:
        parts = drawn.reshape(*drawn.shape[:2], -1, trees).mean(-1)
        rates = [_by_labels(tables, parts[:, :, draw]) for draw in range(parts.shape[2])]
        promised, got = (float(np.mean([rate[side] for rate in rates]) / static - 1) for side in (0, 1))
        found.append({"trees": trees, "draws": len(rates), "promised": promised, "got": got})
    best = float(value(tables, policy_iteration(tables).choice).rate / static - 1)
    return {"labels": found, "best": best, "actions": len(schemes)}


def _by_labels(tables: Tables, told: Any) -> tuple[float, float]:
    """What choosing by labels `(A, C)` promises, and the exact rate of that choice."""
    place = tables.world
    choice = np.tile((told / tables.times[:, None]).argmax(0), place.states // place.cores)
    real = value(tables, choice, "the labels")
    believed = (real.starts * told[choice, np.arange(place.states) % place.cores]).sum() / real.time
    return float(believed), float(real.rate)


def _efficiencies(tables: Tables, trees: int, generator: np.random.Generator) -> Any:
    """`E[tau + 1 | tree]` of so many trees of every action from every core, `(A, C, trees)`."""
    coin, told = SamplingCoin(generator), np.empty((*tables.tokens.shape, trees))
    for core in range(tables.world.cores):
        target, draft = tables.world.processes(core)
        for number, action in enumerate(tables.actions):
            for tree in range(trees):
                root = action.scheme.draw(draft, coin).root(target, draft)
                told[number, core, tree] = float(tree_efficiency(action.verifier, root))
    return told


def delay(world: Callable[[], World], verifier: str) -> dict[str, Any]:
    """Tokens a block in the long run of shapes with the same number of drafted tokens, by the length of the trunk."""
    curves = []
    for budget in BUDGETS:
        listed = shapes({"K": range(1, 4), "L1": range(budget + 1), "L2": range(budget + 1)}, budget)
        kept = [scheme for scheme in listed if scheme.nodes == budget]
        tables = world().tables([Action(scheme, make(verifier)) for scheme in kept], lambda _: 1)
        for number, scheme in enumerate(kept):
            tokens = float(value(tables, [number] * tables.world.states).tokens)
            shape = {"K": scheme.K, "L1": scheme.depth if scheme.K == 1 else scheme.L1, "L2": scheme.L2}
            curves.append({"budget": budget, **shape, "tokens": tokens})
    return {"curves": curves}


def drift(world: Callable[[], World]) -> dict[str, Any]:
    """By depth along one draft: `E |p - q|_1` where the draft stands, and the chance that its next token is accepted.

    Both under the law of tokens drafted from where the text is in the long run, and for the first number also where the
    drafted tokens were accepted one by one.
    """
    place = world()
    rows, size = place.rows, place.vocab_size
    moves = _matrix(rows.p, rows.states)
    drafted = accepted = stationary(moves)
    apart = abs(rows.p - rows.q).sum(1)
    kept = np.minimum(rows.p, rows.q)
    found = []
    for _ in range(DRIFT):
        alive = accepted.sum()
        chance = (accepted[:, None] * kept).sum() / alive
        found.append(
            {
                "distance": float(drafted @ apart),
                "distance_accepted": float(accepted @ apart / alive),
                "accepted": float(chance),
            }
        )
        drafted = (drafted[:, None] * rows.q).reshape(size, -1).sum(0)
        accepted = (accepted[:, None] * kept).reshape(size, -1).sum(0)
    return {"depths": found}


def _matrix(step: Any, states: int) -> Any:
    return (np.eye(states)[:, :, None] * step).reshape(states, -1, states).sum(1)


def _timed(tables: Tables, model: TimeModel) -> Tables:
    return tables.at_times(lambda action: model.time(action.scheme.as_dict()))


def best_shape(curves: Sequence[dict[str, Any]], budget: int) -> dict[str, Any]:
    """The shape of a budget with the most tokens."""
    of = [curve for curve in curves if curve["budget"] == budget]
    return of[best_position(curve["tokens"] for curve in of)]
