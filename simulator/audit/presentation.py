"""Other ways to show one draft tree: with raw rows, or with the paths of a common prefix side by side.

Paths drawn independently may come in any order, so a lossless verifier stays lossless when they are grouped. Where a
wrong one becomes lossless, that is a hint at what it stumbles over.
"""

from __future__ import annotations

from dataclasses import dataclass

from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Context, DraftNode, Vector


@dataclass(frozen=True)
class Presentation:
    """grouped: equal children side by side instead of in draft order.

    raw: rows to be shown in place of those of the nodes, where the function itself processes them.
    """

    grouped: bool = False
    raw: Instance | None = None

    def of(self, root: DraftNode) -> DraftNode:
        """The tree as it is shown."""
        return root if self == Presentation() else _ShownNode(root, self)


class _ShownNode:
    """A node of the tree with other rows or another order of its children."""

    def __init__(self, node: DraftNode, how: Presentation) -> None:
        self._node = node
        self._how = how
        self.context: Context = node.context
        self.children = tuple(sorted(node.children, key=node.children.index)) if how.grouped else node.children
        self.target: Vector = how.raw.target.row(node.context) if how.raw else node.target
        self.draft: Vector = how.raw.draft.row(node.context) if how.raw and node.children else node.draft

    def child(self, token: int) -> DraftNode:
        """The node after a drafted token."""
        return _ShownNode(self._node.child(token), self._how)
