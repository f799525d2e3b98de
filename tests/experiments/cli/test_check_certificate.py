"""The checker that needs no draftproof accepts what was proved and finds planted errors."""

import ast
import json
import re
import subprocess
import sys
from copy import deepcopy
from fractions import Fraction
from pathlib import Path

import pytest

from draftproof.experiments.cli.verify import check_certificate
from draftproof.experiments.cli.verify.check_certificate import Checker
from draftproof.experiments.inputs.schemes import find_scheme
from draftproof.experiments.inputs.verifiers import find_verifier
from draftproof.experiments.pages.theorems import claims
from draftproof.simulator.drafts import Adaptive, Delayed, WithoutReplacement
from draftproof.simulator.theorems.any_vocabulary.certificate import certificate_of
from draftproof.simulator.theorems.any_vocabulary.theorem import Theorem
from draftproof.simulator.theorems.proof.judging import DOMINATES, EQUALS, LOSSLESS
from draftproof.verifiers import make

heavy = pytest.mark.heavy
FILE = Path(check_certificate.__file__)


def proved(kind, scheme, verifier, other=None):
    """The certificate as a stranger reads it."""
    theorem = Theorem(kind, scheme, make(verifier), None if other is None else make(other))
    steps = [theorem.step(depth) for depth in theorem.depths]
    assert all(step.proved for step in steps)
    about = {"verifier": verifier, "other": other, "scheme": str(scheme)}
    return json.loads(json.dumps(certificate_of(theorem, steps, about)))


def checked(certificate):
    checker = Checker()
    checker.check(certificate)
    return checker


@pytest.fixture(scope="module")
def block():
    return proved(LOSSLESS, Delayed(1, 0, 2), "block")


@pytest.fixture(scope="module")
def dominance():
    return proved(DOMINATES, Delayed(1, 0, 1), "block", "naive")


@pytest.mark.heavy
def test_the_checker_is_one_file_without_imports_of_draftproof(block, tmp_path):
    assert len(FILE.read_text().splitlines()) <= 300
    imports = [node for node in ast.walk(ast.parse(FILE.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports]
    assert {str(name).split(".")[0] for name in names} <= sys.stdlib_module_names
    (tmp_path / "checker.py").write_text(FILE.read_text())
    (tmp_path / "block.json").write_text(json.dumps(block))
    (tmp_path / "other.json").write_text("{}")
    for name, code, start in ("block", 0, "VALID"), ("other", 1, "REJECTED"), ("none", 1, "NOT READ"):
        run = [sys.executable, "-I", "-S", "checker.py", f"{name}.json"]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, (done.stdout + done.stderr).startswith(start)) == (code, True), done


def test_proved_certificates_are_valid(block, dominance):
    assert checked(block).counts["signs that follow"] == 2  # an equation that two inequalities make
    assert checked(dominance).counts["values in cases"] > 5
    assert not checked(proved(LOSSLESS, Delayed(1, 0, 2), "naive")).counts["signs that follow"]


#: Theorems for every V whose proofs take longest, by verifier and scheme.
LONG = {
    ("traversal", Delayed(2, 0, 2)),
    ("rejection_without_replacement", WithoutReplacement(2, 0, 2)),
}
CLAIMS = [claim for claim in claims() if claim["vocab"] == "any" and not claim.get("every_length")]


def has_certificate(claim):
    scheme = find_scheme(claim["scheme"])
    return (claim["verifier"], scheme) not in LONG and not isinstance(scheme, Adaptive)


@heavy
@pytest.mark.parametrize(
    "claim", list(filter(has_certificate, CLAIMS)), ids=lambda claim: " ".join(map(str, claim.values()))
)
def test_theorems_for_every_size_have_certificates(claim):
    kind = next((kind for kind in (EQUALS, DOMINATES) if kind in claim), LOSSLESS)
    verifiers = [find_verifier(name).verifier for name in (claim["verifier"], claim.get(kind)) if name]
    theorem = Theorem(kind, find_scheme(claim["scheme"]), *verifiers)
    steps = [theorem.step(depth, records=True) for depth in theorem.depths]
    checked(json.loads(json.dumps(certificate_of(theorem, steps, dict(claim)))))


def test_an_adaptive_tree_has_no_certificate(draftproof, tmp_path):
    scheme = ("--scheme", "adaptive", "--K", 1, "--L1", 0, "--L2", 1)
    ran = draftproof("prove", "nss", "--vocab", "any", *scheme, "--certificate", tmp_path / "file.json")
    assert ran.code == 2
    assert "the checker follows delayed trees" in ran.err
    assert not (tmp_path / "file.json").exists()


def dicts(node, name):
    """All dictionaries below a node that have a key, outer ones first."""
    if isinstance(node, dict):
        if name in node:
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from dicts(each, name)


def added(certificate, *terms):
    """One more function without a denominator."""
    certificate["polynomials"].append([*terms])
    certificate["functions"].append([len(certificate["polynomials"]) - 1])
    return len(certificate["functions"]) - 1


def one_with(certificate, name, wanted=bool):
    """The first dictionary in which a field is as wanted."""
    return next(each for each in dicts(certificate["steps"], name) if wanted(each[name]))


def drafted(certificate):
    """All tokens of the rows of drafted tokens."""
    return [each["parts"] for each in dicts(certificate["steps"], "parts")]


def of_a_token(certificate):
    """A token that has a name and is drafted."""
    return one_with(certificate, "linear", lambda linear: len(linear) == 1)


def of_a_class(certificate):
    """Another token of a class that is drafted."""
    return one_with(certificate, "linear", lambda linear: len(linear) == 2)


def with_fact(certificate):
    return one_with(certificate, "where", lambda where: any(len(each) > 2 for each in where))["where"]


def changed_verdict(certificate):
    """The masses still add up to 1, but of two verdicts the other one has the token of the theorem."""
    name = certificate["steps"][0]["names"][0]
    one, other = next(
        masses[:2]
        for each in dicts(certificate["steps"][0], "verdicts")
        for masses in each["verdicts"]
        if len(masses) > 1 and (masses[0][0] == name) != (masses[1][0] == name)
    )
    one[-1], other[-1] = other[-1], one[-1]


def variable_of_the_token(certificate):
    """The equation is right, but a coefficient may not depend on the token."""
    functions, polynomials = certificate["functions"], certificate["polynomials"]
    new = one_with(
        certificate, "linear", lambda linear: len(linear) == 2 and all(len(functions[each]) == 1 for each in linear)
    )
    a, b = (polynomials[functions[each][0]] for each in new["linear"])
    p, q = f"p{new['node'][-1]}", f"q{new['node'][-1]}"
    new["linear"] = [added(certificate, *a, [1, q]), added(certificate, *b, [-1, p])]


def zero_in_place_of_the_rest(certificate):
    case = one_with(certificate, "rest")
    case["rest"] = [[added(certificate), case["rest"][0][1]]]


def rest_without_its_equation(certificate):
    for each in dicts(certificate, "where"):
        each["where"] = [[sign.replace("=", ">=") if sign == "=" else sign, *rest] for sign, *rest in each["where"]]


def fact_without_a_condition(certificate):
    """What two inequalities showed, one alone does not."""
    where = with_fact(certificate)
    where[:] = [each for each in where if len(each) > 2 or each[0] != ">="]


def fact_over_an_unknown_denominator(certificate):
    """`1 = (q0 - 2) / (q0 - 2)` is no fact where the sign of `q0 - 2` is not known."""
    below = added(certificate, [1, "q0"], [-2])
    place = certificate["functions"][below][0]
    certificate["functions"].append([place, place])
    certificate["steps"][0]["cases"][0]["where"].append([">", added(certificate, [1]), [below + 1]])


def zero_called_positive(certificate):
    zero = added(certificate)
    certificate["steps"][0]["cases"][0]["where"].append([">", zero, [zero, zero]])


def context_that_never_comes(certificate):
    """Nothing is said about any verdict; all sums are 0."""
    step = certificate["steps"][2]
    for case in step["cases"]:
        case["pairs"] = [*step["names"], *case["pairs"]]
    step["names"] = [97, 98, 99]
    for each in list(dicts(step, "later")):
        del each["later"]
    zero = added(certificate)
    for each in dicts(step, "linear"):
        each["linear"] = [zero for _ in each["linear"]]
    for name in ("rest", "verdicts"):
        for each in dicts(step, name):
            each[name] = []


def token_that_never_comes(certificate):
    step = certificate["steps"][0]
    for case in step["cases"]:
        case["pairs"] = [*step["names"], *case["pairs"]]
    step["names"] = [99]


def row_of_another_tree(certificate):
    for part in drafted(certificate)[0]:
        part["node"].insert(0, 9)


def tree_that_ends_early(certificate):
    """After one token of two."""
    step = certificate["steps"][2]
    rows = [
        each
        for each in dicts(step, "sum")
        if each["sum"].get("parts", [{}])[0].get("node", [])[:-1] == step["names"][:1]
    ]
    rows[0]["sum"] = {"verdicts": []}


def later(certificate):
    """What is drafted once a node is looked at, after the token of the theorem."""
    return one_with(certificate, "later")["later"]


def it_twice_later(certificate):
    """The masses add up to 1."""
    functions, polynomials = certificate["functions"], certificate["polynomials"]
    for each in later(certificate):
        number, *below = functions[each["masses"][0]]
        polynomials.append([[str(Fraction(a) / 2), *names] for a, *names in polynomials[number]])
        functions.append([len(polynomials) - 1, *below])
        each["masses"] = [len(functions) - 1]
    later(certificate).extend(deepcopy(later(certificate)))


def no_value_of_what_is_later(certificate):
    """It is 0 in all its cases, with a rest."""
    each = later(certificate)[0]
    for case in each["cases"]:
        case["rest"].append([each["value"]])
    each["value"] = added(certificate)


def value_that_only_its_case_has(certificate):
    """All equations are right."""
    functions, polynomials = certificate["functions"], certificate["polynomials"]
    part = later(certificate)[0]
    below = next(each for each in part["cases"] if each["pairs"])
    name = f"p{below['pairs'][0]}"
    [function] = functions[part["value"]]
    difference = added(certificate, *polynomials[function], [-1, name])
    part["cases"], part["value"] = [below], added(certificate, [1, name])
    below["where"].append(["=", difference])
    below["rest"] = [[difference]]


def half(certificate):
    return added(certificate, ["1/2"])


def rest(certificate):
    return one_with(certificate, "rest")["rest"]


def verdict(certificate):
    return next(masses for each in dicts(certificate, "verdicts") for masses in each["verdicts"] if masses)[0]


def left(certificate):
    """A tree on which the context is left: more might be drafted then."""
    return one_with(certificate, "verdicts", lambda verdicts: verdicts == [])


def first_where(certificate):
    return certificate["steps"][0]["cases"][0]["where"]


DIFFER, UNKNOWN, OLD = "the two sides differ", "nothing says that", "not all are new"
#: What the checker says of each planted error.
PLANTED = {
    changed_verdict: f"values in cases: {DIFFER}",
    variable_of_the_token: "may not occur",
    zero_in_place_of_the_rest: DIFFER,
    rest_without_its_equation: UNKNOWN,
    fact_without_a_condition: UNKNOWN,
    fact_over_an_unknown_denominator: "denominators are > 0",
    zero_called_positive: UNKNOWN,
    context_that_never_comes: "the steps",
    token_that_never_comes: DIFFER,
    tree_that_ends_early: "zip",
    row_of_another_tree: "its row was not drafted",
    it_twice_later: f"masses of verdicts: {DIFFER}",
    no_value_of_what_is_later: UNKNOWN,
    value_that_only_its_case_has: "may not occur",
}
#: Planted errors of one field: what holds it, its key or place, the wrong value, and what the checker says.
WRONG_FIELD = {
    "mass": (lambda c: one_with(c, "verdicts", any)["verdicts"][0][0], -1, half, f"masses of verdicts: {DIFFER}"),
    "coefficients": (of_a_class, "linear", lambda c: of_a_class(c)["linear"][::-1], f"values in cases: {DIFFER}"),
    "rest of a class": (lambda c: of_a_class(c)["masses"], 0, half, DIFFER),
    "chance": (of_a_token, "chance", lambda c: [half(c)], DIFFER),
    "class": (lambda c: drafted(c)[0], slice(-1, None), lambda c: [], f"chances and rows of p and q: {DIFFER}"),
    "rest": (lambda c: one_with(c, "rest"), "rest", lambda c: [], DIFFER),
    "more in the rest": (rest, slice(0, 0), lambda c: [[added(c, [1]), added(c, [1])]], DIFFER),  # 1, where 0 is right
    "sum": (lambda c: c["steps"][0]["cases"][0], "rest", lambda c: [[added(c, [1, "p0"], [-1, "q0"])]], DIFFER),
    "fact": (lambda c: next(each for each in with_fact(c) if len(each) > 2), 0, lambda c: ">", UNKNOWN),
    "sign": (first_where, slice(0, 0), lambda c: [["<", added(c, [1, "p0"])]], UNKNOWN),
    "0 > 0": (first_where, slice(0, 0), lambda c: [[">", added(c)]], UNKNOWN),  # there would be nothing in the case
    "cases": (lambda c: c["steps"][0], "cases", lambda c: [], "there are no cases"),
    "variables": (lambda c: of_a_class(c)["node"], -1, lambda c: 0, OLD),
    "False is 0": (lambda c: one_with(c, "pairs")["pairs"], 0, lambda c: False, OLD),
    "verdicts": (lambda c: one_with(c, "verdicts"), "verdicts", lambda c: [], "zip"),
    "tree of a verdict": (verdict, slice(0, 0), lambda c: [9], "was not drafted"),
    "step": (lambda c: c["steps"], slice(-1, None), lambda c: [], "the steps"),
    "nothing later": (later, slice(None), lambda c: [], f"masses of verdicts: {DIFFER}"),
    "value later": (lambda c: later(c)[0], "value", half, DIFFER),
    "later where the context is left": (left, "later", lambda c: deepcopy(later(c)), "zip"),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_planted_errors_are_found(block, plant):
    certificate = deepcopy(block)
    plant(certificate)
    with pytest.raises(ValueError, match=re.escape(PLANTED[plant])):
        checked(certificate)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", WRONG_FIELD)
def test_a_wrong_field_is_found(block, name):
    certificate = deepcopy(block)
    holder, key, wrong, says = WRONG_FIELD[name]
    value = wrong(certificate)
    holder(certificate)[key] = value
    with pytest.raises(ValueError, match=re.escape(says)):
        checked(certificate)


def test_a_prefix_that_is_kept_less_often_is_found(dominance):
    certificate = deepcopy(dominance)
    certificate["steps"][0]["cases"][0]["rest"] = [[added(certificate, [-1, "q0"])]]
    with pytest.raises(ValueError, match=DIFFER):
        checked(certificate)
    certificate = deepcopy(dominance)
    certificate["steps"] = []
    with pytest.raises(ValueError, match="the steps"):
        checked(certificate)


def test_dominance_is_not_equality(dominance):
    """A sum that is positive is not 0."""
    certificate = deepcopy(dominance) | {"kind": EQUALS}
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is found first
        checked(certificate)
