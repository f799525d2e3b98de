"""Bounds over all lossless verifiers: how good could any of them be on given processes, certified.

`optimum` bounds the best block efficiency from both sides, exactly; `single_step_optimum` is the closed form for trees
of depth 1. This package may import the core of `simulator` and never `verifiers`. `README.md` beside it has the proofs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lp_analysis.certificate import certificate, dumps, law_certificate, save
from lp_analysis.checker import check_certificate, check_file
from lp_analysis.cuts import CutBound, cut_bound
from lp_analysis.direct import direct_bound, direct_variables
from lp_analysis.hitting import Hitting, IidBranches, ListedTrees
from lp_analysis.optimum import METHODS, MOST_PATHS, MOST_TRUNKS, Optimum, optimum
from lp_analysis.single_step import iid_acceptance
from simulator.arithmetic import as_python

__all__ = [
    "METHODS",
    "MOST_PATHS",
    "MOST_TRUNKS",
    "CutBound",
    "Hitting",
    "IidBranches",
    "ListedTrees",
    "Optimum",
    "certificate",
    "check_certificate",
    "check_file",
    "cut_bound",
    "direct_bound",
    "direct_variables",
    "dumps",
    "law_certificate",
    "optimum",
    "save",
    "single_step_optimum",
]


def single_step_optimum(p: Any, q: Any, k: int) -> Fraction | float:
    """The best block efficiency with `k` independent drafts of one token: 1 plus the best acceptance rate.

    p, q: shape `(V,)`, exact or float64; `O(V log V)`.
    """
    return as_python(1 + iid_acceptance(p, q, k))
