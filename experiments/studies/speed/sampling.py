"""Structured engines against our own sampler; verifiers that solve a program at every node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from draftproof.experiments.studies.speed.measuring import (
    Row,
    Sizes,
    in_turn,
    named,
    random_rows,
    seconds_of,
    summed,
)
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.coins import SamplingCoin
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.laws.structured import (
    TableRows,
    structured_metrics,
)
from draftproof.simulator.protocol import Card, Coin, DraftNode, Verdict, Verifier
from draftproof.simulator.structures import TopDown
from draftproof.verifiers import make
from draftproof.verifiers._tournament import linear_programs

#: Standard error of the sampled `E[tau + 1]` whose cost is stated.
STANDARD_ERROR = 1e-3


def sampling_rows(sizes: Sizes) -> Iterator[Row]:
    """Metrics against our own sampler, until the mean is known to a standard error."""
    V, L = (2, 2) if sizes.quick else (4, 5)
    instance = FAMILIES["dirichlet"].instance(V, L, np.random.default_rng(0), arithmetic=FLOAT64)
    rows = TableRows.of(instance.target, instance.draft)
    coin = SamplingCoin(np.random.default_rng(1))
    runs = 10 if sizes.quick else 2000
    for name, K in (("nss", 4), ("specinfer", 4), ("spectr", 4), ("gbv", 4), ("mixed_order", 4), ("traversal", 2)):
        verifier, scheme = make(name), Delayed(K, 0, L)

        def sample(verifier: Verifier = verifier, scheme: Delayed = scheme) -> None:
            for _ in range(runs):
                tree = scheme.draw(instance.draft, coin)
                verifier.verify(tree.root(instance.target, instance.draft), coin)

        each = seconds_of(sample) / runs
        least = in_turn({"metrics": summed(verifier, rows, scheme)}, sizes.budget / 10)["metrics"]
        samples = float(structured_metrics(verifier, rows, scheme)[0].variance) / STANDARD_ERROR**2
        note = f"{samples:,.0f} of {each * 1e6:.0f} us"
        yield Row("sampling", named(name, V, scheme), least, "sampling", samples * each, faster=True, note=note)


@dataclass
class Counted:
    """A top-down verifier that counts the nodes it solves, one for each number of drafts."""

    verifier: Any
    nodes: int = 0

    @property
    def card(self) -> Card:
        return self.verifier.card  # type: ignore[no-any-return]

    def verify(self, root: DraftNode, coin: Coin) -> Verdict:
        return self.verifier.verify(root, coin)  # type: ignore[no-any-return]

    @property
    def structure(self) -> TopDown:
        return TopDown(child_law=self._counted)

    def _counted(self, p: Any, q: Any, k: int) -> Any:
        self.nodes += len(p)
        return self.verifier.structure.child_law(p, q, k)


def program_rows(sizes: Sizes) -> Iterator[Row]:
    """Verifiers that solve programs at every node: the largest L that stays within the limit."""
    for name in ("khisti", "optimal_transport"):
        best: Row | None = None
        for L in count(1):
            rows, _, _ = random_rows(4, L, seed=L)  # other rows each time: solutions are remembered
            counted, scheme = Counted(make(name)), Delayed(4, 0, L)
            before = linear_programs()
            seconds = seconds_of(summed(counted, rows, scheme))
            solved = linear_programs() - before
            note = f"{counted.nodes:,} programs" + (f", {solved:,} linear" if solved else "")
            row = Row("programs", named(name, 4, scheme), seconds, "20 s", 20.0, 1.0, note=note)
            if best is None or seconds <= sizes.limit:
                best = row
            if seconds * 4 > sizes.limit:
                break
        assert best is not None
        yield best
