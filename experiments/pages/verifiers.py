"""The reference of verifiers, from cards and docstrings."""

import sys
from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

from draftproof import verifiers
from draftproof.experiments.cli.listing import cards
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.protocol import Card
from draftproof.verifiers.bibliography import BIBLIOGRAPHY


def reference() -> str:
    """The reference page in Markdown: a table of all cards, then a section for each verifier."""
    return "\n\n".join(
        [
            "# Verifiers",
            "Every verifier, from its card and its docstring. Negative controls have one known bug each, which every "
            "check must refute; those that are declared lossy change the target's distribution on purpose. *Never "
            "below*: verifiers whose block efficiency it provably attains on every instance.",
            table(cards()),
            *map(section, verifiers.REGISTRY),
        ]
    )


def table(of: Iterable[Card]) -> str:
    """A line for each card."""
    head = ["verifier", "what it is", "status", "never below"]
    lines = [head, ["---"] * len(head)]
    for card in of:
        below = ", ".join(f"`{name}`" for name in card.dominates)
        lines.append([f"[`{card.name}`](#{card.name.lower()})", card.title, card.status, below])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(name: str) -> str:
    """The section about one verifier."""
    entry: Any = verifiers.REGISTRY[name]
    card: Card = entry.card
    module = sys.modules[(entry if isinstance(entry, type) else type(entry)).__module__]
    schemes = ", ".join(f"`{scheme}`" for scheme in lossless_for(card))
    facts = [
        f"**{card.title}**; {card.status}.",
        f"Source: {BIBLIOGRAPHY[card.source.key]} ({card.source.place})" if card.source else "Source: new here.",
        f"Reads {'p and q' if card.reads_draft else 'p'} on {'the first path' if card.single_path else 'all paths'}.",
        f"Lossless on: {schemes}." if schemes else "",
        f"Departs from the paper: {card.departs}" if card.departs else "",
        *(f"Parameter `{key}`: {text}" for key, text in card.parameters.items()),
    ]
    lines = "\n".join(f"- {fact}" for fact in facts if fact)
    return f"## {card.name}\n\n{lines}\n\n```text\n{cleandoc(module.__doc__ or '')}\n```"
