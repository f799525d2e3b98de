"""The long run: equal to the direct program, certificates, and block verification on one path."""

import json
from fractions import Fraction

import numpy as np
import pytest

from draftproof.lp_analysis import check_long_run, dumps, long_run, long_run_certificate
from draftproof.simulator.drafts import Delayed, TopK
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.processes import MarkovProcess, rationalise
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.verdicts.lossless import Evaluator
from draftproof.verifiers import make
from tests.lp_analysis.long_run_program import direct_long_run

#: Vocabulary, order and scheme.
SHAPES = [
    (2, 1, Delayed(2, 0, 2)),
    (3, 1, Delayed(2, 0, 1)),
    (2, 2, Delayed(2, 1, 1)),
    (2, 2, Delayed(1, 0, 3)),
    (2, 1, Delayed(3, 0, 2)),
]


def source(V, order, seed):
    """Markov rows of both, over 64; the sparser they are the smaller alpha."""
    rng = np.random.default_rng(seed)
    alpha = (0.2, 0.5, 1.0)[seed % 3]
    return [rationalise(rng.dirichlet([alpha] * V, size=V**order), 64) for _ in range(2)]


def bounds_of(rows, order, scheme, **options):
    target, draft = (MarkovProcess(part, (0,) * order) for part in rows)
    return long_run(target, draft, scheme, **options)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("V", "order", "scheme"), SHAPES, ids=str)
def test_policy_iteration_is_the_direct_program(V, order, scheme, seed):
    rows = source(V, order, seed)
    found = bounds_of(rows, order, scheme)
    direct = direct_long_run(*(part.astype(float) for part in rows), scheme)
    tolerance = 1e-7  # of HiGHS
    if found.gap <= 1e-6:
        assert float(found.lower) - tolerance <= direct <= float(found.upper) + tolerance
    else:  # some states are never left: the program may choose among them
        assert direct <= float(found.upper) + tolerance
    assert found.one_block <= float(found.upper) + tolerance


@pytest.mark.parametrize("seed", range(6))
def test_block_verification_of_one_path_is_the_long_run(seed):
    scheme = Delayed(1, 0, 2)
    target, draft = (MarkovProcess(part, (0,) * 2) for part in source(2, 2, 3 * seed + 2))
    found = long_run(target, draft, scheme)
    steady = Evaluator(make("block")).steady_state(target, draft, scheme).efficiency
    assert found.lower <= steady <= found.upper
    assert found.gap < 1e-9  # potentials are multiples of 2^-40


@pytest.mark.parametrize(("V", "order", "scheme"), [*SHAPES, (2, 1, TopK(2, 2))], ids=str)
def test_certificates_are_checked_without_a_solver(V, order, scheme):
    found = bounds_of(source(V, order, 4), order, scheme)
    fields = json.loads(dumps(long_run_certificate(found)))
    assert check_long_run(fields) == (found.lower, found.upper)


def test_a_certificate_of_other_potentials_prices_or_rows_is_rejected():
    fields = json.loads(dumps(long_run_certificate(bounds_of(source(2, 1, 4), 1, Delayed(2, 0, 2)))))

    def rejected(message, **changes):
        with pytest.raises(InvalidInput, match=message):
            check_long_run(fields | changes)

    moved = [str(Fraction(fields["potentials"][0]) + 1), *fields["potentials"][1:]]
    rejected("lower: the certificate states", potentials=moved)
    rejected("lower: the certificate states", lower=str(Fraction(fields["lower"]) + Fraction(1, 10**9)))
    rejected("upper: the certificate states", upper=fields["lower"])
    rejected("the certificate states", target=fields["draft"])
    rejected("depth", depth=3)
    rejected("depth: trees of at most 200,000 paths", depth=64)
    rejected("blocks: give one for each of 2 states", blocks=fields["blocks"][:1])
    rejected("block 0 must hold prices", blocks=[{}, {}])
    rejected("one row for each of V.order states", order=2)
    rejected("potentials must be lists", potentials=["x", "0"])
    rejected("unknown scheme", scheme={"name": "none"})
    rejected("sum", target=[["1/2", "1/3"], ["1/2", "1/2"]])
    short = [fields["blocks"][0] | {"prices": []}, fields["blocks"][1]]
    rejected("prices must be lists", blocks=short)


def test_sources_without_states_or_with_too_many_are_refused():
    rows = source(2, 1, 0)
    chain = MarkovProcess(rows[0], (0,))
    with pytest.raises(InvalidInput, match="finitely many states, and the draft is no Markov process"):
        long_run(chain, TableProcess([rows[0][:1], rows[1]]), Delayed(2, 0, 2))
    with pytest.raises(TooLarge, match="states are more than 512"):
        long_run(MarkovProcess(source(2, 10, 0)[0], (0,) * 10), chain, Delayed(2, 0, 2))
    with pytest.raises(InvalidInput, match="target has 2 tokens, draft has 3"):
        long_run(chain, MarkovProcess(source(3, 1, 0)[0], (0,)), Delayed(2, 0, 2))


def test_where_states_are_never_left_the_bounds_stay_apart():
    identity = MarkovProcess(rationalise(np.eye(2), 2), (0,))
    draft = MarkovProcess(rationalise(np.array([[0.5, 0.5], [0, 1.0]]), 2), (0,))
    found = long_run(identity, draft, Delayed(1, 0, 1))
    assert (float(found.lower), float(found.upper)) == (1.5, 2.0)
