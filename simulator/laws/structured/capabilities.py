"""What a verifier may offer so that its law need not be enumerated. An engine asks for these methods, never for a name.

`n` contexts at once; `p`, `q` and laws have shape `(n.., V)`, weights `(n.., 1)`.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from simulator.drafts import Delayed
from simulator.laws.estimator import TopDown
from simulator.protocol import DraftScheme, Vector, Verifier


@runtime_checkable
class ChildLaw(Protocol):
    """Decides node by node from the root, each time from the drafts of that node alone."""

    def child_law(self, p: Vector, q: Vector, k: int) -> Any:
        """The law of one step with `k` i.i.d. drafts, shape `(k + 1, n.., V)`.

        Entry `[m, .., y]` for `m >= 1`: it goes on to the child `y`, which `m` drafts equal. Entry `[0, .., y]`: it
        stops here with correction `y`.
        """
        ...


@runtime_checkable
class LastChildLaw(Protocol):
    """Knows a shorter way to what is left of its child law where the children are leaves: most of all contexts."""

    def last_child_law(self, p: Vector, q: Vector, k: int) -> tuple[Vector, Vector]:
        """The law of stopping here with correction `y`, and that of going on to `y`, however many drafts equal it.

        They are `child_law[0]` and `child_law[1:].sum(0)`, each of shape `(n.., V)`.
        """
        ...


@runtime_checkable
class SettlesPath(Protocol):
    """Decides along one path from the leaf up, with a weight at every node: what lies above still owes to it.

    `q` is the law of the path's next token. The path is the first one, or the one that `SelectsPath` takes.
    """

    def child_weights(self, weight: Any, p: Vector, q: Vector) -> Vector:
        """The weight with which each child is entered, shape `(n.., V)`; anything where `q = 0`."""
        ...

    def settle(self, weight: Any, p: Vector, q: Vector) -> tuple[Vector, Any]:
        """Where the continuation was rejected: the law of the correction and the probability of accepting the node."""
        ...


@runtime_checkable
class SelectsPath(Protocol):
    """Selects one of the drafted paths by a rule, so that the path has another law than `q`.

    A state is a tuple of arrays of shape `(n.., 1)`: what the law of the rest of the path depends on.
    """

    def select_root(self, like: Vector) -> tuple[Any, ...]:
        """The state at the root, in the shape and arithmetic of `like`, `(n.., 1)`."""
        ...

    def select(self, state: tuple[Any, ...], p: Vector, q: Vector, paths: int) -> tuple[Vector, tuple[Vector, ...]]:
        """The law of the selected path's next token and the states of the children, each of shape `(n.., V)`.

        paths: the branches that go through this node's trunk: `K`, or 1 above the fork.
        """
        ...


@runtime_checkable
class LeafToRoot(Protocol):
    """Visits the leaves depth first, children in the order in which they were drafted, and forgets what it rejected."""

    def child_weights(self, weight: Any, p: Vector, q: Vector) -> Vector:
        """See `SettlesPath.child_weights`."""
        ...

    def reject(self, weight: Any, p: Vector, q: Vector, token: int) -> tuple[Vector, Vector, Any]:
        """Target, draft and weight of a node once its child `token` was rejected."""
        ...


@runtime_checkable
class ForOneShape(Protocol):
    """Is made for the trees of one scheme, which a structured engine would not notice where only the depth differs."""

    def refuse_other(self, scheme: DraftScheme) -> None:
        """Raise `UnsupportedTree` for any other scheme."""
        ...


def structure_of(verifier: Verifier, scheme: DraftScheme) -> str | None:
    """How the law of `verifier` on `scheme` can be computed without enumeration; None if it cannot."""
    if not isinstance(scheme, Delayed):
        return None
    if isinstance(verifier, SettlesPath) and (verifier.card.single_path or isinstance(verifier, SelectsPath)):
        return "path"
    if isinstance(verifier, LeafToRoot):
        return "leaf-to-root"
    return "top-down" if isinstance(verifier, (ChildLaw, TopDown)) else None
