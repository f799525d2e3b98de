"""A check of declared structures: the structured law against the enumerated one, on small shapes."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np

from draftproof.simulator.arithmetic import Arithmetic
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import InvalidVerifier
from draftproof.simulator.instances.families import FAMILIES
from draftproof.simulator.instances.processes import tabulate
from draftproof.simulator.laws.guarded import guarded_law
from draftproof.simulator.laws.structured.dispatch import structured_law
from draftproof.simulator.laws.structured.rows import TableRows
from draftproof.simulator.laws.structured.size import deepest
from draftproof.simulator.protocol import TokenProcess, Verifier
from draftproof.simulator.tables import TableProcess

#: Shapes of at most so many draft trees are compared.
TREES = 2_000
#: Seed of the fixed instances: with it residuals have several tokens and weights are neither 0 nor 1.
SEED = 7


def assert_structure_agrees(
    verifier: Verifier, target: TokenProcess, draft: TokenProcess, scheme: Delayed, arithmetic: Arithmetic
) -> None:
    """Raise `InvalidVerifier` unless both laws agree on small shapes.

    These are the deepest shape within `scheme` with few draft trees and, since it may be shallow or have a single path,
    fixed instances of two and three tokens with several paths of two tokens and with a trunk.
    """
    for p, q, shape in _cases(target, draft, scheme, arithmetic):
        pairs = zip(
            guarded_law(verifier, p, q, shape).correction,
            structured_law(verifier, TableRows.of(p, q), shape).correction,
            strict=True,
        )
        if not all((abs(ours - theirs) <= arithmetic.tolerance).all() for ours, theirs in pairs):  # also for NaN
            raise InvalidVerifier(
                f"verify and the structure that it offers give two laws on {shape}; "
                "mend one of them, or use the engine enumerate"
            )


def _cases(
    target: TokenProcess, draft: TokenProcess, scheme: Delayed, arithmetic: Arithmetic
) -> Iterator[tuple[TableProcess, TableProcess, Delayed]]:
    own = deepest(scheme, lambda shape: shape.nodes * log(target.vocab_size) <= log(TREES)) or Delayed(1, 0, 0)
    yield tabulate(target, own.depth, arithmetic), tabulate(draft, max(own.depth - 1, 0), arithmetic), own
    for size, fixed in (
        (2, Delayed(min(scheme.K, 3), 0, 2)),
        (3, Delayed(min(scheme.K, 2), 0, 2)),
        (3, Delayed(min(scheme.K, 4), 1, 1)),
    ):
        made = FAMILIES["dirichlet"].instance(size, fixed.depth, np.random.default_rng(SEED), 20, arithmetic)
        yield made.target, made.draft, fixed
