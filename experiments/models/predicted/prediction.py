"""What one block from a root brings, exactly: the law of a verifier on the tables of a pair of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from draftproof.experiments.shared.planned import Planned
from draftproof.simulator.arithmetic import FLOAT64
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.case import Case
from draftproof.simulator.instances.instance import Instance
from draftproof.simulator.laws.enumeration import enumerate_law, estimate_size
from draftproof.simulator.laws.law import BlockLaw
from draftproof.simulator.protocol import DraftScheme, Verifier
from draftproof.simulator.verdicts.lossless import block_law, choose_engine

#: Runs of the verifier, over all draft trees of one root, up to which a law is enumerated.
MOST_RUNS = 300_000


@dataclass(frozen=True)
class Prediction:
    """The laws of a block from each of several roots, which count alike.

    laws: one a root.
    """

    laws: tuple[BlockLaw, ...]

    @property
    def mean(self) -> float:
        """Block efficiency `E[tau + 1]`, averaged over the roots."""
        return float(np.mean([float(law.block_efficiency) for law in self.laws]))

    @property
    def variance(self) -> float:
        """The variance of `tau` within a root, averaged over the roots: that of one run from each in turn."""
        return float(np.mean([max(float(law.variance), 0.0) for law in self.laws]))  # rounding may leave less than 0

    @property
    def depth_distribution(self) -> list[float]:
        """`P(tau = d)` for `d = 0..L`, averaged over the roots."""
        masses = [[float(mass) for mass in law.depth_distribution] for law in self.laws]
        return [float(mass) for mass in np.mean(masses, axis=0)]

    def standard_error(self, runs: int) -> float:
        """Of the mean over `runs` blocks from each root."""
        return sqrt(self.variance / (runs * len(self.laws)))

    def runs(self, standard_error: float) -> int:
        """The least number of blocks from each root whose mean has this standard error or a smaller one."""
        if not standard_error > 0:
            raise InvalidInput(f"a standard error of {standard_error} cannot be reached; ask for one above 0")
        return max(1, int(np.ceil(self.variance / (standard_error**2 * len(self.laws)))))


def predict(verifier: Verifier, tables: Sequence[Case], scheme: DraftScheme) -> Prediction:
    """The exact law of one block from each root, in float64.

    Raises `TooLarge` where the verifier has no structured engine and enumeration would take too long, `InvalidInput`
    for a verifier that is planned for one instance, and what `block_law` raises.
    """
    if isinstance(verifier, Planned):
        raise InvalidInput(f"{verifier.card.name} is planned for one instance; real models need a verifier of all rows")
    return Prediction(
        tuple(_law(verifier, Instance.of(case.target, case.draft, scheme.depth, FLOAT64), scheme) for case in tables)
    )


def _law(verifier: Verifier, tables: Instance, scheme: DraftScheme) -> BlockLaw:
    target, draft = tables.target, tables.draft
    if choose_engine(verifier, scheme) != "enumerate":
        return block_law(verifier, target, draft, scheme, "float64")
    size = estimate_size(verifier, target, draft, scheme, np.random.default_rng(0))
    if size.runs > MOST_RUNS:
        raise TooLarge(
            f"{verifier.card.name} on {scheme} at V = {target.vocab_size} means {size.runs:,.0f} runs for one root, "
            f"more than {MOST_RUNS:,}; use a smaller tree or vocabulary, or offer a structured engine (branch)"
        )
    return enumerate_law(verifier, target, draft, scheme)


def joint(tables: Sequence[Any]) -> Any:
    """The law of the first tokens, one a table: shape `(V**length,)`, in lexicographic order."""
    mass = np.ones(1)
    for rows in tables:
        mass = (mass[:, None] * rows).reshape(-1)
    return mass
