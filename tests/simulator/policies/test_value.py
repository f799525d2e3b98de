"""The value of a policy: tables against enumerated laws, rates against long runs, the best against all others."""

from bisect import bisect
from fractions import Fraction

import numpy as np
import pytest

from draftproof import verifiers
from draftproof.simulator import Delayed, InvalidInput, TooLarge, block_law, check
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL, as_python
from draftproof.simulator.drafts import TopK
from draftproof.simulator.instances.processes import MarkovProcess, context_at, context_index, rationalise
from draftproof.simulator.laws.structured.steady import steady_by_laws
from draftproof.simulator.policies.markov_pair import MarkovPair
from draftproof.simulator.policies.optimal import best_block, best_ratio, best_static, exhaustive, policy_iteration
from draftproof.simulator.policies.policy import Action, ByState, Known, entropy, floats
from draftproof.simulator.policies.value import static_values, value

SHAPES = (Delayed(1, 0, 0), Delayed(1, 0, 1), Delayed(1, 0, 3), Delayed(2, 0, 1), Delayed(2, 1, 1), Delayed(3, 0, 2))


def markov(size: int, order: int, seed: int, denominator: int = 20, name: str = "target") -> MarkovProcess:
    rows = np.random.default_rng(seed).dirichlet(np.ones(size), size=size**order)
    return MarkovProcess(rationalise(rows * 0.9 + 0.1 / size, denominator), (0,) * order, name)


def world(size: int = 2, orders: tuple[int, int] = (1, 1), seed: int = 0, before: bool = False) -> MarkovPair:
    return MarkovPair.of(markov(size, orders[0], seed), markov(size, orders[1], seed + 50, name="draft"), before)


def actions(name: str, schemes=SHAPES) -> tuple[Action, ...]:
    return tuple(Action(scheme, verifiers.make(name)) for scheme in schemes)


def time(action: Action) -> Fraction:
    """Draft passes cost 1, the target pass 4, a drafted token 1/10."""
    return Fraction(4) + action.scheme.depth + Fraction(action.scheme.nodes, 10)


@pytest.mark.parametrize("name", ["specinfer", "traversal", "block", "layer_transport", "sequoia"])
@pytest.mark.parametrize("before", [False, True])
def test_tables_are_the_laws_of_blocks(name, before):
    """Ends and means of every action from every history, against the block law that `block_law` enumerates."""
    some = actions(name, (Delayed(1, 0, 2), Delayed(2, 1, 1), Delayed(2, 0, 1)))
    if name == "sequoia":
        some = actions(name, (TopK(2, 0, 1), Delayed(2, 0, 1)))
    place = world(orders=(2, 1), before=before)
    tables = place.tables(some, time)
    for number, action in enumerate(some):
        for history in range(place.histories):
            law = block_law(action.verifier, *place.processes(history), action.scheme, engine="enumerate")
            ends = [Fraction(0)] * place.states
            for (accepted, token), mass in law.as_dict().items():
                tokens = (*context_at(history, place.order, 2), *accepted, token)
                ends[context_index(tokens[len(tokens) - place.window :], 2)] += mass
            assert [as_python(mass) for mass in tables.ends[number, history]] == ends
            assert as_python(tables.tokens[number, history]) == law.block_efficiency
    assert tables.moves.shape == (len(some), 4, 4)
    assert (tables.moves.sum(-1) == 1).all()


@pytest.mark.parametrize("name", ["specinfer", "traversal"])
def test_a_static_policy_has_the_steady_state_of_its_shape(name):
    place = world(3, seed=2)
    tables = place.tables(actions(name), time)
    for found, action in zip(static_values(tables), tables.actions, strict=True):
        wanted = steady_by_laws(action.verifier, place.rows, action.scheme)
        assert found.tokens == wanted.efficiency
        assert found.rate == wanted.efficiency / time(action)
        assert (found.starts == wanted.starts).all()


def test_policy_iteration_is_exhaustive_search():
    """Worlds with up to 4 states and 6 actions, in rationals: the same rate, number for number."""
    differ = 0
    for size, orders, name, seed in (
        *((2, (1, 1), "specinfer", seed) for seed in range(4)),
        *((2, (1, 0), "traversal", seed) for seed in range(2)),
        (3, (1, 1), "block", 7),
        (3, (1, 1), "specinfer", 8),
        (2, (2, 1), "specinfer", 9),
    ):
        place, chosen = world(size, orders, seed), actions(name)
        tables = place.tables([chosen[i] for i in (0, 1, 3, 4)] if place.histories == 4 else chosen, time)
        found = policy_iteration(tables)
        _, rate = exhaustive(tables)
        assert as_python(found.gain) == rate == value(tables, found.choice).rate
        assert max(found.advantages.ravel()) == 0
        differ += found.steps > 0
    assert differ >= 3  # else the start was the answer all along


def test_nothing_is_above_policy_iteration():
    """Random tables by state, those that look one token further back included."""
    place = world(3, (1, 1), 11, before=True)
    tables = place.tables(actions("specinfer"), time)
    best = as_python(policy_iteration(tables).gain)
    generator = np.random.default_rng(0)
    tried = [generator.integers(0, len(SHAPES), place.states) for _ in range(60)]
    tried += [best_static(tables), best_ratio(tables), best_block(tables)]
    values = [value(tables, choice).rate for choice in tried]
    assert max(values) <= best
    assert len(set(values)) > 50
    assert values[-3] <= values[-1]  # looking one block ahead at the going rate beats the best static action here


def test_floats_are_the_exact_numbers_rounded():
    place = world(3, (1, 1), 5)
    exact = place.tables(actions("specinfer"), time)
    rounded = place.converted(FLOAT64).tables(actions("specinfer"), time)
    one, other = policy_iteration(exact), policy_iteration(rounded)
    assert (one.choice == other.choice).all()
    assert float(as_python(one.gain)) == pytest.approx(other.gain, rel=1e-12)


def test_overhead_is_time_of_every_block():
    tables = world().tables(actions("naive"), time)
    free, slow = (value(tables, [2, 2], overhead=overhead) for overhead in (0, Fraction(1, 2)))
    assert slow.time == free.time + Fraction(1, 2)
    assert slow.tokens == free.tokens
    doubled = tables.at_times(lambda action: 2 * time(action))
    assert value(doubled, [2, 2]).rate == free.rate / 2


def by_entropy(low: Action, high: Action):
    """One action where the draft's row at the root has at most 0.6 nats of entropy, another above."""

    def policy(known: Known) -> Action:
        return high if entropy(floats(known.draft_root)) >= 0.6 else low

    return policy


def test_a_policy_becomes_a_choice_by_state():
    place = world(2, (1, 1), 0, before=True)
    some = actions("naive")
    assert (place.choices(lambda known: some[3], some) == 3).all()
    table = ByState(some, (0, 5, 1, 2), 2, 2)
    assert place.choices(table, some).tolist() == [0, 5, 1, 2]
    rows = [place.known(state).draft_root for state in range(4)]
    assert [row.tolist() for row in rows[:2]] == [row.tolist() for row in rows[2:]]
    assert place.known(1).context == (0, 1)
    assert (place.known(2).target_before == place.target.starting_at((1,)).row(())).all()
    chosen = place.choices(by_entropy(some[0], some[4]), some)
    assert set(chosen.tolist()) <= {0, 4}
    with pytest.raises(InvalidInput, match="which is none of its 6"):
        place.choices(lambda known: Action(Delayed(1, 0, 4), some[0].verifier), some)
    flip = iter(range(1000))
    with pytest.raises(InvalidInput, match="must be a function"):
        place.choices(lambda known: some[next(flip) // 8 % 2], some)


def test_worlds_that_cannot_be_are_refused():
    with pytest.raises(InvalidInput, match="window 3 does not fit order 1"):
        MarkovPair(markov(2, 1, 0), markov(2, 1, 1), 3)
    with pytest.raises(InvalidInput, match="one vocabulary"):
        MarkovPair.of(markov(2, 1, 0), markov(3, 1, 1))
    big = MarkovProcess(np.full((20**3, 20), 0.05), (0, 0, 0))
    with pytest.raises(TooLarge, match="GiB, more than 4; take fewer shapes"):
        MarkovPair.of(big, big).tables(actions("naive"), time)
    with pytest.raises(TooLarge, match="policies are too many to try"):
        exhaustive(world(3, (2, 1)).tables(actions("naive"), time))
    turning = MarkovProcess(RATIONAL.vector([[0, 1], [1, 0]]), (0,))
    fixed = MarkovPair.of(turning, turning, False).tables(actions("naive", (Delayed(1, 0, 1),)), time)
    with pytest.raises(InvalidInput, match="there is no single long-run rate"):
        static_values(fixed)


def test_what_a_block_is_worth_is_not_the_best_for_the_long_run():
    """Where the two differ, by search over small worlds."""
    worse = 0
    for seed in range(12):
        tables = world(2, (1, 1), seed).tables(actions("specinfer"), time)
        best = as_python(policy_iteration(tables).gain)
        greedy = [value(tables, choice(tables)).rate for choice in (best_ratio, best_block)]
        assert max(greedy) <= best
        worse += min(greedy) < best
    assert worse


CHECKED = ("static", "entropy", "ratio", "block", "best", *(f"random {n}" for n in range(5)))


def policy_named(name: str):
    """MarkovPair, actions and choice of one of the ten."""
    verifier = dict(zip(CHECKED, ("specinfer", "traversal", "block", "naive", "specinfer") * 2, strict=True))[name]
    place = world(2, (1, 1), 3, before=True)
    some = actions(verifier)
    exact = place.tables(some, time)
    number = CHECKED.index(name)
    choice = {
        "static": lambda: best_static(exact),
        "entropy": lambda: place.choices(by_entropy(some[0], some[4]), some),
        "ratio": lambda: best_ratio(exact),
        "block": lambda: best_block(exact),
        "best": lambda: policy_iteration(exact).choice,
    }.get(name, lambda: np.random.default_rng(number).integers(0, len(some), place.states))()
    return place, some, choice


def rate_and_error(counts: list[int], spent: list[float]) -> tuple[float, float]:
    """Tokens per time of a run, and its standard error by the delta method over a hundred batches of blocks."""
    tokens, times = np.array(counts), np.array(spent)
    rate = tokens.sum() / times.sum()
    length = len(tokens) // 100
    parts = (tokens - rate * times)[: 100 * length].reshape(100, length).mean(1)
    return float(rate), float(parts.std(ddof=1) / 10 / times.mean())


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        *((name, 20_000) for name in CHECKED),
        *(pytest.param(name, 1_000_000, marks=pytest.mark.heavy) for name in CHECKED),
    ],
)
def test_blocks_drawn_from_enumerated_laws_bring_what_is_computed(name, blocks):
    """A run in which every block is one draw from the law that the ground truth enumerates, tree by tree."""
    place, some, choice = policy_named(name)
    wanted = value(place.tables(some, time), choice)
    generator = np.random.default_rng(CHECKED.index(name) + 100)
    laws: dict[tuple[int, int], tuple[list[float], list[tuple[int, ...]]]] = {}
    uniforms, state = generator.random(blocks).tolist(), (0,) * place.window
    counts, spent, times = [], [], [float(time(each)) for each in some]
    for uniform in uniforms:
        position = context_index(state, 2)
        key = position % place.histories, int(choice[position])
        if key not in laws:
            action = some[key[1]]
            law = block_law(action.verifier, *place.processes(key[0]), action.scheme, engine="enumerate").as_dict()
            laws[key] = (np.cumsum([float(mass) for mass in law.values()]).tolist(), [(*c, y) for c, y in law])
        reached, outputs = laws[key]
        tokens = outputs[min(bisect(reached, uniform), len(outputs) - 1)]
        counts.append(len(tokens))
        spent.append(times[key[1]])
        state = (*state, *tokens)[-place.window :]
    rate, error = rate_and_error(counts, spent)
    assert abs(rate - float(wanted.rate)) <= 4 * error
    assert 0 < error < 0.01 * rate * (10**6 / blocks) ** 0.5


def test_every_action_of_a_world_is_lossless_from_every_state():
    """What makes any choice among them lossless."""
    place = world(2, (1, 1), 3)
    for action in actions("specinfer"):
        for history in range(place.histories):
            assert check(action.verifier, *place.processes(history), action.scheme).max_deviation == 0
