"""What lossy verifiers share: rules for one node of the first path, and nodes that show another target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from draftproof.simulator.protocol import Coin, DraftNode, Vector, Verdict
from draftproof.simulator.residual import capped, is_tensor
from draftproof.simulator.structures import TopDown
from draftproof.simulator.vectors import one_draft_law, sums, token_by_token

#: `surrogate(p, q)`: the row that stands for the target, shape `(n.., V)`; `q` is None at a node without drafts.
Surrogate = Callable[[Vector, Any], Vector]

#: Numbers in float64 that are no further apart count as equal where a token is kept or a model is chosen.
ROUNDING = 1e-12


class ByRows(ABC):
    """A verifier that goes along the first path and decides at each node by a rule for its two rows."""

    @abstractmethod
    def _rule(self, p: Vector, q: Vector) -> tuple[Vector, Vector]:
        """The mass with which each token is drafted and accepted, and the law of the correction; shapes `(n.., V)`."""

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept a prefix of the first path, token by token; at its end the correction is drawn from `p`."""
        node = root
        while node.children:
            token = node.children[0]
            accepted, correction = self._rule(node.target, node.draft)
            p, q = node.target[token], node.draft[token]
            if not coin.flip(accepted[token] / q if q > 0 else capped(p, q)):
                return Verdict(node.context, coin.choose(correction))
            node = node.child(token)
        return Verdict(node.context, coin.choose(node.target))

    def surrogate(self, p: Vector, q: Vector | None) -> Vector:
        """The law of the next token, shape `(n.., V)`; `p` where `q` is None."""
        if q is None:
            return p
        accepted, correction = self._rule(p, q)
        return accepted + sums(q - accepted) * correction

    @property
    def structure(self) -> TopDown:
        return TopDown(child_law=self._child_law)

    def _child_law(self, p: Vector, q: Vector, k: int) -> Any:
        p, q = token_by_token(p), token_by_token(q)
        return one_draft_law(q, *self._rule(p, q), k)


def largest(x: Vector) -> Vector:
    """The largest entry as a column, shape `(n.., 1)`."""
    return x.amax(-1, keepdim=True) if is_tensor(x) else x.max(-1, keepdims=True)


def at_least(x: Vector, y: Vector) -> Any:
    """Where `x >= y`; floats that are equal up to rounding count as equal, as they do in rationals."""
    return x >= y if x.dtype == object else x >= y - ROUNDING


def either(condition: Any, x: Vector, y: Vector) -> Vector:
    """`x` where the condition holds, else `y`; condition: of shape `(n.., V)` or a column."""
    return x.where(condition, y) if is_tensor(x) else np.where(condition, x, y)


def as_floats(x: Vector) -> Vector:
    """The numbers in float64, for logarithms that only decide."""
    return x.double() if is_tensor(x) else x.astype(np.float64)


def relative_entropy(p: Vector, q: Vector) -> Vector:
    """`sum p log(p/q)` as a column, in nats; float64 rows of shape `(n.., V)`, with `q > 0` wherever `p > 0`."""
    ratio = either(p > 0, p, p * 0 + 1) / either(p > 0, q, q * 0 + 1)
    return sums(p * (ratio.log() if is_tensor(ratio) else np.log(ratio)))


class ShownNode:
    """A node that shows a surrogate in place of the target."""

    def __init__(self, node: DraftNode, surrogate: Surrogate) -> None:
        self._node, self._surrogate = node, surrogate
        self.context, self.children = node.context, node.children
        self.draft: Vector = node.draft
        self.target: Vector = surrogate(node.target, node.draft)

    @property
    def laws(self) -> tuple[Vector, ...]:
        """See `DraftNode.laws`."""
        return self._node.laws

    def child(self, token: int) -> ShownNode:
        """See `DraftNode.child`."""
        return ShownNode(self._node.child(token), self._surrogate)
