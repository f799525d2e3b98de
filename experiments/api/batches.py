"""Batches of requests that share the slots of one target pass."""

from collections.abc import Sequence
from typing import Any

from draftproof.experiments.api.arguments import as_pair, as_scheme, as_verifier
from draftproof.experiments.inputs.cuts import find_cut
from draftproof.simulator.batches.batch import Batch, BatchCheck
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidInput


def check_batch(
    cut: Any,
    requests: Sequence[tuple[Any, Any]],
    budget: int,
    scheme: Any = "delayed:K=1,L1=0,L2=2",
    verifier: Any = "naive",
) -> BatchCheck:
    """The exact verdict on a cut that says which drafted tokens of several requests are verified in one target pass.

    cut: text as for `draftproof batch`, or a function `cut(drafts, budget)` from what each request drafted (`Drafted`)
    to its kept slots. requests: target and draft of each, as for `check`. budget: drafted tokens of all requests that
    are verified. scheme: the delayed tree that each request drafts. Raises `InvalidInput` or `TooLarge`.
    """
    shape = as_scheme(scheme)
    if not isinstance(shape, Delayed):
        raise InvalidInput(f"batches are of delayed trees, not of {shape}; give a Delayed")
    batch = Batch([as_pair(*pair) for pair in requests], shape, as_verifier(verifier).verifier, budget)
    return batch.check(find_cut(cut, batch) if isinstance(cut, str) else cut, cut if isinstance(cut, str) else "")
