"""Distributions of `scipy.stats` draw from recorded generators, as the generator behind `numpy.random` does."""

import numpy as np
import pytest

from draftproof.simulator.symbolic import NotFollowed, load

pytest.importorskip("scipy.stats")
HEAD = "import numpy as np\nimport scipy.stats as st\n\nDEFAULT = st.uniform()\n\ndef run():\n    return "


@pytest.fixture(name="written")
def _written(tmp_path):
    def write(result):
        file = tmp_path / "theirs.py"
        file.write_text(HEAD + result + "\n")
        return load(file, "run")

    return write


@pytest.mark.parametrize(
    ("result", "share"),
    [
        ("bool(st.uniform.rvs() < 0.25)", "1/4"),
        ("bool(st.uniform(1, 2).rvs() < 1.5)", "1/4"),
        ("bool(DEFAULT.rvs() < 0.25)", "1/4"),
        ("bool(st.uniform.rvs(size=2)[1] < 0.25)", "1/4"),
        ("bool(st.expon.rvs() < 3 * st.expon.rvs())", "3/4"),
        ("int(np.argmax(st.multinomial.rvs(1, [0.25, 0.75]))) == 0", "1/4"),
        ("bool(np.random.mtrand._rand.uniform(0, 1, (2,))[1] < 0.25)", "1/4"),
        ("bool(st.uniform.rvs(random_state=np.random.default_rng(5)) < 0.25)", "1/4"),
        # One seed for two draws: they are one number.
        ("bool(st.uniform.rvs(random_state=5) <= st.uniform.rvs(random_state=5))", "1"),
        ("bool(st.uniform.rvs(random_state=5) <= st.uniform.rvs(random_state=6))", "1/2"),
    ],
)
def test_numbers_of_scipy_have_their_law(law, q, written, result, share):
    numerator, _, denominator = share.partition("/")
    assert law(written(result)).get(True, 0) == q(int(numerator), int(denominator or 1))


def test_a_normal_number_of_scipy_is_refused_by_name(law, written):
    with pytest.raises(NotFollowed, match="standard_normal"):
        law(written("bool(st.norm.rvs() < 0)"))


def test_a_distribution_with_a_generator_of_its_own_is_refused(law, written):
    run = written("bool(DEFAULT.rvs() < 0.5)")
    run.__globals__["DEFAULT"].random_state = np.random.RandomState(3)
    with pytest.raises(NotFollowed, match="before the call"):
        law(run)


def test_outside_of_a_call_scipy_draws_its_own_numbers(written):
    run = written("float(st.uniform.rvs(random_state=5))")
    assert run() == np.random.RandomState(5).uniform()
