"""What is drafted after a text: the draft's tokens, the target tokens they propose, and the law of these paths.

`V` is the size of the target's vocabulary. A history is the target tokens written so far; contexts of a block are
target tokens after it. A candidate is the path of target tokens that a text of the draft proposes. Given its law, a
pair with two tokenizers is an ordinary instance of one vocabulary: that of the target with one more token, the *end*,
which the target never writes and with which every shorter path is filled up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.protocol import Coin, Context, TokenProcess, Vector
from draftproof.simulator.strings.pair import StringPair
from draftproof.simulator.tables import TableProcess, check_table_size
from draftproof.simulator.vectors import normalised

#: Drafts of one text that are listed at most.
MOST_DRAFTS = 50_000


@dataclass(frozen=True, eq=False)
class TextRoot:
    """A pair after a history of target tokens: the target's rows of the block, and the draft's own context.

    drafted: the number of tokens that the draft writes. depth: of the tokens that they propose at most so many, the
    first, are verified. vocab_size, row: the target as a process of contexts after the history.
    """

    pair: StringPair
    history: Context
    drafted: int
    depth: int

    def __post_init__(self) -> None:
        for what, value in (("drafted", self.drafted), ("depth", self.depth)):
            if value < 1:
                raise InvalidInput(f"{what} is {value}; give at least 1 token")
        check_table_size(self.vocab_size, self.depth, RATIONAL)
        size = len(self.pair.draft_tokens.tokens)
        if size**self.drafted > MOST_DRAFTS:
            raise TooLarge(
                f"{size} draft tokens and {self.drafted} drafted: {size**self.drafted:,} drafts are more than "
                f"{MOST_DRAFTS:,}; draft fewer tokens"
            )

    @property
    def vocab_size(self) -> int:
        """`V`."""
        return self.pair.target.vocab_size

    def row(self, context: Context) -> Vector:
        """`p(.|history, context)`."""
        return self.pair.target.row(self.history + context)

    @cached_property
    def text(self) -> str:
        """What is written so far."""
        return self.pair.target_tokens.decode(self.history)

    @cached_property
    def start(self) -> Context | None:
        """The text so far in tokens of the draft, None where they do not spell it: then nothing is drafted."""
        start = self.pair.draft_tokens.encode(self.text)
        return start if self.pair.draft_tokens.decode(start) == self.text else None

    def draft_row(self, drafted: Context) -> Vector:
        """`q` after these drafted tokens."""
        assert self.start is not None
        return self.pair.draft.row(self.start + drafted)

    def shared_row(self, drafted: Context) -> Vector:
        """`q` on the tokens that both vocabularies have, in the draft's numbers, 0 elsewhere; sums to at most 1."""
        row = self.draft_row(drafted)
        keep = RATIONAL.vector([int(token in self.pair.shared) for token in range(len(row))])
        return row * keep

    @property
    def proposed_text(self) -> dict[str, Any]:
        """The law of the text that the draft writes."""
        texts: dict[str, Any] = {}
        for tokens, mass in drafts(self, TextRoot.draft_row):
            text = self.pair.draft_tokens.decode(tokens)
            texts[text] = texts[text] + mass if text in texts else mass
        return texts


#: The row that the draft's next token is drawn from, given what it has drafted; all zeros end the draft.
Drawn: TypeAlias = Callable[[TextRoot, Context], Vector]


def only_shared(root: TextRoot, drafted: Context) -> Vector:
    """`q` renormalised on the tokens that both vocabularies have."""
    row = root.shared_row(drafted)
    return normalised(row, row)


def draw(root: TextRoot, drawn: Drawn, coin: Coin) -> Context:
    """The draft's tokens, every one by one choice of the coin."""
    tokens: Context = ()
    while root.start is not None and len(tokens) < root.drafted and (row := drawn(root, tokens)).sum() > 0:
        tokens = (*tokens, coin.choose(row))
    return tokens


def drafts(root: TextRoot, drawn: Drawn) -> Iterator[tuple[Context, Any]]:
    """Every draft with its probability: what `draw` gives."""
    stack: list[tuple[Context, Any]] = [((), RATIONAL.number(1))]
    while stack:
        tokens, mass = stack.pop()
        row = drawn(root, tokens) if root.start is not None and len(tokens) < root.drafted else None
        if row is None or not row.sum() > 0:
            yield tokens, mass
        else:
            stack += [((*tokens, token), mass * part) for token, part in enumerate(row) if part > 0]


@dataclass(frozen=True)
class Candidate:
    """The target tokens that a draft proposes, and the context that the target pass reads before them."""

    path: Context
    before: Context


class PathLaw:
    """The law of the proposed path. masses: of every path; they sum to 1."""

    def __init__(self, masses: Mapping[Context, Any], size: int) -> None:
        self.masses, self.vocab_size = masses, size
        #: The probability that the path goes through a context, or ends there.
        self.through: dict[Context, Any] = {}
        for path, mass in masses.items():
            for length in range(len(path) + 1):
                self.through[path[:length]] = self.through.get(path[:length], 0) + mass

    def row(self, context: Context) -> Vector:
        """The probability that the path goes on with each token, given that it goes through `context`."""
        here = self.through.get(context)
        parts = [self.through.get((*context, token), 0) for token in range(self.vocab_size)]
        return RATIONAL.vector(parts) / here if here else RATIONAL.zeros(self.vocab_size)


def best_on_path(law: PathLaw, target: TokenProcess) -> Any:
    """The most tokens a block of any lossless verifier that accepts a part of the path.

    A path is met in a set of contexts with probability the sum over its first ones, so that Hall's condition is
    `D(c) <= P(path through c)`, and `D(c, y) = min(P(path through c, y), D(c) p(y|c))` is the largest reach.
    """
    reach: dict[Context, Any] = {(): RATIONAL.number(1)}
    total = RATIONAL.number(0)
    for context in sorted(law.through, key=len):
        if context:
            above = reach[context[:-1]] * target.row(context[:-1])[context[-1]]
            reach[context] = min(law.through[context], above)
        total += reach[context]
    return total


class WithEnd:
    """A process over the target's tokens as one over these and the end."""

    def __init__(self, row: Callable[[Context], Vector], size: int, fills: bool) -> None:
        self._row, self._size, self._fills = row, size, fills
        self.vocab_size = size + 1

    def row(self, context: Context) -> Vector:
        """The row with the rest of its mass at the end. After an end a draft has only ends, the target its last row."""
        ended = self._size in context
        if ended and self._fills:
            return RATIONAL.vector([0] * self._size + [1])
        row = self._row(context[: context.index(self._size)] if ended else context)
        return RATIONAL.vector([*row, 1 - row.sum()])


def with_end(root: TextRoot, law: PathLaw) -> Instance:
    """The ordinary instance, for one path of `depth` tokens: see the module."""
    draft = tabulate(WithEnd(law.row, law.vocab_size, fills=True), root.depth - 1, RATIONAL, "draft")
    target = tabulate(WithEnd(root.row, root.vocab_size, fills=False), root.depth, RATIONAL, "target")
    return Instance(target, draft, Delayed(1, 0, root.depth))


def target_tables(root: TextRoot) -> TableProcess:
    """The target's rows of the block."""
    return tabulate(root, root.depth, RATIONAL, "target")


@dataclass(frozen=True)
class Spellings:
    """Every way to spell a beginning of the drafted text in target tokens, as one draft tree.

    texts: the law of the text. It does not look at the draft that `draw` is given: the texts are drawn already.
    """

    texts: Mapping[str, Any]
    root: TextRoot

    name: ClassVar[str] = "spellings"

    @property
    def depth(self) -> int:
        """The most tokens of a path."""
        return self.root.depth

    @property
    def nodes(self) -> int:
        """The most tokens of a tree."""
        return max(len(self.paths(text)) for text in self.texts) - 1

    def paths(self, text: str) -> list[Context]:
        """Every node of the tree of a text, the root first."""
        return list(self.root.pair.target_tokens.spellings(text, self.root.depth))

    def draw(self, draft: TokenProcess, coin: Coin) -> DraftTree:
        """The tree of one text."""
        text = list(self.texts)[coin.choose(RATIONAL.vector(list(self.texts.values())))]
        children: dict[Context, tuple[int, ...]] = {}
        for path in self.paths(text)[1:]:
            children[path[:-1]] = (*children.get(path[:-1], ()), path[-1])
        return DraftTree(children)

    def count(self, draft: TokenProcess) -> int:
        """The number of texts."""
        return len(self.texts)

    def reductions(self) -> list[Spellings]:
        """Itself alone."""
        return [self]

    def as_dict(self) -> dict[str, Any]:
        """The scheme as plain data."""
        return {"name": self.name, "depth": self.depth}

    def __str__(self) -> str:
        return f"spellings(depth={self.depth})"
