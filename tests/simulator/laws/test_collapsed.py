"""On Markov processes the collapsed evaluation is the full law, and the steady state that of a chain built by hand."""

from typing import Any

import numpy as np
import pytest
from flint import fmpq

from draftproof.simulator import Delayed, InvalidInput, TooLarge, tabulate
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, as_python
from draftproof.simulator.instances.processes import MarkovProcess, rationalise
from draftproof.simulator.laws.enumeration import enumerate_law
from draftproof.simulator.laws.metrics import Metrics
from draftproof.simulator.laws.structured import MarkovRows, TableRows, structured_law
from draftproof.simulator.laws.structured import steady as steady_module
from draftproof.simulator.laws.structured.collapsed import CollapsedTopDown
from draftproof.simulator.laws.structured.steady import SteadyState, steady_by_laws, steady_by_states
from draftproof.simulator.tables import context_at
from draftproof.verifiers import make

TOP_DOWN = ["nss", "naive_tree", "specinfer", "spectr", "khisti", "optimal_transport", "rejection_without_replacement"]
SINGLE = ["naive", "naive_from_target", "ensemble"]
LOSSY = ["naive_from_target", "ensemble", "threshold", "greedy_multi_draft"]
#: Orders of target and draft.
ORDERS = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 0), (2, 1), (1, 2)]
SHAPES = [Delayed(1, 0, 0), Delayed(1, 0, 2), Delayed(1, 2, 1), Delayed(2, 0, 2), Delayed(2, 1, 2), Delayed(3, 2, 1)]


def markov(size: int, order: int, seed: int, root: tuple[int, ...] = (), arithmetic: Any = RATIONAL) -> MarkovProcess:
    rows = np.random.default_rng((size, order, seed)).dirichlet(np.ones(size), size=size**order)
    return MarkovProcess(rationalise(rows, 20, arithmetic), root or (0,) * order)


def pair(size: int, orders: tuple[int, int], seed: int = 0, root: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Target and draft after the same tokens."""
    ends = [root[len(root) - order :] for order in orders] if root else [(), ()]
    return markov(size, orders[0], seed, ends[0]), markov(size, orders[1], seed + 50, ends[1])


def full(verifier: Any, target: Any, draft: Any, scheme: Delayed) -> Metrics:
    """The metrics of the whole law, from tables."""
    tables = tabulate(target, scheme.depth, RATIONAL), tabulate(draft, max(scheme.depth - 1, 0), RATIONAL)
    return Metrics.of(structured_law(verifier, TableRows.of(*tables), scheme), tables[0])


def assert_equal(ours: Metrics, theirs: Metrics) -> None:
    assert ours.depth_distribution == theirs.depth_distribution
    assert ours.max_deviation == theirs.max_deviation
    assert ours.total_variation in (None, theirs.total_variation)
    assert (ours.total_variation is None) == (theirs.max_deviation > 0)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("orders", ORDERS, ids=str)
@pytest.mark.parametrize("name", TOP_DOWN + SINGLE)
def test_collapsed_metrics_are_those_of_the_full_law(name: str, orders: tuple[int, int]) -> None:
    verifier = make(name)
    for size in (2, 3):
        target, draft = pair(size, orders)
        engine = CollapsedTopDown(verifier, MarkovRows(target, draft))
        for scheme in SHAPES:
            assert_equal(engine.metrics(scheme), full(verifier, target, draft, scheme))


@pytest.mark.parametrize("orders", [(1, 1), (2, 1), (0, 1)], ids=str)
@pytest.mark.parametrize("name", LOSSY)
def test_the_largest_deviation_is_found_and_is_where_it_is_said_to_be(name: str, orders: tuple[int, int]) -> None:
    verifier, lossy = make(name), 0
    for seed in range(3):
        for scheme in (Delayed(1, 0, 3), Delayed(2, 1, 2), Delayed(3, 0, 2)):
            target, draft = pair(3, orders, seed)
            found = CollapsedTopDown(verifier, MarkovRows(target, draft)).metrics(scheme)
            tables = tabulate(target, scheme.depth, RATIONAL), tabulate(draft, scheme.depth - 1, RATIONAL)
            law = structured_law(verifier, TableRows.of(*tables), scheme)
            assert found.max_deviation == law.max_deviation(tables[0])
            if found.max_deviation == 0:
                continue
            lossy += 1
            worst = found.worst
            assert worst is not None
            place = sum(token * 3**power for power, token in enumerate(reversed(worst.context)))
            expected = law.reach[len(worst.context)][place] * target.row(worst.context)[worst.token]
            gap = law.balance(tables[0])[len(worst.context)][place, worst.token]
            assert worst.expected == as_python(expected)
            assert worst.expected - worst.found == as_python(gap)
            assert worst.deviation == found.max_deviation
    assert lossy >= 5, "too few of the pairs show the bias"


def test_a_state_that_is_never_reached_does_not_make_a_verifier_lossy_nor_the_search_long() -> None:
    rows = [["1/2", "1/2", 0], ["1/2", "1/2", 0], ["1/3", "1/3", "1/3"]]
    target = MarkovProcess(RATIONAL.vector(rows), (0,))
    draft = MarkovProcess(RATIONAL.vector([*rows[:2], ["1/6", "1/6", "2/3"]]), (0,))
    found = CollapsedTopDown(make("ensemble"), MarkovRows(target, draft)).metrics(Delayed(1, 0, 60))
    assert (found.max_deviation, found.total_variation) == (0, 0)
    from_there = CollapsedTopDown(make("ensemble"), MarkovRows(target.starting_at((2,)), draft.starting_at((2,))))
    assert from_there.metrics(Delayed(1, 0, 60)).max_deviation > 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("block", "its weight depends on the whole path"),
        ("gbv", "its weight depends on the whole path"),
        ("traversal", "its weight depends on the whole path"),
        ("typical", "it offers no structured evaluation"),
    ],
)
def test_verifiers_that_do_not_collapse_are_told_why(name: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} does not collapse to the states of a Markov process: {why}"):
        CollapsedTopDown(make(name), MarkovRows(*pair(2, (1, 1))))


def after_block(law: Any, start: int, size: int, states: int) -> tuple[list[Any], Any]:
    """Law of the state after a block, and `E[tau + 1]`, read off the block law context by context."""
    ends, mean = [fmpq(0)] * states, fmpq(0)
    for depth, masses in enumerate(law.correction):
        for (row, token), mass in np.ndenumerate(masses):
            state = start
            for each in (*context_at(row, depth, size), token):
                state = (state * size + each) % states
            ends[state] += mass
            mean += (depth + 1) * mass
    return ends, mean


def chain(name: str, size: int, order: int, scheme: Delayed) -> tuple[list[list[Any]], list[Any]]:
    """The chain of block starts, from the enumerated block law after every state."""
    rows, means = [], []
    for start in range(size**order):
        root = context_at(start, order, size)
        target, draft = (tabulate(each, scheme.depth, RATIONAL) for each in pair(size, (order, order), root=root))
        ends, mean = after_block(enumerate_law(make(name), target, draft, scheme), start, size, size**order)
        rows.append(ends)
        means.append(mean)
    return rows, means


def long_run(name: str, rows: MarkovRows, scheme: Delayed) -> SteadyState:
    """By states where the verifier collapses, else by block laws."""
    if name in ("block", "traversal"):
        return steady_by_laws(make(name), rows, scheme)
    return steady_by_states(CollapsedTopDown(make(name), rows), scheme)


def steady(name: str, size: int, order: int, scheme: Delayed, arithmetic: Any = RATIONAL) -> SteadyState:
    target, draft = (each.converted(arithmetic) for each in pair(size, (order, order), root=(0,) * order))
    return long_run(name, MarkovRows(target, draft), scheme)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["specinfer", "naive", "ensemble", "block", "traversal"])
def test_steady_state_is_stationary_for_the_chain_of_enumerated_blocks(name: str, order: int) -> None:
    for scheme in (Delayed(1, 0, 1), Delayed(2, 1, 1), Delayed(2, 0, 2)):
        rows, means = chain(name, 2, order, scheme)
        found = steady(name, 2, order, scheme)
        starts = list(found.starts)
        assert sum(starts) == 1
        assert all(type(value) is fmpq and value >= 0 for value in starts)
        assert [
            sum(start * row[state] for start, row in zip(starts, rows, strict=True)) for state in range(2**order)
        ] == starts
        assert found.efficiency == as_python(sum(start * mean for start, mean in zip(starts, means, strict=True)))
        assert as_python(min(means)) <= found.efficiency <= as_python(max(means))


@pytest.mark.parametrize("name", ["specinfer", "naive"])
def test_pushing_forward_ends_where_the_matrix_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = steady(name, 3, 2, Delayed(2, 1, 1))
    monkeypatch.setattr(steady_module, "MATRIX_STATES", 8)
    found = steady(name, 3, 2, Delayed(2, 1, 1), FLOAT64)
    # It stops once a step moves less than 1e-13; what is left of a chain that mixes in a few blocks is about as much.
    assert found.efficiency == pytest.approx(float(exact.efficiency), abs=1e-9)
    assert found.starts == pytest.approx(exact.starts.astype(float), abs=1e-9)
    with pytest.raises(TooLarge, match="9 exact states are too many to solve; use arithmetic float64"):
        steady(name, 3, 2, Delayed(2, 1, 1))


@pytest.mark.parametrize("numbers", [RATIONAL, FLOAT64], ids=lambda numbers: numbers.name)
def test_a_chain_that_never_forgets_its_root_has_no_steady_state(numbers: Any) -> None:
    stuck = MarkovProcess(RATIONAL.vector([[1, 0], [0, 1]]), (0,)).converted(numbers)
    for name in ("specinfer", "block"):
        with pytest.raises(InvalidInput, match="depend on the root: there is no one steady state"):
            long_run(name, MarkovRows(stuck, stuck), Delayed(2, 0, 1))
