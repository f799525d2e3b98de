"""Verifiers side by side, and the best that any of them could do."""

from __future__ import annotations

from typing import Any

from draftproof import verifiers as zoo
from draftproof.experiments.api.arguments import as_pair, as_schemes, as_verifiers, planned_scheme
from draftproof.experiments.api.bounding import ListedBound, bound
from draftproof.experiments.api.calls import SCHEME, judge
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.laws.structured.size import MEMORY
from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.shown import number_text, rows_html
from draftproof.simulator.verdicts.costs import MOST_RUNS
from draftproof.simulator.verdicts.lossless import Check

#: By default the optimum is computed for delayed trees of at most so many paths `V**L`.
QUICK_PATHS = 256


class Comparison(list[dict[str, Any]]):
    """Rows of a comparison: a list of dicts, so that `pandas.DataFrame(rows)` is a table."""

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows as plain data."""
        return [dict(row) for row in self]

    def __repr__(self) -> str:
        keys = ("verifier", "scheme", "block_efficiency", "optimum", "gap", "lossless")
        cells = [list(keys), *([number_text(row[key]) for key in keys] for row in self)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(keys))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells
        )

    def _repr_html_(self) -> str:
        return rows_html(self)


def compare(
    verifiers: Any,
    target: Any,
    draft: Any,
    schemes: Any = SCHEME,
    arithmetic: str = "float64",
    engine: str = "auto",
    optimum: bool | None = None,
    memory: float = MEMORY,
    max_runs: float = MOST_RUNS,
) -> Comparison:
    """The exact block efficiency of every verifier on every scheme, each checked for losslessness, with the optimum.

    verifiers: one or several, as `check` takes them; None for all of the registry that are lossless on the scheme.
    schemes: one or several. optimum: None computes it for delayed trees of at most 256 paths, True for
    all schemes, False for none; `gap` is what a lossless verifier leaves of it. memory, max_runs: as for
    `check`. Rational runs give `Fraction`s.
    """
    pair = as_pair(target, draft)
    chosen = None if verifiers is None else as_verifiers(verifiers)
    rows = Comparison()
    for scheme in (planned_scheme(item, pair) for item in as_schemes(schemes)):
        best = _best(pair, scheme, optimum)
        for named in chosen if chosen is not None else _lossless_on(scheme):
            rows.append(
                _row(named.label, judge(named, arithmetic, engine, memory, max_runs)(pair, scheme), scheme, best)
            )
    return rows


def _lossless_on(scheme: DraftScheme) -> list[NamedVerifier]:
    """Those of the registry that declare the scheme."""
    named = [find_verifier(name) for name in zoo.STANDALONE if scheme.name in lossless_for(zoo.REGISTRY[name].card)]
    if not named:
        raise InvalidInput(f"no verifier of the registry is known to be lossless on {scheme}; name the ones you mean")
    return named


def _best(pair: tuple[TokenProcess, TokenProcess], scheme: DraftScheme, wanted: bool | None) -> Any:
    if wanted is False:
        return None
    if wanted:
        return bound(*pair, scheme)
    if not isinstance(scheme, Delayed) or context_count(pair[0].vocab_size, scheme.depth) > QUICK_PATHS:
        return None
    return bound(*pair, scheme)


def _row(
    label: str,
    verdict: Check,
    scheme: DraftScheme,
    best: Any,
) -> dict[str, Any]:
    exact = arithmetic_named(verdict.arithmetic).exact and not isinstance(best, ListedBound)
    upper = None if best is None else best.upper if exact else float(best.upper)
    gap = upper - verdict.block_efficiency if upper is not None and verdict.lossless else None
    fields = scheme.as_dict()
    return {
        "verifier": label,
        "scheme": str(scheme),
        **{key: fields.get(key) for key in ("K", "L1", "L2")},
        "nodes": scheme.nodes,
        "block_efficiency": verdict.block_efficiency,
        "optimum": None if best is None else best.lower if exact else float(best.lower),
        "gap": gap,
        "lossless": verdict.lossless,
        "max_deviation": verdict.max_deviation,
        "engine": verdict.engine,
    }
