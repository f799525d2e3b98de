"""The solvers of the bounds converge as quickly as their pages say: counted in rounds and steps, not in seconds."""

import numpy as np
import pytest

from draftproof.lp_analysis.problem import BoundProblem
from draftproof.lp_analysis.solvers.columns import EMPTY, INFINITY, Columns, generate, warm_model
from draftproof.lp_analysis.solvers.minimise import SMALLEST, Search, _blended, minimise
from draftproof.lp_analysis.solvers.programs import PriceProgram
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
        ((2, 3, 0, 3), "perturbed", 6), ((3, 3, 0, 2), "dirichlet", 6), ((2, 3, 1, 2), "perturbed", 5),
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


@pytest.mark.parametrize(
    ("shape", "family", "most"),
    [
        ((2, 3, 0, 3), "dirichlet", 24), ((3, 3, 0, 2), "perturbed", 15), ((2, 3, 1, 2), "dirichlet", 15),
        ((4, 3, 0, 3), "perturbed", 48), ((4, 3, 0, 3), "dirichlet", 66),
    ],
    ids=str,
)  # fmt: skip
def test_the_level_programs_need_few_steps(monkeypatch, shape, family, most):
    steps, search = counted(monkeypatch, PriceProgram, "step"), Search()
    minimise(subject_of(shape, family), 1e-8, search)
    assert search.gap <= 1e-8
    assert len(steps) <= most  # two or three more than were seen: roundings differ between machines


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
