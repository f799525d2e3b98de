"""Learners from scikit-learn: a shallow tree, a linear rule, boosted trees. Each tells the worth of all actions.

The error is weighed by how often blocks start in a state; an action is the arg-max of what is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput

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
