"""Policies of one's own, from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draftproof.experiments.inputs.verifiers import loaded
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.policy import Action, Known, Policy


@dataclass(frozen=True)
class Own:
    """A policy of one's own: `function(known, actions)` returns one of the actions."""

    name: str
    function: Callable[[Known, Sequence[Action]], Action]

    def bound(self, actions: Sequence[Action]) -> Policy:
        """The policy with these actions."""

        def policy(known: Known) -> Action:
            return self.function(known, actions)

        policy.__name__ = self.name
        return policy


def own_policy(spec: str) -> Own:
    """The policy `FILE.py:NAME`; raises `InvalidInput` for what is none."""
    function, parameters = loaded(spec, "policy")
    if parameters or not callable(function) or isinstance(function, type):
        raise InvalidInput(f"{spec} is no policy; give a function of what is known and the list of actions")
    return Own(spec, function)
