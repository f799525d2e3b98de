"""`draftproof prove --vocab any`: exit codes, what it prints, the JSON, certificates."""

import json
import re
from fractions import Fraction
from random import Random

import pytest

from draftproof import check
from draftproof.experiments.cli.prove import work
from draftproof.experiments.cli.prove.any_vocabulary import Report, theorem_of
from draftproof.experiments.cli.prove.formula import formula_of
from draftproof.experiments.cli.prove.relating import relate_two
from draftproof.experiments.cli.prove.work import Request
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.errors import TooLarge
from draftproof.simulator.protocol import Verdict
from draftproof.simulator.theorems.any_vocabulary import layers
from draftproof.simulator.theorems.any_vocabulary.theorem import LOSSLESS
from draftproof.simulator.theorems.proof.relations import DOMINATES
from draftproof.verifiers import make

STEP = ("--vocab", "any", "--K", 1, "--L1", 0, "--L2", 1)


def test_a_theorem_says_what_it_covers_and_what_the_induction_needs(draftproof):
    ran = draftproof("prove", "naive", *STEP, "--every-length", "--formula")
    assert ran.code == 0
    assert "LOSSLESS for every p and q with full support and every V, at delayed(K=1, L1=0, L2=1)" in ran.out
    assert "Read that in the code: it is NOT proved." in " ".join(ran.out.split())
    assert "1 branch: sees only whether a subtree is rejected" in ran.out
    assert "E[tau+1] = 1 + sum over tokens of min(p, q)" in ran.out


@pytest.mark.parametrize("verifier", ["naive", "block", "hsd"])
def test_the_formula_is_the_block_efficiency(verifier):
    """Read as it is printed, for a path of two tokens; what follows a first token with p < q tells the two apart."""
    side = {"naive": "p"}.get(verifier, "q")
    assert formula_of(make(verifier), Delayed(1, 0, 2)).lines() == [
        "E[tau+1] = the sum over the first drafted token y of",
        "  2 q(y) + sum over z of min(q(y) p(z|y), q(y) q(z|y)), if p(y) >= q(y)",
        f"  p(y) + q(y) + sum over z of min(p(y) p(z|y), {side}(y) q(z|y)), if p(y) < q(y)",
    ]
    random = Random(5)

    def row():
        weights = [random.randint(1, 9) for _ in range(3)]
        return [Fraction(each, sum(weights)) for each in weights]

    target, draft = ([[row() for _ in range(3**depth)] for depth in range(3)] for _ in "pq")
    total = Fraction(0)
    for y, (p, q) in enumerate(zip(target[0][0], draft[0][0], strict=True)):
        after = [*zip(target[1][y], draft[1][y], strict=True)]
        one = q if p >= q or side == "q" else p
        total += min(p, q) + q + sum(min(min(p, q) * a, one * b) for a, b in after)
    assert check(verifier, target, draft, "delayed:K=1,L1=0,L2=2").block_efficiency == total


def value_of(text, known):
    """The number that a printed polynomial stands for."""
    text = re.sub(r"([pq])\(y\)", r"\1y", text).replace("^", "**")
    text = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", text)
    return eval(re.sub(r"(?<![\w*])(\d+)", r"Fraction(\1)", text), {"Fraction": Fraction}, known)


def relations_hold(text, p, q, known):
    """Whether printed relations of p and q hold."""
    for each in text.split(" and "):
        sign, ratio = re.fullmatch(r"p(?:\(y\))? ([<>=]+) (.*?) ?q(?:\(y\))?", each).groups()
        bound = (value_of(ratio, known) if ratio else 1) * q
        if not {"<": p < bound, "=": p == bound, ">": p > bound, ">=": p >= bound, "<=": p <= bound}[sign]:
            return False
    return True


CLASS = re.compile(r"(?:all tokens have (.*)|tokens with (.*) have the sums (.*) of p and (.*) of q)")


def condition_holds(text, y, p, q):
    """Whether a printed case is that of two rows and a first token; the sums that it names, or None."""
    known = {"py": p[y], "qy": q[y]} if y is not None else {}
    classes, others = [], []
    for part in text.split("; "):
        found = CLASS.fullmatch(part)
        (classes if found else others).append(found or part)
    for found in classes:
        tokens = {z for z in range(len(p)) if relations_hold(found[1] or found[2], p[z], q[z], known)}
        for name, row in ((found[3], p), (found[4], q)):
            begins = re.fullmatch(r"([PQ]\d+)(.*)", name or "")
            if begins and begins[1] not in known:
                known[begins[1]] = sum(row[z] for z in tokens) - value_of(f"0{begins[2]}", known)
    left = {*range(len(p))}
    for found in classes:
        tokens = {z for z in left if relations_hold(found[1] or found[2], p[z], q[z], known)}
        sums = [1, 1] if found[1] else [value_of(found[3], known), value_of(found[4], known)]
        if not tokens or [sum(row[z] for z in tokens) for row in (p, q)] != sums:
            return None
        left -= tokens
    for part in others:
        sign = re.fullmatch(r"(.*[PQ]\d.*) ([<>=]+) 0", part)
        relation, sides = (f"p {sign[2]} q", (value_of(sign[1], known), 0)) if sign else (part, (p[y], q[y]))
        if not relations_hold(relation, *sides, known):
            return None
    return known if not (classes and left) else None


class ByHalf:
    """Token by token where p and q differ by less than 1/2; otherwise it takes no draft."""

    card = make("naive").card

    def verify(self, root, coin):
        p, q, token = root.target, root.draft, root.children[0]
        rest = (p - q) * (p > q)
        if rest.sum() >= Fraction(1, 2) or rest.sum() == 0:
            return Verdict((), coin.choose(p))
        if coin.flip(p[token] / q[token] if p[token] < q[token] else 1):
            return Verdict((token,), coin.choose(root.child(token).target))
        return Verdict((), coin.choose(rest))


class Compared:
    """It keeps the draft unless a row has a positive sum."""

    card = make("naive").card

    def __init__(self, row):
        self.row = row

    def verify(self, root, coin):
        token = root.children[0]
        if self.row(root.target, root.draft, token).sum() > 0:
            return Verdict((), coin.choose(root.target))
        return Verdict((token,), coin.choose(root.child(token).target))


def without(p, q, token):
    """What p is where it is above q, but for one token."""
    row = p * (p > q)
    row[token] = 0
    return row


@pytest.mark.parametrize(
    ("verifier", "branches", "values"),
    [
        (make("specinfer"), 2, 3),
        (make("traversal"), 2, 3),
        (ByHalf(), 1, 2),
        (Compared(lambda p, q, _: (p - 2 * q) * (p >= 2 * q)), 1, 2),
        (Compared(without), 1, 2),
    ],
    ids=["specinfer", "traversal", "by half", "twice", "without"],
)
def test_a_formula_by_cases_is_the_block_efficiency_in_the_cases_it_names(verifier, branches, values):
    """Read as it is printed: all cases that a row is in have one value, and there is such a case."""
    scheme = Delayed(branches, 0, 1)
    formula = formula_of(verifier, scheme)
    listed = formula.as_json()["values"]
    assert len(listed) == values
    random = Random(4)
    for _ in range(40):
        p, q = (
            [Fraction(each, sum(row)) for each in row] for row in ([random.randint(1, 4) for _ in "abc"] for _ in "pq")
        )
        total = Fraction(0)
        for y in range(3) if formula.first else (None,):
            holding = [
                value_of(each["value"].replace("sum over tokens of min(p, q)", f"({sum(map(min, p, q))})"), known)
                for each in listed
                for where in each["where"]
                if (known := condition_holds(where, y, p, q)) is not None
            ]
            assert len({*holding}) == 1
            total += holding[0]
        assert check(verifier, [[p], [p] * 3], [[q], [q] * 3], scheme).block_efficiency == total


def test_a_block_efficiency_that_is_no_such_function_has_no_formula():
    assert formula_of(make("naive_tree"), Delayed(2, 0, 1)) is None


def test_a_tree_that_is_too_large_is_refused_in_one_line(draftproof):
    ran = draftproof("prove", "block", "--vocab", "any", "--K", 20, "--L2", 20)
    assert ran.code == 2
    assert "take fewer or shorter branches" in ran.err


def test_the_json_has_every_step(draftproof):
    ran = draftproof("prove", "naive", *STEP, "--every-length", "--json", "-")
    assert ran.json["verdict"] == "proved"
    assert ran.json["assumed"][0] == "p and q have full support"
    assert ran.json["assumed"][1].startswith("verify treats all nodes alike")
    assert [step["depth"] for step in ran.json["steps"]] == [0, 1]
    assert len(ran.json["hypotheses"]) == 4
    assert all(each["proved"] for each in (*ran.json["steps"], *ran.json["hypotheses"]))


COUPLED = """
from draftproof.simulator.protocol import Verdict
from draftproof.verifiers.nss import NaiveSampling


class Whole:
    card = NaiveSampling.card

    def verify(self, root, coin):
        y = coin.choose(root.target)
        return Verdict((), y) if y not in root.children else Verdict((y,), coin.choose(root.child(y).target))
"""


def test_a_theorem_stands_where_the_induction_does_not(draftproof, tmp_path):
    """It never goes on after one token, so what is kept below a token does not have its score."""
    (tmp_path / "whole.py").write_text(COUPLED)
    ran = draftproof("prove", f"{tmp_path / 'whole.py'}:Whole", *STEP, "--every-length", "--json", "-")
    assert (ran.code, ran.json["verdict"], ran.json["every_length"]) == (3, "proved", False)
    assert draftproof("prove", "naive", *STEP, "--every-length", "--json", "-").json["every_length"] is True


def test_a_lossy_verifier_is_refuted_at_the_smallest_size(draftproof):
    ran = draftproof("prove", "naive_from_target", *STEP)
    assert ran.code == 1
    assert "at V = 2 it is not lossless:" in ran.out


def test_a_relation_is_proved_or_refuted(draftproof):
    assert draftproof("prove", "specinfer", *STEP, "--equals", "naive").code == 0
    ran = draftproof("prove", "nss", *STEP, "--dominates", "naive")
    assert ran.code == 1
    assert "nss falls below naive" in ran.out


def test_the_search_for_a_witness_ends():
    request = Request(find_verifier("block"), 2, Delayed(1, 0, 1), False, (), 100)
    assert relate_two(request, DOMINATES, find_verifier("naive")).relation.proved
    with pytest.raises(TooLarge, match="stopped after 0 s"):
        relate_two(request, DOMINATES, find_verifier("naive"), seconds=0)


def test_what_cannot_be_followed_is_refused_with_its_line(draftproof):
    ran = draftproof("prove", "gbv", "--vocab", "any", "--K", 2, "--L1", 0, "--L2", 1)
    assert ran.code == 2
    assert "vectors.py line" in ran.err


@pytest.mark.parametrize(
    "options",
    [
        ("--vocab", "many"),
        ("--vocab", "any", "--zeros"),
        ("--every-length",),
        ("--vocab", "any", "--free", "solver"),
        ("--vocab", "any", "--every-length", "--verify", "x.json"),
        ("--vocab", "any", "--certificate", "-"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_one_line(draftproof, options):
    ran = draftproof("prove", "naive", "--K", 1, "--L2", 1, *options)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1


SELECTED = ("prove", "layer_transport", "--vocab", "any", "--free", "solver", "--L2", 1)


def test_a_theorem_about_every_selection_says_what_it_leaves_out(draftproof, tmp_path):
    ran = draftproof(*SELECTED, "--K", 1, "--json", tmp_path / "proof.json")
    assert ran.code == 0
    out = " ".join(ran.out.split())
    assert "at delayed(K=1, L1=0, L2=1), whichever branch of a layer its solver selects" in out
    assert json.loads((tmp_path / "proof.json").read_text())["free"] == ["solver"]


@pytest.mark.parametrize("branches", [1, 2])
def test_what_a_theorem_about_every_selection_leaves_out_stands_in_all_that_is_written(branches):
    """With one branch nothing is selected."""
    request = Request(find_verifier("layer_transport"), 2, Delayed(branches, 0, 1), False, ("solver",), 100)
    report = Report(theorem_of(request, LOSSLESS, None), request.named, None)
    named = [("law r" in each, "class_step" in each and "32 tokens" in each) for each in report.assumed]
    assert named == [(False, False), (True, False), (False, True)][: 1 if branches == 1 else 3]
    assert report.about["assumed"] == report.as_json()["assumed"] == report.assumed


def test_a_selection_of_several_branches_is_refused_with_the_way_out(draftproof):
    ran = draftproof("prove", "layer_transport", "--vocab", "any", "--K", 2, "--L1", 0, "--L2", 1)
    assert ran.code == 2
    assert "--free solver" in ran.err


def test_what_a_theorem_cannot_be_about_is_refused_before_a_witness_is_looked_for(draftproof, monkeypatch):
    scheme = ("--scheme", "without_replacement", "--K", 2, "--L1", 0)
    monkeypatch.setattr(work, "try_points", lambda *_: pytest.fail("a witness was looked for"))
    assert draftproof(*SELECTED, *scheme).code == 2
    assert draftproof("prove", "nss", "--vocab", "any", *scheme, "--L2", 1, "--every-length").code == 2


@pytest.mark.parametrize("options", [("--formula",), ("--equals", "block")])
def test_a_theorem_about_every_selection_has_no_formula_and_is_no_relation(draftproof, options):
    ran = draftproof(*SELECTED, "--K", 1, *options)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1


def test_every_selection_at_every_length_with_a_certificate(draftproof, tmp_path):
    files = {name: tmp_path / f"{name}.json" for name in ("certificate", "proof")}
    ran = draftproof(
        *SELECTED, "--K", 1, "--every-length", "--certificate", files["certificate"], "--json", files["proof"]
    )
    assert ran.code == 0
    assert "for every depth, if verify treats all layers alike, by their scores, also those further below" in " ".join(
        ran.out.split()
    )
    proof = json.loads(files["proof"].read_text())
    assert proof["every_length"] is True
    assert {each["hypothesis"] for each in proof["hypotheses"]} == {layers.ROOT, layers.KEEPS, layers.CUT}
    assert draftproof(*SELECTED, "--K", 1, "--verify", files["certificate"]).code == 0


def test_a_certificate_is_valid_until_a_number_is_changed(draftproof, tmp_path):
    file = tmp_path / "naive.json"
    assert draftproof("prove", "naive", *STEP, "--certificate", file).code == 0
    assert draftproof("prove", "naive", *STEP, "--verify", file).code == 0
    fields = json.loads(file.read_text())
    fields["polynomials"][0][0][0] = 7
    file.write_text(json.dumps(fields))
    ran = draftproof("prove", "naive", *STEP, "--verify", file)
    assert ran.code == 1
    assert "REJECTED" in ran.out
