"""Policies that know less than the state, fitted to what a step away from the present one brings, until none helps.

As in policy iteration, but where the best action of a state would be taken, a learner says what it can tell from a few
numbers. `X` has shape `(S, F)`: the scalars of what is known at every state.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.policies.markov_pair import MarkovPair, Tables
from draftproof.simulator.policies.optimal import best_static, outlook
from draftproof.simulator.policies.policy import scalars
from draftproof.simulator.policies.value import value

#: From features `(n, F)`, values of the actions `(n, A)` and weights `(n,)` to a function from features to values.
Learner: TypeAlias = Callable[[Any, Any, Any], Callable[[Any], Any]]
#: Rounds of fitting; a few are enough, since one step of policy iteration does most.
ROUNDS = 4
#: Folds of cross-validation: the states are divided by history.
FOLDS = 5


def state_scalars(world: MarkovPair) -> Any:
    """`X`: the numbers of `draftproof.simulator.policies.policy.SCALARS` at every state."""
    return np.array([scalars(world.known(state)) for state in range(world.states)])


def fitted_choice(tables: Tables, X: Any, learner: Learner) -> Any:
    """The best choice of all rounds of fitting to all states, `(S,)`."""
    best = best_static(tables)
    rate, choice = value(tables, best).rate, best
    for _ in range(ROUNDS):
        step = outlook(tables, choice)
        choice = _taken(learner(X, step.worth.T, step.starts)(X))
        found = value(tables, choice).rate
        if found > rate:
            best, rate = choice, found
        elif (choice == best).all():
            break
    return best


def held_out_choice(tables: Tables, X: Any, learner: Learner) -> Any:
    """The choice at every state by a learner that has not seen its history, `(S,)`; that of the last round."""
    choice = best_static(tables)
    states, histories = tables.pair.states, tables.pair.histories
    parts = np.random.default_rng(0).permutation(histories)[np.arange(states) % histories] % min(FOLDS, histories)
    for _ in range(ROUNDS):
        step = outlook(tables, choice)
        following = choice.copy()
        for part in range(min(FOLDS, histories)):
            seen = parts != part
            weights = step.starts[seen] if step.starts[seen].any() else np.ones(seen.sum())  # no block starts there
            predicted = learner(X[seen], step.worth.T[seen], weights)(X[~seen])
            following[~seen] = _taken(predicted)
        choice = following
    return choice


def steps_of_entropy(bins: int) -> Learner:
    """One action for each of `bins` ranges of the entropy of the draft's root row, equally likely ranges."""

    def learn(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
        bounds = quantiles(X[:, 0], weights, bins)
        labels = np.searchsorted(bounds, X[:, 0], side="right")
        means = np.array([(weights[:, None] * worth)[labels == label].sum(0) for label in range(bins)])
        return lambda numbers: means[np.searchsorted(bounds, numbers[:, 0], side="right")]

    return learn


def quantiles(numbers: Any, weights: Any, bins: int) -> Any:
    """`bins - 1` bounds between which the weight is the same, as nearly as the numbers allow."""
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(reached, np.arange(1, bins) / bins)
    return numbers[order][np.minimum(places + 1, len(numbers) - 1)]


def _taken(predicted: Any) -> Any:
    return np.asarray(predicted).argmax(1)
