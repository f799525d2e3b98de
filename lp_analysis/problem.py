"""The instance of a bound: the rows of a target and a draft, and the delayed tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from draftproof.lp_analysis.nodes import NodeValues, as_floats, conditional, prefix_masses
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.exact import ProcessLike, as_process, exact_tables
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.protocol import DraftScheme

#: The most paths `V**L` for which bounds are computed.
MOST_PATHS = 20_000
#: Most trunks `V**L1`: the program couples all of them, and a plan ranks the paths of each.
MOST_TRUNKS = 300


@dataclass(frozen=True, eq=False)
class BoundProblem:
    """One instance and one shape, in one arithmetic. Shapes as in `draftproof.lp_analysis.nodes`.

    target, draft: tables of depths `0..L - 1`.
    """

    target: Sequence[Any]
    draft: Sequence[Any]
    scheme: Delayed

    @classmethod
    def of(cls, target: ProcessLike, draft: ProcessLike, scheme: DraftScheme) -> BoundProblem:
        """The problem in rationals, converted once: see `exact_tables`.

        Raises `InvalidInput` for other schemes than delayed trees and for rows that do not fit, `TooLarge` above
        20,000 paths or 300 trunks.
        """
        delayed = delayed_only(scheme)
        processes = as_process(target, "target"), as_process(draft, "draft")
        sizes = [process.vocab_size for process in processes]
        if sizes[0] != sizes[1]:
            raise InvalidInput(f"target has {sizes[0]} tokens, draft has {sizes[1]}; they must share a vocabulary")
        assert_size(sizes[0], delayed)
        last = max(delayed.depth - 1, 0)
        return cls(exact_tables(target, last, "target"), exact_tables(draft, last, "draft"), delayed)

    @property
    def depth(self) -> int:
        """`L`."""
        return self.scheme.depth

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return int(self.target[0].shape[1])

    @cached_property
    def masses(self) -> NodeValues:
        """`q(c)` of every context up to depth `L`."""
        return prefix_masses(self.draft, self.depth)

    @property
    def trunks(self) -> Any:
        """The mass of every trunk, shape `(V**L1,)`."""
        return self.masses[self.scheme.L1]

    @cached_property
    def paths(self) -> Any:
        """`q(path | trunk)`, shape `(V**L1, V**L2)`; rows of trunks without mass are zero."""
        return conditional(self.masses, self.scheme.L1)

    @cached_property
    def floats(self) -> BoundProblem:
        """The same in float64."""
        return BoundProblem(as_floats(self.target), as_floats(self.draft), self.scheme)


def delayed_only(scheme: DraftScheme) -> Delayed:
    """The scheme if certified bounds are computed for it; raises `InvalidInput` otherwise."""
    if isinstance(scheme, Delayed):
        return scheme
    raise InvalidInput(
        f"certified bounds are for delayed trees, not for {scheme}; "
        "draftproof.lp_analysis.cut_bound takes any scheme, in float64"
    )


def assert_size(vocab_size: int, scheme: Delayed) -> None:
    """Raise `TooLarge` for more than `MOST_PATHS` paths or `MOST_TRUNKS` trunks."""
    if context_count(vocab_size, scheme.depth) > MOST_PATHS:
        raise TooLarge(
            f"V^L = {vocab_size}^{scheme.depth} paths are more than {MOST_PATHS:,}; use a smaller vocabulary or tree"
        )
    if scheme.K > 1 and context_count(vocab_size, scheme.L1) > MOST_TRUNKS:
        raise TooLarge(
            f"V^L1 = {vocab_size}^{scheme.L1} trunks are more than {MOST_TRUNKS}; use a shorter trunk or a smaller V"
        )
