"""A target and a draft over the same letters, each with a tokenizer of its own, and the files that hold such pairs.

File format: `{"target": {"tokens": ["a", "b", "ab"], "rows": {"": ["1/3", "1/3", "1/3"], "a": [..], "a,ab": [..]}},
"draft": {..}}`. A row is for all contexts that end with its tokens, unless a longer ending has a row; `""` is for all
others. Optional: `"letters"` (the alphabet; a token with any other letter is an error), in a tokenizer `"encodings"`
(`{"aab": ["a", "ab"]}`, texts that are not cut by the longest match), and `"about"` (free text).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from draftproof.simulator.arithmetic import RATIONAL, as_python, parse_fraction
from draftproof.simulator.errors import InvalidInput, TooLarge, cut
from draftproof.simulator.files import parse_json, read_text
from draftproof.simulator.instances.processes import rationalise
from draftproof.simulator.protocol import Context, Vector
from draftproof.simulator.strings.tokenizers import MOST_LETTERS, MOST_TOKENS, Tokenizer
from draftproof.simulator.tables import validate_rows

_KEYS, _SIDE = ("target", "draft", "letters", "about"), ("tokens", "rows", "encodings")
#: The common denominator of random rows.
DENOMINATOR = 2**8


class SuffixProcess:
    """A process whose row is that of the longest ending of the context that has one.

    rows: exact probabilities by ending, one for the empty ending. Raises `InvalidInput` for what is no distribution.
    """

    def __init__(self, rows: Mapping[Context, Any], name: str = "process") -> None:
        if () not in rows:
            raise InvalidInput(f"{name} has no row for the empty context, which is for all that have no other; give it")
        self.rows = {ending: RATIONAL.vector(row) for ending, row in rows.items()}
        self.vocab_size, self.name = len(self.rows[()]), name
        self._longest = max(map(len, self.rows))
        for ending, row in self.rows.items():
            if len(row) != self.vocab_size:
                raise InvalidInput(f"{name} row {ending} has {len(row)} entries; it must have {self.vocab_size}")
            validate_rows(row[np.newaxis], RATIONAL, lambda _, ending=ending: f"{name} row {ending}")  # type: ignore[misc]
            row.setflags(write=False)

    def row(self, context: Context) -> Vector:
        """The row of the longest ending of `context`."""
        for length in range(min(self._longest, len(context)), 0, -1):
            if context[-length:] in self.rows:
                return self.rows[context[-length:]]
        return self.rows[()]


@dataclass(frozen=True, eq=False, repr=False)
class StringPair:
    """A target over its tokens, whose law must be kept, and a draft over its own.

    Contexts of both begin where the text begins. about: where it comes from, in words.
    Raises `InvalidInput` where rows do not fit the tokens, `TooLarge` above 4 letters.
    """

    target_tokens: Tokenizer
    target: SuffixProcess
    draft_tokens: Tokenizer
    draft: SuffixProcess
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tokenizer, process in ((self.target_tokens, self.target), (self.draft_tokens, self.draft)):
            if process.vocab_size != len(tokenizer.tokens):
                raise InvalidInput(
                    f"{tokenizer.name}: rows of {process.vocab_size} probabilities do not fit "
                    f"{len(tokenizer.tokens)} tokens"
                )
        letters = self.target_tokens.letters | self.draft_tokens.letters
        if len(letters) > MOST_LETTERS:
            raise TooLarge(f"an alphabet of {len(letters)} letters is too large; use at most {MOST_LETTERS}")

    def __repr__(self) -> str:
        sides = (" ".join(tokenizer.tokens) for tokenizer in (self.target_tokens, self.draft_tokens))
        return "StringPair(target {}; draft {})".format(*sides)

    @property
    def shared(self) -> dict[int, int]:
        """The draft's tokens whose strings are tokens of the target, with the numbers of these."""
        strings = self.target_tokens.tokens
        return {d: strings.index(token) for d, token in enumerate(self.draft_tokens.tokens) if token in strings}

    @property
    def remarks(self) -> list[str]:
        """What the tokenizers cannot say to each other, a line each."""
        pairs = ((self.target_tokens, self.draft_tokens), (self.draft_tokens, self.target_tokens))
        lines = []
        for own, other in pairs:
            lost = [token for token in own.tokens if other.decode(other.encode(token)) != token]
            if lost and own is self.target_tokens:
                lines.append(f"no draft can be made after {' '.join(lost)}, which the draft's tokens do not spell")
            elif lost:
                lines.append(f"drafts end before {' '.join(lost)}, which the target's tokens do not spell")
        unseen = [token for token in self.target_tokens.tokens if not self.draft_tokens.letters.issuperset(token)]
        if unseen:
            lines.append(f"no draft has the text of {' '.join(unseen)}: written as corrections only")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The file format as plain data."""
        sides = {"target": (self.target_tokens, self.target), "draft": (self.draft_tokens, self.draft)}
        fields: dict[str, Any] = {}
        for name, (tokenizer, process) in sides.items():
            given = {text: [tokenizer.tokens[i] for i in tokens] for text, tokens in tokenizer.encodings.items()}
            rows = {
                ",".join(tokenizer.tokens[i] for i in ending): [str(as_python(value)) for value in row]
                for ending, row in process.rows.items()
            }
            fields[name] = {"tokens": list(tokenizer.tokens), **({"encodings": given} if given else {}), "rows": rows}
        return {**fields, **({"about": dict(self.about)} if self.about else {})}

    def dumps(self) -> str:
        """The text of a file, one line a row; `load` gives the same pair back."""
        text = json.dumps(self.as_dict(), indent=1, ensure_ascii=False)
        return (
            re.sub(r"\[[^\[\]{}]*\]", lambda row: " ".join(row[0].split()).replace("[ ", "[").replace(" ]", "]"), text)
            + "\n"
        )

    def save(self, path: str | Path) -> None:
        """Write the file."""
        Path(path).write_text(self.dumps(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> StringPair:
        """Read a file; raises `InvalidInput` on any error."""
        source = cut(path)
        try:
            return cls.from_dict(parse_json(read_text(path, "pair of tokenizers"), source, parse_float=str))
        except InvalidInput as error:
            raise InvalidInput(str(error) if source in str(error) else f"{source}: {error}") from None

    @classmethod
    def from_dict(cls, fields: Any) -> StringPair:
        """The pair that `as_dict` described; raises `InvalidInput`."""
        _check_keys(fields, _KEYS, ("target", "draft"), "a pair")
        sides = [_side(fields[name], name) for name in ("target", "draft")]
        letters = fields.get("letters")
        if letters is not None and not isinstance(letters, str):
            raise InvalidInput(f"letters is {cut(repr(letters))}; write the alphabet as a text such as 'ab'")
        for tokenizer, _ in sides:
            for token in tokenizer.tokens:
                if outside := set(token) - set(token if letters is None else letters):
                    raise InvalidInput(
                        f"{tokenizer.name}: the token {token!r} has the letter {min(outside)!r}, which is not one of "
                        f"{cut(letters)}; add it to letters, or take the token out"
                    )
        about = fields.get("about", {})
        if not isinstance(about, dict):
            raise InvalidInput(f"about is {cut(repr(about))}; it must be an object")
        return cls(*sides[0], *sides[1], about)

    @classmethod
    def random(
        cls,
        seed: int = 0,
        letters: str = "ab",
        target_size: int = 4,
        draft_size: int = 4,
        same: bool = False,
        canonical: bool = False,
    ) -> StringPair:
        """A pair of one random language: a chain of letters, which both sides follow with errors of their own.

        Each vocabulary has all letters and random tokens of two or three. Rows depend on the last token.
        same: whether the draft has the target's tokenizer. canonical: whether no side writes two tokens that its
        tokenizer cuts otherwise, where any others are left. Raises `InvalidInput` for sizes that do not fit.
        """
        if not 2 <= len(set(letters)) == len(letters) <= MOST_LETTERS:
            raise TooLarge(f"an alphabet of {len(letters)} letters: use 2 to {MOST_LETTERS}, all different")
        for size in (target_size, draft_size):
            if not len(letters) <= size <= MOST_TOKENS:
                raise InvalidInput(f"{size} tokens over {len(letters)} letters; give {len(letters)} to {MOST_TOKENS}")
        generator = np.random.default_rng(seed)
        longer = ["".join(parts) for length in (2, 3) for parts in product(letters, repeat=length)]
        chain = generator.dirichlet(np.ones(len(letters)), size=len(letters) + 1)
        sides: list[Any] = []  # tokenizer and process of the target, then of the draft
        for name, size in (("target", target_size), ("draft", draft_size)):
            weights = np.array([1.0 if len(token) == 2 else 0.25 for token in longer])
            more = generator.choice(len(longer), size - len(letters), replace=False, p=weights / weights.sum())
            tokens = (*letters, *(longer[i] for i in sorted(more)))
            if same and sides:
                tokens = sides[0].tokens
            tokenizer = Tokenizer(tokens, name=name)
            rows = _language_rows(tokenizer, letters, chain, canonical, generator)
            sides += [tokenizer, SuffixProcess(rows, name)]
        about = {"seed": seed, "letters": letters, "tokens": [target_size, draft_size]}
        about |= {"same": same, "canonical": canonical}
        return cls(sides[0], sides[1], sides[2], sides[3], about)


def _language_rows(
    tokenizer: Tokenizer, letters: str, chain: Any, canonical: bool, generator: np.random.Generator
) -> dict[Context, Any]:
    """One row for the beginning and one after each token, from the chain of letters and random factors.

    A token of n letters has `2^(n-1)` times the probability of its letters, as tokens stand for what is frequent.
    """
    tokens = tokenizer.tokens
    rows: dict[Context, Any] = {}
    for ending in [(), *((i,) for i in range(len(tokens)))]:
        last = letters.index(tokens[ending[0]][-1]) if ending else len(letters)
        weights = []
        for token in tokens:
            places = [last, *map(letters.index, token)]
            mass = np.prod([chain[a, b] for a, b in pairwise(places)])
            weights.append(mass * 2 ** (len(token) - 1) * generator.uniform(0.4, 1.6) + 0.01)
        pairs = [(*ending, number) for number in range(len(tokens))]
        allowed = np.array([not canonical or tokenizer.encode(tokenizer.decode(pair)) == pair for pair in pairs])
        row = np.array(weights) * (allowed if allowed.any() else 1)
        rows[ending] = rationalise(row[np.newaxis] / row.sum(), DENOMINATOR)[0]
    return rows


def _side(fields: Any, name: str) -> tuple[Tokenizer, SuffixProcess]:
    """The tokenizer and the process of one side of a file."""
    _check_keys(fields, _SIDE, ("tokens", "rows"), name)
    tokens, rows, given = fields["tokens"], fields["rows"], fields.get("encodings", {})
    if not isinstance(tokens, list) or not isinstance(rows, dict) or not isinstance(given, dict):
        raise InvalidInput(f"{name}: tokens must be a list, rows and encodings objects")
    plain = Tokenizer(tuple(tokens), name=name)
    encodings = {text: plain.numbers([str(i) for i in parts]) for text, parts in given.items()}
    processed = {}
    for key, row in rows.items():
        if not isinstance(row, list) or any(type(value) not in (int, str) for value in row):
            raise InvalidInput(f"{name} row {cut(repr(key))} must be a list of probabilities such as '1/3', 0.25 or 1")
        processed[plain.numbers(key.split(",") if key else [])] = [parse_fraction(str(value)) for value in row]
    return Tokenizer(plain.tokens, encodings, name), SuffixProcess(processed, name)


def _check_keys(fields: Any, known: tuple[str, ...], needed: tuple[str, ...], what: str) -> None:
    if not isinstance(fields, dict):
        raise InvalidInput(f"{what} must be an object with {' and '.join(needed)}")
    if missing := [key for key in needed if key not in fields]:
        raise InvalidInput(f"{what}: the key {missing[0]!r} is missing")
    if unknown := sorted(set(fields) - set(known)):
        raise InvalidInput(f"{what}: unknown key {cut(repr(unknown[0]))}; known: {', '.join(known)}")
