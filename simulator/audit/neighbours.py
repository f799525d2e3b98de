"""Whether a request's tokens depend on its neighbours in a batch, where seed and numbers are the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from draftproof.simulator.audit.batches import drawn_roots
from draftproof.simulator.audit.interfaces import paths_of
from draftproof.simulator.audit.judge import Audit
from draftproof.simulator.audit.real import RealCoins, in_library
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidInput, InvalidVerifier
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import DraftNode
from draftproof.simulator.sampling_coin import SamplingCoin

#: Pairs of batches that are tried on each case.
PAIRS = 20
#: The value of arguments that are seeds.
SEED = 1


class _OfRequests(RealCoins):
    """Random numbers as arguments: those of a request are the same whatever the others are."""

    def __init__(self, seed: Sequence[int], roots: Sequence[DraftNode]) -> None:
        super().__init__(seed)
        self._of, self._asked = list(seed), 0
        self._lengths = [len(first_path(root)) - 1 for root in roots]

    def numbers(self, kind: str, shape: Any, library: str = "numpy", dtype: Any = None) -> Any:
        """See `RealCoins.numbers`; a flat array has the numbers of one request after the other."""
        self._asked += 1
        flat = len(shape) == 1 and shape != (len(self._lengths),)
        rows = [
            RealCoins([*self._of, place, self._asked]).numbers(kind, (length,) if flat else tuple(shape[1:]))
            for place, length in enumerate(self._lengths)
        ]
        return in_library(np.concatenate(rows) if flat else np.array(rows), library, dtype)

    def seed(self, name: str, value: int) -> int:
        """The same one in every call."""
        return SEED


def unlike_neighbours(audit: Audit, case: Case) -> str | None:
    """How a request gets other tokens where another one in its batch changes, in words; None where none does.

    The generators of `random`, numpy and torch, seeds and numbers that are arguments are the same in both batches.
    Raises `InvalidInput` for a function of one request, and `FunctionFailed` where a call fails.
    """
    if audit.batch < 2:
        raise InvalidInput("whether a request depends on its neighbours shows in a batch; give a batch of 2 or more")
    coin = SamplingCoin(np.random.default_rng(0))
    requests = audit.expected_requests(case.instance, case.scheme)
    for seed, request in product(range(PAIRS), (0, audit.batch - 1)):
        batch = drawn_roots(requests, coin)
        changed = list(batch)  # in its neighbour's place one like itself, whose drafts have another length
        [changed[audit.batch - 1 - request]] = drawn_roots([requests[request]], coin)
        one, two = (_block_of(audit, request, roots, seed) for roots in (batch, changed))
        if one != two:
            return (
                f"with the same seed or numbers request {request} gets {one} in a batch with the drafts "
                f"{list(map(paths_of, batch))}, and {two} in one with {list(map(paths_of, changed))}"
            )
    return None


def _block_of(audit: Audit, request: int, roots: Sequence[DraftNode], seed: int) -> list[int]:
    [end] = audit.audited.sampled([roots], _OfRequests([seed], roots))
    if isinstance(end, InvalidVerifier):
        raise end
    return [*end[request].accepted, end[request].correction]
