"""Comparisons of verifiers."""

from typing import Any

from draftproof.experiments.api.calls import SCHEME, judge
from draftproof.experiments.grid.bounds import is_quick
from draftproof.experiments.inputs.processes import as_pair
from draftproof.experiments.inputs.schemes import as_schemes, planned_scheme
from draftproof.experiments.inputs.verifiers import NamedVerifier, as_verifiers, find_verifier
from draftproof.lp_analysis import Optimum
from draftproof.lp_analysis import optimum as solve
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import lossless_for
from draftproof.simulator.errors import Fails, InvalidInput
from draftproof.simulator.laws.structured.size import MEMORY
from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.shown import number_text, rows_html
from draftproof.simulator.verdicts.costs import MOST_RUNS
from draftproof.simulator.verdicts.lossless import Check
from draftproof.verifiers import REGISTRY, STANDALONE


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
    schemes: one or several. optimum: None computes it where that is quick, True for all schemes, False for none;
    `gap` is the upper bound minus the block efficiency of a lossless verifier. memory, max_runs: as for `check`. In
    rational arithmetic the values are `Fraction`s. A verifier that fails has a row without values, with its `error`.
    """
    pair = as_pair(target, draft)
    chosen = None if verifiers is None else as_verifiers(verifiers)
    rows = Comparison()
    for scheme in (planned_scheme(item, pair) for item in as_schemes(schemes)):
        best = _best(pair, scheme, optimum)
        for named in chosen if chosen is not None else _lossless_on(scheme):
            try:
                verdict: Check | Fails = judge(named, arithmetic, engine, memory, max_runs)(pair, scheme)
            except Fails as failure:
                verdict = failure
            rows.append(_row(named.label, verdict, scheme, best, arithmetic_named(arithmetic).exact))
    return rows


def _lossless_on(scheme: DraftScheme) -> list[NamedVerifier]:
    """The verifiers of the registry that are declared lossless on the scheme."""
    named = [find_verifier(name) for name in STANDALONE if scheme.name in lossless_for(REGISTRY[name].card)]
    if not named:
        raise InvalidInput(f"no verifier of the registry is known to be lossless on {scheme}; name the ones you mean")
    return named


def _best(pair: tuple[TokenProcess, TokenProcess], scheme: DraftScheme, wanted: bool | None) -> Optimum | None:
    if wanted or (wanted is None and is_quick(pair[1], scheme)):
        return solve(*pair, scheme)
    return None


def _row(
    label: str,
    verdict: Check | Fails,
    scheme: DraftScheme,
    best: Optimum | None,
    exact: bool,
) -> dict[str, Any]:
    fields = scheme.as_dict()
    row = {
        "verifier": label,
        "scheme": str(scheme),
        **{key: fields.get(key) for key in ("K", "L1", "L2")},
        "nodes": scheme.nodes,
        "block_efficiency": None,
        "optimum": None if best is None else best.lower if exact else float(best.lower),
        "gap": None,
        "lossless": False,
        "max_deviation": None,
        "engine": "enumerate",
    }
    if isinstance(verdict, Fails):
        return {**row, "error": str(verdict)}
    upper = None if best is None else best.upper if exact else float(best.upper)
    found = {name: getattr(verdict, name) for name in ("block_efficiency", "lossless", "max_deviation", "engine")}
    gap = upper - verdict.block_efficiency if upper is not None and verdict.lossless else None
    return {**row, **found, "gap": gap}
