"""A text in two parts: what models are trained on, and its end, held out, on which they are judged."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from draftproof.experiments.shared.text import read_text
from draftproof.simulator.errors import InvalidInput

#: Share of the text that is held out.
HELD_OUT = 0.05
#: Symbols that a text needs at least.
SHORTEST = 2_000


@dataclass(frozen=True)
class Corpus:
    """A text by name; raises `InvalidInput` where it is too short to be split."""

    name: str
    text: str

    def __post_init__(self) -> None:
        if len(self.text) < SHORTEST:
            raise InvalidInput(f"text {self.name} has {len(self.text)} symbols; training needs at least {SHORTEST}")

    @property
    def digest(self) -> str:
        """Hash of the whole text: 16 hexadecimal digits, as of `draftproof.simulator.TextPair`."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    @property
    def training(self) -> str:
        """The beginning."""
        return self.text[: self._cut]

    @property
    def held_out(self) -> str:
        """The end."""
        return self.text[self._cut :]

    @property
    def _cut(self) -> int:
        return len(self.text) - round(len(self.text) * HELD_OUT)


def read_corpus(name: str) -> Corpus:
    """The text of a UTF-8 file or the embedded one; raises `InvalidInput`."""
    return Corpus(name, read_text(name))
