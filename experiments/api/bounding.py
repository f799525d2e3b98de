"""The best block efficiency of any lossless verifier on a scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from draftproof.experiments.api.arguments import as_pair, as_scheme, planned_scheme
from draftproof.experiments.api.calls import SCHEME
from draftproof.lp_analysis import Optimum, cut_bound
from draftproof.lp_analysis import optimum as solve
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.protocol import DraftScheme, TokenProcess
from draftproof.simulator.shown import fields_html


@dataclass(frozen=True, repr=False)
class ListedBound:
    """The optimum of a scheme whose trees were listed, in float64 and without a certificate.

    lower: minus infinity where cuts were still violated when the solver stopped.
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
        """The numbers."""
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
    """`lp_analysis.optimum` for delayed trees, arguments as for `check`: bounds in exact rationals, and a plan."""
    shape = as_scheme(scheme)
    if not isinstance(shape, Delayed):
        raise InvalidInput(
            f"a certified optimum is for delayed trees, not for {shape}; "
            "bound(target, draft, scheme) takes any scheme, in float64 without a certificate"
        )
    return solve(*as_pair(target, draft), shape)


def listed_bound(target: TokenProcess, draft: TokenProcess, scheme: DraftScheme) -> ListedBound:
    """The optimum of any scheme by its listed trees."""
    bound = cut_bound(target, draft, scheme)
    lower = bound.value if bound.complete else float("-inf")
    return ListedBound(scheme, lower, bound.value, len(bound.cuts))
