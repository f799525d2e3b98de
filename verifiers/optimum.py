"""A mixture of path orders, planned in advance: the best present path in a drawn order, then block verification.

New here; that block verification is lossless for any law of its path is [thomas2026greedy]. On the delayed trees
`(K, L1, L2)` of one plan:
1. Draw one of the plan's orders with its exact weight, before looking at the drafts.
2. Of the branches take the one that this order puts first among the paths below the trunk that was drafted.
3. Averaged over the orders, the path has the selection law `r`: with `x` the mass of a path given its trunk and `A` the
   mass of the paths ranked above it, an order selects it with probability `(1 - A)^K - (1 - A - x)^K` given the trunk.
4. Run block verification on that path with `r(c, y)/r(c)` in place of `q`.

Lossless for every plan, and the best that any lossless verifier can do if the plan is: some mixture of path orders
attains the optimum. With the plan of `lp_analysis.long_run` for the state of the root, and no limits, it is the best in
the long run. `r(c)` holds masses of paths that were not drafted. So the verifier is made for one draft process,
from a plan and from the exact draft tables, and refuses rows of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from math import lcm
from typing import Any, ClassVar

import numpy as np

from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput, UnsupportedTree
from draftproof.simulator.instances.plan import PathPlan
from draftproof.simulator.protocol import Card, Coin, Context, DraftNode, DraftScheme, Draws, Vector, Verdict
from draftproof.simulator.residual import is_tensor
from draftproof.simulator.structures import OnePath, Selection
from draftproof.simulator.tables import context_index
from draftproof.verifiers._paths import at_rejection, child_weights, count_iid_branches
from draftproof.verifiers.block import block_verify


@dataclass(frozen=True, eq=False)
class Optimum:
    """See the module.

    plan: its `(K, L1, L2)` are the only trees that it runs on; others raise `UnsupportedTree` (for `K = 1` only the
    depth matters). draft_tables: exact, `[d]` of shape `(V**d, V)` for `d < L`. Rows of a tree that are not those of
    the tables raise `InvalidInput`: exact rows must be equal, floats may differ by rounding.
    """

    plan: PathPlan
    draft_tables: Sequence[Any]

    _laws: dict[bool, list[Any]] = field(init=False, repr=False)
    _units: list[int] = field(init=False, repr=False)

    card: ClassVar[Card] = Card(
        name="optimum",
        title="Planned mixture of path orders",
        source=None,
        needs=Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS,
        parameters={
            "plan": "the mixture of path orders, made for one instance and one tree",
            "draft_tables": "the exact rows of the draft process",
        },
    )

    def __post_init__(self) -> None:
        if not isinstance(self.plan, PathPlan):
            raise InvalidInput(f"optimum: plan is a {type(self.plan).__name__}; it must be a PathPlan")
        size = self.plan.vocab_size
        for depth, table in enumerate(self.draft_tables[: self.plan.depth]):
            if table.dtype != object:
                raise InvalidInput(
                    "optimum: draft_tables are floats; the law must be exact: use draftproof.simulator.rationalise"
                )
            if table.shape != (size**depth, size):
                raise InvalidInput(f"optimum: draft table {depth} has shape {table.shape}, not {(size**depth, size)}")
        laws = []
        masses = self.plan.selection(self.draft_tables) if self.plan.depth else []
        for above, below in pairwise(masses):
            laws.append(below.reshape(-1, size) / (above + (above == 0))[:, np.newaxis])
        scale = reduce(lcm, (weight.denominator for weight in self.plan.weights))
        object.__setattr__(self, "_laws", {True: laws, False: [law.astype(np.float64) for law in laws]})
        object.__setattr__(self, "_units", [int(weight * scale) for weight in self.plan.weights])

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the selected path and draw a correction token."""
        nodes = list(_nodes(root))
        paths = [node.context for node in nodes if not node.children]
        self._refuse_other_trees(nodes, paths[0])
        order = coin.choose(self._units) if len(self._units) > 1 else 0
        fork = self.plan.L1
        branch = self.plan.best(order, paths[0][:fork], [path[fork:] for path in paths])
        path, laws, masses = [root], [], []
        for token in (*paths[0][:fork], *branch):
            laws.append(self._law_at(path[-1]))
            masses.append(laws[-1][token])
            path.append(path[-1].child(token))
        return block_verify(path, masses, laws.__getitem__, coin)

    @property
    def structure(self) -> OnePath:
        return OnePath(child_weights, at_rejection, Selection(self._select_root, self._select), self._refuse_other)

    def _refuse_other(self, scheme: DraftScheme) -> None:
        """Raise `UnsupportedTree` for any other scheme."""
        fields = scheme.as_dict()
        self._refuse_shape(*(fields.get(key, -1) for key in ("K", "L1", "L2")))

    def _select_root(self, like: Vector) -> tuple[Any, ...]:
        """See `Selection`: depth and position of the context, as the tables number it."""
        return like * 0, like * 0

    def _select(self, state: tuple[Any, ...], p: Vector, q: Vector, paths: int) -> tuple[Vector, tuple[Vector, ...]]:
        """See `Selection`: step 3 for many prefixes of one depth; p, q: shape `(n, V)`."""
        depth = int(float(state[0][0, 0]))
        wanted = self.plan.K if depth >= self.plan.L1 else 1
        if depth >= self.plan.depth or paths != wanted:
            raise UnsupportedTree(self._expected(f"{paths} paths at depth {depth}"))
        size = self.plan.vocab_size
        places = [int(float(place)) for place in state[1][:, 0].tolist()]
        law = self._law(q, depth, places)
        children = q * 0 + state[1] * size
        for token in range(size):
            children[..., token] = children[..., token] + token
        return law, (q * 0 + state[0] + 1, children)

    def _law(self, q: Vector, depth: int, place: Any) -> Vector:
        """`r(c, y)/r(c)` in the arithmetic of `q`, which must be the row of the tables at this place (or places)."""
        exact = q.dtype == object
        row = self.draft_tables[depth][place]
        ours = np.asarray(q.tolist(), dtype=object if exact else np.float64)
        if ours.shape != row.shape or not (
            (ours == row).all() if exact else abs(ours - row.astype(np.float64)).max() <= FLOAT64.tolerance
        ):
            raise InvalidInput(
                f"optimum: the draft rows at depth {depth} are not those that the plan was made with; "
                "make it anew from this instance"
            )
        law = self._laws[exact][depth][place]
        return q.new_tensor(law) if is_tensor(q) else law

    def _law_at(self, node: DraftNode) -> Vector:
        """`r(c, y)/r(c)` of one node, if its row is that of the tables."""
        return self._law(node.draft, len(node.context), context_index(node.context, self.plan.vocab_size))

    def _refuse_other_trees(self, nodes: Sequence[DraftNode], leaf: Context) -> None:
        """`UnsupportedTree` unless the tree is the plan's, `InvalidInput` unless all its rows are."""
        fork = next(len(node.context) for node in nodes if len(node.children) != 1)
        self._refuse_shape(count_iid_branches(nodes[0]), fork, len(leaf) - fork)
        for node in nodes:
            if node.children:
                self._law_at(node)

    def _refuse_shape(self, K: int, L1: int, L2: int) -> None:
        if (self.plan.K, self.plan.depth) != (K, L1 + L2) or (K > 1 and self.plan.L1 != L1):
            raise UnsupportedTree(self._expected(f"K = {K}, L1 = {L1} and depth {L1 + L2}"))

    def _expected(self, seen: str) -> str:
        plan = self.plan
        return f"the plan is for K = {plan.K}, L1 = {plan.L1}, L2 = {plan.L2}; the tree has {seen}: plan for that shape"


def _nodes(node: DraftNode) -> Iterator[DraftNode]:
    """A node and all below it."""
    yield node
    for token in dict.fromkeys(node.children):
        yield from _nodes(node.child(token))
