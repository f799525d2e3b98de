"""Comparisons of verifiers, and bounds on the block efficiency of every lossless verifier on a scheme."""

from dataclasses import dataclass
from typing import Any

from draftproof.experiments.api.arguments import as_pair, as_scheme, as_schemes, as_verifiers, planned_scheme
from draftproof.experiments.api.calls import SCHEME, judge
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier
from draftproof.lp_analysis import Optimum, cut_bound
from draftproof.lp_analysis import optimum as solve
from draftproof.simulator.arithmetic import arithmetic_named
from draftproof.simulator.drafts import Delayed, lossless_for
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.processes import context_count
from draftproof.simulator.laws.structured.size import MEMORY
from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.shown import fields_html, number_text, rows_html
from draftproof.simulator.verdicts.costs import MOST_RUNS
from draftproof.simulator.verdicts.lossless import Check
from draftproof.verifiers import REGISTRY, STANDALONE


@dataclass(frozen=True, repr=False)
class ListedBound:
    """The optimum of a scheme by a program over all of its trees, in float64 and without a certificate.

    lower: minus infinity where the solver stopped before it had all cuts.
    """

    scheme: DraftScheme
    lower: float
    upper: float
    cuts: int

    @property
    def gap(self) -> float:
        """`upper - lower`."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """The bounds as plain data."""
        numbers = {"lower": self.lower, "upper": self.upper, "gap": self.gap}
        return {"scheme": str(self.scheme), **numbers, "cuts": self.cuts, "certificate": None}

    def __repr__(self) -> str:
        reached = f"{self.lower:.6g} to {self.upper:.6g}" if self.gap else f"{self.upper:.6g}"
        return f"ListedBound({self.scheme}: optimum {reached}; float64, cuts: {self.cuts}, no certificate)"

    def _repr_html_(self) -> str:
        return fields_html(f"optimum on {self.scheme}", self.to_dict())


def bound(target: Any, draft: Any, scheme: Any = SCHEME) -> Any:
    """Bounds on the block efficiency of every lossless verifier: exact rationals with a certificate for delayed trees.

    Arguments as for `check`; the bounds are of rational rows, to which floats are rounded. Any other scheme is bounded
    by listing its trees and cutting (`draftproof.lp_analysis.cut_bound`), in float64 without a certificate. Returns
    something with `lower`, `upper` and `gap`; raises `TooLarge` where paths or trees are too many.
    """
    pair = as_pair(target, draft)
    shape = planned_scheme(scheme, pair)
    return solve(*pair, shape) if isinstance(shape, Delayed) else listed_bound(*pair, shape)


def optimum(target: Any, draft: Any, scheme: Any = SCHEME) -> Optimum:
    """`lp_analysis.optimum` for delayed trees, arguments as for `check`: exact bounds, and the plan of a verifier."""
    shape = as_scheme(scheme)
    if not isinstance(shape, Delayed):
        raise InvalidInput(
            f"a certified optimum is for delayed trees, not for {shape}; "
            "bound(target, draft, scheme) takes any scheme, in float64 without a certificate"
        )
    return solve(*as_pair(target, draft), shape)


def listed_bound(target: TokenProcess, draft: TokenProcess, scheme: DraftScheme) -> ListedBound:
    """The optimum of any scheme from the list of its trees."""
    bound = cut_bound(target, draft, scheme)
    lower = bound.value if bound.complete else float("-inf")
    return ListedBound(scheme, lower, bound.value, len(bound.cuts))


#: By default `compare` computes the optimum for delayed trees of at most this number of paths `V**L`.
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
    schemes: one or several. optimum: None computes it for delayed trees of at most 256 paths, True for all schemes,
    False for none; `gap` is the upper bound minus the block efficiency of a lossless verifier. memory, max_runs: as for
    `check`. In rational arithmetic the values are `Fraction`s.
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
    """The verifiers of the registry that are declared lossless on the scheme."""
    named = [find_verifier(name) for name in STANDALONE if scheme.name in lossless_for(REGISTRY[name].card)]
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
