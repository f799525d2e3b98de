"""The exact commands on a pair of models: their own rows of p and q, exactly, after roots of a text."""

import pickle
import shlex
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import torch

from draftproof.experiments.inputs.text import EMBEDDED, read_text
from draftproof.experiments.models.expect.expected import predict
from draftproof.experiments.models.expect.problem import pair_problem
from draftproof.experiments.models.expect.tables import pair_tables
from draftproof.experiments.models.pair.opened import Opened
from draftproof.experiments.models.pair.pair import pair_digest
from draftproof.experiments.models.pair.roots import roots_of
from draftproof.simulator import Delayed, InvalidInput
from draftproof.simulator.arithmetic import FLOAT64, RATIONAL
from draftproof.simulator.instances.exact import exact_instance
from draftproof.simulator.instances.masks import masked_row
from draftproof.simulator.instances.sampling import Sampling, Samplings
from draftproof.verifiers import make


@pytest.fixture
def models(tiny_folder, tmp_path):
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    return {"target": tiny_folder / "target", "draft": tiny_folder / "draft", "text": tmp_path / "text.txt"}


def world(models, **more):
    return "--world", "models:" + ",".join(f"{key}={value}" for key, value in {**models, **more}.items())


@pytest.fixture
def problem(tiny_pair, tiny_recipe):
    return pair_problem(Opened(tiny_pair, tiny_recipe.corpus), Sampling(0.7), count=2)


def test_rows_are_those_of_the_models_in_rationals(problem, tiny_pair):
    roots = problem.cases(2, RATIONAL)
    assert [root.weight for root in roots] == [Fraction(1, 2)] * 2
    for root, context in zip(roots, problem.contexts, strict=True):
        tables = pair_tables(tiny_pair, Sampling(0.7), context, 2)
        assert root.rows(2).digest() == exact_instance(*tables, 2).digest()
        assert root.name == tiny_pair.decode(context)


def test_exact_mean_is_what_validate_predicts(draftproof, models, tiny_pair):
    ran = draftproof("check", "traversal", *world(models, roots=2), "--K", 2, "--L2", 2, "--json")
    assert (ran.code, ran.row["lossless"], ran.row["max_deviation"]) == (0, True, "0")
    held_out = tiny_pair.encode(Path(str(models["text"])).read_text()[-1000:])
    problem = pair_problem(Opened(tiny_pair, _Text(Path(str(models["text"])).read_text())), Sampling(), count=2)
    assert problem.contexts == tuple(roots_of(held_out, 2))
    predicted = predict(make("traversal"), problem.cases(2, FLOAT64), Delayed(2, 0, 2)).mean
    assert ran.row["block_efficiency_float"] == pytest.approx(predicted, abs=1e-12)  # float64 against rationals


class _Text:
    """The last twentieth of a text, as a corpus holds it out."""

    def __init__(self, text):
        self.held_out, self.name, self.digest = text[len(text) - round(len(text) * 0.05) :], "text", "text"


def test_a_control_is_refuted_on_models_and_its_witness_is_seen_again(draftproof, models):
    ran = draftproof("check", "naive_from_target", *world(models, roots=1), "--L2", 1, "--json")
    assert ran.code == 1
    assert draftproof("check", "naive_from_target", "--world", ran.witness["file"]).code == 1


def test_a_small_vocabulary_keeps_the_likeliest_and_says_what_is_outside(draftproof, models):
    ran = draftproof("check", "block", *world(models, vocab=6, roots=1), "--json")
    assert (ran.code, ran.row["max_deviation"]) == (0, "0")
    assert "2 tokens kept at each context, 4 for the rest: a path of 2 leaves" in ran.err
    assert "behind this cut with all 8 tokens" in ran.err


@pytest.mark.heavy
def test_bounds_of_a_cut_vocabulary_hold_for_the_whole(draftproof, models):
    shape = ("--K", 2, "--L2", 2)
    whole = draftproof("bound", *world(models, roots=2), *shape, "--json").row
    found = draftproof("bound", *world(models, roots=2, vocab=6), *shape, "--certificate", "cut.json", "--json").json
    [cut] = found["rows"]
    assert (whole["cut"], cut["cut"]) == (False, True)
    assert Fraction(cut["lower"]) < Fraction(whole["lower"]) <= Fraction(whole["upper"]) < Fraction(cut["upper"])
    for name in ("cut-1.json", "cut-above-1.json", "cut-2.json", "cut-above-2.json"):
        assert draftproof("verify", name).code == 0
    assert [root["certificate_above"] for root in found["roots"]] == ["cut-above-1.json", "cut-above-2.json"]
    ran = draftproof("bound", *world(models, roots=2, vocab=6), *shape)
    assert "both hold on the whole vocabulary" in ran.out
    assert "the gap is above" not in ran.out
    rows = draftproof("compare", "traversal", *world(models, roots=2, vocab=6), *shape[2:], "--json").json["rows"]
    assert rows[0]["at_most_float"] == cut["upper_float"]
    assert rows[0]["block_efficiency_float"] <= rows[0]["optimum_float"] == cut["lower_float"]
    shape = ("--scheme", "without_replacement", "--K", 2, "--L2", 1)
    ran = draftproof("bound", *world(models, roots=1, vocab=5), *shape)
    assert "this bounds the cut tables only" in ran.out


def test_rounded_tables_of_a_cut_vocabulary_bound_nothing_of_the_whole(draftproof, models):
    """Rounded to thirds, both models may say the same, or have nothing in common."""
    ran = draftproof("bound", *world(models, roots=1, vocab=6, denominator=3), "--K", 2, "--L2", 1)
    assert "on the whole vocabulary" not in ran.out
    assert "rounded to multiples of 1/3, they prove nothing about all 8 tokens" in ran.err
    rounded = world(models, roots=1, vocab=6, denominator=3)
    [row] = draftproof("compare", "traversal", *rounded, "--K", 2, "--L2", 1, "--json").json["rows"]
    assert row["at_most"] is None
    assert row["gap"] >= 0


def test_a_root_that_the_tokenizer_cannot_read_is_told(draftproof, models):
    shape = ("--K", 1, "--L2", 1)
    ran = draftproof("check", "naive", *shape, *world(models, root="the zq"))
    assert "root 'the zq' is taken as 't·e ··': so the tokenizer reads it" in ran.err
    assert "is taken as" not in draftproof("check", "naive", *shape, *world(models, root="t e")).err


@pytest.mark.heavy
def test_compare_bound_check_and_audit_take_them_too(draftproof, models):
    shapes = ("--K", 2, "--L2", "1..2", "--jobs", 1, "--optimum", "--json")
    compared = draftproof("compare", "traversal", "naive", *world(models, roots=2, vocab=5), *shapes)
    assert compared.code == 0
    ran = draftproof("bound", *world(models, roots=2, vocab=5), "--K", 2, "--L2", 2, "--json")
    assert ran.code == 0
    best = {row["verifier"]: row for row in compared.json["rows"] if row["L2"] == 2}
    assert best["traversal"]["block_efficiency_float"] <= ran.row["upper_float"]
    for each in (models, {**models, "draft": "lookup"}):
        assert draftproof("check", "naive", *world(each, roots=1, vocab=5), "--K", 1, "--L2", 1).code == 0
    own = Path("own.py")
    own.write_text("def first(root):\n    return root.children[:1], 0\n")
    assert draftproof("audit", f"{own}:first", *world(models, roots=1, vocab=5), "--K", 1, "--L2", 1).code == 1


MASKS = "eos=t,min_new_tokens=1,no_repeat_ngram_size=2,stop_strings=e·|nn"


def test_masked_rows_of_models_are_those_given_what_the_masks_allow(tiny_pair, tiny_recipe):
    sampling = Samplings.of_options(MASKS, "")
    masked = pair_problem(Opened(tiny_pair, tiny_recipe.corpus), sampling, count=2)
    names = tiny_pair.token_names
    assert [len(name) for name in names] == [1] * 8
    for root, context in zip(masked.cases(2, FLOAT64), masked.contexts, strict=True):
        target, draft = pair_tables(tiny_pair, Sampling(), context, 2)
        masks = sampling.of("target").masks(8, context, names)
        for tokens in [(), *((a,) for a in range(8)), *((a, b) for a in range(8) for b in range(8))]:
            expected = masked_row(target.row(tokens), masks, tokens)
            assert FLOAT64.vector(root.target.row(tokens)) == pytest.approx(expected, abs=1e-12)
            if len(tokens) < 2:
                assert FLOAT64.vector(root.draft.row(tokens)) == pytest.approx(draft.row(tokens), abs=1e-12)
        assert root.target.row((names.index("n"), names.index("n")))[names.index("t")] == 1


@pytest.mark.one_in(3, first=1)
@pytest.mark.parametrize(
    "where", [("--sampling",), ("--sampling", MASKS, "--draft-sampling", ""), ("--draft-sampling",)]
)
def test_exact_commands_take_masks_of_models(draftproof, models, where):
    shape = ("--K", 2, "--L2", 1, *where, *([MASKS] if len(where) == 1 else []))
    names = ("naive", "traversal", "naive_from_target")
    checked = draftproof("check", *names, *world(models, roots=1), *shape, "--json")
    assert [row["lossless"] for row in checked.json["rows"]] == [True, True, False]
    wanted = (*world(models, roots=1), *shape, "--optimum", "--by", "depth", "--json")
    compared = draftproof("compare", "naive", "traversal", *wanted).json
    assert [row["lossless"] for row in compared["rows"]] == [True, True]
    bound = draftproof("bound", *world(models, roots=1), *shape, "--json").row
    best = compared["rows"][0]["block_efficiency_float"]
    assert 1 < best <= bound["upper_float"] + 1e-9  # float64 against rationals


def test_a_cut_vocabulary_is_masked_before_it_is_cut(draftproof, models):
    """A mask of the whole vocabulary leaves two tokens, so the cut to two of them loses nothing."""
    given = ("--K", 2, "--L2", 1, "--sampling", "table=00------", "--json")
    whole = draftproof("check", "traversal", *given, *world(models, roots=1)).row
    cut = draftproof("check", "traversal", *given, *world(models, roots=1, vocab=6)).row
    assert whole["lossless"]
    assert cut["block_efficiency_float"] == pytest.approx(whole["block_efficiency_float"], abs=1e-12)


def test_a_mask_that_leaves_nothing_is_refused_where_its_context_is_drawn(draftproof, models, tiny_pair):
    given = ("check", "naive", *world(models, root="the "), "--K", 1, "--L2", 1)
    likeliest = int(tiny_pair.rows("target", [tiny_pair.encode("the ")]).argmax())
    for closing, code in ((likeliest, 2), ((likeliest + 1) % 8, 0)):
        moves = "".join("1" if token == closing else "0" for token in range(8))
        ran = draftproof(*given, "--sampling", f"top_k=1,table={moves}/--------!", "--draft-sampling", "")
        assert (
            ran.code,
            f"no token can follow {tiny_pair.token_names[closing]!r}: the masks allow none; add eos" in ran.err,
        ) == (code, code == 2)


@pytest.mark.heavy
def test_told_rows_of_models_make_lossless_verifiers_lossy(draftproof, models):
    shape = ("--K", 1, "--L2", 1, "--draft-sampling", "temperature=.5")
    one = world(models, roots=1)
    wrong = draftproof("check", "naive", *one, *shape, "--told", "draft", "--json")
    assert (wrong.code, wrong.row["lossless"]) == (1, False)
    assert draftproof("check", "naive", *one, *shape, "--told", "sampled").code == 0
    assert draftproof("check", "naive", "--world", wrong.witness["file"]).code == 1
    rows = draftproof("compare", "naive", "nss", *one, *shape, "--told", "draft", "--json").json["rows"]
    assert {row["verifier"]: row["lossless"] for row in rows} == {"naive": False, "nss": True}
    cut = draftproof("check", "naive", *world(models, roots=1, vocab=6), *shape, "--told", "draft")
    assert (cut.code, cut.err.count("\n")) == (2, 1)
    assert "told needs tables of all 8 tokens" in cut.err


def test_what_another_device_computes_has_tables_of_its_own(problem, tiny_recipe):
    assert problem.pair is not None
    elsewhere = replace(problem.pair, device=torch.device("meta"))
    again, moved = (
        pair_problem(Opened(each, tiny_recipe.corpus), Sampling(0.7), count=2) for each in (problem.pair, elsewhere)
    )
    assert again.digest == problem.digest != moved.digest


def test_the_hash_of_a_pair_sees_one_number_and_every_setting(random_pair):
    pair, digests = random_pair(vocab=300), []
    for change in (1e-3, 0.0):  # one number of 9,600, and the same models again
        digests.append(pair_digest(pair))
        with torch.no_grad():
            pair.target.lm_head.weight[7, 3] += change
    assert pair_digest(pair) == digests[1] != digests[0]
    pair.target.config.rms_norm_eps *= 2
    assert pair_digest(pair) != digests[1]


def test_another_process_has_the_tables_without_the_models(problem):
    before = problem.cases(2, RATIONAL)
    elsewhere = pickle.loads(pickle.dumps(problem))
    assert elsewhere.pair is None
    assert [root.rows(2).digest() for root in elsewhere.cases(2, RATIONAL)] == [
        root.rows(2).digest() for root in before
    ]
    with pytest.raises(InvalidInput, match="use --jobs 1"):
        elsewhere.cases(3, RATIONAL)


@pytest.mark.parametrize(
    ("keys", "options", "words"),
    [
        ({"seeds": 1}, (), "seeds has no meaning for models"),
        ({}, ("--sampling", "heat=2"), "write temperature=.7,top_k=50,top_p=.9"),
        ({}, ("--sampling", "top_k=many"), "'many' is no number of that kind"),
        ({}, ("--sampling", "temperature=-1"), "temperature -1.0 must be a number of at least 0"),
        ({"vocab": 9}, (), "vocab 9: the pair has 8 tokens"),
        ({"vocab": 3}, (), "vocab 3: 4 tokens of the tables stand for those that are not kept; take at least 5"),
        ({"root": "a", "roots": 2}, (), "give one of the two"),
    ],
)
def test_what_fits_no_models_is_one_line(draftproof, models, keys, options, words):
    ran = draftproof("check", "naive", *world(models, **keys), *options)
    assert ran.code == 2
    assert words in ran.err.strip().splitlines()[-1]


ASKED = """
verifiers = ["naive", "traversal"]
optimum = true
world = "models:target={folder}/target,draft={folder}/draft,text=text.txt,roots=2"
sampling = "temperature=.7"
scheme = "delayed:K=2,L2=1"
"""


@pytest.fixture
def asked(tiny_folder, tmp_path):
    (tmp_path / "text.txt").write_text(read_text(EMBEDDED)[:20_000], encoding="utf-8")
    (tmp_path / "models.toml").write_text(ASKED.format(folder=tiny_folder))


def test_a_report_has_their_rows_and_commands_that_print_them_again(draftproof, asked):
    ran = draftproof("compare", "models.toml", "--jobs", 1, "--resume", "rows.db", "--json")
    assert ran.code == 0
    summary = draftproof("report", "rows.db", "--json").json
    assert "on 1 world (models)" in summary["notes"][0]
    rows = {row["verifier"]: row for row in ran.json["rows"]}
    for found in summary["verifiers"]:
        row = rows[found["verifier"]]
        assert found["mean"] == pytest.approx(row["block_efficiency_float"], rel=1e-12)
        assert 1 - found["below"] == pytest.approx(row["block_efficiency_float"] / row["optimum_float"], rel=1e-6)
        [again] = draftproof(*shlex.split(found["command"])[1:], "--resume", "rows.db", "--json").json["rows"]
        assert again["strong_id"] == row["strong_id"]


def test_several_processes_have_the_tables_of_one(draftproof, asked, monkeypatch):
    monkeypatch.setattr("draftproof.experiments.grid.machines.PARALLEL_FROM_SECONDS", 0.0)
    alone, together = (draftproof("compare", "models.toml", "--jobs", jobs, "--json").json["rows"] for jobs in (1, 2))
    for row in (*alone, *together):
        del row["seconds"]
    assert alone == together
