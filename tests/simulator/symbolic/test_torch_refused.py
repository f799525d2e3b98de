"""What torch does with random numbers that cannot be followed is refused by name and line."""

# ruff: noqa: PLW0108 - a draw must wait until it is called

import pytest

from draftproof.simulator.errors import InvalidVerifier

torch = pytest.importorskip("torch")
P = torch.tensor([0.5, 0.125, 0.375])


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("torch sin", lambda: torch.sin(torch.rand(1)) > 0),
        ("torch randn", lambda: torch.randn(1) > 0),
        ("torch normal", lambda: torch.normal(torch.zeros(1), torch.ones(1)) > 0),
        ("torch _softmax", lambda: torch.rand(2).softmax(-1) < 0.5),
        ("sum of products", lambda: torch.rand(2) @ torch.rand(2) < 1),
        ("torch poisson", lambda: torch.poisson(P)),
        ("random probabilities", lambda: torch.multinomial(torch.rand(2), 1)),
        ("float", lambda: float(torch.rand(1)) < 0.5),
        ("storing in a tensor of torch.int64", lambda: torch.zeros(1, dtype=torch.int64).add_(torch.rand(()).item())),
        ("get_rng_state", lambda: torch.get_rng_state()),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_line(law, name, function):
    with pytest.raises(InvalidVerifier, match=rf"{name}.*test_torch_refused\.py:\d+"):
        law(function)


@pytest.mark.parametrize("value", [0.0, float("nan"), -1.0])
def test_weights_that_are_none_fail_as_they_do_in_torch(law, value):
    with pytest.raises(RuntimeError, match="probabilities must be finite"):
        law(lambda: torch.multinomial(torch.full((2,), value), 1))


def test_a_random_tensor_as_result_is_refused(law):
    with pytest.raises(InvalidVerifier, match="returned a random number"):
        law(lambda: {"tokens": torch.rand(2)})
