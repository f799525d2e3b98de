"""A Markov target and draft, and the effect of every action (scheme and verifier) from every state of block starts.

With `m` the longer order, a history is the last `m` tokens, on which the law of a block depends; there are `C = V**m`.
A state is the last `w` tokens, `w = m` or `m + 1`; there are `S = V**w`. States of `m + 1` tokens also determine the
rows at the previous token. For `A` actions there are tables of the mean tokens in a block, `(A, C)`, and of the law of
the state after it, `(A, C, S)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import MarkovProcess, context_at
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.structured import structure_of
from draftproof.simulator.laws.structured.collapsed import CollapsedTopDown
from draftproof.simulator.laws.structured.ends import ends_by_law, ends_of_masses
from draftproof.simulator.laws.structured.rows import MarkovRows
from draftproof.simulator.policies.policy import Action, Known, Policy, chosen, known_at, name_of
from draftproof.simulator.protocol import Progress
from draftproof.simulator.structures import TopDown
from draftproof.simulator.verdicts.lossless import choose_engine

#: Bytes of all tables at most.
MEMORY = 4 * 2**30
#: Tables of a collapsed engine are kept for the next action up to so many states.
SHARED_STATES = 600


@dataclass(frozen=True)
class MarkovPair:
    """Target and draft as Markov chains; window: `w`, the longer order or one more.

    Raises `InvalidInput` for another window, processes of two arithmetics or two vocabularies.
    """

    target: MarkovProcess
    draft: MarkovProcess
    window: int

    @classmethod
    def of(cls, target: MarkovProcess, draft: MarkovProcess, previous: bool = True) -> MarkovPair:
        """The pair with its window. previous: whether states determine the rows at the previous token."""
        return cls(target, draft, max(target.order, draft.order) + previous)

    def __post_init__(self) -> None:
        if self.window not in (self.order, self.order + 1):
            raise InvalidInput(f"window {self.window} does not fit order {self.order}; give that, or one more")
        if self.target.vocab_size != self.draft.vocab_size or self.target.arithmetic is not self.draft.arithmetic:
            raise InvalidInput("target and draft need one vocabulary and one arithmetic")

    @property
    def order(self) -> int:
        """`m`."""
        return max(self.target.order, self.draft.order)

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return self.target.vocab_size

    @property
    def arithmetic(self) -> Arithmetic:
        """The arithmetic of the rows and of all results."""
        return self.target.arithmetic

    @property
    def histories(self) -> int:
        """`C`."""
        return int(self.vocab_size**self.order)

    @property
    def states(self) -> int:
        """`S`."""
        return int(self.vocab_size**self.window)

    def converted(self, arithmetic: Arithmetic) -> MarkovPair:
        """The same in another arithmetic."""
        return MarkovPair(self.target.converted(arithmetic), self.draft.converted(arithmetic), self.window)

    def processes(self, state: int) -> tuple[MarkovProcess, MarkovProcess]:
        """Target and draft from this state, or history."""
        tokens = context_at(state % self.histories, self.order, self.vocab_size)
        return tuple(item.starting_at(tokens[self.order - item.order :]) for item in (self.target, self.draft))  # type: ignore[return-value]

    def known(self, state: int, draft_time: Any = 0, target_time: Any = 0) -> Known:
        """What a policy knows where a block starts in this state; with rows at the previous token if `w = m + 1`."""
        if self.window == self.order:
            return known_at(*self.processes(state), (), draft_time, target_time)
        *before, last = context_at(state, self.window, self.vocab_size)
        target, draft = (
            item.starting_at(tuple(before[self.order - item.order :])) for item in (self.target, self.draft)
        )
        return known_at(target, draft, (last,), draft_time, target_time)

    def choices(self, policy: Policy, actions: Sequence[Action], draft_time: Any = 0, target_time: Any = 0) -> Any:
        """The position of the policy's action at every state, `(S,)`.

        Raises `InvalidInput` for an action that is not in `actions`, and for a policy that is no function.
        """
        positions: dict[Action, int] = {}
        for position, action in enumerate(actions):
            positions.setdefault(action, position)

        def position_at(state: int) -> int:
            action = chosen(policy, self.known(state, draft_time, target_time))
            if action not in positions:
                raise InvalidInput(f"policy {name_of(policy)} chose {action}, which is none of its {len(actions)}")
            return positions[action]

        choices = [position_at(state) for state in range(self.states)]
        if [position_at(state) for state in reversed(range(self.states))][::-1] != choices:
            raise InvalidInput(f"policy {name_of(policy)} chose otherwise the second time; it must be a function")
        return np.array(choices)

    @cached_property
    def rows(self) -> MarkovRows:
        """The rows by state."""
        lifted = np.tile(self.target.states, (self.vocab_size ** (self.window - self.target.order), 1))
        zeros = (0,) * self.window
        return MarkovRows(MarkovProcess(lifted, zeros, "target"), self.draft.starting_at(zeros[: self.draft.order]))

    def tables(
        self, actions: Sequence[Action], time: Callable[[Action], Any], progress: Progress | None = None
    ) -> Tables:
        """The tables of the actions. time: of one block under an action, in the arithmetic of the pair.

        Raises `TooLarge` for tables that do not fit, and whatever the engines raise.
        """
        size = len(actions) * float(self.histories) * self.states * (64 if self.arithmetic.exact else 8)
        if size > MEMORY:
            raise TooLarge(
                f"{len(actions)} actions from {self.histories:,} states take {size / 2**30:,.1f} GiB, more than "
                f"{MEMORY / 2**30:.0f}; take fewer shapes, a smaller V or a lower order"
            )
        engines: dict[str, CollapsedTopDown] = {}
        ends, tokens = [], []
        for action in actions:
            ends_and_tokens = self._ends(action, engines)
            ends.append(ends_and_tokens[0])
            tokens.append(ends_and_tokens[1])
            if progress:
                progress(1)
        times = self.arithmetic.vector([time(action) for action in actions])
        return Tables(self, tuple(actions), np.stack(tokens), np.stack(ends), times)

    def _ends(self, action: Action, engines: dict[str, CollapsedTopDown]) -> tuple[Any, Any]:
        scheme, verifier = action.scheme, action.verifier
        choose_engine(verifier, scheme)
        structure = structure_of(verifier, scheme)
        if structure is None:
            return self._enumerated(action)
        if not (isinstance(structure, TopDown) and isinstance(scheme, Delayed)):
            return ends_by_law(verifier, self.rows, scheme, self.histories)
        engine = engines.pop(repr(verifier), None) or CollapsedTopDown(verifier, self.rows)
        ends_and_tokens = engine.all_ends(scheme, self.histories)
        if self.states <= SHARED_STATES:
            engines[repr(verifier)] = engine
        return ends_and_tokens

    def _enumerated(self, action: Action) -> tuple[Any, Any]:
        parts = []
        for history in range(self.histories):
            instance = Instance.of(*self.processes(history), action.scheme.depth, self.arithmetic)
            law = enumerate_law(action.verifier, instance.target, instance.draft, action.scheme)
            masses = [item.reshape(1, -1) for item in law.correction]
            parts.append(ends_of_masses(masses, self.rows, range(history, history + 1)))
        return np.concatenate([ends for ends, _ in parts]), np.concatenate([means for _, means in parts])


@dataclass(frozen=True)
class Tables:
    """The effect of actions. tokens: means of blocks, `(A, C)`. ends: laws of states after them, `(A, C, S)`.

    times: of one block of each action, `(A,)`.
    """

    pair: MarkovPair
    actions: tuple[Action, ...]
    tokens: Any
    ends: Any
    times: Any

    @cached_property
    def moves(self) -> Any:
        """The chain of histories at block starts under each action, `(A, C, C)`."""
        histories = self.pair.histories
        if self.pair.window == self.pair.order:
            return self.ends
        return self.ends.reshape(len(self.actions), histories, -1, histories).sum(2)

    def at_times(self, time: Callable[[Action], Any]) -> Tables:
        """The same tables with other times of blocks."""
        times = self.pair.arithmetic.vector([time(action) for action in self.actions])
        return Tables(self.pair, self.actions, self.tokens, self.ends, times)
