"""Policies from files, and the delayed trees that policies choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType

from draftproof.experiments.inputs.schemes import find_schemes
from draftproof.experiments.inputs.verifiers import from_file, loaded
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.policies.policy import Action, Known, chosen


@dataclass(frozen=True)
class UserPolicy:
    """A policy from a file: `function(known, actions)` returns one of the actions."""

    name: str
    function: Callable[[Known, Sequence[Action]], Action]

    def position(self, known: Known, actions: Sequence[Action]) -> int:
        """The position of its action; raises `InvalidInput` where it chooses none of the actions."""
        action = chosen(lambda known: self.function(known, actions), known, self.name)
        if action not in actions:
            raise InvalidInput(f"policy {self.name} chose {action}, which is none of the {len(actions)} it is given")
        return actions.index(action)


def is_function(spec: str) -> bool:
    """Whether a text names a function in a Python file: verifiers are classes or objects."""
    return from_file(spec) and isinstance(loaded(spec, "verifier or policy")[0], FunctionType)


def user_policy(spec: str) -> UserPolicy:
    """The policy `FILE.py:NAME`; raises `InvalidInput` for anything else."""
    function, parameters = loaded(spec, "policy")
    if parameters or not callable(function) or isinstance(function, type):
        raise InvalidInput(f"{spec} is no policy; give a function of what is known and the list of actions")
    return UserPolicy(spec, function)


def shapes_of(K: int | str, L1: int | str, L2: int | str, most: int | None = None) -> list[Delayed]:
    """The delayed trees of ranges such as 2 or 1..4 with at most `most` tokens, each once; raises `InvalidInput`."""
    schemes = [scheme for scheme in find_schemes("delayed", K=K, L1=L1, L2=L2) if isinstance(scheme, Delayed)]
    small = [scheme for scheme in schemes if most is None or scheme.nodes <= most]
    if not small:
        raise InvalidInput("there is no shape of so few tokens; raise max_nodes or take K = 1")
    return small
