"""Which tokens may follow a context: those of a grammar, the end of the text, no repeated n-grams.

A grammar is a deterministic automaton over tokens, from a regular expression or a table. Its state is a function of the
tokens since the root. A token is written as one letter; `V` is the vocabulary size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module

from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import Context

#: The letters of tokens that have no symbols of their own.
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
#: In a table: a token that is not allowed, and a state in which a text may end.
BANNED, ENDS = "-", "!"


@dataclass(frozen=True)
class Grammar:
    """A deterministic automaton that begins in state 0.

    moves: `moves[state][token]` is the next state, None where the token is not allowed. ends: the states in which a
    text may end.
    """

    moves: tuple[tuple[int | None, ...], ...]
    ends: frozenset[int]

    @classmethod
    def of_table(cls, table: str) -> Grammar:
        """`01-!/1-0` and the like: for each state the next one by token, `-` for none, and `!` where a text may end.

        Where no state has `!`, a text may end in each. Raises `InvalidInput`.
        """
        states = table.split("/")
        rows = [state.removesuffix(ENDS) for state in states]
        known = {BANNED, *LETTERS[: len(rows)]}
        if (
            len(rows) > len(LETTERS)
            or not rows[0]
            or {*map(len, rows)} != {len(rows[0])}
            or not known >= {*table} - {*"/!"}
        ):
            raise InvalidInput(
                f"table {table!r}: write the next state of every token, state by state, as 01-!/1-0: states are 0..9, "
                "a..z, - is a token that is not allowed, ! a state in which a text may end"
            )
        moves = tuple(tuple(None if letter == BANNED else LETTERS.index(letter) for letter in row) for row in rows)
        ends = frozenset(place for place, state in enumerate(states) if state.endswith(ENDS))
        return cls(moves, ends or frozenset(range(len(rows))))

    @classmethod
    @lru_cache(maxsize=64)
    def of_regex(cls, regex: str, letters: str) -> Grammar:
        """The texts that a regular expression matches as a whole; raises `InvalidInput`."""
        try:
            parse_pattern = import_module("interegular").parse_pattern
        except ImportError:
            raise InvalidInput(
                "regex needs interegular: pip install 'draftproof[grammars]', or write the automaton as table=.."
            ) from None
        try:
            re.compile(regex)  # says best what is wrong
            made = parse_pattern(regex).to_fsm()
        except Exception as error:
            raise InvalidInput(f"regex {regex!r} cannot be read: {error}") from None
        number = {state: place for place, state in enumerate([made.initial, *(made.states - {made.initial})])}
        following = [made.map.get(state, {}) for state in number]
        moves = tuple(
            tuple(number.get(arrows.get(made.alphabet[letter])) for letter in letters) for arrows in following
        )
        return cls(moves, frozenset(number[state] for state in made.finals))

    def without(self, token: int | None) -> Grammar:
        """The moves after which a text can still end, and none by this token; raises `InvalidInput` if none is left."""
        moves = [[to if place != token else None for place, to in enumerate(row)] for row in self.moves]
        live, found = set(self.ends), -1
        while found < len(live):
            found = len(live)
            live |= {state for state, row in enumerate(moves) if live & {*row}}
        if 0 not in live:
            raise InvalidInput("the grammar accepts no text of these tokens")
        return Grammar(tuple(tuple(to if to in live else None for to in row) for row in moves), self.ends)


@dataclass(frozen=True)
class Masks:
    """Masks of rows by context, for `V` tokens.

    grammar: see `Grammar`. eos: the token that ends a text, of no grammar; after it only it follows. min_new_tokens: so
    many tokens come before it. stop_strings: words after which it follows. no_repeat_ngram_size: `n`, where no `n`
    tokens come twice, those of `text` before the root included.
    """

    vocab_size: int
    grammar: Grammar | None = None
    eos: int | None = None
    min_new_tokens: int = 0
    stop_strings: tuple[Context, ...] = ()
    no_repeat_ngram_size: int | None = None
    text: Context = ()
    _known: dict[Context, tuple[bool, ...] | None] = field(default_factory=dict, compare=False, repr=False)

    def allowed(self, context: Context) -> tuple[bool, ...] | None:
        """Whether each token may follow; None after a token that was not allowed: from there on nothing is masked."""
        if context not in self._known:
            before = self.allowed(context[:-1]) if context else ()
            lost = context and not (before and before[context[-1]])
            self._known[context] = None if lost else self._after(context)
        return self._known[context]

    def _after(self, context: Context) -> tuple[bool, ...]:
        ended = context[-1:] == (self.eos,) or any(context[-len(word) :] == word for word in self.stop_strings)
        if ended:
            return tuple(token == self.eos for token in range(self.vocab_size))
        kept = [True] * self.vocab_size
        if self.grammar is not None:
            state = 0
            for token in context:
                state = self.grammar.moves[state][token] or 0
            kept = [to is not None for to in self.grammar.moves[state]]
            if self.eos is not None:
                kept[self.eos] = state in self.grammar.ends
        if self.eos is not None and len(context) < self.min_new_tokens:
            kept[self.eos] = False
        if (size := self.no_repeat_ngram_size) is not None:
            seen = self.text + context
            for place in range(len(seen) - size + 1):
                if seen[place : place + size - 1] == seen[len(seen) - size + 1 :]:
                    kept[seen[place + size - 1]] = False
        return tuple(kept)
