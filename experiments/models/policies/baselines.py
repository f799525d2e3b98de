"""The baseline policies, by name: what each knows, and how it is fitted to a Markov pair.

Learners are scikit-learn's: a shallow tree, a linear rule, boosted trees. Each predicts the values of all actions in a
state and the policy takes the action with the largest one; errors are weighted by how often blocks start in the state.
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

#: Depth of the single tree; depth, number and learning rate of the boosted trees.
DEPTH, BOOSTED_DEPTH, TREES, RATE = 3, 3, 60, 0.2
#: Weight of the penalty of the ridge regression, for features of variance 1.
RIDGE = 1e-3
#: Least share of the blocks in a leaf.
LEAF = 0.01


def shallow_tree(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
    """One decision tree with at most eight leaves."""
    tree = _tree(DEPTH).fit(X, worth, sample_weight=weights)
    return lambda numbers: _two_dimensional(tree.predict(numbers), worth)


def linear(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
    """Ridge regression on features of mean 0 and variance 1."""
    _require_sklearn()
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X, sample_weight=weights)
    model = Ridge(alpha=RIDGE).fit(scaler.transform(X), worth, sample_weight=weights / weights.mean())
    return lambda numbers: _two_dimensional(model.predict(scaler.transform(numbers)), worth)


def boosting(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
    """Gradient boosting of the squared error: each tree is fitted to the residuals of all actions."""
    trees: list[Any] = []
    start = np.average(worth, axis=0, weights=weights)

    def predict(numbers: Any) -> Any:
        return start + sum(
            (RATE * _two_dimensional(tree.predict(numbers), worth) for tree in trees), np.zeros((len(numbers), 1))
        )

    residual = worth - start
    for _ in range(TREES):
        trees.append(_tree(BOOSTED_DEPTH).fit(X, residual, sample_weight=weights))
        residual = residual - RATE * _two_dimensional(trees[-1].predict(X), worth)
    return predict


def _tree(depth: int) -> Any:
    _require_sklearn()
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=depth, min_weight_fraction_leaf=LEAF, random_state=0)


def _two_dimensional(predicted: Any, worth: Any) -> Any:
    """Predictions of shape `(n, A)`; scikit-learn drops the last axis for one action."""
    return np.asarray(predicted).reshape(-1, worth.shape[1])


def _require_sklearn() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise InvalidInput(
            "learned policies need scikit-learn: pip install 'draftproof[policies]', or choose policies that learn "
            "nothing"
        ) from None


#: Number of ranges of the entropy rule.
STEPS = 4


@dataclass(frozen=True)
class Baseline:
    """A way to choose actions. knows: what it depends on.

    It has either choose, from tables to the action of every state, shape `(S,)`, or a learner.
    """

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
    """The baseline's choice at every state, and for learners the choice of models fitted without that state.

    tables: in float64 for learners. X: `state_scalars` of the Markov pair.
    """
    if baseline.choose is not None:
        return baseline.choose(tables), None
    assert baseline.learner is not None
    numbers = state_scalars(tables.pair) if X is None else X
    return fitted_choice(tables, numbers, baseline.learner), held_out_choice(tables, numbers, baseline.learner)
