"""The instance of a bound: the rows of a target, and how likely the trees of a draft scheme meet sets of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draftproof.lp_analysis.hitting import Hitting, IidBranches, has_closed_form, hitting_of
from draftproof.lp_analysis.nodes import NodeValues, as_floats
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.exact import ProcessLike, as_process, exact_tables
from draftproof.simulator.protocol import DraftScheme
from draftproof.simulator.tables import context_count

#: The most paths `V**L` for which bounds are computed; of trees with one path, which need no search over orders.
MOST_PATHS, MOST_OF_ONE_PATH = 20_000, 70_000
#: Most trunks `V**L1`: the program couples all of them, and a plan ranks the paths of each.
MOST_TRUNKS = 300


@dataclass(frozen=True, eq=False)
class BoundProblem:
    """One instance and one scheme, in one arithmetic. Shapes as in `draftproof.lp_analysis.nodes`.

    target: tables of depths `0..L - 1`. node_weights: what a node that is reached counts; None for 1 everywhere.
    """

    target: Sequence[Any]
    trees: Hitting
    node_weights: NodeValues | None = None

    @classmethod
    def of(
        cls, target: ProcessLike, draft: ProcessLike, scheme: DraftScheme, weights: Sequence[Any] | None = None
    ) -> BoundProblem:
        """The problem in rationals, converted once: see `exact_tables`.

        weights: by depth `0..L`, one number for every node, of any sign. Raises `InvalidInput` for rows or weights that
        do not fit, `TooLarge` as `assert_size` does or above 200,000 listed trees.
        """
        processes = as_process(target, "target"), as_process(draft, "draft")
        sizes = [process.vocab_size for process in processes]
        if sizes[0] != sizes[1]:
            raise InvalidInput(f"target has {sizes[0]} tokens, draft has {sizes[1]}; they must share a vocabulary")
        assert_size(sizes[0], scheme)
        last = max(scheme.depth - 1, 0)
        tables = exact_tables(target, last, "target")
        if weights is not None and [len(own) for own in weights] != [sizes[0] ** d for d in range(scheme.depth + 1)]:
            raise InvalidInput(f"weights: give one number for every node, by depth 0 to {scheme.depth}")
        nodes = None if weights is None else [RATIONAL.vector(list(own)) for own in weights]
        return cls(tables, hitting_of(exact_tables(draft, last, "draft"), scheme), nodes)

    @property
    def depth(self) -> int:
        """`L`."""
        return self.trees.depth

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return self.trees.vocab_size

    @cached_property
    def weights(self) -> NodeValues:
        """The weights of nodes by depth; one for all nodes of a depth where that is 1."""
        return self.node_weights or [self.target[0][0][:1] * 0 + 1] * (self.depth + 1)

    @property
    def weights_below(self) -> Any:
        """Those of all nodes below the root, in float64, shape `(V + .. + V**L,)`."""
        counted = [own.astype(float) * np.ones(self.vocab_size**d) for d, own in enumerate(self.weights)]
        return np.concatenate(counted)[1:]

    @cached_property
    def lessens(self) -> bool:
        """Whether a weight is negative, so that reaching a node may be worse than stopping before it."""
        return any((own < 0).any() for own in self.weights)

    @property
    def iid(self) -> IidBranches:
        """The branches of a delayed tree, for what knows these only."""
        assert isinstance(self.trees, IidBranches)
        return self.trees

    @cached_property
    def floats(self) -> BoundProblem:
        """The same in float64."""
        weights = None if self.node_weights is None else as_floats(self.node_weights)
        return BoundProblem(as_floats(self.target), self.trees.floats, weights)


def delayed_only(scheme: DraftScheme, what: str) -> Delayed:
    """The scheme if it is a delayed tree; raises `InvalidInput` otherwise."""
    if isinstance(scheme, Delayed):
        return scheme
    raise InvalidInput(f"{what} for delayed trees, not for {scheme}")


def is_one_path(scheme: DraftScheme) -> bool:
    """Whether its trees are one path, drawn from the draft."""
    return isinstance(scheme, Delayed) and scheme.K == 1


def assert_size(vocab_size: int, scheme: DraftScheme) -> None:
    """Raise `TooLarge` for more than `MOST_PATHS` paths, or `MOST_OF_ONE_PATH`, or `MOST_TRUNKS` trunks."""
    most = MOST_OF_ONE_PATH if is_one_path(scheme) else MOST_PATHS
    if context_count(vocab_size, scheme.depth) > most:
        raise TooLarge(
            f"V^L = {vocab_size}^{scheme.depth} paths are more than {most:,}; use a smaller vocabulary or tree"
        )
    if has_closed_form(scheme) and scheme.K > 1 and context_count(vocab_size, scheme.L1) > MOST_TRUNKS:
        raise TooLarge(
            f"V^L1 = {vocab_size}^{scheme.L1} trunks are more than {MOST_TRUNKS}; use a shorter trunk or a smaller V"
        )
