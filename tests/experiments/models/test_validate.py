"""`model validate`: a pair passes as it is, each planted fault is found by the part made for it; bad input."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from draftproof.experiments.grid.store import Store
from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.inputs.verifiers import NamedVerifier, find_verifier
from draftproof.experiments.models.expect.contexts import Contexts
from draftproof.experiments.models.expect.expected import planned_scheme
from draftproof.experiments.models.loop.loop import Loop
from draftproof.experiments.models.measure.setting import setting
from draftproof.experiments.models.measure.verifiers import MeasuredVerifier, measured_verifiers
from draftproof.experiments.models.pair import opened
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.experiments.models.validate import cells, checks, run, views
from draftproof.experiments.models.validate.cells import Effort, cell_key
from draftproof.experiments.models.validate.run import Report, Validation
from draftproof.simulator import Card, Delayed, InvalidInput, Verdict, check
from draftproof.simulator.drafts import DySpec, Eagle2, Sequoia, SpecHub
from draftproof.simulator.instances.exact import exact_instance
from draftproof.simulator.instances.sampling import Sampling
from draftproof.verifiers import make
from tests.experiments.models.test_planted_bugs import keeping_the_first_slots, seeing_siblings

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
    made = setting(pair, Sampling(), roots_of(text, roots, (8,)), seed=0)
    playing = measured_verifiers(list(map(find_verifier, names)), [f"{name}={own}" for name, own in replaced.items()])
    return Validation(made, tuple(playing), SHAPES, Effort(goal=0.04, least=1))


@pytest.fixture(scope="module")
def validation(tiny_pair):
    return validation_of(tiny_pair)


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
    validation = Validation(made, tuple(measured_verifiers([find_verifier("typical")])), (Delayed(1, 0, 2),))
    (row,) = run.cell_rows(replace(validation, effort=Effort(blocks=20)), Store(None))
    assert (row["lossless"], row["verdict"], row["outcomes"]) == (False, "declared", None)
    table = run.table_fields([row])
    assert views.cells([row], table).records()[0]["law"] == "LOSSY"
    sound = {"passed": True}
    same = {"tree_attention": sound, "caches": sound, "greedy": {"differ": [], **sound}}
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


def test_what_defines_a_cell_is_in_its_key(validation, exact_pair):
    each, scheme, effort = validation.verifiers[0], SHAPES[0], validation.effort
    lying = measured_verifiers([each.predicted], ["naive=ensemble"])[0]
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


def test_a_wrong_mask_is_found(validation, monkeypatch):
    seeing_siblings(monkeypatch)
    loop, way = Loop(validation.setting.pair, Sampling()), (make("naive_tree"), Delayed(3, 0, 2))
    assert not checks.tree_attention(loop, *way, validation.setting.roots[0], 4, 0).passed


def test_a_wrong_cache_is_found(validation, monkeypatch):
    loop, way = Loop(validation.setting.pair, Sampling()), (make("traversal"), Delayed(3, 0, 2))
    assert checks.caches(loop, *way, validation.setting.roots[0], 30, 0).passed
    keeping_the_first_slots(monkeypatch)
    assert not checks.caches(loop, *way, validation.setting.roots[0], 30, 0).passed


@pytest.mark.heavy
def test_greedy_text_that_differs_is_named(random_pair):
    made = setting(random_pair(), Sampling(), [(1, 2, 3)], seed=0)
    lying = MeasuredVerifier(find_verifier("naive"), NamedVerifier("eager", Eager()))
    validation = Validation(made, (lying,), (Delayed(2, 1, 2),))
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
    playing = measured_verifiers([find_verifier("specinfer"), find_verifier("traversal")])
    validation = Validation(made, tuple(playing), (Delayed(2, 0, 2),), Effort(blocks=600))
    rows = run.cell_rows(validation, Store(None))
    assert run.table_fields(rows)["passed"]
    summed, row = rows
    assert (summed["prediction"], summed["predicted_error"]) == ("exact sums", 0)
    assert summed["outcomes"]["freedom"] == 4  # three depths after each of two roots
    assert sum(summed["depths_predicted"]) == pytest.approx(1)
    assert "predicted by exact sums, without tables: 1 cells; outcomes there are accepted depths" in views.table_lines(
        rows, run.table_fields(rows)
    )
    assert row["prediction"] == "600 sampled trees"
    assert 0 < row["predicted_error"] < row["total_error"]
    assert row["outcomes"] is None


def test_greedy_sampling_has_no_variance_and_still_compares(tiny_pair):
    greedy = validation_of(tiny_pair)
    greedy = replace(greedy, setting=replace(greedy.setting, sampling=Sampling(0)), schemes=SHAPES[:1])
    rows = run.cell_rows(greedy, Store(None))
    assert {(row["z"], row["total_error"]) for row in rows} == {(0.0, 0.0)}
    assert run.table_fields(rows)["passed"]


OTHERS = (DySpec(2), Eagle2(2, 2, 3), SpecHub(1), Sequoia(2, 2))


def test_deep_trees_are_sampled_beside_shallow_ones_from_tables(tiny_pair):
    validation = validation_of(tiny_pair, names=("nss",))
    validation = replace(validation, schemes=(Delayed(1, 0, 1), DySpec(8)), effort=Effort(blocks=60))
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


LIAR = """
from draftproof.simulator import Card, Verdict
class Eager:
    card = Card(name="eager", title="accepts every draft and adds token 0", source=None, needs=None)
    def verify(self, root, coin):
        node = root
        while node.children:
            node = node.child(node.children[0])
        return Verdict(node.context, 0)
"""

SOUND = """
from draftproof.simulator import Card, Verdict
class Sound:
    card = Card(name="sound", title="draws from the target", source=None)
    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target))
class Floats:
    card = Card(name="floats", title="asks for arrays", source=None)
    def verify(self, root, coin):
        return Verdict((), coin.choose(root.target.round(12)))
"""

FEW = ("--blocks", 300, "--K", 1, "--L2", "1..2")


@pytest.fixture
def briefly(monkeypatch):
    """Less of what comes before the cells and is not what a test is about; whole in the first one of this file."""

    def begin():
        for name, fewer in (("TREES", 4), ("BLOCKS", 20), ("GREEDY", 40)):
            monkeypatch.setattr(run, name, fewer)

    return begin


@pytest.mark.heavy
def test_a_pair_is_validated_and_rows_are_kept(draftproof, models, briefly):
    given = ("model", "validate", "naive", "block", "--world", f"{models},roots=2", *FEW, "--resume", "rows.db")
    ran = draftproof(*given, "-o", "a.json", "-o", "a.md", "--plot", "a.png", "--times", "t.json")
    assert ran.code == 0
    report = json.loads(Path("a.json").read_text())
    assert report["verdict"] == 0
    assert [(row["verifier"], row["shape"]) for row in report["rows"]] == [
        (name, shape) for shape in ("1, 0, 1", "1, 0, 2") for name in ("naive", "block")
    ]
    assert all(row["blocks"] == 300 for row in report["rows"])
    checked = {row["check"]: row for row in report["same"]}
    assert checked["caches"]["blocks"] == checked["greedy"]["tokens"] == 200
    assert all(row["passed"] for row in report["same"])
    assert "all as predicted" in ran.out
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert "1, 0, 2" in Path("a.md").read_text()
    assert "times: t.json, for compare --cost" in ran.out
    timed = draftproof("compare", "naive", "--K", 1, "--L2", "1..3", "--cost", "t.json", "--json").json["rows"]
    times = json.loads(Path("t.json").read_text())
    expected = [row["nodes"] * times["draft"]["1"] + times["target"][str(row["nodes"])] for row in timed]
    assert [row["time"] for row in timed] == pytest.approx(expected, rel=1e-12)  # sums in another order
    briefly()
    again = draftproof(*given, "--json")
    assert again.json["rows"] == report["rows"]
    assert again.code == 0


@pytest.mark.heavy
def test_a_verifier_of_a_file_in_place_of_another_is_found_out(draftproof, models, tmp_path, briefly):
    briefly()
    (tmp_path / "mine.py").write_text(LIAR, encoding="utf-8")
    two = ("model", "validate", "naive", "block", "--world", f"{models},roots=2")
    ran = draftproof(*two, *FEW, "--replace", "naive=mine.py:Eager", "-o", "r.json")
    assert ran.code == 1
    assert "NOT as predicted" in ran.out
    report = json.loads(Path("r.json").read_text())
    name = "naive (runs eager)"
    assert {each["verifier"] for each in report["about"][0]["failed"]} == {name}
    own = [row["own_law"] for row in report["rows"] if row["verifier"] == name]
    assert [each["block_efficiency"] for each in own] == pytest.approx([2, 3])  # accepts all drafts
    assert [row["own_law"] for row in report["rows"] if row["verifier"] == "block"] == [None, None]
    (checked,) = report["exact_checks"]
    assert (checked["verifier"], checked["lossless"]) == (name, False)
    assert checked["verdict"].startswith("REFUTED on delayed")
    again = draftproof(*checked["again"].split()[1:])
    assert (again.code, "REFUTED" in again.out) == (1, True)
    assert f"{name} is refuted by the exact check (--lossy '{name}' says it is known)" in ran.out


@pytest.mark.heavy
def test_a_verifier_of_a_file_that_holds_exactly_is_validated_like_ours(draftproof, models, tmp_path, briefly):
    briefly()
    (tmp_path / "mine.py").write_text(SOUND, encoding="utf-8")
    few = ("--blocks", 60, "--K", 1, "--L2", 1, "-o", "r.json")
    ran = draftproof("model", "validate", "mine.py:Sound", "mine.py:Floats", "--world", f"{models},roots=1", *few)
    assert ran.code == 0, ran.out
    checks_of = {each["verifier"]: each for each in json.loads(Path("r.json").read_text())["exact_checks"]}
    assert checks_of["sound"]["lossless"] is True
    assert checks_of["sound"]["instances"] > 50
    assert checks_of["sound"]["verdict"] == "LOSSLESS on small instances, exactly"
    assert checks_of["floats"]["lossless"] is None  # it takes no fractions, and is measured all the same
    assert checks_of["floats"]["verdict"].startswith("not checked exactly: ")


@pytest.mark.heavy
def test_a_lossy_verifier_fails_unless_it_is_known(draftproof, models, briefly):
    briefly()
    few = ("--blocks", 60, "--K", 1, "--L2", 1)
    both = ("naive", "naive_from_target", "--world", f"{models},roots=1")
    given = ("model", "validate", *both, *few, "--resume", "rows.db")
    ran = draftproof(*given, "-o", "a.json")
    report = json.loads(Path("a.json").read_text())
    assert [(row["verifier"], row["lossless"], row["verdict"]) for row in report["rows"]] == [
        ("naive", True, "exact"),
        ("naive_from_target", False, "exact"),
    ]
    assert ran.code == 1
    wrong = "naive_from_target is not lossless on the tables (--lossy naive_from_target says it is known)"
    assert f"NOT as predicted: {wrong}" in ran.out
    assert report["verdict"] == 1
    known = draftproof(*given, "--lossy", "naive_from_target", "-o", "a.json")
    assert known.code == 0
    assert "all as predicted" not in known.out
    assert "lossy, as is known: naive_from_target (1 cell); the other 1 as predicted" in known.out
    assert known.out.count("LOSSY") == 1
    assert json.loads(Path("a.json").read_text())["about"][0]["known_lossy"] == ["naive_from_target"]
    assert draftproof(*given, "--lossy", "naive").code == 1  # somebody else


@pytest.mark.parametrize(
    ("label", "said"), [("ensemble", "ensemble"), ("naive (runs ensemble)", "'naive (runs ensemble)'")]
)
def test_what_is_known_to_be_lossy_may_write_another_text_and_have_another_law(label, said):
    sound = {"passed": True}
    differ = [{"verifier": label}]
    same = {"tree_attention": sound, "caches": sound, "greedy": {"differ": differ, "passed": False}}
    rows = [{"verifier": label, "lossless": False, "verdict": "exact"}]
    report = run.Report(None, (), (), [label], same, rows, {"failed": [], "passed": True})
    assert report.failures == []
    lossy = f"{label} is not lossless on the tables (--lossy {said} says it is known)"
    assert replace(report, known=["naive"]).failures == ["greedy text", lossy]
    differ.append({"verifier": "naive"})
    assert report.failures == ["greedy text"]


@pytest.mark.heavy
def test_without_a_world_a_pair_is_trained_first(draftproof, tiny_recipe, monkeypatch, tmp_path):
    monkeypatch.setattr(opened, "choose_recipe", lambda *_: tiny_recipe)
    monkeypatch.setattr(opened, "read_corpus", lambda _: tiny_recipe.corpus)
    assert draftproof("model", "validate", "naive", *FEW, "--quick").code == 0
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_says_where_its_rows_are(draftproof, models, monkeypatch, briefly):
    briefly()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "cell_rows", interrupted)
    ran = draftproof(
        "model", "validate", "naive", "--world", f"{models},roots=2", *FEW, "--resume", "rows.db", "-o", "a.json"
    )
    assert ran.code == 130
    assert "interrupted; the rows so far are kept in rows.db" in ran.err
    assert not Path("a.json").exists()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is at hand")
def test_the_same_command_runs_on_cuda(draftproof, models):
    world = models.replace("device=cpu", "device=cuda,roots=2")
    ran = draftproof("model", "validate", "naive", "traversal", "--world", world, *FEW, "--json")
    assert ran.code == 0
    assert ran.json["about"][0]["device"] == torch.cuda.get_device_name()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--world", "models:draft=a"), "models need a folder of `model train`"),
        (("--world", "models:p,draft=early"), "layers is missing; write early:layers=2"),
        (("--world", "models:p,target=a,draft=b"), "both say which models; give one of them"),
        (("--world", "models:p,roots=0"), "roots=0 leaves nothing; give at least 1"),
        (("--seed", -1), "seed -1: give at least 0"),
        (("--replace", "naive=nobody"), "unknown verifier 'nobody'"),
        (("--replace", "naive=ensemble", "--replace", "naive=nss"), "names naive twice"),
        (("--sampling", "temperature=-1"), "temperature -1.0"), (("--sampling", "top_p=2"), "top_p 2.0"),
        (("--K", "2..3", "--L2", "0"), "several branches need L2 of at least 1"),
        (("--scheme", "eagle"), "unknown scheme 'eagle'; did you mean 'eagle2'?"),
        (("--scheme", "dyspec:K=2"), "dyspec"),
        (("--world", "models:target=a,draft=b,device=tpu"), "unknown device 'tpu'"),
        (("--world", "models:p,text=nowhere.txt"), "cannot read text nowhere.txt"),
        (("-o", "no/folder.json"), "cannot write -o"), (("nobody",), "unknown verifier 'nobody'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(draftproof, arguments, said):
    ran = draftproof("model", "validate", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert ran.out == ""


def test_what_fits_no_contest_is_one_line(draftproof, models, briefly):
    briefly()
    for arguments, said in (
        (("naive", "--replace", "block=nss", "--world", models), "block is not among naive"),
        (("optimum", "--world", models), "optimum is planned for one instance"),
        (("naive", "--world", f"{models},roots=10000"), "give no 10000 roots"),
        (("naive", "--vectors", "lists", "--world", models), "'lists' is not one of 'numpy', 'torch'"),
    ):
        ran = draftproof("model", "validate", *arguments, *FEW)
        assert ran.code == 2
        assert said in ran.err
        assert "Traceback" not in ran.err
