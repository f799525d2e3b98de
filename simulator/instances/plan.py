"""Mixtures of path orders: plain data from which a verifier runs and its selection law follows exactly.

A path order ranks all paths below a trunk; "take the best present path" then selects one branch of a delayed tree. A
plan draws one of several orders before it looks at the drafts. `V` is the vocabulary size, a path is the position of
its `L2` tokens in base `V`, first token most significant; a trunk is the position of its `L1` tokens likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic, arithmetic_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.protocol import Context
from draftproof.simulator.tables import MAX_TABLE_ENTRIES, table_entries


@dataclass(frozen=True)
class PathPlan:
    """A mixture of total orders on the paths of delayed trees; see the module.

    weights: one for every order, at least 0, sum 1.
    orders: `orders[i][trunk]` is a permutation of `range(V**L2)`, best path first, for each of the `V**L1` trunks.
    Raises `InvalidInput` if weights or orders are no such thing, `TooLarge` for more than a million paths.
    """

    vocab_size: int
    K: int
    L1: int
    L2: int
    weights: tuple[Fraction, ...]
    orders: tuple[tuple[tuple[int, ...], ...], ...]

    def __post_init__(self) -> None:
        if type(self.vocab_size) is not int or self.vocab_size < 1:
            raise InvalidInput(f"vocab_size is {self.vocab_size!r}; it must be a whole number of at least 1")
        Delayed(self.K, self.L1, self.L2)
        if table_entries(self.vocab_size, self.L1 + self.L2 - 1) > MAX_TABLE_ENTRIES:
            raise TooLarge(f"a plan for more than {MAX_TABLE_ENTRIES:,} paths; use a smaller vocabulary or tree")
        self._check_weights()
        paths = np.arange(self.vocab_size**self.L2)
        for i, order in enumerate(self.orders):
            if len(order) != self.vocab_size**self.L1:
                raise InvalidInput(
                    f"order {i} has {len(order)} parts; give one for each of the trunks of {self.L1} tokens"
                )
            for trunk, part in enumerate(order):
                if len(part) != len(paths) or not np.array_equal(np.sort(np.asarray(part, dtype=object)), paths):
                    raise InvalidInput(f"order {i} of trunk {trunk} is no permutation of the {len(paths)} paths")

    def _check_weights(self) -> None:
        if not self.orders or len(self.weights) != len(self.orders):
            raise InvalidInput(
                f"{len(self.weights)} weights for {len(self.orders)} orders; give one for each, at least one"
            )
        for weight in self.weights:
            if not isinstance(weight, Fraction) or weight < 0:
                raise InvalidInput(f"the weight {weight!r} must be a Fraction of at least 0")
        if sum(self.weights) != 1:
            raise InvalidInput(f"the weights sum to {sum(self.weights)}, not 1")

    @property
    def depth(self) -> int:
        """`L = L1 + L2`."""
        return self.L1 + self.L2

    @property
    def scheme(self) -> Delayed:
        """The trees it is for."""
        return Delayed(self.K, self.L1, self.L2)

    @cached_property
    def ranks(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """`ranks[i][trunk][path]`: the place of a path in order `i`, 0 for the best."""
        return tuple(tuple(tuple(np.argsort(part).tolist()) for part in order) for order in self.orders)

    def best(self, order: int, trunk: Context, branches: Iterable[Context]) -> Context:
        """The branch, of `L2` tokens each, that order `order` puts first among those drafted after `trunk`."""
        ranks = self.ranks[order][self._position(trunk)]
        return min(branches, key=lambda branch: ranks[self._position(branch)])

    def _position(self, tokens: Context) -> int:
        index = 0
        for token in tokens:
            index = index * self.vocab_size + token
        return index

    def selection(self, draft_tables: Sequence[Any]) -> list[Any]:
        """The exact law of the selected path: for `d = 0..L` the mass `r(c)` of every prefix, shape `(V**d,)`.

        draft_tables: tables of depth at least `L - 1`, whose arithmetic the law has.
        """
        if len(draft_tables) < self.depth or draft_tables[0].shape[1] != self.vocab_size:
            raise InvalidInput(f"the plan needs draft rows to depth {self.depth - 1} over {self.vocab_size} tokens")
        arithmetic = arithmetic_of(draft_tables[0])
        masses = [arithmetic.vector([1])]
        for table in draft_tables[: self.depth]:
            masses.append((masses[-1][:, np.newaxis] * table).reshape(-1))
        trunks = masses[self.L1]
        paths = masses[-1].reshape(len(trunks), -1)
        law = np.stack([self._below(t, mass, paths[t], arithmetic) for t, mass in enumerate(trunks)]).reshape(-1)
        laws = [law]
        for _ in range(self.depth):
            laws.insert(0, laws[0].reshape(-1, self.vocab_size).sum(axis=1))
        return laws

    def _below(self, trunk: int, mass: Any, paths: Any, arithmetic: Arithmetic) -> Any:
        """The law of the paths of one trunk of this mass."""
        law = paths * 0
        if not mass > 0:
            return law
        for weight, order in zip(self.weights, self.orders, strict=True):
            part = np.array(order[trunk])
            missed = (1 - (paths[part] / mass).cumsum()) ** self.K  # no branch among the best so far
            before = np.concatenate([arithmetic.vector([1]), missed[:-1]])
            law[part] = law[part] + (before - missed) * (arithmetic.number(weight) * mass)
        return law
