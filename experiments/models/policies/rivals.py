"""The policies that are compared, by name: what each knows, and how it is made for a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from draftproof.experiments.models.policies import learned
from draftproof.experiments.models.policies.fitted import (
    Learner,
    fitted_choice,
    held_out_choice,
    state_scalars,
    steps_of_entropy,
)
from draftproof.simulator.policies.markov_pair import Tables
from draftproof.simulator.policies.optimal import best_block, best_ratio, best_static, policy_iteration

#: Ranges of the entropy rule.
STEPS = 4


@dataclass(frozen=True)
class Rival:
    """A way to choose. knows: what it looks at. choose: from tables to a choice, `(S,)`; or a learner."""

    name: str
    title: str
    knows: str
    choose: Callable[[Tables], Any] | None = None
    learner: Learner | None = None


RIVALS: Mapping[str, Rival] = MappingProxyType(
    {
        rival.name: rival
        for rival in (
            Rival("static", "The one action that is best for ever", "nothing", best_static),
            Rival(
                "entropy",
                f"An action for each of {STEPS} ranges of the entropy of the draft's root row",
                "one number",
                learner=steps_of_entropy(STEPS),
            ),
            Rival("tree", f"A decision tree of depth {learned.DEPTH}", "seven numbers", learner=learned.shallow_tree),
            Rival("linear", "A linear rule", "seven numbers", learner=learned.linear),
            Rival("boosting", f"{learned.TREES} boosted trees", "seven numbers", learner=learned.boosting),
            Rival("ratio", "Most tokens per time of this block", "the state", best_ratio),
            Rival("greedy", "Best for this block at the going rate: the oracle", "the state", best_block),
            Rival(
                "best",
                "The best of all policies, by policy iteration",
                "the state",
                lambda tables: policy_iteration(tables).choice,
            ),
        )
    }
)


def choices(rival: Rival, tables: Tables, X: Any | None = None) -> tuple[Any, Any | None]:
    """The rival's choice at every state, and, where it learns, that of learners which have not seen the state.

    tables: in float64 where it learns. X: `state_scalars` of the world.
    """
    if rival.choose is not None:
        return rival.choose(tables), None
    assert rival.learner is not None
    numbers = state_scalars(tables.pair) if X is None else X
    return fitted_choice(tables, numbers, rival.learner), held_out_choice(tables, numbers, rival.learner)
