"""Draft trees: which tokens were drafted after which context, and the nodes that verifiers walk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.protocol import Context, DraftNode, Piece, TokenProcess, Vector


class DraftTree:
    """Drafted tokens by context, in draft order, duplicates kept (one entry for every path).

    children: for each context with drafts, the tuple of drafted tokens. pieces: for contexts whose drafts are drawn
    from pieces of the row, one for each entry of `children`. Elsewhere all of the row is meant.
    """

    __slots__ = ("children", "pieces")

    def __init__(
        self,
        children: Mapping[Context, tuple[int, ...]],
        pieces: Mapping[Context, tuple[Piece, ...]] | None = None,
    ) -> None:
        self.children = children
        self.pieces = pieces or {}

    @classmethod
    def from_paths(
        cls,
        trunk: Sequence[int],
        branches: Iterable[Sequence[int]],
        pieces: Mapping[Context, tuple[Piece, ...]] | None = None,
    ) -> DraftTree:
        """A trunk followed by branches; two paths through one context share its node."""
        children: dict[Context, tuple[int, ...]] = {tuple(trunk[:depth]): (token,) for depth, token in enumerate(trunk)}
        for branch in branches:
            context = tuple(trunk)
            for token in branch:
                children[context] = (*children.get(context, ()), token)
                context = (*context, token)
        return cls(children, pieces)

    def __repr__(self) -> str:
        drafted = "; ".join(f"{context}: {', '.join(map(str, tokens))}" for context, tokens in self.children.items())
        return f"DraftTree({drafted or 'nothing drafted'})"

    def __contains__(self, context: object) -> bool:
        """Whether `context` is a node: every step to it was drafted."""
        return isinstance(context, tuple) and all(
            token in self.children.get(context[:depth], ()) for depth, token in enumerate(context)
        )

    def root(self, target: TokenProcess, draft: TokenProcess) -> TreeNode:
        """The root node with the rows of both processes attached, as `q` the rows that the draft has `told`, if any."""
        return TreeNode((), self, target, getattr(draft, "told", None) or draft)


class TreeNode:
    """One node of a draft tree as a verifier sees it; see `draftproof.simulator.protocol.DraftNode`."""

    __slots__ = ("_laws", "_nodes", "_processes", "_tree", "children", "context", "draft", "target")

    def __init__(self, context: Context, tree: DraftTree, target: TokenProcess, draft: TokenProcess) -> None:
        self.context = context
        self.target: Vector = target.row(context)
        self.children: tuple[int, ...] = tree.children.get(context, ())
        self.draft: Vector = draft.row(context) if self.children else None
        self._tree = tree
        self._processes = (target, draft)
        self._nodes: dict[int, TreeNode] = {}
        self._laws: tuple[Vector, ...] | None = None

    @property
    def laws(self) -> tuple[Vector, ...]:
        """See `DraftNode.laws`; computed at the first call."""
        if self._laws is None:
            pieces = self._tree.pieces.get(self.context, ())
            if pieces and len(pieces) != len(self.children):
                raise InvalidInput(f"{len(pieces)} pieces for the {len(self.children)} drafts after {self.context}")
            self._laws = tuple(piece.law(self.draft) for piece in pieces) or (self.draft,) * len(self.children)
        return self._laws

    def __repr__(self) -> str:
        draft = "" if self.draft is None else f", q = {_row_text(self.draft)}"
        return f"TreeNode({self.context}: children {self.children}, p = {_row_text(self.target)}{draft})"

    def child(self, token: int) -> TreeNode:
        """The node after a drafted `token`; any other token raises `InvalidVerifier`."""
        node = self._nodes.get(token)
        if node is None:
            if token not in self.children:
                raise InvalidVerifier(
                    f"child({token}) was asked at {self.context}, where only {self.children} is drafted"
                )
            node = TreeNode((*self.context, int(token)), self._tree, *self._processes)
            self._nodes[token] = node
        return node


def _row_text(row: Vector) -> str:
    """The first numbers of a row."""
    shown = [str(value) if row.dtype == object else f"{value:.4g}" for value in row[:8]]
    return f"({', '.join(shown)}{', ..' if len(row) > 8 else ''})"


def first_path(root: DraftNode) -> list[DraftNode]:
    """The nodes of the first path, from the root to its leaf: `L + 1` of them."""
    path = [root]
    while path[-1].children:
        path.append(path[-1].child(path[-1].children[0]))
    return path
