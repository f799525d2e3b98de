"""Joint verification of a layer: lossless for every race, and the equalised one is the best of them."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from simulator import Delayed, Instance, TableProcess, block_law, check
from simulator.arithmetic import FLOAT64
from simulator.coins import outcomes
from simulator.drafts.trees import DraftTree
from simulator.instances.families import FAMILIES
from simulator.verdicts.cases import case_instances, conformance_instances
from verifiers import make
from verifiers._equalised import AIM, STEADY, equal_blocks, equalised
from verifiers._layer_classes import _met, _met_mass
from verifiers._layers import Scored
from verifiers._race import Race, exact_law, race_law
from verifiers._ratio_classes import by_classes
from verifiers.layer_transport import LayerTransport, _class_race, law_of
from verifiers.layer_verification import RULES

SHAPES = ((2, 3, 0, 2), (3, 2, 0, 2), (2, 2, 1, 2), (3, 3, 0, 1), (2, 2, 0, 3))
#: The shapes of the long check, (V, K, L1, L2).
MANY = ((2, 2, 0, 3), (2, 3, 0, 2), (2, 4, 0, 2), (3, 2, 0, 2), (3, 3, 0, 2), (4, 2, 0, 2), (3, 2, 1, 2), (2, 3, 1, 2))
#: Sums of a few products of numbers of at most 1, and the error of the integral.
ROUNDING = 1e-11


class RandomRace(LayerTransport):
    """Any blocks and any whole weights, zeros included: a function of the layer, as far from the best as may be."""

    def __init__(self, seed: int) -> None:
        object.__setattr__(self, "seed", seed)

    def raced(self, owed, draft, branches):
        digest = [round(float(value) * 1e6) for value in (*owed.tolist(), *draft.tolist())]
        generator = np.random.default_rng((self.seed, *digest, *branches))
        shape = (len(branches), len(owed) // len(branches))
        blocks, weights = generator.integers(0, 3, shape), generator.integers(0, 6, shape)
        race = Race(blocks, weights, *(int(number) for number in generator.integers(0, 4, 2)))
        return race, law_of(race, draft, branches)


def as_a_node(race: Race) -> Race:
    """The same race of one layer, where nobody is a node of its own, whose one token is always drafted."""
    blocks, weights = (np.concatenate([part, np.zeros_like(part[:1])]) for part in (race.blocks, race.weights))
    blocks[-1, 0], weights[-1, 0] = race.last, race.nobody
    return Race(*(np.array([part]) for part in (blocks, weights, 0, 0)))


def layers(n: int, J: int, count: int, seed: int):
    """Random layers: what is owed, and draft masses, of shape `(count, n, J)`; some entries are zero."""
    generator = np.random.default_rng((seed, n, J))
    scores = generator.dirichlet(np.ones(n), count) * generator.random((count, 1))
    owed, draft = (generator.dirichlet(np.full(J, 0.7), (count, n)) for _ in range(2))
    owed[:, 0, 0] *= generator.random(count) > 0.2
    return scores[:, :, None] * owed, draft


def largest_step(owed, draft, branches) -> float:
    """`min over S of t(not S) + f(S)`, over all sets of pairs: what any transport of the layer can reach."""
    n, J = owed.shape
    best = np.inf
    for chosen in product((False, True), repeat=n * J):
        inside = np.array(chosen).reshape(n, J)
        missed = ((1 - (draft * inside).sum(axis=1)) ** np.array(branches)).prod()
        best = min(best, (owed * ~inside).sum() + 1 - missed)
    return float(best)


def random_races_are_lossless(shape, count: int) -> int:
    refused = 0
    for number, instance in enumerate(conformance_instances(shape, count)):
        for verifier in (RandomRace(number), make("layer_transport")):
            found = check(verifier, instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate")
            assert found.max_deviation == 0
            refused += isinstance(verifier, RandomRace)
    return refused


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_race_is_lossless(shape):
    assert random_races_are_lossless(shape, 5) == 5


@pytest.mark.heavy
@pytest.mark.parametrize("shape", MANY, ids=str)
def test_many_random_races_are_lossless(shape):
    assert random_races_are_lossless(shape, 200) == 200


def test_a_law_that_is_not_the_one_of_the_race_is_refuted():
    class Wrong(RandomRace):
        def raced(self, owed, draft, branches):
            race, law = super().raced(owed, draft, branches)
            return race, law[::-1].copy()

    found = [
        check(Wrong(number), instance.target, instance.draft, Delayed(2, 0, 2), engine="enumerate")
        for number, instance in enumerate(conformance_instances((3, 2, 0, 2), 5))
    ]
    assert any(not one.lossless for one in found)


@pytest.mark.parametrize("branches", [(4,), (2, 1), (1, 1, 1), (2, 2)], ids=str)
def test_the_law_of_a_race_by_sums_and_by_the_integral(branches):
    owed, draft = layers(len(branches), 3, 20, 0)
    race = equalised(owed, draft, branches)
    by_integral = race_law(race, draft, branches)
    for one, masses, law in zip(race.layers(), draft, by_integral, strict=True):
        assert np.allclose(exact_law(one, masses.tolist(), branches), law, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("branches", [(3,), (1, 2), (1, 1, 1)], ids=str)
def test_the_closed_form_gets_as_far_as_any_transport_of_the_layer(branches):
    owed, draft = layers(len(branches), 4 if len(branches) < 3 else 3, 25, 1)
    law = race_law(equalised(owed, draft, branches, rounds=200), draft, branches)
    for t, q, r in zip(owed, draft, law, strict=True):
        most = largest_step(t, q, branches)
        assert most - 1e-4 <= np.minimum(t, r).sum() <= most + ROUNDING  # weights keep a few bits


def equalised_by_a_solver(owed, draft, branches):
    """The base `r` of `f` with the least `sum r^2 / t`, shape of `owed`: the program as it stands in the theorem."""
    cvxpy = pytest.importorskip("cvxpy")
    n, J = owed.shape
    r = cvxpy.Variable(n * J, nonneg=True)
    bounds = []
    for chosen in product((False, True), repeat=n * J):
        inside = np.array(chosen).reshape(n, J)
        met = 1 - ((1 - (draft * inside).sum(axis=1)) ** np.array(branches)).prod()
        bounds.append(np.array(chosen, dtype=float) @ r <= met if not all(chosen) else cvxpy.sum(r) == met)
    cost = cvxpy.sum(cvxpy.multiply(1 / owed.reshape(-1), cvxpy.square(r)))
    cvxpy.Problem(cvxpy.Minimize(cost), bounds).solve(solver=cvxpy.CLARABEL)
    return r.value.reshape(owed.shape)


@pytest.mark.parametrize("branches", [(2,), (4,), (1, 2), (2, 2), (1, 1, 1)], ids=str)
def test_the_closed_form_is_the_least_of_the_convex_program(branches):
    n, J = len(branches), 4 if len(branches) == 1 else 2
    generator = np.random.default_rng((n, *branches))
    owed = generator.dirichlet(np.ones(n), 3)[:, :, None] * generator.dirichlet(np.ones(J), (3, n))
    draft = generator.dirichlet(np.ones(J), (3, n))
    chain = equal_blocks(owed, draft, branches)
    for t, q, order, blocks in zip(owed, draft, chain.order, chain.blocks, strict=True):
        law, before, inside = np.zeros(n * J), 0.0, np.zeros((n, J))
        for block in np.unique(blocks):
            places = order[blocks == block]
            inside.reshape(-1)[places] = 1
            met = 1 - ((1 - (q * inside).sum(axis=1)) ** np.array(branches)).prod()
            law[places] = t.reshape(-1)[places] * (met - before) / t.reshape(-1)[places].sum()
            before = met
        solved = equalised_by_a_solver(t, q, branches)
        assert np.allclose(law.reshape(n, J), solved, rtol=0, atol=1e-5)  # the accuracy of the solver in r


def test_blocks_hold_what_the_law_of_a_block_needs():
    owed, draft = layers(2, 4, 50, 2)
    chain = equal_blocks(owed, draft, (1, 2))
    law = np.take_along_axis(
        race_law(equalised(owed, draft, (1, 2)), draft, (1, 2)).reshape(50, -1), chain.order, axis=1
    )
    for blocks, t, r, valid in zip(chain.blocks, chain.owed, law, chain.valid, strict=True):
        levels = np.array([r[blocks == b].sum() / t[blocks == b].sum() for b in np.unique(blocks[valid])])
        tight = levels < 1
        assert list(levels[tight]) == sorted(levels[tight])
        assert (levels[tight.sum() :] >= 1).all()  # as aimed at: a little more than is owed, and not much
        assert (levels <= AIM + 4 * STEADY).all()


@pytest.mark.parametrize("rule", RULES)
def test_layer_verification_is_lossless_with_every_rule(rule):
    for shape in SHAPES[:3]:
        for instance in conformance_instances(shape, 4):
            verifier = make("layer_verification", rule=rule)
            found = check(verifier, instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate")
            assert found.max_deviation == 0


def test_layer_transport_equals_optimal_transport_at_one_step():
    for shape in ((3, 3, 0, 1), (2, 4, 0, 1), (4, 2, 0, 1)):
        for instance in conformance_instances(shape, 8):
            ours, best = (
                check(make(name), instance.target, instance.draft, Delayed(*shape[1:]), "float64").block_efficiency
                for name in ("layer_transport", "optimal_transport")
            )
            assert best - 2e-4 <= ours <= best + ROUNDING


@pytest.mark.parametrize("shape", SHAPES[:4], ids=str)
def test_the_structured_law_is_the_enumerated_one(shape):
    for instance in case_instances((shape[0], Delayed(*shape[1:])), 3):
        laws = [
            block_law(make("layer_transport"), instance.target, instance.draft, Delayed(*shape[1:]), "rational", engine)
            for engine in ("enumerate", "structured")
        ]
        for ours, theirs in zip(laws[0].correction, laws[1].correction, strict=True):
            assert (ours == theirs).all()


def test_the_law_of_classes_sums_to_one_in_floats():
    generator = np.random.default_rng(3)
    for branches in ((4,), (1, 1, 1, 1), (1, 3)):
        nodes = [by_classes(*generator.dirichlet(np.full(40_000, 0.2), 2)) for _ in branches]
        score = 1 / len(branches)
        owed, draft = (np.concatenate([getattr(node, side) for node in nodes]) for side in "pq")
        race, law = _class_race(score * owed, draft, branches)
        alone = as_a_node(race)
        masses = np.concatenate([draft.reshape(len(branches), -1), np.eye(1, len(nodes[0].q))])[None]
        every = race_law(alone, masses, (*branches, 1))
        assert every.sum() == pytest.approx(1, abs=ROUNDING)
        assert np.allclose(every[0, :-1].reshape(-1), law, rtol=0, atol=ROUNDING)


def test_it_beats_the_others_on_one_instance_of_every_family():
    for family in ("dirichlet", "perturbed", "temperature"):
        instance: Instance = FAMILIES[family].instance(3, 3, np.random.default_rng(1), 2**16)
        efficiency = {
            name: check(make(name), instance.target, instance.draft, Delayed(3, 0, 3), "float64").block_efficiency
            for name in ("layer_transport", "path_transport", "traversal", "specinfer", "khisti")
        }
        assert max(efficiency, key=efficiency.__getitem__) == "layer_transport"


class TokensAlone(LayerTransport):
    """A weight for every token at any vocabulary size."""

    most_tokens = 1000


class InClasses(LayerTransport):
    """Classes of tokens at any vocabulary size."""

    most_tokens = 0


def test_classes_of_tokens_are_lossless_in_rationals():
    for shape in SHAPES[:2]:
        for instance in case_instances((shape[0], Delayed(*shape[1:])), 2):
            found = check(InClasses(), instance.target, instance.draft, Delayed(*shape[1:]), engine="enumerate")
            assert found.max_deviation == 0


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_classes_of_tokens_have_the_structure_that_runs(shape: tuple[int, ...]) -> None:
    """Another one than that of tokens: a proof by structure is about what runs at that vocabulary."""
    scheme, differ = Delayed(*shape[1:]), 0
    for instance in case_instances((shape[0], scheme), 2):
        enumerated, structured = (
            block_law(InClasses(), instance.target, instance.draft, scheme, engine=engine)
            for engine in ("enumerate", "structured")
        )
        for ours, theirs in zip(enumerated.correction, structured.correction, strict=True):
            assert (ours == theirs).all()
        by_tokens = block_law(make("layer_transport"), instance.target, instance.draft, scheme)
        differ += by_tokens.block_efficiency > structured.block_efficiency
    assert differ


def test_a_long_vocabulary_goes_by_classes_in_its_structure() -> None:
    """Two ratios in one class: what is owed 2.9 times its draft mass gets no more than what is owed 2.04 times."""
    size, k = 35, 2
    ratios = np.where(np.arange(size) % 5 == 0, 2.05, np.where(np.arange(size) % 5 == 1, 2.95, 0.01))
    q = np.full(size, 1 / size)
    p = q * ratios / (q * ratios).sum()
    target, draft = TableProcess([p[None], np.tile(p, (size, 1))]), TableProcess([q[None]])
    structured = block_law(make("layer_transport"), target, draft, Delayed(k, 0, 1), "float64")
    passed, known = 0.0, {}
    for first, second in product(range(size), repeat=k):
        kind = first % 5, second % 5, first == second
        if kind not in known:
            root = DraftTree.from_paths((), [(first,), (second,)]).root(target, draft)
            known[kind] = sum(map(float, make("layer_transport").step([Scored(root, 1.0)]).scores.values()))
        passed += known[kind] / size**k
    assert structured.block_efficiency == pytest.approx(1 + passed, abs=ROUNDING)
    by_tokens = TokensAlone()
    assert block_law(by_tokens, target, draft, Delayed(k, 0, 1), "float64").block_efficiency > 1 + passed + 1e-5


@pytest.mark.parametrize("kind", ["float64", "float32", "torch", "torch half"])
def test_classes_are_ordered_by_ratio_and_hold_the_sums_of_their_tokens(kind):
    generator = np.random.default_rng(0)
    p, q = (generator.dirichlet(np.full(5000, 0.1)) for _ in range(2))
    if kind.startswith("torch"):
        torch = pytest.importorskip("torch")
        rows = [torch.tensor(row, dtype=torch.float16 if kind.endswith("half") else torch.float64) for row in (p, q)]
        p, q = (row.double().numpy() for row in rows)
    else:
        rows = [row.astype(kind) for row in (p, q)]
        p, q = (row.astype(np.float64) for row in rows)
    node = by_classes(*rows)
    place, drafted = np.asarray(node.place), q > 0
    by_ratio = np.argsort(p[drafted] / q[drafted], kind="stable")
    assert (np.diff(place[drafted][by_ratio]) >= 0).all()
    for j in range(len(node.p)):
        assert node.p[j] == pytest.approx(p[place == j].sum(), abs=ROUNDING)
        assert node.q[j] == pytest.approx(q[place == j].sum(), abs=ROUNDING)


@pytest.mark.parametrize("tensors", [False, True])
def test_what_is_met_is_the_smaller_of_owed_and_law(tensors):
    generator = np.random.default_rng(1)
    p, q = (generator.dirichlet(np.full(5000, 0.1)) for _ in range(2))
    rows = [pytest.importorskip("torch").tensor(row) for row in (p, q)] if tensors else [p, q]
    node = by_classes(*rows)
    rho = generator.random(len(node.q)) * 0.8
    scored = Scored(SimpleNamespace(target=rows[0], draft=rows[1]), 0.4)
    wanted = [min(0.4 * p[y], q[y] * rho[int(node.place[y])]) for y in range(len(p))]
    assert np.allclose(np.asarray(_met(scored, node, rho)), wanted, rtol=0, atol=ROUNDING)
    assert float(_met_mass(scored, node, rho)) == pytest.approx(sum(wanted), abs=ROUNDING)


@pytest.mark.parametrize("size", [3, 36])
def test_torch_rows_give_the_law_of_numpy_rows(size):
    torch = pytest.importorskip("torch")
    instance = FAMILIES["dirichlet"].instance(size, 2, np.random.default_rng(4), 2**16)
    floats = Instance.of(instance.target, instance.draft, 2, FLOAT64)
    children = {(): (0, 1, 1), (0,): (1,), (1,): (0, 2)}

    def verdicts(rows) -> dict:
        processes = (TableProcess([rows(t) for t in side.tables]) for side in (floats.target, floats.draft))
        root = DraftTree(children).root(*processes)
        law = {}
        for verdict, mass in outcomes(lambda coin: make("layer_transport").verify(root, coin), FLOAT64):
            law[verdict] = law.get(verdict, 0.0) + float(mass)
        return law

    ours, theirs = verdicts(lambda table: table), verdicts(torch.tensor)
    assert ours.keys() == theirs.keys()
    assert len(ours) >= size
    assert all(abs(ours[verdict] - theirs[verdict]) <= ROUNDING for verdict in ours)
