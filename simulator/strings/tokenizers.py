"""Tokenizers over a small alphabet: every token is a string, and a text is cut by the longest match or as it is given.

Letters are single characters; a text is a string of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from draftproof.simulator.errors import InvalidInput, TooLarge, cut
from draftproof.simulator.protocol import Context

#: The most letters of an alphabet, tokens of a vocabulary and letters of a token.
MOST_LETTERS, MOST_TOKENS, MOST_LENGTH = 4, 8, 6


@dataclass(frozen=True)
class Tokenizer:
    """Tokens by number, and how a text is cut into them.

    tokens: different strings of at least one letter. encodings: texts whose tokens are given, as numbers; every other
    text is cut from left to right, always the longest token that fits.
    name: what error messages call it ("target" or "draft").
    Raises `InvalidInput` for tokens or encodings that are none, `TooLarge` above 8 tokens or 6 letters in a token.
    """

    tokens: tuple[str, ...]
    encodings: Mapping[str, Context] = field(default_factory=dict)
    name: str = "tokenizer"

    def __post_init__(self) -> None:
        for token in self.tokens:
            if not isinstance(token, str) or not token or not token.isprintable() or set(token) & set(",|"):
                raise InvalidInput(
                    f"{self.name}: {cut(repr(token))} is no token; give strings of one letter or more, without , and |"
                )
        if len(self.tokens) < 2 or len(set(self.tokens)) < len(self.tokens):
            raise InvalidInput(f"{self.name}: the tokens {cut(self.tokens)} must be two or more, and different")
        longest = max(self.tokens, key=len)
        if len(self.tokens) > MOST_TOKENS or len(longest) > MOST_LENGTH:
            raise TooLarge(
                f"{self.name}: {len(self.tokens)} tokens of up to {len(longest)} letters; give at most {MOST_TOKENS} "
                f"of at most {MOST_LENGTH}"
            )
        for text, given in self.encodings.items():
            if any(not 0 <= token < len(self.tokens) for token in given) or self.decode(given) != text:
                raise InvalidInput(f"{self.name}: the tokens given for {cut(repr(text))} do not spell it")

    @property
    def letters(self) -> frozenset[str]:
        """The letters of its tokens."""
        return frozenset("".join(self.tokens))

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        return "".join(self.tokens[token] for token in tokens)

    def encode(self, text: str) -> Context:
        """The tokens of a text, up to the first place where no token fits."""
        if text in self.encodings:
            return self.encodings[text]
        numbers: list[int] = []
        place = 0
        while fitting := [token for token in self.tokens if text.startswith(token, place)]:
            longest = max(fitting, key=len)
            numbers.append(self.tokens.index(longest))
            place += len(longest)
        return tuple(numbers)

    def spellings(self, text: str, most: int) -> Iterator[Context]:
        """Every sequence of at most `most` tokens that spells a beginning of the text, itself before longer ones."""
        level: list[tuple[Context, int]] = [((), 0)]
        for _ in range(most + 1):
            yield from (tokens for tokens, _ in level)
            level = [
                ((*tokens, token), place + len(string))
                for tokens, place in level
                for token, string in enumerate(self.tokens)
                if text.startswith(string, place)
            ]

    def shown(self, tokens: Sequence[int]) -> str:
        """Tokens for people, each as its string: `a|ab`."""
        return "|".join(self.tokens[token] for token in tokens)

    def numbers(self, strings: Sequence[str]) -> Context:
        """The numbers of tokens that are given as strings; raises `InvalidInput`."""
        for string in strings:
            if string not in self.tokens:
                raise InvalidInput(
                    f"{self.name}: {cut(repr(string))} is no token of it; its tokens: {' '.join(self.tokens)}"
                )
        return tuple(self.tokens.index(string) for string in strings)
