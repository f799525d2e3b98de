"""Policies that see only a few numbers of the state, fitted by approximate policy iteration.

A step of policy iteration (`outlook`) computes for every action and state the value of one block of that action, then
the present policy (`worth`), and how often blocks start in each state (`starts`, the weights). A learner is then
fitted to these values, and the next policy takes the action with the largest prediction. `X` has shape `(S, F)`: the
features of every state.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.policies.markov_pair import MarkovPair, Tables
from draftproof.simulator.policies.optimal import best_static, outlook
from draftproof.simulator.policies.policy import scalars
from draftproof.simulator.policies.value import value

#: Fits features `(n, F)` to values of the actions `(n, A)` with weights `(n,)`; returns the prediction function.
Learner: TypeAlias = Callable[[Any, Any, Any], Callable[[Any], Any]]
#: Rounds of fitting; the first step of policy iteration gains most.
ROUNDS = 4
#: Folds of cross-validation; all states with one history are in the same fold.
FOLDS = 5


def state_scalars(pair: MarkovPair) -> Any:
    """`X`: the features `draftproof.simulator.policies.policy.SCALARS` of every state."""
    return np.array([scalars(pair.known(state)) for state in range(pair.states)])


def fitted_choice(tables: Tables, X: Any, learner: Learner) -> Any:
    """The best policy among all rounds of fitting to all states, shape `(S,)`."""
    best = best_static(tables)
    rate, choice = value(tables, best).rate, best
    for _ in range(ROUNDS):
        step = outlook(tables, choice)
        choice = _best_actions(learner(X, step.worth.T, step.starts)(X))
        found = value(tables, choice).rate
        if found > rate:
            best, rate = choice, found
        elif (choice == best).all():
            break
    return best


def held_out_choice(tables: Tables, X: Any, learner: Learner) -> Any:
    """The choice at every state by a learner fitted without its history, in the last round, shape `(S,)`."""
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
            following[~seen] = _best_actions(predicted)
        choice = following
    return choice


def steps_of_entropy(bins: int) -> Learner:
    """One action for each of `bins` equally likely ranges of the entropy of the draft's root row."""

    def learn(X: Any, worth: Any, weights: Any) -> Callable[[Any], Any]:
        bounds = quantiles(X[:, 0], weights, bins)
        labels = np.searchsorted(bounds, X[:, 0], side="right")
        means = np.array([(weights[:, None] * worth)[labels == label].sum(0) for label in range(bins)])
        return lambda numbers: means[np.searchsorted(bounds, numbers[:, 0], side="right")]

    return learn


def quantiles(numbers: Any, weights: Any, bins: int) -> Any:
    """`bins - 1` bounds that split the weight into parts that are as equal as the numbers allow."""
    order = np.argsort(numbers, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(reached, np.arange(1, bins) / bins)
    return numbers[order][np.minimum(places + 1, len(numbers) - 1)]


def _best_actions(predicted: Any) -> Any:
    return np.asarray(predicted).argmax(1)
