"""Policies that need no learning: one action for ever, a table by the last tokens, steps of a number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import context_index
from draftproof.simulator.policies.policy import Action, Known, entropy, floats


@dataclass(frozen=True)
class Static:
    """The same action for every block."""

    action: Action
    name: str = "static"

    def __call__(self, known: Known) -> Action:
        return self.action


@dataclass(frozen=True)
class ByState:
    """A table: for each state, the last `window` tokens in base `V`, the position of its action.

    Raises `InvalidInput` for a table of another length.
    """

    actions: tuple[Action, ...]
    choice: tuple[int, ...]
    vocab_size: int
    window: int
    name: str = "table"

    def __post_init__(self) -> None:
        if len(self.choice) != self.vocab_size**self.window:
            raise InvalidInput(
                f"a table of {len(self.choice)} choices does not fit the {self.vocab_size}^{self.window} states of "
                f"{self.window} tokens; give one for each"
            )

    def __call__(self, known: Known) -> Action:
        if len(known.context) < self.window:
            raise InvalidInput(f"policy {self.name} looks at {self.window} tokens and there are {len(known.context)}")
        last = known.context[len(known.context) - self.window :]
        return self.actions[self.choice[context_index(last, self.vocab_size)]]


@dataclass(frozen=True)
class ByEntropy:
    """Steps of the entropy of the draft's row at the root: action `i` between bounds `i - 1` and `i`, in nats."""

    bounds: tuple[float, ...]
    actions: tuple[Action, ...]
    name: str = "entropy"

    def __post_init__(self) -> None:
        if len(self.actions) != len(self.bounds) + 1 or list(self.bounds) != sorted(self.bounds):
            raise InvalidInput(f"{len(self.actions)} actions do not fit rising bounds {self.bounds}; give one more")

    def __call__(self, known: Known) -> Action:
        return self.actions[bisect_right(self.bounds, entropy(floats(known.draft_root)))]


def best_of(actions: Sequence[Action], values: Sequence[float]) -> Action:
    """The action of the largest value, the first among equals."""
    return actions[max(range(len(actions)), key=lambda i: values[i])]
