"""Target and draft from text: two n-gram models of different order over a reduced alphabet.

`V` is the vocabulary size: the `V - 1` most frequent symbols of the text are tokens `0..V-2`, every other
symbol is token `V - 1`. Probabilities are interpolated after [witten1991zero], method C: with `n(c, y)`
occurrences of `y` after `c` and `t(c)` different tokens seen there,

    P(y | c) = (n(c, y) + t(c) P(y | c without its first token)) / (n(c) + t(c)),

down to the uniform distribution below order 0.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.grams import GramTable, ranked, text_digest
from draftproof.simulator.instances.processes import MarkovProcess, check_denominator, rationalise
from draftproof.simulator.protocol import Context
from draftproof.simulator.tables import MAX_TABLE_ENTRIES, context_at, table_entries


@dataclass(frozen=True, repr=False)
class TextPair:
    """An order-m target and an order-n draft estimated from one text.

    text: the whole text, or a table of its counts. vocab_size: `V >= 2`. target_order, draft_order: `m >= n >= 0`.
    Raises `InvalidInput` when the text has too few different symbols, `TooLarge` when the tables would not fit.
    """

    text: str | GramTable
    vocab_size: int
    target_order: int
    draft_order: int
    denominator: int = 2**16

    def __post_init__(self) -> None:
        if self.vocab_size < 2:
            raise InvalidInput(f"text needs a vocabulary of at least 2 tokens, not {self.vocab_size}")
        distinct = len(self.symbols)
        if distinct < self.vocab_size:
            raise InvalidInput(
                f"the text has {distinct} different symbols, too few for V = {self.vocab_size}; "
                "choose a smaller vocabulary"
            )
        if not 0 <= self.draft_order <= self.target_order:
            raise InvalidInput(
                f"draft order {self.draft_order} and target order {self.target_order}: "
                "orders must satisfy 0 <= draft <= target"
            )
        if table_entries(self.vocab_size, self.target_order) > MAX_TABLE_ENTRIES:
            raise TooLarge(
                f"order {self.target_order} at V = {self.vocab_size} means more than {MAX_TABLE_ENTRIES:,} numbers; "
                "lower one of them"
            )
        check_denominator(self.denominator, self.vocab_size)
        if self.length <= self.target_order:
            raise InvalidInput(f"the text has {self.length} symbols, too few for order {self.target_order}")
        if isinstance(self.text, GramTable) and self.text.max_order < self.target_order:
            raise InvalidInput(
                f"order {self.target_order}: the table of counts goes to order {self.text.max_order}; "
                "lower it, or give the text itself"
            )

    def __repr__(self) -> str:
        orders = f"orders {self.target_order} and {self.draft_order}"
        return f"TextPair(V = {self.vocab_size}, {orders}, {self.length:,} symbols, text {self.digest})"

    @cached_property
    def symbols(self) -> str:
        """The different symbols of the text, most frequent first, ties in code point order."""
        return ranked(self.text) if isinstance(self.text, str) else self.text.symbols

    @property
    def length(self) -> int:
        """How many symbols the text has."""
        return len(self.text) if isinstance(self.text, str) else self.text.length

    @property
    def alphabet(self) -> str:
        """The symbols of tokens `0..V-2`, most frequent first, ties in code point order."""
        return self.symbols[: self.vocab_size - 1]

    @cached_property
    def digest(self) -> str:
        """Hash of the text: 16 hexadecimal digits."""
        return text_digest(self.text) if isinstance(self.text, str) else self.text.digest

    def encode(self, text: str) -> Context:
        """`text` as tokens; symbols outside the alphabet become token `V - 1`."""
        tokens = {symbol: token for token, symbol in enumerate(self.alphabet)}
        return tuple(tokens.get(symbol, self.vocab_size - 1) for symbol in text)

    def show(self, context: Context) -> str:
        """`context` as text, with a middle dot for token `V - 1`."""
        return "".join(self.alphabet[token] if token < self.vocab_size - 1 else "·" for token in context)

    @cached_property
    def counts(self) -> list[Any]:
        """For each order `0..m`, shape `(V**order, V)`: how often each token follows each context."""
        text, order = self.text, self.target_order
        grams = GramTable.of(text, order, repeated=True) if isinstance(text, str) else text
        return [grams.counts(self.vocab_size, length) for length in range(order + 1)]

    def model(self, order: int) -> Any:
        """The interpolated table of this order, shape `(V**order, V)`, rounded to exact rows over one denominator."""
        size = self.vocab_size
        table = np.full((1, size), 1 / size)
        for length in range(order + 1):
            seen = self.counts[length]
            kinds = (seen > 0).sum(axis=1, keepdims=True)
            shorter = np.tile(table, (size, 1)) if length else table
            total = seen.sum(axis=1, keepdims=True) + kinds
            table = np.where(total > 0, (seen + kinds * shorter) / np.maximum(total, 1), shorter)
        return rationalise(table, self.denominator)

    def frequent_roots(self, count: int = 8) -> list[tuple[Context, Fraction]]:
        """The `count` most frequent contexts of length `m`, most frequent first, each with its share of them."""
        occurrences = self.counts[self.target_order].sum(axis=1)
        first = np.argsort(-occurrences, kind="stable")[:count]
        frequent = [int(index) for index in first if occurrences[index] > 0]
        total = sum(int(occurrences[index]) for index in frequent)
        return [
            (context_at(index, self.target_order, self.vocab_size), Fraction(int(occurrences[index]), total))
            for index in frequent
        ]

    def root_of(self, text: str) -> Context:
        """The last `m` symbols of `text` as a root context; raises `InvalidInput` if it is shorter."""
        if len(text) < self.target_order:
            raise InvalidInput(
                f"root {text!r} has {len(text)} symbols; an order-{self.target_order} target needs {self.target_order}"
            )
        return self.encode(text)[len(text) - self.target_order :]

    @cached_property
    def _models(self) -> tuple[MarkovProcess, MarkovProcess]:
        roots = (0,) * self.target_order, (0,) * self.draft_order
        return (
            MarkovProcess(self.model(self.target_order), roots[0], "target"),
            MarkovProcess(self.model(self.draft_order), roots[1], "draft"),
        )

    def processes(self, root: Context) -> tuple[MarkovProcess, MarkovProcess]:
        """Target and draft that continue the root context, a tuple of `m` tokens."""
        target, draft = self._models
        return target.starting_at(root), draft.starting_at(root[len(root) - self.draft_order :])
