"""What can go wrong at a door of the library. Every message names the culprit and the way out."""

import re
from typing import Any

#: Words of at least so many letters, as in a damaged file, are shown by their beginning and end.
_LONG_WORD = re.compile(r"(\S{100})\S{200,}(\S{50})")
#: Characters of a value that a message quotes.
QUOTED = 80


class DraftproofError(Exception):
    """Root of all errors raised on purpose; its text is one line, fit to show to a person."""

    def __str__(self) -> str:
        return _LONG_WORD.sub(r"\1..\2", str(self.args[0]) if self.args else "")


class InvalidInput(DraftproofError, ValueError):
    """A process, instance, scheme or parameter that breaks its contract."""


class UnsupportedTree(DraftproofError, ValueError):
    """A verifier met a draft tree on which its algorithm is not defined."""


class TooLarge(DraftproofError, ValueError):
    """A problem whose size estimate exceeds what an engine accepts."""


class InvalidVerifier(DraftproofError, ValueError):
    """A verifier broke the contract: bad probability, token outside the tree, hidden state."""


class Fails(InvalidVerifier):
    """A verifier fails on a legal instance: the coin gets no probabilities, or the verdict is none of the tree.

    what: the failure with the lines of the user's code. instance: the rows, with the scheme, where they are known.
    """

    def __init__(self, what: str, instance: Any = None, text: str = "") -> None:
        super().__init__(text or what)
        self.what, self.instance = what, instance


class NoFunction(InvalidVerifier):
    """A verifier that was asked twice and answered otherwise."""


def printable(text: str, allowed: str = "") -> str:
    """A text fit for any terminal: what moves the cursor, changes colours or is not to be seen is written as `\\x1b`.

    allowed: characters that stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        item if item in allowed or item.isprintable() else item.encode("unicode_escape").decode() for item in text
    )


def cut(value: object, most: int = QUOTED) -> str:
    """A value as text of a readable length, fit for any stream: a long one keeps its beginning and its last third."""
    text = printable(str(value))
    tail = most // 3
    return text if len(text) <= most else f"{text[: most - tail - 4]} .. {text[-tail:]}"


def short_repr(value: Any) -> str:
    """`repr` of a user's object at a readable length; its type where `repr` raises."""
    try:
        return cut(repr(value))
    except Exception:
        return f"a {type(value).__name__} whose repr raises"
