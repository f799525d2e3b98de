"""The solvers of the bounds converge as quickly as their pages say: counted in rounds and steps, not in seconds."""

from itertools import pairwise

import numpy as np
import pytest

from draftproof.lp_analysis.hitting import IidBranches
from draftproof.lp_analysis.nodes import hit_probability
from draftproof.lp_analysis.prices import end_prices
from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.columns import Columns, generate
from draftproof.lp_analysis.solvers.highs import EMPTY, INFINITY, warm_model
from draftproof.lp_analysis.solvers.interior import LevelProgram
from draftproof.lp_analysis.solvers.levels import CLOSEST, _without_idle, errors, first_knots, refined
from draftproof.lp_analysis.solvers.minimise import SMALLEST, Search, _blended, minimise
from draftproof.lp_analysis.solvers.tree_system import cholesky
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.instances.families import FAMILIES


def subject_of(shape, family):
    V, K, L1, L2 = shape
    instance = FAMILIES[family].instance(V, L1 + L2, np.random.default_rng(1))
    return BoundProblem.of(instance.target, instance.draft, Delayed(K, L1, L2)).floats


def counted(monkeypatch, owner, name):
    calls, original = [], getattr(owner, name)

    def method(self, *arguments):
        calls.append(1)
        return original(self, *arguments)

    monkeypatch.setattr(owner, name, method)
    return calls


@pytest.mark.parametrize(
    ("shape", "family", "most"),
    [
        ((2, 3, 0, 3), "perturbed", 6), ((2, 3, 0, 3), "dirichlet", 5), ((3, 3, 0, 2), "perturbed", 6),
        ((3, 3, 0, 2), "dirichlet", 6), ((2, 3, 1, 2), "perturbed", 5), ((2, 3, 1, 2), "dirichlet", 4),
        ((4, 3, 0, 3), "perturbed", 80), ((4, 3, 0, 3), "dirichlet", 7),
    ],
    ids=str,
)  # fmt: skip
def test_column_generation_needs_few_rounds(monkeypatch, capfd, shape, family, most):
    rounds, search = counted(monkeypatch, Columns, "solve"), Search()
    columns = Columns(subject_of(shape, family))
    mixtures = generate(columns, 1e-9, search)
    assert search.gap <= 1e-9
    assert len(rounds) <= most
    assert all(values[0] == 0 for values in search.prices[:1])
    assert [sum(weights) for weights, _ in mixtures] == pytest.approx([1] * len(mixtures), abs=1e-9)  # HiGHS: 1e-10
    assert capfd.readouterr() == ("", "")


def test_column_generation_stops_at_its_gap_and_at_its_time(monkeypatch):
    problem = subject_of((4, 3, 0, 3), "perturbed")
    rounds, search = counted(monkeypatch, Columns, "solve"), Search()
    generate(Columns(problem), 1e-3, search)
    assert len(rounds) < 40
    assert 1e-9 < search.gap <= 1e-3
    rounds.clear()
    late = Search(clock=iter(range(1000)).__next__, seconds=8)
    generate(Columns(problem), 1e-9, late)
    assert len(rounds) < 8
    assert late.gap > 1e-9


def test_an_order_joins_once(monkeypatch):
    columns = Columns(subject_of((2, 3, 1, 2), "perturbed"))
    assert columns.add(0, np.arange(4))
    assert not columns.add(0, np.arange(4))
    assert columns.add(1, np.arange(4))
    assert [len(orders) for orders in columns.orders] == [1, 1]


@pytest.mark.parametrize(
    ("shape", "family", "most"),
    [
        ((2, 3, 0, 3), "perturbed", 15), ((2, 3, 0, 3), "dirichlet", 24), ((3, 3, 0, 2), "perturbed", 15),
        ((3, 3, 0, 2), "dirichlet", 29), ((2, 3, 1, 2), "perturbed", 15), ((2, 3, 1, 2), "dirichlet", 15),
        ((4, 3, 0, 3), "perturbed", 48), ((4, 3, 0, 3), "dirichlet", 66),
    ],
    ids=str,
)  # fmt: skip
def test_the_level_programs_need_few_steps(monkeypatch, shape, family, most):
    steps, search = counted(monkeypatch, LevelProgram, "step"), Search()
    minimise(subject_of(shape, family), 1e-8, search)
    assert search.gap <= 1e-8
    assert len(steps) <= most  # two or three more than were seen: roundings differ between machines


def test_knots_without_use_are_dropped_and_never_two_neighbours():
    problem = subject_of((3, 3, 0, 2), "perturbed")
    prices = [np.zeros(1), np.zeros(3), np.where(np.arange(9) == 4, 0.5, 0.0)]  # one path is dear, eight are free
    knots = first_knots(1, 16)
    finer = refined(end_prices(prices, problem), problem, knots)
    dropped = sorted(set(range(17)) - set(np.flatnonzero(np.isin(knots[0], finer[0]))))
    assert dropped
    assert all(b - a > 1 for a, b in pairwise(dropped))
    assert {0, 16}.isdisjoint(dropped)


@pytest.mark.parametrize("shape", [(2, 2, 0, 1), (2, 2, 1, 1), (3, 2, 0, 1)], ids=str)
def test_column_generation_ends_when_no_order_is_new_whatever_the_gap(monkeypatch, shape):
    rounds, search = counted(monkeypatch, Columns, "solve"), Search()
    columns = Columns(subject_of(shape, "perturbed"))
    generate(columns, -1.0, search)  # a gap that cannot be met
    orders = sum(len(each) for each in columns.orders)
    assert len(rounds) <= orders + 1, "every round but the last adds an order"
    assert abs(search.gap) <= 1e-9  # of the solver


@pytest.mark.parametrize("smallest", [1e-8, 5e-8, 1e-9])
def test_models_are_solved_beyond_the_accuracy_that_solvers_begin_with(smallest):
    model = warm_model()
    model.addCols(1, np.ones(1), np.zeros(1), np.ones(1), 0, EMPTY[0], *EMPTY)
    model.addRow(smallest, INFINITY, 1, np.array([0], dtype=np.int32), np.ones(1))
    model.run()
    assert model.getSolution().col_value[0] == pytest.approx(smallest, rel=1e-3)


@pytest.mark.parametrize("family", ["perturbed", "dirichlet"])
@pytest.mark.parametrize("shape", [(2, 3, 0, 3), (3, 2, 1, 2), (4, 3, 0, 3), (2, 2, 2, 1), (3, 4, 0, 1)], ids=str)
def test_the_interior_begins_in_the_interior(shape, family):
    problem = subject_of(shape, family)
    program = LevelProgram(problem, first_knots(len(problem.iid.groups), 16))
    state = program.start()
    for part in (*state.slack, *state.multiplier, *state.omega):
        assert (part > 0).all()
    assert state.mu > 0
    missing = program.rows.adjoint(state.multiplier)
    for cost, found in zip(program.cost[2:], missing[2:], strict=True):
        assert found == pytest.approx(cost, rel=1e-12)  # a transport from the first step on


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("K", [2, 3, 5])
def test_a_knot_is_dropped_when_the_budget_pays_for_it_and_not_before(seed, K):
    rng = np.random.default_rng(seed)
    x, jumps, knots = np.sort(rng.random(60)), rng.random(60), np.array([0.0, 0.1, 0.3, 0.45, 0.7, 1.0])

    def lost(kept):
        return float((jumps * (hit_probability(x, K) - np.interp(x, kept, hit_probability(kept, K)))).sum())

    rises = [lost(np.delete(knots, j)) - lost(knots) for j in range(1, len(knots) - 1)]
    cheapest = 1 + int(np.argmin(rises))
    share = min(rises) / lost(knots)
    more, less = (_without_idle([jumps], [x], knots[None], K, share * factor) for factor in (1 + 1e-9, 1 - 1e-9))
    assert more.tolist() == [np.delete(knots, cheapest).tolist()]
    assert less.tolist() == [knots.tolist()]


def test_tables_with_tiny_entries_get_an_interior_and_stay_distributions():
    tables = [np.array([[0.0, 1.0]]), np.array([[0.25, 0.75], [1e-30, 1.0]]), np.full((4, 2), 0.5)]
    blended = _blended(tables)
    for table, own in zip(blended, tables, strict=True):
        assert (table > 1e-10).all()
        assert table.sum(1) == pytest.approx(1, abs=1e-15)
        assert abs(table - own).max() <= 1e-9
    assert blended[2] is tables[2]
    kept = np.array([[SMALLEST, 1.0]])
    assert _blended([kept])[0] is kept


def test_knots_are_never_closer_than_their_limit():
    """A prefix of paths ends just behind a knot: to split the cell there would help no one."""
    masses = np.array([[0.5 + CLOSEST / 10, 0.25, 0.25 - CLOSEST / 10]])
    problem = BoundProblem([np.full((1, 3), 1 / 3)], IidBranches([masses], Delayed(2, 0, 1)))
    prices = [np.zeros(1), np.array([1.0, 0.5, 0.25])]
    knots = np.array([[0, 0.5, 0.6, 1]])
    found, below = errors(end_prices(prices, problem), problem, knots)
    assert ((found > 0) & (below - 0.5 < CLOSEST) & (below > 0.5)).any()
    finer = refined(end_prices(prices, problem), problem, knots)
    assert finer.shape == (1, 5)  # the cell of the second prefix is split
    assert np.diff(finer).min() > CLOSEST


def test_the_history_holds_every_change_of_a_bound_once():
    search = Search()
    for lower, upper in [(1.0, 3.0), (1.0, 2.5), (1.0, 2.5), (0.5, 4.0), (2.0, 2.5)]:
        search.offer(lower, None, upper, [])
    assert search.history == [(0.0, 1.0, 3.0), (0.0, 1.0, 2.5), (0.0, 2.0, 2.5)]


@pytest.mark.parametrize(("off", "share"), [(5e-13, 1e-12), (5e-11, 1e-10), (5e-9, 1e-8)])
def test_an_indefinite_matrix_gets_the_least_diagonal_that_helps(off, share):
    matrix = np.array([[1, 1 + off], [1 + off, 1]])
    lower = np.tril(cholesky(matrix)[0])
    assert lower @ lower.T - matrix == pytest.approx(share * np.eye(2), abs=1e-15)  # rounding of sums near 1


def test_a_matrix_that_is_far_from_positive_is_not_factorised():
    with pytest.raises(np.linalg.LinAlgError, match="cannot factorise"):
        cholesky(np.array([[1, 1 + 5e-8], [1 + 5e-8, 1]]))
