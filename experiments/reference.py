"""The reference page of the verifiers, made from their cards, their docstrings and what is computed about them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from inspect import cleandoc
from itertools import product

import numpy as np

import verifiers
from simulator.compatibility import Cell, compatibility
from simulator.conformance import CASES, case_instances
from simulator.enumerate import estimate_size
from simulator.lossless import check
from simulator.protocol import Card, Verifier
from simulator.schemes import SCHEMES
from verifiers.bibliography import BIBLIOGRAPHY

#: Random instances for every case, beside the corner cases: for the schemes and for the dominance relations.
COUNT = 8


@cache
def _efficiencies(name: str) -> tuple[Fraction | float, ...]:
    """Exact block efficiency on every conformance instance of the delayed scheme."""
    verifier = verifiers.make(name)
    return tuple(
        check(verifier, instance.target, instance.draft, case[1]).block_efficiency
        for case in CASES["delayed"]
        for instance in case_instances(case, COUNT)
    )


def dominance(names: Sequence[str]) -> Mapping[tuple[str, str], bool]:
    """For every pair (a, b): whether `a` never falls below `b` on the conformance instances of the delayed scheme."""
    return {
        (a, b): all(x >= y for x, y in zip(_efficiencies(a), _efficiencies(b), strict=True))
        for a, b in product(names, names)
        if a != b
    }


def lossless_on_delayed() -> list[str]:
    """The verifiers whose block efficiencies can be compared."""
    return [name for name, entry in verifiers.REGISTRY.items() if "delayed" in entry.card.lossless_for]


def page() -> str:
    """The whole page in Markdown."""
    names = lossless_on_delayed()
    above = dominance(names)
    parts = [
        "# The verifiers",
        "Made by `python -m experiments.readme` from the cards, the docstrings and the conformance instances.",
        "*Proved on n*: deviation exactly 0 in rational arithmetic on n instances. *Never below*: block efficiency "
        f"compared exactly on the {len(_efficiencies(names[0]))} instances of the delayed scheme; one that fails "
        "has a counterexample among them.",
    ]
    for name, entry in verifiers.REGISTRY.items():
        verifier = verifiers.make(name)
        cells = [compatibility(verifier, scheme, COUNT) for scheme in SCHEMES]
        parts.append(_section(verifier, entry.card, cells, above if name in names else {}))
    return "\n\n".join(parts) + "\n"


def _section(verifier: Verifier, card: Card, cells: Sequence[Cell], above: Mapping[tuple[str, str], bool]) -> str:
    module = sys.modules[type(verifier).__module__]
    facts = [
        f"**{card.title}**; {card.status}.",
        f"Source: {BIBLIOGRAPHY[card.source.key]} ({card.source.place})" if card.source else "Source: new here.",
        f"Reads {'p and q' if card.reads_draft else 'p only'}; "
        f"uses {'the first path' if card.single_path else 'all paths'}.",
        f"Departs from the paper: {card.departs}" if card.departs else "",
        "; ".join(f"Parameter `{key}`: {text}" for key, text in card.parameters.items()),
        "Schemes: " + ", ".join(_cell(cell) for cell in cells) + ".",
    ]
    if above:
        facts.append(
            "Never below (proved here): " + _names(b for (a, b), holds in above.items() if a == card.name and holds)
        )
        facts.append(
            "Counterexample: below " + _names(b for (a, b), holds in above.items() if a == card.name and not holds)
        )
    facts.append(_cost(verifier))
    lines = "\n".join(f"- {fact}" for fact in facts if fact)
    return f"## {card.name}\n\n{lines}\n\n```text\n{cleandoc(module.__doc__ or '')}\n```"


def _names(names: Iterable[str]) -> str:
    found = [f"`{name}`" for name in names]
    return (", ".join(found) or "none") + "."


def _cell(cell: Cell) -> str:
    what = f"proved on {cell.instances}" if cell.status == "lossless" else cell.status
    return f"`{cell.scheme}` {what}"


def _cost(verifier: Verifier) -> str:
    """The number of ways a run can go, exact, on one instance."""
    case = CASES["delayed"][1]
    instance = next(case_instances(case, 1))
    size = estimate_size(verifier, instance.target, instance.draft, case[1], np.random.default_rng(0), samples=64)
    limit = verifier.card.max_vocab
    vocabulary = f"; one call takes under a second up to V = {limit}" if limit else ""
    return f"Cost: about {size.runs_per_tree:.1f} runs a draft tree at V = 3 on {case[1]}{vocabulary}."
