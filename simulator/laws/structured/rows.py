"""Where structured engines read `p` and `q` from: the tables of an instance, or Markov tables by state.

`n` roots are evaluated at once, of tables one. Contexts of one depth are numbered `0..n V**d - 1`: the root is the most
significant digit, then the first token. So the children of context `i` are `i V .. i V + V - 1` whatever the number of
roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_of
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import MarkovProcess
from draftproof.simulator.laws.structured.arrays import whole_numbers
from draftproof.simulator.lazy import torch_module
from draftproof.simulator.tables import TableProcess


class TableRows:
    """Rows from tables: `target[d]` and `draft[d]` of shape `(V**d, V)`."""

    roots = 1

    def __init__(self, target: Sequence[Any], draft: Sequence[Any]) -> None:
        self._target, self._draft = target, draft
        self.vocab_size = int(target[0].shape[1])

    @classmethod
    def of(cls, target: TableProcess, draft: TableProcess, device: str | None = None) -> TableRows:
        """The rows of one instance; device: a torch device to put them on (None: stay with numpy)."""
        tables = [target.tables, draft.tables]
        if device is not None:
            tables = [_tensors(table, device) for table in tables]
        return cls(tables[0], tables[1])

    @property
    def arithmetic(self) -> Arithmetic:
        return arithmetic_of(self._target[0])

    def target(self, depth: int, start: int, stop: int) -> Any:
        """`p` for contexts `start..stop - 1` of this depth, shape `(stop - start, V)`."""
        return self._target[depth][start:stop]

    def draft(self, depth: int, start: int, stop: int) -> Any:
        """`q`, likewise."""
        return self._draft[depth][start:stop]


class MarkovRows:
    """Rows of two Markov processes, looked up by state, so that no tables of depth `L` are needed.

    starts: states (contexts of length `m` in base `V`) of the roots, at first the root of the processes.
    """

    def __init__(self, target: MarkovProcess, draft: MarkovProcess, device: str | None = None) -> None:
        pair = target, draft
        self.order, root = common_state(target, draft)
        self.vocab_size = target.vocab_size
        self.states = self.vocab_size**self.order
        # a state is a context of the longer order; the row of the shorter one is that of its last tokens
        tables: list[Any] = [
            np.tile(process.states, (self.vocab_size ** (self.order - process.order), 1)) for process in pair
        ]
        self.p, self.q = tables if device is None else _tensors(tables, device)
        self._begin([root])

    def starting_at(self, starts: Sequence[int]) -> MarkovRows:
        """The same processes from other states."""
        other = copy(self)
        other._begin(starts)
        return other

    def _begin(self, starts: Sequence[int]) -> None:
        self.starts, self.roots, self._starts = list(starts), len(starts), whole_numbers(self.p, starts)

    @property
    def arithmetic(self) -> Arithmetic:
        return arithmetic_of(self.p)

    def target(self, depth: int, start: int, stop: int) -> Any:
        return self.p[self._states(depth, start, stop)]

    def draft(self, depth: int, start: int, stop: int) -> Any:
        return self.q[self._states(depth, start, stop)]

    def _states(self, depth: int, start: int, stop: int) -> Any:
        positions = whole_numbers(self.p, range(start, stop))
        width = self.vocab_size**depth
        return (self._starts[positions // width] * (width % self.states) + positions % width) % self.states


#: Rows of both processes by depth and position.
RowSource: TypeAlias = TableRows | MarkovRows


def common_state(target: MarkovProcess, draft: MarkovProcess) -> tuple[int, int]:
    """The order of the joint chain and the state it starts in; raises `InvalidInput` if the roots contradict."""
    longer, shorter = (target, draft) if target.order >= draft.order else (draft, target)
    if longer.root[longer.order - shorter.order :] != shorter.root:
        raise InvalidInput(f"target and draft start after different tokens: {target.root} and {draft.root}")
    state = 0
    for token in longer.root:
        state = state * target.vocab_size + token
    return longer.order, state


def _tensors(tables: Sequence[Any], device: str) -> list[Any]:
    torch = torch_module("the torch backend")
    if any(arithmetic_of(table).exact for table in tables):
        raise InvalidInput("torch holds no rationals; use arithmetic float64")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidInput("no CUDA device is available here; use backend torch or numpy")
    return [torch.tensor(table, dtype=torch.float64, device=device) for table in tables]
