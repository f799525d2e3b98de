"""The policies that are compared, by name: what each knows, and how it is made for a Markov pair.

Learners are scikit-learn's: a shallow tree, a linear rule, boosted trees. Each tells the worth of all actions; its
error is weighed by how often blocks start in a state, and the action is the arg-max of what is told.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from draftproof.experiments.models.policies.fitted import (
    Learner,
    fitted_choice,
    held_out_choice,
    state_scalars,
    steps_of_entropy,
)
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.markov_pair import Tables
from draftproof.simulator.policies.optimal import best_block, best_ratio, best_static, policy_iteration

#: Depth of the one tree, and of each boosted one; number and step of those.
DEPTH, BOOSTED_DEPTH, TREES, RATE = 3, 3, 60, 0.2
#: Weight of the linear rule's penalty, for numbers of variance 1.
RIDGE = 1e-3
#: A leaf holds at least this share of the blocks.
LEAF = 0.01


def shallow_tree(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
    """One tree of eight leaves at most."""
    tree = _tree(DEPTH).fit(X, worth, sample_weight=weights)
    return lambda numbers: _wide(tree.predict(numbers), worth)


def linear(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
    """Ridge regression on numbers of mean 0 and variance 1."""
    _installed()
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X, sample_weight=weights)
    model = Ridge(alpha=RIDGE).fit(scaler.transform(X), worth, sample_weight=weights / weights.mean())
    return lambda numbers: _wide(model.predict(scaler.transform(numbers)), worth)


def boosting(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
    """Gradient boosting of the squared error: each tree is fitted to what the ones before it leave of all actions."""
    trees: list[Any] = []
    start = np.average(worth, axis=0, weights=weights)

    def told(numbers: Any) -> Any:
        return start + sum((RATE * _wide(tree.predict(numbers), worth) for tree in trees), np.zeros((len(numbers), 1)))

    left = worth - start
    for _ in range(TREES):
        trees.append(_tree(BOOSTED_DEPTH).fit(X, left, sample_weight=weights))
        left = left - RATE * _wide(trees[-1].predict(X), worth)
    return told


def _tree(depth: int) -> Any:
    _installed()
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=depth, min_weight_fraction_leaf=LEAF, random_state=0)


def _wide(told: Any, worth: Any) -> Any:
    """Shape `(n, A)` where there is one action, too."""
    return np.asarray(told).reshape(-1, worth.shape[1])


def _installed() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise InvalidInput(
            "learned policies need scikit-learn: pip install 'draftproof[policies]', or choose policies that learn "
            "nothing"
        ) from None


#: Ranges of the entropy rule.
STEPS = 4


@dataclass(frozen=True)
class Baseline:
    """A way to choose. knows: what it looks at. choose: from tables to a choice, `(S,)`; or a learner."""

    name: str
    title: str
    knows: str
    choose: Callable[[Tables], Any] | None = None
    learner: Learner | None = None


BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {
        baseline.name: baseline
        for baseline in (
            Baseline("static", "The one action that is best for ever", "nothing", best_static),
            Baseline(
                "entropy",
                f"An action for each of {STEPS} ranges of the entropy of the draft's root row",
                "one number",
                learner=steps_of_entropy(STEPS),
            ),
            Baseline("tree", f"A decision tree of depth {DEPTH}", "seven numbers", learner=shallow_tree),
            Baseline("linear", "A linear rule", "seven numbers", learner=linear),
            Baseline("boosting", f"{TREES} boosted trees", "seven numbers", learner=boosting),
            Baseline("ratio", "Most tokens per time of this block", "the state", best_ratio),
            Baseline("greedy", "Best for this block at the going rate: the oracle", "the state", best_block),
            Baseline(
                "best",
                "The best of all policies, by policy iteration",
                "the state",
                lambda tables: policy_iteration(tables).choice,
            ),
        )
    }
)


def choices(baseline: Baseline, tables: Tables, X: Any | None = None) -> tuple[Any, Any | None]:
    """The baseline's choice at every state, and, where it learns, that of learners which have not seen the state.

    tables: in float64 where it learns. X: `state_scalars` of the world.
    """
    if baseline.choose is not None:
        return baseline.choose(tables), None
    assert baseline.learner is not None
    numbers = state_scalars(tables.pair) if X is None else X
    return fitted_choice(tables, numbers, baseline.learner), held_out_choice(tables, numbers, baseline.learner)
