"""The validation of a pair: it passes as it is, and each planted fault is found by the part made for it."""

import re
from dataclasses import replace

import pytest
import torch

from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import planned_scheme
from draftproof.experiments.models.loop import reading
from draftproof.experiments.models.loop.caches import ModelCache
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.loop.setting import setting
from draftproof.experiments.models.measure.verifiers import measured_verifiers
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.experiments.models.validate import cells, checks, run, views
from draftproof.experiments.models.validate.cells import Effort, cell_key
from draftproof.experiments.models.validate.run import Report, Validation
from draftproof.simulator import Card, Delayed, InvalidInput, Verdict, check
from draftproof.simulator.drafts import DySpec, Eagle2, Sequoia, SpecHub
from draftproof.simulator.instances.exact import exact_instance
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make

NAMES = ("naive", "specinfer", "traversal", "gbv")
SHAPES = (Delayed(1, 0, 2), Delayed(2, 0, 2), Delayed(2, 1, 1))
BIASES = [("naive", "naive_from_target", False), ("naive", "ensemble:w=1/4", True), ("gbv", "block_by_weights", True)]


class Eager:
    """Accepts the first draft whatever it is."""

    card = Card(name="eager", title="", source=None, needs=None)

    def verify(self, root, coin):
        node = root.child(root.children[0])
        return Verdict(node.context, coin.choose(node.target))


def validation_of(pair, roots=2, names=NAMES, **replaced):
    text = pair.encode(read_text(EMBEDDED)[100_000:110_000])
    made = setting(pair, Sampling(), roots_of(text, roots, 8), seed=0)
    playing = measured_verifiers(
        [find_verifier(name) for name in names], {k: find_verifier(v) for k, v in replaced.items()}
    )
    return Validation(made, tuple(playing), SHAPES, Effort(goal=0.04, least=1), greedy=40)


@pytest.fixture(scope="module")
def validation(tiny_pair):
    return validation_of(tiny_pair)


@pytest.mark.heavy
def test_every_cell_and_the_whole_table_are_as_predicted(validation):
    rows = run.cell_rows(validation, Store(None))
    table = run.table_fields(rows)
    assert len(rows) == table["cells"] == len(NAMES) * len(SHAPES)
    assert table["passed"]
    assert table["largest_z"] < 4
    assert 0.035 < table["largest_error"] <= 0.04
    assert table["means"]["freedom"] == len(rows)
    assert 1e-3 < table["means"]["probability"] < 1 - 1e-3
    assert 1e-3 < table["outcomes"]["probability"] < 1 - 1e-3
    for row in rows:
        assert sum(row["depths_measured"]) == pytest.approx(1)
        assert row["measured"] == pytest.approx(sum((d + 1) * m for d, m in enumerate(row["depths_measured"])))
        assert row["versions"]["torch"] == torch.__version__
    assert len({row["strong_id"] for row in rows}) == len(rows)


def test_the_verdict_of_a_cell_is_that_of_an_exact_check(tiny_pair):
    scheme = Delayed(2, 0, 1)
    validation = replace(validation_of(tiny_pair, naive="ensemble:w=1/4"), schemes=(scheme,), effort=Effort(blocks=40))
    rows = run.cell_rows(validation, Store(None))
    assert {row["verdict"] for row in rows} == {"exact"}
    for row, each in zip(rows, validation.verifiers, strict=True):
        found = []
        for case in validation.setting.contexts.cases(1):
            exact = exact_instance(case.target, case.draft, 1)
            found.append(check(each.executed.verifier, exact.target, exact.draft, scheme, engine="enumerate"))
        assert row["lossless"] == all(each.lossless for each in found)
        if not row["lossless"]:
            assert row["max_deviation"] == pytest.approx(float(max(each.max_deviation for each in found)), rel=1e-12)
    assert [row["lossless"] for row in rows] == [False, True, True, True]
    shown = views.cells(rows, run.table_fields(rows)).records()
    assert [row["law"] for row in shown] == ["LOSSY", "exact", "exact", "exact"]


def test_a_lossy_cell_has_its_own_word(tiny_pair):
    lossy = replace(validation_of(tiny_pair, names=("typical", "naive")), schemes=SHAPES[:1])
    rows = run.cell_rows(replace(lossy, effort=Effort(blocks=40)), Store(None))
    table = run.table_fields(rows)
    assert not table["failed"]  # it runs as its own law says
    assert re.findall(r"\| (LOSSY|exact)", views.cells(rows, table).markdown()) == ["LOSSY", "exact"]
    assert views.outcome(table, []) == "lossy, as is known: typical (1 cell); the other 1 as predicted"


@pytest.mark.heavy
def test_a_cell_of_a_verifier_that_is_declared_lossy_is_lossy_where_its_law_is_not_known(random_pair):
    made = setting(random_pair(vocab=300), Sampling(), [(1, 2, 3)], seed=0)
    validation = Validation(made, tuple(measured_verifiers([find_verifier("typical")], {})), (Delayed(1, 0, 2),))
    (row,) = run.cell_rows(replace(validation, effort=Effort(blocks=20)), Store(None))
    assert (row["lossless"], row["verdict"], row["outcomes"]) == (False, "declared", None)
    table = run.table_fields([row])
    assert views.cells([row], table).records()[0]["law"] == "LOSSY"
    sound = {"passed": True}
    same = {"tree_attention": sound, "caches": sound}
    report = Report(validation, (), (), (), same, [row], {**table, "failed": []})
    assert report.failures[0].startswith("typical is declared lossy (--lossy typical")
    assert replace(report, known=["typical"]).failures == []


def test_a_verdict_that_takes_too_long_is_that_of_floats(tiny_pair, monkeypatch):
    monkeypatch.setattr(cells, "EXACT_SECONDS", 1e-6)
    validation = replace(validation_of(tiny_pair), schemes=SHAPES[:1], effort=Effort(blocks=40))
    rows = run.cell_rows(validation, Store(None))
    assert {(row["verdict"], row["lossless"]) for row in rows} == {("to rounding", True)}


def test_greedy_text_leaves_out_the_penalties_of_the_folder(tiny_pair):
    text, config = checks.greedy_text(tiny_pair, [1, 2, 3], 40), tiny_pair.target.generation_config
    config.repetition_penalty = 5.0
    try:
        assert checks.greedy_text(tiny_pair, [1, 2, 3], 40) == text
        assert tiny_pair.target.generation_config is config
    finally:
        config.repetition_penalty = None


def test_a_cell_of_little_variance_still_runs_enough_blocks_for_its_outcomes():
    assert Effort(goal=0.015).runs(variance=0.0, roots=4) == 250
    assert Effort(goal=0.015).runs(variance=9e-1, roots=4) == 1000
    assert Effort(blocks=7).runs(variance=9e-1, roots=4) == 2


@pytest.mark.heavy
@pytest.mark.parametrize(("claim", "liar", "moves_the_mean"), BIASES)
def test_a_planted_bias_fails_the_same_table(tiny_pair, claim, liar, moves_the_mean):
    validation = replace(validation_of(tiny_pair, **{claim: liar}), schemes=SHAPES[:1], effort=Effort(goal=0.03))
    rows = run.cell_rows(validation, Store(None))
    table = run.table_fields(rows)
    assert not table["passed"]
    assert [each["verifier"] for each in table["failed"]] == [f"{claim} (runs {liar})"]
    lying = next(row for row in rows if liar in row["verifier"])
    assert (abs(lying["z"]) > 4) == moves_the_mean
    assert lying["outcomes"]["probability"] < 1e-6
    assert abs(lying["own_law"]["z"]) < 4  # it runs as its own law says
    assert all(row["own_law"] is None for row in rows if row is not lying)


def test_rows_that_are_kept_are_not_run_again(validation, tmp_path, monkeypatch):
    path, short = str(tmp_path / "rows.db"), replace(validation, schemes=SHAPES[:1])
    first = run.cell_rows(short, Store(path))

    def never(*_):
        raise AssertionError("run again")

    monkeypatch.setattr(run, "measure", never)
    assert run.cell_rows(short, Store(path)) == first


def test_what_defines_a_cell_is_in_its_key(validation, exact_pair):
    each, scheme, effort = validation.verifiers[0], SHAPES[0], validation.effort
    lying = measured_verifiers([each.predicted], {"naive": find_verifier("ensemble")})[0]
    made = validation.setting
    keys = {
        cell_key(made, each, scheme, effort),
        cell_key(made, lying, scheme, effort),
        cell_key(made, each, SHAPES[1], effort),
        cell_key(made, each, scheme, Effort(blocks=7)),
        cell_key(replace(made, seed=1), each, scheme, effort),
        cell_key(replace(made, sampling=Sampling(0.5)), each, scheme, effort),
        cell_key(replace(made, root_set=replace(made.root_set, contexts=made.roots[:1])), each, scheme, effort),
        cell_key(replace(made, pair=exact_pair), each, scheme, effort),
        cell_key(replace(made, digest="other"), each, scheme, effort),
        cell_key(replace(made, vectors="torch"), each, scheme, effort),
    }
    assert len(keys) == 10


@pytest.mark.heavy
def test_what_must_be_the_same_is(validation):
    found = run.model_checks(validation)
    assert all(row["passed"] for row in found.values())
    assert run.TREES * 3 < found["tree_attention"]["compared"] <= run.TREES * 5  # paths may be alike
    assert 0 < found["tree_attention"]["largest"] < 1e-4  # float32: another order of sums, but not other sums
    assert found["greedy"] == {"tokens": 40, "runs": 12, "differ": [], "passed": True}
    assert len(views.checks(found).rows) == 3


def test_a_wrong_mask_is_found(validation, monkeypatch):
    def causal(sees, start, width):
        return torch.ones(len(sees), width, start + width, dtype=torch.bool).tril(start)

    monkeypatch.setattr(reading, "_attended", causal)
    loop, way = Loop(validation.setting.pair, Sampling()), (make("naive_tree"), Delayed(3, 0, 2))
    assert not checks.tree_attention(loop, *way, validation.setting.roots[0], 4, 0).passed


def test_a_wrong_cache_is_found(validation, monkeypatch):
    kept = ModelCache.kept

    def first_path(self, slots, places):
        return kept(self, slots, [range(len(each)) for each in places])

    loop, way = Loop(validation.setting.pair, Sampling()), (make("traversal"), Delayed(3, 0, 2))
    assert checks.caches(loop, *way, validation.setting.roots[0], 30, 0).passed
    monkeypatch.setattr(ModelCache, "kept", first_path)
    assert not checks.caches(loop, *way, validation.setting.roots[0], 30, 0).passed


@pytest.mark.heavy
def test_greedy_text_that_differs_is_named(random_pair):
    made = setting(random_pair(), Sampling(), [(1, 2, 3)], seed=0)
    lying = measured_verifiers([find_verifier("naive")], {"naive": NamedVerifier("eager", Eager())})
    validation = Validation(made, tuple(lying), (Delayed(2, 1, 2),), greedy=60)
    found = run.model_checks(validation)
    assert not found["greedy"]["passed"]
    assert {each["verifier"] for each in found["greedy"]["differ"]} == {"naive (runs eager)"}
    greedy = views.checks(found).records()[2]
    assert greedy["verdict"] == "DIFFERENT"
    assert greedy["differs"].startswith("naive (runs eager) (2, 1, 2) at token")


@pytest.mark.heavy
def test_large_vocabularies_are_predicted_by_sums_and_from_sampled_trees(random_pair):
    pair = random_pair(vocab=300)
    made = setting(pair, Sampling(), [(1, 2, 3), (250, 7, 9)], seed=0)
    playing = measured_verifiers([find_verifier("specinfer"), find_verifier("traversal")], {})
    validation = Validation(made, tuple(playing), (Delayed(2, 0, 2),), Effort(blocks=600), greedy=0)
    assert not validation.exact(validation.schemes[0])
    rows = run.cell_rows(validation, Store(None))
    assert run.table_fields(rows)["passed"]
    summed, row = rows
    assert (summed["prediction"], summed["predicted_error"]) == ("exact sums", 0)
    assert summed["outcomes"]["freedom"] == 4  # three depths after each of two roots
    assert sum(summed["depths_predicted"]) == pytest.approx(1)
    assert "exact sums, without tables: 1 cells; outcomes there are accepted depths" in views.table_lines(
        rows, run.table_fields(rows)
    )
    assert row["prediction"] == "600 sampled trees"
    assert 0 < row["predicted_error"] < row["total_error"]
    assert row["outcomes"] is None


@pytest.mark.heavy
def test_torch_vectors_are_as_predicted(tiny_pair):
    validation = validation_of(tiny_pair, names=("specinfer", "traversal"))
    validation = replace(validation, setting=replace(validation.setting, vectors="torch"), effort=Effort(blocks=400))
    rows = run.cell_rows(validation, Store(None))
    assert {row["vectors"] for row in rows} == {"torch"}
    assert run.table_fields(rows)["passed"]


def test_greedy_sampling_has_no_variance_and_still_compares(tiny_pair):
    greedy = validation_of(tiny_pair)
    greedy = replace(greedy, setting=replace(greedy.setting, sampling=Sampling(0)), schemes=SHAPES[:1])
    rows = run.cell_rows(greedy, Store(None))
    assert {(row["z"], row["total_error"]) for row in rows} == {(0.0, 0.0)}
    assert run.table_fields(rows)["passed"]


def test_a_replacement_of_nobody_is_refused():
    with pytest.raises(InvalidInput, match="block is not among naive"):
        measured_verifiers([find_verifier("naive")], {"block": find_verifier("ensemble")})


OTHERS = (DySpec(2), Eagle2(2, 2, 3), SpecHub(1), Sequoia(2, 2))


@pytest.mark.heavy
def test_a_verifier_that_runs_in_place_of_another_is_found_on_other_schemes(tiny_pair):
    validation = validation_of(tiny_pair, names=("traversal", "nss"), traversal="naive")
    validation = replace(validation, schemes=OTHERS[:2], effort=Effort(blocks=3000))
    rows = run.cell_rows(validation, Store(None))
    failed = run.table_fields(rows)["failed"]
    assert failed == [{"verifier": "traversal (runs naive)", "shape": "dyspec(nodes=2)"}]


def test_deep_trees_are_sampled_beside_shallow_ones_from_tables(tiny_pair):
    validation = validation_of(tiny_pair, names=("nss",))
    validation = replace(validation, schemes=(Delayed(1, 0, 1), DySpec(8)), effort=Effort(blocks=60))
    assert validation.depth == 1
    rows = run.cell_rows(validation, Store(None))
    assert [row["prediction"] for row in rows] == ["exact", "60 sampled trees"]
    assert all(abs(row["z"]) < 4 for row in rows)


def test_a_plan_for_large_vocabularies_is_made_on_the_most_probable_tokens(random_pair):
    made = setting(random_pair(vocab=300), Sampling(), [(1, 2, 3)], seed=0)
    contexts = Contexts(made.pair, made.sampling, made.roots)
    scheme, said = planned_scheme(Sequoia(3, 2), contexts)
    assert isinstance(scheme, Sequoia)
    assert sum(scheme.tree) == 3
    assert said.endswith("planned from acceptances on tables of the 35 most probable tokens of 1 roots")
    given = Sequoia(3, 2, (2, 1, 0, 0))
    assert planned_scheme(given, contexts) == (given, "")
    with pytest.raises(InvalidInput, match="no tree can be planned"):
        planned_scheme(Sequoia(30, 30), contexts)


def test_verifiers_that_claim_nothing_here_are_refused(tiny_pair):
    with pytest.raises(InvalidInput, match=r"the cards of specinfer claim none of eagle2"):
        replace(validation_of(tiny_pair, names=("specinfer",)), schemes=OTHERS[1:2])
