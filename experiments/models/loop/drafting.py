"""Drawing draft trees of any scheme when rows come from passes of a model that `B` sequences share.

`draw` is a function of rows and coin. It is stopped where it asks for a row that is not computed yet, and called again
when it is: the coin repeats its answers, then continues. Many trees are drawn side by side, and the rows that they miss
are computed in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import torch

from draftproof.experiments.models.loop.reading import Reading
from draftproof.experiments.models.loop.vectors import RowsOf, TextSoFar, TreeRows
from draftproof.simulator.drafts import Delayed, Stratified
from draftproof.simulator.drafts.trees import DraftTree
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Coin, Context, DraftScheme, Vector

#: Gives the contexts whose rows it needs next, parents first, and returns the tree.
Drawing: TypeAlias = Generator[list[Context], None, DraftTree]


def drawing(scheme: DraftScheme, vocab_size: int, coin: Coin, known: dict[Context, Vector]) -> Drawing:
    """One tree of the scheme on its way; before it goes on, whoever draws puts the rows that it gave into `known`.

    When the tree is there, every node with drafts below has its row. Raises what the scheme raises, and `InvalidInput`
    for one that is no function of rows and coin, or asks for rows beyond its depth.
    """
    if type(scheme) is Delayed:
        return _by_levels(scheme, coin, known)
    if isinstance(scheme, Stratified):
        return scheme.steps(coin, known)
    return _by_replay(scheme, vocab_size, coin, known)


def advance(drawings: Sequence[Drawing], trees: dict[int, DraftTree]) -> list[list[Context]]:
    """Continue each unfinished drawing; returns the contexts whose rows each needs next.

    trees: the finished trees by position; new ones are added.
    """
    wanted: list[list[Context]] = [[] for _ in drawings]
    for place, one in enumerate(drawings):
        if place not in trees:
            try:
                wanted[place] = next(one)
            except StopIteration as drawn:
                trees[place] = drawn.value
    return wanted


def nodes_of(tree: DraftTree) -> list[Context]:
    """The drafted nodes of a tree, each once: level by level, in draft order."""
    nodes: list[Context] = [()]
    for context in nodes:  # grows while it is walked
        nodes += [(*context, int(token)) for token in dict.fromkeys(tree.children.get(context, ()))]
    return nodes[1:]


def _by_levels(scheme: Delayed, coin: Coin, known: dict[Context, Vector]) -> Drawing:
    """A delayed tree with one pass a level, where `Delayed.draw` goes path by path: the same law."""
    paths: list[Context] = [()]
    for depth in range(scheme.depth):
        paths = paths * scheme.K if depth == scheme.L1 else paths
        missing = [path for path in dict.fromkeys(paths) if path not in known]
        if missing:
            yield missing
        paths = [(*path, coin.choose(known[path])) for path in paths]
    return DraftTree.from_paths(paths[0][: scheme.L1], [path[scheme.L1 :] for path in paths])


def _by_replay(scheme: DraftScheme, vocab_size: int, coin: Coin, known: dict[Context, Vector]) -> Drawing:
    answers = _Remembering(scheme, coin)
    while True:
        rows, tree = _Rows(scheme, vocab_size, known), None
        answers.begin()
        with suppress(_RowMissing):
            tree = scheme.draw(rows, answers)
        if not rows.stopped:  # else the scheme may have gone on as if nothing had been
            if not isinstance(tree, DraftTree):
                kind = type(tree).__name__
                raise InvalidInput(
                    f"{scheme} drew a {kind}, not a DraftTree; UserScheme(..) takes paths and tokens by context"
                )
            rows = _Rows(scheme, vocab_size, known)
            rows.prefetch([context for context, tokens in tree.children.items() if tokens])
            if not rows.missing:
                return tree
        yield sorted(rows.missing, key=len)


class _RowMissing(BaseException):
    """A row is not computed yet; no `Exception`, so that `except Exception` in a scheme does not catch it."""


class _Rows:
    """The draft process that a scheme gets: it raises `_RowMissing` for a row that is not computed yet."""

    def __init__(self, scheme: DraftScheme, vocab_size: int, known: dict[Context, Vector]) -> None:
        self.vocab_size = vocab_size
        self.missing: dict[Context, None] = {}
        self.stopped = False
        self._scheme, self._known = scheme, known

    def row(self, context: Context) -> Vector:
        row = self._known.get(context)
        if row is None:
            self.stopped = True
            self.prefetch([context])
            raise _RowMissing
        return row

    def prefetch(self, contexts: Sequence[Context]) -> None:
        for context in contexts:
            if context not in self._known:
                self._check(context)
                for depth in range(len(context) + 1):  # a model reads no token before those that lead to it
                    if context[:depth] not in self._known:
                        self.missing[tuple(map(int, context[:depth]))] = None

    def _check(self, context: Context) -> None:
        deepest = max(self._scheme.depth - 1, 0)
        if not isinstance(context, tuple) or not all(0 <= token < self.vocab_size for token in context):
            raise InvalidInput(
                f"{self._scheme} asked for the row after {context!r}; tokens are 0..{self.vocab_size - 1}"
            )
        if len(context) > deepest:
            raise InvalidInput(f"{self._scheme} asked for the row after {context}; its depth allows {deepest} tokens")


class _Remembering:
    """A coin that repeats its recorded answers, then asks another coin."""

    def __init__(self, scheme: DraftScheme, coin: Coin) -> None:
        self._scheme, self._coin = scheme, coin
        self._answers: list[tuple[Any, Any]] = []  # the answer, and a key of the question
        self._next = 0

    def begin(self) -> None:
        self._next = 0

    def flip(self, probability: Any) -> bool:
        return bool(self._answer(lambda: self._coin.flip(probability), lambda _: float(probability)))

    def choose(self, weights: Any) -> int:
        return int(self._answer(lambda: self._coin.choose(weights), lambda token: _told(weights, token)))

    def _answer(self, ask: Callable[[], Any], key_of: Callable[[Any], Any]) -> Any:
        if self._next == len(self._answers):
            new = ask()
            self._answers.append((new, key_of(new)))
        answer, key = self._answers[self._next]
        if key_of(answer) != key:
            raise InvalidInput(
                f"{self._scheme} asked the coin two things after the same answers; "
                "draw must be a function of the draft and the coin, without state or other randomness"
            )
        self._next += 1
        return answer


def _told(weights: Any, token: Any) -> tuple[int, float] | None:
    """A key of a choice, to notice another question in a replay: the number of weights, and that of the drawn token.

    None where the answer is that of a flip, or no token of theirs.
    """
    return (len(weights), float(weights[token])) if type(token) is int and token < len(weights) else None


class Drafting:
    """Draft trees of `B` sequences on their way, and what the draft model has computed for them.

    reading: what it reads. rows: for each sequence `q` by context, at least where something was drafted. told: what
    verifiers get as `q`. passes: for each sequence how many passes it had a part in. trees: once they are drawn.
    actions: of each sequence, where its scheme was chosen.
    """

    def __init__(
        self, reading: Reading, rows_of: RowsOf, texts: Sequence[TextSoFar], told_of: RowsOf | None = None
    ) -> None:
        """texts: before the trees, as in `RowsOf.rows`. told_of: how logits become what verifiers are told, None for
        the rows that are drawn from."""
        self.reading = reading
        self.rows = [TreeRows(rows_of.vocab_size) for _ in texts]
        self.told = self.rows if told_of is None else [TreeRows(rows_of.vocab_size) for _ in texts]
        self.passes = [0] * len(texts)
        self.trees: list[DraftTree] = []
        self.actions: list[int] = []
        self._rows_of, self._told_of, self._texts = rows_of, told_of, texts

    def read(self, wanted: Sequence[Sequence[Context]]) -> None:
        """Compute the rows after these contexts of each sequence, parents before children, none that is known."""
        self.passes = [
            count + self.reading.passes(sequence, contexts)
            for sequence, (count, contexts) in enumerate(zip(self.passes, wanted, strict=True))
        ]
        logits = self.reading.read(wanted)
        self._add(self._rows_of, logits, wanted, self.rows)
        if self._told_of is not None:
            self._add(self._told_of, logits, wanted, self.told)

    def _add(
        self, rows_of: RowsOf, logits: torch.Tensor, wanted: Sequence[Sequence[Context]], to: Sequence[TreeRows]
    ) -> None:
        vectors = rows_of.vectors(rows_of.rows(logits, wanted, self._texts))
        for rows, contexts, portion in zip(to, wanted, vectors, strict=True):
            rows.known.update(zip(contexts, portion, strict=False))

    def draw(self, schemes: Sequence[DraftScheme], coins: Sequence[Coin]) -> None:
        """Draw one tree a sequence: in each pass the model reads what the drawings have come to miss.

        schemes, coins: one for each sequence. A layer that a scheme foresees is one pass. Raises what `drawing` raises.
        """
        size = self._rows_of.vocab_size
        drawings = [
            drawing(scheme, size, coin, rows.known)
            for scheme, coin, rows in zip(schemes, coins, self.rows, strict=True)
        ]
        trees: dict[int, DraftTree] = {}
        while len(trees) < len(drawings):
            wanted = advance(drawings, trees)
            if any(wanted):
                self.read(wanted)
        self.trees = [trees[sequence] for sequence in range(len(drawings))]
