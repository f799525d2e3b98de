"""The pages of verifiers: the reference from cards and docstrings, and the table of which brings more."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from inspect import cleandoc
from itertools import product
from typing import Any

from draftproof import verifiers
from draftproof.experiments.cli.listing import cards
from draftproof.experiments.pages.transcripts import with_table
from draftproof.experiments.shared.code import ROOT
from draftproof.experiments.shared.output import write_whole
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.protocol import Card, DraftScheme
from draftproof.simulator.verdicts.cases import CASES, case_instances
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

#: The page with the table of which verifier brings more.
PAGE = ROOT / "docs" / "results" / "order.md"
#: Random instances for every case, in addition to the corner cases.
COUNT = 8


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


@cache
def _instances() -> tuple[tuple[DraftScheme, Instance], ...]:
    """The conformance instances of the delayed scheme."""
    return tuple((case[1], instance) for case in CASES["delayed"] for instance in case_instances(case, COUNT))


@cache
def _efficiencies(name: str) -> tuple[Fraction | float, ...]:
    """Exact block efficiency on every conformance instance of the delayed scheme."""
    verifier = verifiers.make(name)
    return tuple(
        check(verifier, instance.target, instance.draft, scheme).block_efficiency for scheme, instance in _instances()
    )


def shortfalls(names: Sequence[str]) -> Mapping[tuple[str, str], float]:
    """For every pair (a, b) how far `a` falls below `b` at most, 0 where it never does."""
    return {
        (a, b): float(max(0, *(y - x for x, y in zip(_efficiencies(a), _efficiencies(b), strict=True))))
        for a, b in product(names, names)
    }


def lossless_on_delayed() -> list[str]:
    """The verifiers whose block efficiencies can be compared."""
    return [name for name in verifiers.STANDALONE if "delayed" in lossless_for(verifiers.REGISTRY[name].card)]


def relations(names: Sequence[str], below: Mapping[tuple[str, str], float]) -> str:
    """The matrix of all pairs."""
    head = f"| | {' | '.join(str(number) for number in range(1, len(names) + 1))} |"
    rows = [
        f"| {number} `{a}` | {' | '.join(_relation(a, b, below) for b in names)} |"
        for number, a in enumerate(names, start=1)
    ]
    return "\n".join([head, "|---" * (len(names) + 1) + "|", *rows]) + "\n"


def _relation(a: str, b: str, below: Mapping[tuple[str, str], float]) -> str:
    if a == b:
        return ""
    if shortfall := below[a, b]:
        return f"-{shortfall:.2f}".replace("-0.", "-.") if shortfall >= 0.005 else f"{-shortfall:.0e}"
    if not below[b, a]:
        return "="
    return "**≥**" if b in verifiers.REGISTRY[a].card.dominates else "≥"


def write(_: Namespace) -> int:
    """Fill in the table of which brings more; returns 0."""
    names = lossless_on_delayed()
    filled = with_table(PAGE.read_text(encoding="utf-8"), "order", relations(names, shortfalls(names)))
    write_whole(PAGE, filled)
    return 0
