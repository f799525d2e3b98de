"""Weights of a race by Newton's method: the law that is wanted, from slopes that are those of the law."""

from functools import partial

import numpy as np
import pytest

from draftproof.verifiers import _equalised
from draftproof.verifiers._equalised import _with_null_option, by_rounds, equal_blocks, equalised, newton_weights
from draftproof.verifiers._race import race_law

BRANCHES = [(4,), (1, 1, 1), (1, 3), (2, 2)]
#: A sum of minima may lose what the weights lose by keeping a few bits, and the error at which steps end.
CLOSE = 2e-3


def layer(branches: tuple[int, ...], J: int, seed: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Target masses and draft masses of one layer, shape `(1, n, J)`."""
    generator = np.random.default_rng((seed, *branches))
    draft = generator.dirichlet(np.ones(J), (1, len(branches)))
    target_mass = draft * np.exp(spread * generator.normal(size=draft.shape))
    scores = generator.dirichlet(np.ones(len(branches)))[None, :, None]
    return scores * target_mass / target_mass.sum(axis=2, keepdims=True), draft


@pytest.mark.parametrize("spread", [0.02, 0.7, 3.0])
@pytest.mark.parametrize("branches", BRANCHES, ids=str)
def test_it_gets_as_far_as_many_rounds(branches: tuple[int, ...], spread: float) -> None:
    for seed in range(3):
        masses = layer(branches, 12, seed, spread)
        kept = [
            np.minimum(masses[0], race_law(equalised(*masses, branches, solve), masses[1], branches)).sum()
            for solve in (newton_weights, partial(by_rounds, rounds=200))
        ]
        assert kept[0] >= kept[1] - CLOSE


def test_rounds_take_over_where_it_fails_and_where_there_are_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    branches = (2, 2)
    chain = _with_null_option(equal_blocks(*layer(branches, 8, 1), branches), 2)
    ours, rounds = newton_weights(chain, branches), by_rounds(chain, branches)
    assert not (ours == rounds).all()
    for name in ("MOST", "NEAR"):
        with monkeypatch.context() as patch:
            patch.setattr(_equalised, name, 0)
            assert (newton_weights(chain, branches) == rounds).all()
