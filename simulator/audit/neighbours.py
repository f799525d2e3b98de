"""Whether a request's tokens depend on its neighbours in a batch, where seed and numbers are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from draftproof.simulator.audit.interfaces import paths_of
from draftproof.simulator.audit.judge import Audit
from draftproof.simulator.audit.real import RealCoins, in_library
from draftproof.simulator.drafts.trees import first_path
from draftproof.simulator.errors import InvalidInput
from draftproof.simulator.instances.case import Case
from draftproof.simulator.protocol import Context, DraftNode
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
        count = len(self._lengths)
        flat = len(shape) == 1 and shape != (count,)
        sizes = [(length,) for length in self._lengths] if flat else [tuple(shape[1:])] * count
        rows = [
            RealCoins([*self._of, place, self._asked]).numbers(kind, size, "numpy", dtype)
            for place, size in enumerate(sizes)
        ]
        joined = np.concatenate(rows) if flat else np.array(rows)
        return in_library(joined, library, dtype)

    def seed(self, name: str, value: int) -> int:
        """The same one in every call."""
        return SEED


@dataclass(frozen=True)
class Neighbours:
    """Two batches in which one request gets other tokens.

    batches: the drafted paths of every request. seed: that the generators had. tokens: of the request in both.
    """

    case: Case
    request: int
    seed: int
    batches: tuple[list[list[Context]], list[list[Context]]]
    tokens: tuple[list[int], list[int]]

    def __str__(self) -> str:
        one, other = self.tokens
        return (
            f"not reproducible where {self.case.title}: with the same seed or numbers request {self.request} gets "
            f"{one} in a batch with the drafts {self.batches[0]}, and {other} in one with {self.batches[1]}"
        )


def unlike_neighbours(audit: Audit, cases: Sequence[Case]) -> Neighbours | None:
    """The first pair of batches that differ in one request, and in the tokens of another one.

    The generators of `random`, numpy and torch, seeds and numbers that are arguments are the same in both. Raises
    `InvalidInput` for a function of one request, and `FunctionFailed` where a call fails.
    """
    if audit.batch < 2:
        raise InvalidInput("whether a request depends on its neighbours shows in a batch; give a batch of 2 or more")
    for case in cases:
        coin = SamplingCoin(np.random.default_rng(0))
        rows = [(audit.expected_instance(own.instance, own.scheme), own.scheme) for own in audit.by_request(case)]
        for seed, request in product(range(PAIRS), (0, audit.batch - 1)):
            roots = [scheme.draw(own.draft, coin).root(own.target, own.draft) for own, scheme in rows]
            own, scheme = rows[request]
            others = list(roots)
            others[audit.batch - 1 - request] = scheme.draw(own.draft, coin).root(own.target, own.draft)
            calls = [audit.audited.called(batch, _OfRequests([seed], batch)) for batch in (roots, others)]
            one, other = ([*call[request].accepted, call[request].correction] for call in calls)
            if one != other:
                batches = [list(map(paths_of, roots)), list(map(paths_of, others))]
                return Neighbours(case, request, seed, (batches[0], batches[1]), (one, other))
    return None
