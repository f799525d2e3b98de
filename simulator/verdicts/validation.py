"""Validation of user-defined verifiers and schemes before anything runs; errors name what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from types import NoneType
from typing import Any

from draftproof.simulator.drafts import Delayed, UserScheme
from draftproof.simulator.drafts.user_scheme import CONTRACT
from draftproof.simulator.errors import InvalidInput, cut
from draftproof.simulator.protocol import Card, Draws, Source

#: Fields of a card whose kind is checked, and the kind in words.
_KINDS: tuple[tuple[str, Any, str], ...] = (
    *((key, str, "text") for key in ("name", "title", "departs")),
    *((key, bool, "True or False") for key in ("control", "reads_draft", "single_path", "exchangeable")),
    *((key, tuple, "a tuple of names") for key in ("dominates",)),
    ("needs", (Draws, NoneType), "Draws or None"),
    ("source", (Source, NoneType), "a Source or None"),
    ("max_vocab", (int, NoneType), "a whole number or None"),
    ("parameters", Mapping, "a mapping of names to words"),
)


def check_card(card: Card) -> None:
    """Raise `InvalidInput` for a field of another kind."""
    for key, kind, words in _KINDS:
        value = getattr(card, key)
        if not isinstance(value, kind):
            raise InvalidInput(f"the card has {key} = {cut(repr(value))}; it must be {words}")
    for key in ("name", "title"):
        if not getattr(card, key).isprintable():
            raise InvalidInput(f"the card has {key} = {cut(getattr(card, key))}; write it on one line, without escapes")
    if not all(isinstance(name, str) for name in card.dominates):
        raise InvalidInput(f"the card has dominates = {cut(card.dominates)}; it must hold names")


def check_verifier(verifier: Any) -> None:
    """Raise `InvalidInput` unless it is an object with a card and `verify`."""
    if isinstance(verifier, str):
        raise InvalidInput(f"{verifier!r} is a name; `draftproof.check` takes names, this function takes objects")
    if isinstance(verifier, type):
        missing = ", ".join(f"{name}=.." for name in _required(verifier))
        raise InvalidInput(
            f"{verifier.__name__} is a class, not a verifier: call it, {verifier.__name__}({missing})"
            if callable(getattr(verifier, "verify", None))
            else f"{verifier.__name__} is a class without `verify(root, coin)`, and no verifier"
        )
    label = getattr(verifier, "__name__", type(verifier).__name__)
    if not (hasattr(verifier, "card") and callable(getattr(verifier, "verify", None))):
        if callable(verifier):
            raise InvalidInput(
                f"{label} is a function; a verifier is an object with `card` and `verify(root, coin)`. "
                "A function is audited: draftproof.assert_lossless(function, interface=..)"
            )
        missing = " and ".join(name for name in ("card", "verify") if not hasattr(verifier, name))
        raise InvalidInput(f"{label} is no verifier: it needs a `card` and `verify(root, coin)`; missing: {missing}")
    if not isinstance(verifier.card, Card):
        raise InvalidInput(f"{label}: its card is {verifier.card!r}; write card = Card(name=.., title=.., source=None)")
    check_card(verifier.card)


def check_scheme(scheme: Any) -> None:
    """Raise `InvalidInput` unless it is a draft scheme that engines can work with."""
    if isinstance(scheme, str):
        raise InvalidInput(f"{scheme!r} is a name; `draftproof.check` takes names, this function takes objects")
    if isinstance(scheme, type):
        raise InvalidInput(f"{scheme.__name__} is a class, not a scheme: call it, {scheme.__name__}()")
    if isinstance(scheme, UserScheme):  # its constructor has checked it, and `nodes` and `count` can take long
        return
    label = type(scheme).__name__
    if isinstance(scheme, Delayed) and type(scheme) is not Delayed:  # engines know how a delayed tree is drawn
        raise InvalidInput(f"{label} inherits from Delayed and would be taken for it; give UserScheme({label}(..))")
    missing = [name for name in CONTRACT if not hasattr(scheme, name)]
    if missing == ["draw"] or len(missing) == len(CONTRACT):
        raise InvalidInput(f"{label} is no draft scheme: it needs `depth` and `draw(draft, coin)`")
    if missing:
        raise InvalidInput(f"the scheme {label} has no {', '.join(missing)}; UserScheme({label}(..)) completes it")


def _required(kind: type) -> list[str]:
    """The arguments without which a class cannot be called."""
    try:
        parameters = signature(kind).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        p.name for p in parameters if p.default is Parameter.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
