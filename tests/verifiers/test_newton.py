"""Weights of a race by Newton's method: the law that is wanted, from slopes that are those of the law."""

from functools import partial

import numpy as np
import pytest

from draftproof.verifiers import _newton
from draftproof.verifiers._equalised import _with_null_option, by_rounds, equal_blocks, equalised
from draftproof.verifiers._newton import _Equations, newton_weights
from draftproof.verifiers._race import race_law, segments

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


@pytest.mark.parametrize("branches", BRANCHES, ids=str)
def test_the_slopes_are_those_of_the_law(branches: tuple[int, ...]) -> None:
    chain = _with_null_option(equal_blocks(*layer(branches, 6, 0), branches), len(branches))
    first, last = segments(chain.blocks)
    pairs = np.flatnonzero(chain.valid & (last > first))
    equations = _Equations(chain, (*branches, 1), pairs, last[0, pairs])
    logs = -2 * np.random.default_rng(0).random(len(pairs))
    assert len(pairs) > 3
    slopes, step = equations.law(logs)[1](), 1e-5
    for place, change in enumerate(np.eye(len(pairs)) * step):
        above, below = (equations.law(logs + sign * change)[0] for sign in (1, -1))
        difference = (above - below) / (2 * step)
        # the difference is off by the square of the step; what the null option wins alone is an integral that is off
        # by the error of coarse points
        assert np.allclose(slopes[:, place], difference, rtol=0, atol=1e-3)
        assert np.allclose(slopes[:-1, place], difference[:-1], rtol=0, atol=1e-8)


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
            patch.setattr(_newton, name, 0)
            assert (newton_weights(chain, branches) == rounds).all()
