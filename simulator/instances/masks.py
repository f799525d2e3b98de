"""Which tokens may follow a context: those of a grammar, the end of the text, no repeated n-grams.

A grammar is a deterministic automaton over tokens, from a regular expression or a table. Its state is a function of the
tokens since the root. Every token has a name, of one letter where they are few; `V` is the vocabulary size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import arithmetic_of
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.row_maps import conditioned
from draftproof.simulator.protocol import Context, Vector

#: The letters of tokens that have no symbols of their own.
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
#: The most moves of an automaton made of a regular expression: states times tokens.
MOST_MOVES = 2_000_000
#: And its most states.
MOST_STATES = 5_000
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
    def of_regex(cls, regex: str, names: Sequence[str]) -> Grammar:
        """The texts that a regular expression matches as a whole; raises `InvalidInput`.

        names: what stands for each token in a text; a token without a name is never allowed.
        """
        made = _read(regex, len(names))
        number = {state: place for place, state in enumerate([made.initial, *(made.states - {made.initial})])}

        def after(state: int, name: str) -> int | None:
            here: int | None = state if name else None
            for letter in name:
                here = made.map.get(here, {}).get(made.alphabet[letter])
            return number.get(here)

        moves = tuple(tuple(after(state, name) for name in names) for state in number)
        return cls(moves, frozenset(number[state] for state in made.finals))

    @classmethod
    @lru_cache(maxsize=64)
    def of_letters(cls, regex: str) -> Grammar:
        """The texts that it matches, of any letters: those in it are tokens, and one more stands for all others."""
        made = _read(regex, 1)
        number = {state: place for place, state in enumerate([made.initial, *(made.states - {made.initial})])}
        letters = list(made.alphabet.by_transition)
        moves = tuple(tuple(number.get(made.map.get(state, {}).get(letter)) for letter in letters) for state in number)
        return cls(moves, frozenset(number[state] for state in made.finals))

    def without(self, token: int | None) -> Grammar:
        """The moves after which a text can still end, and none by this token; raises `InvalidInput` if none is left."""
        moves = [[to if place != token else None for place, to in enumerate(row)] for row in self.moves]
        before: dict[int, set[int]] = {}
        for state, row in enumerate(moves):
            for to in {to for to in row if to is not None}:
                before.setdefault(to, set()).add(state)
        live, open_states = set(self.ends), list(self.ends)
        while open_states:
            new = before.get(open_states.pop(), set()) - live
            live |= new
            open_states += new
        if 0 not in live:
            raise InvalidInput("the grammar accepts no text")
        return Grammar(tuple(tuple(to if to in live else None for to in row) for row in moves), self.ends)


@dataclass(frozen=True)
class Masks:
    """Masks of rows by context, for `V` tokens.

    grammar: see `Grammar`. eos: the token that ends a text, of no grammar; after it only it follows. min_new_tokens: so
    many tokens come before it. stop_strings: words after which it follows, in the names of tokens.
    no_repeat_ngram_size: `n`, where no `n` tokens come twice, those of `text` before the root included.
    new: how many of the last tokens of `text` the other masks have seen; state: of the grammar after them; free:
    whether one of them was not allowed, so that nothing is masked any more.
    """

    vocab_size: int
    grammar: Grammar | None = None
    eos: int | None = None
    min_new_tokens: int = 0
    stop_strings: tuple[str, ...] = ()
    no_repeat_ngram_size: int | None = None
    text: Context = ()
    names: Sequence[str] = LETTERS
    new: int = 0
    state: int = 0
    free: bool = False
    #: By context the state of the grammar and what may follow.
    _known: dict[Context, tuple[int, tuple[bool, ...] | None]] = field(default_factory=dict, compare=False, repr=False)

    def allowed(self, context: Context) -> tuple[bool, ...] | None:
        """Whether each token may follow; None after a token that was not allowed: from there on nothing is masked."""
        return self._at(context)[1]

    def after(self, context: Context) -> Masks:
        """The masks with the root behind this context."""
        state, allowed = self._at(context)
        new = self.new + len(context)
        return replace(self, text=self.text + context, new=new, state=state, free=allowed is None, _known={})

    def _at(self, context: Context) -> tuple[int, tuple[bool, ...] | None]:
        if context not in self._known:
            state, free = self.state, self.free
            if context:
                (state, before), token = self._at(context[:-1]), context[-1]
                free = before is None or not before[token]
                if self.grammar is not None and not free:
                    state = self.grammar.moves[state][token] or 0
            self._known[context] = state, None if free else self._after(state, context)
        return self._known[context]

    def _after(self, state: int, context: Context) -> tuple[bool, ...]:
        seen, new = self.text + context, self.new + len(context)
        if new and (seen[-1] == self.eos or self._stopped(seen[-new:])):
            return tuple(token == self.eos for token in range(self.vocab_size))
        mask = [True] * self.vocab_size
        if self.grammar is not None:
            mask = [to is not None for to in self.grammar.moves[state]]
            if self.eos is not None:
                mask[self.eos] = state in self.grammar.ends
        if self.eos is not None and new < self.min_new_tokens:
            mask[self.eos] = False
        if (size := self.no_repeat_ngram_size) is not None:
            for place in range(len(seen) - size + 1):
                if seen[place : place + size - 1] == seen[len(seen) - size + 1 :]:
                    mask[seen[place + size - 1]] = False
        return tuple(mask)

    def _stopped(self, seen: Context) -> bool:
        """Whether a word ends within the last token."""
        if not self.stop_strings:
            return False
        longest = max(map(len, self.stop_strings))
        text = "".join(self.names[token] for token in seen[-longest - 1 :])
        before = len(text) - len(self.names[seen[-1]])
        return any(word in text[max(before - len(word) + 1, 0) :] for word in self.stop_strings)


@dataclass(frozen=True)
class MaskRules:
    """Masks as they are written, with tokens as letters and words of `stop_strings` between `|`; see `Masks`."""

    no_repeat_ngram_size: int | None = None
    eos: str | None = None
    min_new_tokens: int = 0
    stop_strings: str = ""
    table: str | None = None
    regex: str | None = None

    @property
    def masked(self) -> bool:
        """Whether which tokens are allowed depends on the tokens before them."""
        return any(rule is not None for rule in (self.no_repeat_ngram_size, self.eos, self.table, self.regex))

    def masks(self, vocab_size: int, text: Context = (), names: Sequence[str] = LETTERS) -> Masks:
        """Its masks; names: of the tokens. Raises `InvalidInput` for what does not fit these."""
        names = tuple(names[:vocab_size])
        named = self.regex is not None or self.eos is not None
        if named and len(names) < vocab_size:
            raise InvalidInput(
                f"regex and eos name tokens by the letters {''.join(names)}, too few for V = {vocab_size}"
            )
        single = all(len(name) == 1 for name in names)
        shown = (
            f"the letters {''.join(names)!r}"
            if single
            else f"{', '.join(map(repr, names[:8]))}{', ..' if len(names) > 8 else ''}"
        )
        if self.eos is not None and names.count(self.eos) != 1:
            if single and len(self.eos) > 1 and {*self.eos} <= {*names}:
                raise InvalidInput(f"eos {self.eos!r} must be one of {shown}")
            raise InvalidInput(f"eos {self.eos!r}: tokens are {shown}")
        words = tuple(self.stop_strings.split("|")) if self.stop_strings else ()
        for word in words:
            if not word or (single and not {*word} <= {*names}):
                raise InvalidInput(f"stop_strings {word!r}: tokens are {shown}")
        end = None if self.eos is None else names.index(self.eos)
        grammar = _grammar(self.table, self.regex, names, vocab_size, end, shown)
        return Masks(vocab_size, grammar, end, self.min_new_tokens, words, self.no_repeat_ngram_size, text, names)

    def _check_masks(self) -> None:
        if self.no_repeat_ngram_size is not None and self.no_repeat_ngram_size < 1:
            raise InvalidInput(f"no_repeat_ngram_size {self.no_repeat_ngram_size} must be at least 1")
        if self.min_new_tokens < 0:
            raise InvalidInput(f"min_new_tokens {self.min_new_tokens} must be at least 0")
        if self.eos is None and (self.min_new_tokens or self.stop_strings):
            raise InvalidInput("min_new_tokens and stop_strings need the token that ends a text; add eos=TOKEN")
        if self.table is not None and self.regex is not None:
            raise InvalidInput("table and regex both give a grammar; leave one of them out")
        if self.table is not None:
            _assert_texts(Grammar.of_table(self.table), f"table {self.table}", self.eos is None)
        if self.regex is not None:
            _assert_texts(Grammar.of_letters(self.regex), f"regex {self.regex!r}", self.eos is None)


@lru_cache(maxsize=16)
def _grammar(
    table: str | None, regex: str | None, names: tuple[str, ...], vocab_size: int, eos: int | None, shown: str
) -> Grammar | None:
    """The grammar of a table or regular expression over these tokens; shown: the tokens in words."""
    if table is None and regex is None:
        return None
    said = f"regex {regex!r}" if table is None else f"table {table}"
    made = Grammar.of_regex(regex or "", names) if table is None else Grammar.of_table(table)
    if (size := len(made.moves[0])) != vocab_size:
        raise InvalidInput(f"{said} has {size} tokens to each state, V is {vocab_size}")
    try:
        grammar = made.without(eos)
    except InvalidInput as error:
        shown = shown.removeprefix("the letters ")
        ends = "" if eos is None else f"; none of its texts may have the eos {names[eos]!r}, which follows them"
        comma = "; what follows regex= is all of the expression: other settings come before it"
        raise InvalidInput(
            f"{said}: {error} of these tokens, {shown}{ends}{comma if ',' in (regex or '') else ''}"
        ) from None
    if eos is None and {*grammar.moves[0]} == {None}:
        shown = shown.removeprefix("the letters ")
        raise InvalidInput(f"{said}: the grammar accepts only the empty text of these tokens, {shown}")
    return grammar


def _assert_texts(grammar: Grammar, said: str, endless: bool) -> None:
    """Raise `InvalidInput` for a grammar that no tokens can obey, before models are read; endless: without `eos`."""
    comma = "; what follows regex= is all of the expression: other settings come before it" if "," in said else ""
    try:
        usable = grammar.without(None)
    except InvalidInput as error:
        raise InvalidInput(f"{said}: {error}{comma}") from None
    if endless and {*usable.moves[0]} <= {None}:
        raise InvalidInput(f"{said}: the grammar accepts only the empty text{comma}")


def masked_row(row: Vector, masks: Masks, context: Context) -> Vector:
    """A row given the tokens that are allowed after a context; one alone has all mass, whatever the row gives it.

    Raises `InvalidInput` where the allowed tokens have no mass.
    """
    allowed = masks.allowed(context)
    if allowed is None:
        return row
    mask = np.array(allowed)
    if mask.sum() == 1:
        return arithmetic_of(row).vector(mask.astype(int))
    if (row * mask).any():
        return conditioned(row, mask)
    raise dead_end(context, masks.names, np.flatnonzero(mask).tolist())


def dead_end(context: Context, names: Sequence[str], without_mass: Sequence[int] = ()) -> InvalidInput:
    """The error that no token can follow a context; names: of the tokens in masks."""
    after = ", ".join(repr(names[token]) for token in context) or "the root"
    why = "the masks allow none; add eos=TOKEN, which ends a text, or use a shallower tree"
    if without_mass:
        allowed = ", ".join(repr(names[token]) for token in without_mass)
        why = f"the masks allow {allowed}, which have no mass; use a finer denominator"
    return InvalidInput(f"no token can follow {after}: {why}")


def _read(regex: str, tokens: int) -> Any:
    """The automaton of a regular expression; raises `InvalidInput`."""
    try:
        parse_pattern = import_module("interegular").parse_pattern
    except ImportError:
        raise InvalidInput(
            "regex needs interegular: pip install 'draftproof[grammars]', or write the automaton as table=.."
        ) from None
    try:
        re.compile(regex)  # says best what is wrong
        return _automaton(regex, parse_pattern(regex), tokens)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(f"regex {regex!r} cannot be read: {error}") from None


def _automaton(regex: str, pattern: Any, tokens: int) -> Any:
    """The automaton of a parsed regular expression; raises `InvalidInput` where it or a part of it is too large."""
    machines: Any = import_module("interegular.fsm")
    most, usual = min(MOST_STATES, MOST_MOVES // max(tokens, 1)), machines.crawl

    def bounded(alphabet: Any, initial: Any, final: Callable[[Any], bool], follow: Callable[[Any, Any], Any]) -> Any:
        """As the library's, which has no bound and finds a state by searching all of them."""
        states, number = [initial], {_key(initial): 0}
        arrows: dict[int, dict[Any, int]] = {}
        for place, state in enumerate(states):  # grows while it is walked
            if place > most:
                raise InvalidInput(
                    f"regex {regex!r} needs an automaton of more than {most:,} states"
                    f"{f' for {tokens:,} tokens' if tokens > 1 else ''}; "
                    "make it simpler, or write the automaton as table=.."
                )
            arrows[place] = {}
            for transition in alphabet.by_transition:
                with suppress(machines.OblivionError):
                    following = follow(state, transition)
                    to = arrows[place][transition] = number.setdefault(_key(following), len(states))
                    if to == len(states):
                        states.append(following)
        finals = {place for place, state in enumerate(states) if final(state)}
        given = {"alphabet": alphabet, "states": range(len(states)), "initial": 0, "finals": finals, "map": arrows}
        return machines.FSM(**given, __no_validation__=True)

    machines.crawl = bounded
    try:
        return pattern.to_fsm()
    finally:
        machines.crawl = usual


def _key(state: Any) -> Any:
    return frozenset(state.items()) if isinstance(state, dict) else frozenset(state)
