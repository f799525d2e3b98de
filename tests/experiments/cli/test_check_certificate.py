"""The checker that needs no draftproof accepts what was proved and finds planted errors; Lean gets what it checked."""

import ast
import json
import re
import subprocess
import sys
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from draftproof.experiments.cli.prove import check_certificate
from draftproof.experiments.cli.prove.check_certificate import Checker, Rejected
from draftproof.experiments.cli.prove.lean import MATHLIB, lean_of
from draftproof.simulator.drafts import Delayed
from draftproof.simulator.theorems.any_vocabulary.certificate import certificate_of
from draftproof.simulator.theorems.any_vocabulary.theorem import LOSSLESS, Theorem
from draftproof.simulator.theorems.proof.relations import DOMINATES, EQUALS
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
    checker = Checker(certificate)
    checker.check()
    return checker


@pytest.fixture(scope="module")
def block():
    return proved(LOSSLESS, Delayed(1, 0, 2), "block")


@pytest.fixture(scope="module")
def dominance():
    return proved(DOMINATES, Delayed(1, 0, 1), "block", "naive")


def test_the_checker_is_one_file_without_imports_of_draftproof(block, tmp_path):
    imports = [node for node in ast.walk(ast.parse(FILE.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports]
    assert {str(name).split(".")[0] for name in names} <= sys.stdlib_module_names
    (tmp_path / "checker.py").write_text(FILE.read_text())
    (tmp_path / "block.json").write_text(json.dumps(block))
    (tmp_path / "other.json").write_text("{}")
    for name, code, start in ("block", 0, "VALID"), ("other", 2, "other.json is no such certificate"):
        run = [sys.executable, "-I", "-S", "checker.py", f"{name}.json"]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.startswith(start)) == (code, True), done


def test_proved_certificates_are_valid(block, dominance):
    assert len(checked(block).trusted) == 1  # an equation that two inequalities make
    assert not checked(dominance).trusted
    assert not checked(proved(LOSSLESS, Delayed(1, 0, 2), "naive")).trusted


@heavy
@pytest.mark.parametrize(
    ("kind", "scheme", "verifier", "other", "trusted"),
    [
        (LOSSLESS, Delayed(2, 0, 1), "specinfer", None, 0),
        (LOSSLESS, Delayed(2, 0, 1), "traversal", None, 2),
        (EQUALS, Delayed(1, 0, 2), "hsd", "block", 2),
        (DOMINATES, Delayed(1, 0, 2), "block", "naive", 0),
    ],
    ids=str,
)
def test_more_certificates_are_valid(kind, scheme, verifier, other, trusted):
    certificate = proved(kind, scheme, verifier, other)
    assert len(checked(certificate).trusted) == trusted
    right_in_lean(lean_of(certificate, "title"))


def dicts(node, name):
    """All dictionaries below a node that have a key, outer ones first."""
    if isinstance(node, dict):
        if name in node:
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from dicts(each, name)


def added(certificate, numerator, *factors):
    certificate["functions"].append([numerator, list(factors)])
    return len(certificate["functions"]) - 1


def changed_mass(certificate):
    masses = next(each["verdicts"][0] for each in dicts(certificate, "verdicts") if each["verdicts"])
    masses[0][2] = added(certificate, "1/2")


def changed_verdict(certificate):
    """The masses still add up to 1, but of two verdicts the other one has the token of the theorem."""
    (name, *_), verdicts = certificate["steps"][0]["token"], dicts(certificate["steps"][0], "verdicts")
    one, other = next(
        masses[:2]
        for each in verdicts
        for masses in each["verdicts"]
        if len(masses) > 1 and ([*masses[0][0], masses[0][1]][0] == name) != ([*masses[1][0], masses[1][1]][0] == name)
    )
    one[2], other[2] = other[2], one[2]


def changed_coefficient(certificate):
    new = next(dicts(certificate, "linear"))
    new["linear"][0], new["linear"][1] = new["linear"][1], new["linear"][0]


def variable_of_the_token(certificate):
    """The equation is right, but a coefficient may not depend on the token."""
    new = next(
        each for each in dicts(certificate, "linear") if not any(certificate["functions"][n][1] for n in each["linear"])
    )
    p, q = new["variables"]
    a, b = (certificate["functions"][each][0] for each in new["linear"])
    new["linear"] = [added(certificate, f"{a} + {q}"), added(certificate, f"{b} - {p}")]


def dropped_class(certificate):
    next(dicts(certificate, "drafted"))["drafted"].pop()


def dropped_class_of_a_leaf_row(certificate):
    [each for each in dicts(certificate, "drafted") if "value" in each][-1]["drafted"].pop()


def wrong_rest(certificate):
    new = next(dicts(certificate, "linear"))
    new["masses"][0] = added(certificate, "1/2")


def changed_chance(certificate):
    next(dicts(certificate, "after"))["chance"] = added(certificate, "1/2")


def changed_chance_of_a_class(certificate):
    new = next(dicts(certificate, "linear"))
    new["chance"].reverse()


def case_with_another_value(certificate):
    new = next(each for each in dicts(certificate, "linear") if len(each["cases"]) > 1)
    new["cases"][1]["sum"]["value"] = added(certificate, "1")


def case_with_another_value_by_false_reason(certificate):
    """The reason is right, for a function that is not the difference."""
    case = next(each for each in dicts(certificate, "differs") if each["differs"])
    case["differs"] = [added(certificate, "0")]


def difference_without_reason(certificate):
    case = next(each for each in dicts(certificate, "differs") if each["differs"])
    case["therefore"] = []


def reason_without_its_equation(certificate):
    case = next(each for each in dicts(certificate, "therefore") if each["therefore"] and each["therefore"][0][3])
    case["where"] = [text.replace(" = ", " <= ") for text in case["where"]]


def zero_times(certificate):
    """Whatever is multiplied by 0 is 0."""
    case = next(each for each in dicts(certificate, "therefore") if each["therefore"] and each["therefore"][0][3])
    text, relation, times, terms = case["therefore"][0]
    case["therefore"][0] = [text, relation, [*times, terms[0][1]], [[text, *times, terms[0][1]]]]


def positive_called_negative(certificate):
    case = certificate["steps"][0]["cases"][0]
    case["therefore"].append(["p0 + 1", "<", [], [["p0"], ["1"]]])


def zero_called_positive(certificate):
    case = certificate["steps"][0]["cases"][0]
    case["therefore"].append(["p0 - p0", ">", [], [["0"]]])


def context_that_never_comes(certificate):
    """Nothing is said about any verdict; all sums are 0."""
    step = certificate["steps"][2]
    step["context"] = ["t99", "t98"]
    zero = added(certificate, "0")
    for name in "value", "linear", "differs":
        for each in dicts(step, name):
            each[name] = {"value": zero, "linear": [zero, zero], "differs": []}[name]
    for each in dicts(step, "verdicts"):
        each["verdicts"] = []


def no_cases(certificate):
    certificate["steps"][0]["cases"] = []


def known_variables(certificate):
    new = next(each for each in dicts(certificate["steps"][1], "variables"))
    new["variables"] = ["p0", "q0"]


def known_name(certificate):
    next(dicts(certificate, "linear"))["token"] = "t0"


def missing_verdicts(certificate):
    next(each for each in dicts(certificate, "verdicts") if each["verdicts"])["verdicts"] = []


def missing_cases(certificate):
    next(dicts(certificate, "linear"))["cases"] = []


def missing_step(certificate):
    certificate["steps"].pop()


def other_sum(certificate):
    """The last sum is not 0."""
    case = certificate["steps"][0]["cases"][0]
    case["sum"]["value"] = added(certificate, "p0 - q0")


def another_tree(certificate):
    leaf = next(dicts(certificate, "leaf"))["leaf"]
    leaf["drafted"][0][1] = ["t9"]


PLANTED = {
    changed_mass: "masses of verdicts: the two sides differ",
    changed_verdict: "values of leaves: the two sides differ",
    changed_coefficient: "sums after new tokens: the two sides differ",
    variable_of_the_token: "may not occur",
    dropped_class: "the two sides differ",
    dropped_class_of_a_leaf_row: "the two sides differ",
    wrong_rest: "the two sides differ",
    changed_chance: "the two sides differ",
    changed_chance_of_a_class: "the two sides differ",
    case_with_another_value: "the two sides differ",
    case_with_another_value_by_false_reason: "the two sides differ",
    difference_without_reason: "the difference is not 0",
    reason_without_its_equation: "nothing says that",
    zero_times: "nothing says that",
    positive_called_negative: "nothing says that",
    zero_called_positive: "nothing says that",
    context_that_never_comes: "no verdict is about",
    no_cases: "no verdict is about",
    known_variables: "are not new",
    known_name: "are not new",
    missing_verdicts: "verdicts are missing",
    missing_cases: "something follows no token",
    missing_step: "a length of the context is missing",
    other_sum: "the sum is not as the theorem says",
    another_tree: "this is not the tree that was drafted",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_planted_errors_are_found(block, plant):
    certificate = deepcopy(block)
    plant(certificate)
    with pytest.raises(Rejected, match=re.escape(PLANTED[plant])):
        checked(certificate)


def test_a_prefix_that_is_kept_less_often_is_found(dominance):
    certificate = deepcopy(dominance)
    certificate["steps"][0]["cases"][0]["sum"]["value"] = added(certificate, "-q0")
    with pytest.raises(Rejected, match="the sum is not as the theorem says"):
        checked(certificate)


def test_lean_gets_the_equations(block, dominance):
    text = lean_of(block, "block is lossless")
    assert f"Mathlib {MATHLIB}" in text
    assert right_in_lean(text) == len(re.findall(r"^theorem", text, re.MULTILINE)) > 150
    right_in_lean(lean_of(dominance, "title"))


THEOREM = re.compile(
    r"theorem (?P<name>\w+)(?: \((?P<variables>[\w ]+) : ℚ\))?(?P<given>(?: \(h\d+ : [^\n]*?\))*) :\n"
    r"    (?P<left>[^\n]+?) (?P<relation>[=<≤]) (?P<right>[^\n]+) := by\n"
    r"  (?P<proof>ring|linear_combination|have|nlinarith)"
)


def right_in_lean(text):
    """Check the shape of every theorem, and its statement at points where what is given holds; returns their number."""
    names = set()
    for block in text.split("\n\n"):
        if "theorem equation_" not in block:
            continue
        found = THEOREM.search(block)
        assert found is not None, block
        names.add(found["name"])
        body = block[block.index("theorem") :]
        assert body.count("(") == body.count(")")
        variables = (found["variables"] or "").split()
        assert set(re.findall(r"\b[pq]\d+", body)) == set(variables)
        assert set(re.findall(r"\bh\d+", body)) == set(re.findall(r"\((h\d+) :", body))
        for seed in range(2):
            random = Random(seed)
            point = {name: Fraction(random.randint(1, 50), 53) for name in variables}
            left, right = (value(found[side], point) for side in ("left", "right"))
            if found["proof"] == "ring":
                assert left == right, block
            elif found["proof"] == "linear_combination":
                given = {
                    name: value(each, point) for name, each in re.findall(r"\((h\d+) : (.+?) = 0\)", found["given"])
                }
                combination = body.split("linear_combination ")[1].strip()
                assert left == value(combination, point | given), block
    return len(names)


def value(text, point):
    """The value of Lean's text, with whole numbers as rationals."""
    python = re.sub(r"(?<![\w^])(\d+)", r"Fraction(\1)", text.replace(" : ℚ", "").replace("^", "**"))
    return eval(python, {"Fraction": Fraction, **point})
