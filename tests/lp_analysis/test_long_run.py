"""The long run: equal to the direct program, certificates, and block verification on one path."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from draftproof.lp_analysis import dumps, long_run, optimum
from draftproof.lp_analysis.certificates import long_run_certificate
from draftproof.lp_analysis.checker import check_long_run
from draftproof.lp_analysis.potentials import Source, best_blocks
from draftproof.simulator.arithmetic import RATIONAL
from draftproof.simulator.drafts import Delayed, TopK
from draftproof.simulator.errors import InvalidInput, TooLarge
from draftproof.simulator.instances.processes import MarkovProcess, rationalise
from draftproof.simulator.tables import TableProcess
from draftproof.simulator.verdicts.lossless import Evaluator, block_law
from draftproof.verifiers import make
from tests.lp_analysis.long_run_program import direct_long_run
from tests.quick import quick

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


@pytest.mark.parametrize("seed", quick(range(20), range(3)))
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
    if found.one_block is not None:
        assert found.one_block <= float(found.upper) + tolerance


@pytest.mark.parametrize("orders", [(2, 1), (1, 2), (0, 1)])
def test_a_state_has_the_rows_after_its_last_tokens(orders):
    pair = [MarkovProcess(source(2, order, order)[0], (0,) * order) for order in orders]
    both = Source.of(*pair)
    for state, context in enumerate(product(range(2), repeat=both.order)):
        for own, process in zip((both.target, both.draft), pair, strict=True):
            assert (own[state] == process.row(context)).all()


@pytest.mark.parametrize("seed", quick(range(6), [0]))
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

    moved = [str(Fraction(fields["potentials"][0]) + 1), *fields["potentials"][1:]]
    short = [fields["blocks"][0] | {"prices": []}, fields["blocks"][1]]
    for message, changes in (
        ("lower: the certificate states", {"potentials": moved}),
        ("lower: the certificate states", {"lower": str(Fraction(fields["lower"]) + Fraction(1, 10**9))}),
        ("upper: the certificate states", {"upper": fields["lower"]}),
        ("the certificate states", {"target": fields["draft"]}),
        ("depth", {"depth": 3}),
        ("depth: trees of at most 200,000 paths", {"depth": 64}),
        ("blocks: give one for each of 2 states", {"blocks": fields["blocks"][:1]}),
        ("block 0 must hold prices", {"blocks": [{}, {}]}),
        ("one row for each of V.order states", {"order": 2}),
        ("potentials must be lists", {"potentials": ["x", "0"]}),
        ("unknown scheme", {"scheme": {"name": "none"}}),
        ("sum", {"target": [["1/2", "1/3"], ["1/2", "1/2"]]}),
        ("prices must be lists", {"blocks": short}),
    ):
        with pytest.raises(InvalidInput, match=message):
            check_long_run(fields | changes)


def test_sources_without_states_or_with_too_many_are_refused():
    rows = source(2, 1, 0)
    chain = MarkovProcess(rows[0], (0,))
    with pytest.raises(InvalidInput, match="finitely many states, and the draft is no Markov process"):
        long_run(chain, TableProcess([rows[0][:1], rows[1]]), Delayed(2, 0, 2))
    with pytest.raises(TooLarge, match="states are more than 512"):
        long_run(MarkovProcess(source(2, 10, 0)[0], (0,) * 10), chain, Delayed(2, 0, 2))
    with pytest.raises(InvalidInput, match="target has 2 tokens, draft has 3"):
        long_run(chain, MarkovProcess(source(3, 1, 0)[0], (0,)), Delayed(2, 0, 2))


#: In quarters: after the tokens 0, 0 the draft never has the token that the target does.
QUARTERS = ([[0, 4], [1, 3], [4, 0], [2, 2]], [[4, 0], [2, 2], [1, 3], [3, 1]])


def test_where_states_are_never_left_the_bounds_stay_apart_and_best_blocks_have_no_one_mean():
    rows = [[1, 0], [0, 1]], [[1, 0], [1, 0]]  # two tokens a block from state 0, one from state 1
    target, draft = (MarkovProcess(part, (0,)) for part in rows)
    found = long_run(target, draft, Delayed(1, 0, 1))
    assert (found.lower, found.upper, found.one_block) == (1, 2, None)
    with pytest.raises(InvalidInput, match="there is no one mean"):
        best_blocks(target, draft, Delayed(1, 0, 1))


def test_of_several_paths_the_best_block_is_not_the_best_text():
    """What brings the most tokens in each block has at most 2.02957 in the long run, the best 212544/101231."""
    rows = [RATIONAL.vector(part) / RATIONAL.number(4) for part in QUARTERS]
    scheme, best = Delayed(2, 0, 2), Fraction(212544, 101231)
    found = bounds_of(rows, 2, scheme)
    assert found.lower <= best <= found.upper
    # A block that is the best has `sum D = most`, so that its worth is at most `sum (w + 20) D - 20 most`.
    source = found.source
    weights = source.weights(RATIONAL.vector([Fraction(h, 10**6) for h in (0, 1029566, -141631, 947862)])) + 20
    for state in range(4):
        tables = [source.tables(part, state, 2) for part in (source.target, source.draft)]
        most = optimum(*tables, scheme, gap=1e-9).lower
        own = [weights[source.states_after(state, length)] for length in range(3)]
        assert optimum(*tables, scheme, weights=own, gap=1e-9).upper - 20 * most < Fraction(202957, 100000)


def test_the_verifier_of_its_plans_attains_the_long_run():
    rows = source(2, 1, 5)
    found = bounds_of(rows, 1, Delayed(2, 0, 2))
    ends, means = [[Fraction(0)] * 2 for _ in range(2)], []
    for state, plan in enumerate(each.plan for each in found.optima):
        tables = [found.source.tables(part, state, 3) for part in (found.source.target, found.source.draft)]
        verifier = make("optimum", plan=plan, draft_tables=tables[1])
        law = block_law(verifier, TableProcess(tables[0]), TableProcess(tables[1]), Delayed(2, 0, 2))
        means.append(law.block_efficiency)
        for masses in law.correction:
            for token, mass in enumerate(masses.sum(axis=0)):
                ends[state][token] += Fraction(str(mass))
    from_zero = ends[1][0] / (ends[0][1] + ends[1][0])
    assert found.lower <= from_zero * means[0] + (1 - from_zero) * means[1] <= found.upper


def test_of_several_paths_starting_later_can_hurt():
    """In sixteenths: after the tokens 1, 0 a block is worth more than the token and a block after it."""
    target, draft = ([[a, 16 - a] for a in first] for first in ([1, 0, 2, 7], [12, 16, 3, 8]))
    rows = [RATIONAL.vector(part) / RATIONAL.number(16) for part in (target, draft)]
    found = bounds_of(rows, 2, Delayed(2, 0, 2))
    weights = found.source.weights(RATIONAL.vector(found.potentials))
    assert weights[2] < RATIONAL.number(Fraction(-7, 100))
    assert min(weights[[0, 1, 3]]) > 0
    assert found.gap <= 1e-6
    assert any(each.limits for each in found.optima)
    assert float(found.lower) == pytest.approx(
        direct_long_run(*(part.astype(float) for part in rows), Delayed(2, 0, 2))
    )
