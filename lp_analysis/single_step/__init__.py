"""The optimum for one node, `L = 1`, in four equivalent forms, one a file."""

from draftproof.lp_analysis.single_step.canonical import selection_law
from draftproof.lp_analysis.single_step.draft_sets import (
    DraftSets,
    iid_sets,
    meeting,
)
from draftproof.lp_analysis.single_step.resolution import Rule, resolve
from draftproof.lp_analysis.single_step.subsets import (
    iid_acceptance,
    single_step_optimum,
    subset_acceptance,
)
from draftproof.lp_analysis.single_step.transport import transport_acceptance

__all__ = [
    "DraftSets",
    "Rule",
    "iid_acceptance",
    "iid_sets",
    "meeting",
    "resolve",
    "selection_law",
    "single_step_optimum",
    "subset_acceptance",
    "transport_acceptance",
]
