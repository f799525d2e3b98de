"""The page of verifiers: cards, docstrings, what is proved on the conformance instances, and which brings more."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from inspect import cleandoc
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from draftproof import verifiers
from draftproof.experiments.cli.listing import cards_markdown
from draftproof.experiments.shared.output import write_whole
from draftproof.simulator.drafts import SCHEMES, lossless_for
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.enumeration import estimate_size
from draftproof.simulator.protocol import Card, DraftScheme, Verifier
from draftproof.simulator.verdicts.cases import CASES, case_instances
from draftproof.simulator.verdicts.compatibility import Cell, compatibility
from draftproof.simulator.verdicts.lossless import check
from draftproof.verifiers.bibliography import BIBLIOGRAPHY

#: Random instances for every case, in addition to the corner cases.
COUNT = 8


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


def page() -> str:
    """The whole page in Markdown."""
    names = lossless_on_delayed()
    below = shortfalls(names)
    parts = [
        "# The verifiers",
        "Made by `python -m draftproof.experiments.pages verifiers` from the cards, the docstrings and "
        "the conformance instances. "
        "Another verifier is a file here, one algorithm a file, named in `verifiers/__init__.py`; "
        "after that command help, tables, this page and tests follow from its card.",
        "*Lossless for* names draft schemes, ways to draw a tree; `draftproof list` explains each. *Dominates*: it "
        "never falls below their block efficiency, provably. Negative controls have one known bug each, which every "
        "check must refute.",
        f"<!-- verifiers: generated -->\n{cards_markdown()}<!-- verifiers: end -->",
        "Below, *proved on n*: deviation exactly 0 in rational arithmetic on n instances.",
        relations(names, below),
    ]
    return "\n\n".join([*parts, *map(section, verifiers.REGISTRY)]) + "\n"


def section(name: str) -> str:
    """The section about one verifier."""
    entry = verifiers.REGISTRY[name]
    if name not in verifiers.STANDALONE:
        return _section(entry, ["Made for one instance: nothing is computed about it here."])
    verifier = verifiers.make(name)
    return _section(entry, _computed(verifier, [compatibility(verifier, scheme, COUNT) for scheme in SCHEMES]))


def _section(entry: Any, computed: Sequence[str]) -> str:
    """The section of an entry of the registry, with the facts computed about it."""
    card: Card = entry.card
    module = sys.modules[(entry if isinstance(entry, type) else type(entry)).__module__]
    facts = [
        f"**{card.title}**; {card.status}.",
        f"Source: {BIBLIOGRAPHY[card.source.key]} ({card.source.place})" if card.source else "Source: new here.",
        f"Reads {'p and q' if card.reads_draft else 'p only'}; "
        f"uses {'the first path' if card.single_path else 'all paths'}.",
        f"Departs from the paper: {card.departs}" if card.departs else "",
        "; ".join(f"Parameter `{key}`: {text}" for key, text in card.parameters.items()),
        *computed,
    ]
    lines = "\n".join(f"- {fact}" for fact in facts if fact)
    return f"## {card.name}\n\n{lines}\n\n```text\n{cleandoc(module.__doc__ or '')}\n```"


def _computed(verifier: Verifier, cells: Sequence[Cell]) -> list[str]:
    return ["Schemes: " + ", ".join(_cell(cell) for cell in cells) + ".", _cost(verifier)]


def relations(names: Sequence[str], below: Mapping[tuple[str, str], float]) -> str:
    """The matrix of all pairs."""
    head = f"| | {' | '.join(str(number) for number in range(1, len(names) + 1))} |"
    rows = [
        f"| {number} `{a}` | {' | '.join(_relation(a, b, below) for b in names)} |"
        for number, a in enumerate(names, start=1)
    ]
    return "\n\n".join(
        [
            "## Which brings more",
            f"Exact block efficiencies on the {len(_instances())} conformance instances of delayed trees, row against "
            "column: `=` equal on all of them; `≥` never below; **`≥`** proved in general; a number is the largest "
            "shortfall.",
            "\n".join([head, "|---" * (len(names) + 1) + "|", *rows]),
        ]
    )


def _relation(a: str, b: str, below: Mapping[tuple[str, str], float]) -> str:
    if a == b:
        return ""
    if shortfall := below[a, b]:
        return f"{-shortfall:.2f}" if shortfall >= 0.005 else f"{-shortfall:.0e}"
    if not below[b, a]:
        return "="
    return "**≥**" if b in verifiers.REGISTRY[a].card.dominates else "≥"


def _cell(cell: Cell) -> str:
    other = {"refuted": "witness", "undefined": "not defined"}
    what = other.get(cell.status, f"proved on {cell.instances}")
    return f"`{cell.scheme}` {what}"


def _cost(verifier: Verifier) -> str:
    """The number of ways a run can go, exact, on one instance: of delayed trees, else of its first scheme."""
    declared = lossless_for(verifier.card)
    case = CASES["delayed" if verifier.card.control or not declared or "delayed" in declared else declared[0]][1]
    instance = next(case_instances(case, 1))
    size = estimate_size(verifier, instance.target, instance.draft, case[1], np.random.default_rng(0), samples=64)
    limit = verifier.card.max_vocab
    vocabulary = f"; one call with four drafts takes under a second up to V = {limit}" if limit else ""
    return f"Cost: about {size.runs_per_tree:.1f} runs a draft tree at V = 3 on {case[1]}{vocabulary}."


PAGE = Path(__file__).resolve().parents[2] / "verifiers" / "README.md"


def write(_: Namespace) -> int:
    """Write the page; returns 0."""
    write_whole(PAGE, page())
    return 0
