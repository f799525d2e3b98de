"""The float64 law of every verifier agrees with the rational one on rows that floats cannot hold, without a warning."""

import numpy as np
import pytest

from draftproof.simulator import Delayed, Instance, TableProcess, block_law
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.verifiers import STANDALONE, make
from draftproof.verifiers._paths import stop_probability


def tied(size: int, depth: int, seed: int) -> Instance:
    """Rows where tokens have the same `p/q`: `p` is `q` with one factor on some tokens and another on the rest."""
    generator = np.random.default_rng(seed)
    target, draft = [], []
    for length in range(depth + 1):
        units = generator.integers(1, 12, size=(size**length, size))
        q = RATIONAL.vector(units) / RATIONAL.vector(units.sum(axis=1, keepdims=True))
        first = RATIONAL.vector(generator.integers(0, 2, size=q.shape))
        mass = (q * first).sum(axis=1, keepdims=True)
        share = RATIONAL.vector(generator.integers(1, 13, size=mass.shape)) / 13
        both = (mass > 0) & (mass < 1)
        p = q * (first * share / (mass + (mass == 0)) + (1 - first) * (1 - share) / (1 - mass + (mass == 1)))
        target.append(np.where(both, p, q))
        draft.append(q)
    return Instance(TableProcess(target, "target"), TableProcess(draft, "draft"))


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("size", "scheme"), [(3, Delayed(2, 0, 1)), (4, Delayed(2, 0, 1)), (3, Delayed(2, 0, 2))], ids=str
)
@pytest.mark.parametrize("engine", ["auto", "enumerate"])
@pytest.mark.parametrize("name", [name for name in STANDALONE if name != "spechub"])
def test_float64_ranks_tokens_of_equal_quotients_as_rationals_do(
    name: str, engine: str, size: int, scheme: Delayed
) -> None:
    for seed in range(4 if scheme.depth == 1 else 2):
        instance = tied(size, scheme.depth, seed)
        exact, rounded = (
            block_law(make(name), instance.target, instance.draft, scheme, arithmetic, engine)
            for arithmetic in ("rational", "float64")
        )
        for ours, theirs in zip(exact.correction, rounded.correction, strict=True):
            assert abs(ours.astype(np.float64) - theirs).max() <= FLOAT64.tolerance  # as above


def test_stop_probability_is_a_probability_where_rows_differ_by_rounding_only() -> None:
    p, q = np.array([0.1 + 0.2, 0.7]), np.array([0.3, 0.7])
    assert 0 < (p - q)[0] < 1e-15
    assert 0 <= stop_probability(1, p, q) <= 1
