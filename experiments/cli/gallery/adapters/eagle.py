"""EAGLE-2 and 3, and HSD, which changes it: `evaluate_posterior` on drafts that are the likeliest tokens."""

from pathlib import Path
from typing import Any

from draftproof.simulator.symbolic import locate_function


def token_wise(checkout: Path, path: str) -> Any:
    """`evaluate_posterior` with a logits processor that changes nothing."""
    judge = locate_function(checkout / path, "evaluate_posterior").function

    def evaluate_posterior(p: Any, candidates: Any) -> Any:
        return judge(p, candidates, _unchanged)

    return evaluate_posterior


def hierarchical(checkout: Path, path: str) -> Any:
    """`evaluate_posterior` with `hsd=True`."""
    judge = locate_function(checkout / path, "evaluate_posterior").function

    def evaluate_posterior(p: Any, candidates: Any) -> Any:
        return judge(p, candidates, _unchanged, hsd=True)

    return evaluate_posterior


def _unchanged(ids: Any, scores: Any) -> Any:
    return scores
