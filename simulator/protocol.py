"""The contracts between drafts, verifiers and engines. Everything else in draftproof meets here.

`V` is the vocabulary size, tokens are `0..V-1`, and a context is the tuple of tokens since the
root of the draft tree, `()` at the root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any, Protocol, TypeAlias, runtime_checkable

Context: TypeAlias = tuple[int, ...]

#: Shape `(V,)`: a numpy float64 array, a numpy object array of exact rationals or a torch tensor.
Vector: TypeAlias = Any


class Coin(Protocol):
    """The only source of randomness, for drafts and for verifiers."""

    def flip(self, probability: Any) -> bool:
        """True with this probability."""
        ...

    def choose(self, weights: Any) -> int:
        """Index `i` with probability `weights[i] / sum(weights)`."""
        ...


class TokenProcess(Protocol):
    """A language model as draftproof sees it: a next-token distribution for every context."""

    @property
    def vocab_size(self) -> int: ...

    def row(self, context: Context) -> Vector:
        """The distribution of the next token after `context`."""
        ...


class Piece(Protocol):
    """The part of a row that a branch draws its next token from."""

    def law(self, row: Vector) -> Vector:
        """The law of the branch's next token where the draft has this row, in its arithmetic; the row itself if equal.

        Positive only where the row is.
        """
        ...


class DraftNode(Protocol):
    """What a verifier may see of one node of a draft tree."""

    @property
    def context(self) -> Context: ...

    @property
    def target(self) -> Vector:
        """`p(.|context)`."""
        ...

    @property
    def draft(self) -> Vector:
        """`q(.|context)`; None at a node without children."""
        ...

    @property
    def children(self) -> tuple[int, ...]:
        """Drafted tokens in draft order, duplicates kept: one entry for every path through them."""
        ...

    @property
    def laws(self) -> tuple[Vector, ...]:
        """For each entry of `children` the law it was drawn from, given its piece.

        `draft`, the same object, wherever it has the whole row to be drawn from: always, for most schemes.
        """
        ...

    def child(self, token: int) -> DraftNode: ...


@dataclass(frozen=True)
class Verdict:
    """One block: the accepted node, relative to the root, and the token drawn after it."""

    accepted: Context
    correction: int


class Draws(Flag):
    """How a scheme draws its trees: what it declares, and what a verifier needs in order to be lossless.

    "From what is left" means from `q` without the earlier siblings of a token, renormalised. Where a fact speaks of
    `q`, a scheme decides that a token is drafted before it draws it, from rows and earlier tokens. What is lossless on
    every tree needs `Draws(0)`, no fact. A fact is a bit of its own (`_..`) and the facts that follow from it.
    """

    #: The first path is drawn from `q`, token by token, if its pieces (see `DraftNode.laws`) are not known.
    FIRST_PATH_FROM_Q = auto()
    #: The first child of every node is drawn from `q`, if its piece is not known.
    _EVERY_NODE = auto()
    FIRST_CHILD_FROM_Q = _EVERY_NODE | FIRST_PATH_FROM_Q
    #: Later siblings are drawn one after the other: from `q`, from what is left, or uniformly where nothing is left.
    _IN_TURN = auto()
    SIBLINGS_IN_TURN = _IN_TURN | FIRST_CHILD_FROM_Q
    #: Given the pieces of the tree, siblings are independent, each from its entry of `DraftNode.laws`, or, where all
    #: have one law, drawn one after the other from it or from what is left of it.
    SIBLINGS_FROM_LAWS = auto()
    #: Later siblings are drawn one after the other: from `q` or from what is left, never uniformly.
    _NEVER_UNIFORM = auto()
    SIBLINGS_FROM_Q = _NEVER_UNIFORM | SIBLINGS_IN_TURN | SIBLINGS_FROM_LAWS
    #: Given the pieces of the tree, siblings are independent, each from its entry of `DraftNode.laws`, repetitions
    #: kept: whatever was drafted above them, beside them and on other paths.
    _INDEPENDENT = auto()
    INDEPENDENT_BRANCHES = _INDEPENDENT | SIBLINGS_FROM_LAWS
    #: Siblings are i.i.d. from `q`, repetitions kept.
    _REPEATED = auto()
    INDEPENDENT_SIBLINGS = _REPEATED | SIBLINGS_FROM_Q | INDEPENDENT_BRANCHES
    #: From the node where a tree branches on, whole paths are i.i.d.
    _PATHS = auto()
    INDEPENDENT_PATHS = _PATHS | INDEPENDENT_SIBLINGS
    #: Every path has the same length, whatever is drawn.
    FIXED_LENGTHS = auto()
    #: Siblings are different tokens, and how many there are depends on the place in the tree and their own row alone.
    DISTINCT_SIBLINGS = auto()
    #: Distinct siblings, each drawn from what is left, or the likeliest token that is left.
    LEFT_OR_LIKELIEST = auto()
    #: Distinct siblings, each drawn from what is left.
    WITHOUT_REPLACEMENT = DISTINCT_SIBLINGS | LEFT_OR_LIKELIEST | SIBLINGS_FROM_Q
    #: All siblings but one follow from the rows.
    ONE_RANDOM_SIBLING = auto()
    #: A single path from `q`.
    _SINGLE = auto()
    ONE_PATH = _SINGLE | INDEPENDENT_PATHS | WITHOUT_REPLACEMENT | ONE_RANDOM_SIBLING
    #: The pairs of SpecHub: the likeliest token and one other, the first of them drawn from `q`.
    HUB_PAIRS = auto()
    #: Where a node has one child, this is the likeliest token; where it has several, the last one is drawn from `q`
    #: without the first, the likeliest token.
    ONE_FROM_REST = auto()
    #: Below a trunk, single tokens from `q`, the tree follows from the rows.
    FIXED_BRANCHES = auto()


@dataclass(frozen=True)
class Source:
    """Where an algorithm was published: bibliography key and the place in that paper."""

    key: str
    place: str


@dataclass(frozen=True)
class Card:
    """Declared facts about a verifier. Tests hold them against what it does.

    needs: what a draft scheme must declare for the verifier to be lossless on its trees, None where it never is;
    `draftproof.simulator.drafts.lossless_for` lists the schemes. control: whether it is a negative control, kept for
    its one bug. reads_draft: whether it looks at `q`. single_path: whether it looks at the first path only.
    exchangeable: whether the `branch` of its `structure`, if it has one, ignores the order of the drafts.
    dominates: verifiers whose block efficiency it never falls below, on any instance.
    departs: how it differs from the paper, "" if it does not.
    max_vocab: None, or a `V` up to which one call with four drafts takes about a second.
    """

    name: str
    title: str
    source: Source | None
    needs: Draws | None = Draws.INDEPENDENT_PATHS | Draws.FIXED_LENGTHS
    control: bool = False
    reads_draft: bool = True
    single_path: bool = False
    exchangeable: bool = False
    dominates: tuple[str, ...] = ()
    departs: str = ""
    max_vocab: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """`negative control`, `declared lossy`, `published` or `new` (no source)."""
        if self.control:
            return "negative control"
        if self.needs is None:
            return "declared lossy"
        return "published" if self.source else "new"


@runtime_checkable
class Verifier(Protocol):
    """A verification algorithm: a deterministic function of the tree and the coin."""

    @property
    def card(self) -> Card: ...

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        """Accept one node of the tree under `root` and draw one correction token."""
        ...


class AttachedTree(Protocol):
    """A draft tree as engines see it."""

    def root(self, target: TokenProcess, draft: TokenProcess) -> DraftNode:
        """The root node, with the rows of both processes attached."""
        ...

    def __contains__(self, context: object) -> bool:
        """Whether the tree has this node."""
        ...


class DraftScheme(Protocol):
    """The random rule that builds a draft tree from `q`."""

    @property
    def name(self) -> str: ...

    @property
    def depth(self) -> int:
        """Length `L` of the longest drafted path."""
        ...

    @property
    def nodes(self) -> int:
        """Largest number of drafted tokens: the node budget."""
        ...

    def draw(self, draft: TokenProcess, coin: Coin) -> AttachedTree: ...

    def count(self, draft: TokenProcess) -> int:
        """Number of draft outcomes with positive probability."""
        ...

    def reductions(self) -> Sequence[DraftScheme]:
        """Schemes that are no larger, itself included, the smallest first: where shrinking looks."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """The scheme as plain data, for rows and instance files."""
        ...

    def __str__(self) -> str: ...
