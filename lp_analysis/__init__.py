"""Certified bounds on the block efficiency of all lossless verifiers.

`optimum` bounds the best block efficiency from both sides, exactly. This package may import the core of `simulator` and
never `verifiers`. The proofs are in `docs/theory/bounds.md`. Its names are imported at their first use, so that the
checker of certificates loads no solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftproof.lp_analysis.bias_measures import measure
    from draftproof.lp_analysis.certificates import certificate, dumps, frontier_certificate
    from draftproof.lp_analysis.checker import check_certificate, check_frontier
    from draftproof.lp_analysis.direct import direct_bound
    from draftproof.lp_analysis.forgetting import floors
    from draftproof.lp_analysis.frontier_points import FrontierInterrupted, FrontierPoint, frontier
    from draftproof.lp_analysis.potentials import LongRun, long_run
    from draftproof.lp_analysis.solve import Optimum, OptimumInterrupted, optimum

__all__ = [
    "FrontierInterrupted",
    "FrontierPoint",
    "LongRun",
    "Optimum",
    "OptimumInterrupted",
    "certificate",
    "check_certificate",
    "check_frontier",
    "direct_bound",
    "dumps",
    "floors",
    "frontier",
    "frontier_certificate",
    "long_run",
    "measure",
    "optimum",
]

#: By name, the module that defines it; no module has the same name as an object in it.
_MODULES = {
    "measure": "bias_measures",
    **dict.fromkeys(("certificate", "dumps", "frontier_certificate"), "certificates"),
    **dict.fromkeys(("check_certificate", "check_frontier"), "checker"),
    "direct_bound": "direct",
    **dict.fromkeys(("FrontierInterrupted", "FrontierPoint", "frontier"), "frontier_points"),
    **dict.fromkeys(("LongRun", "long_run"), "potentials"),
    "floors": "forgetting",
    **dict.fromkeys(("Optimum", "OptimumInterrupted", "optimum"), "solve"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
