"""What an audit was wrong about once: each verdict with its twin, which must be the other one."""

import pytest

#: Recursive rejection of independent paths of one token; `unseen` takes the third one whatever it is.
CHILDREN = """
def verify(paths, p, q, unseen):
    node, left = (), list(p[()])
    while True:
        here = [path[len(node)] for path in paths if path[: len(node)] == node and len(path) > len(node)]
        left = list(p[node])
        if not here:
            return node, draw(left)
        for place, token in enumerate(here):
            if (unseen and place == 2) or random.random() * q[node][token] < left[token]:
                node = (*node, token)
                break
            left = rest(left, q[node])
            left = [mass / sum(left) for mass in left]
        else:
            return node, draw(left)

def right(paths, p, q):
    return verify(paths, p, q, False)

def wrong(paths, p, q):
    return verify(paths, p, q, True)
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "code", "shape"),
    [
        ("right", 0, ("--K", 3)),
        pytest.param("wrong", 1, (), marks=pytest.mark.heavy),
        pytest.param("right", 0, (), marks=pytest.mark.heavy),
        pytest.param("wrong", 1, ("--K", 3), marks=pytest.mark.heavy),
    ],
)
def test_the_third_child_is_rejected_in_some_default_case(audit, name, code, shape):
    ran = audit(CHILDREN, name, "--interface", "paths", "--cases", "ragged,many_paths,wider", *shape, "--json")
    assert ran.code == code
    failed = {case["case"] for case in ran.json["cases"] if not case["lossless"]}
    assert ("wider" in failed) is bool(code)


FAILING = """
def divides(tokens, q, p):
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            left = rest(p[i], q[i])
            weights = [mass / left[0] for mass in left]  # left[0] may be 0
            return i, draw(weights)
    return len(tokens), draw(p[-1])

def right(tokens, q, p):
    for i, token in enumerate(tokens):
        if random.random() * q[i][token] >= p[i][token]:
            return i, draw(rest(p[i], q[i]))
    return len(tokens), draw(p[-1])
"""


@pytest.mark.heavy
def test_a_crash_on_a_legal_case_is_a_finding_and_the_other_cases_are_judged(audit):
    ran = audit(FAILING, "divides", "--interface", "chain", "--json")
    assert ran.code == 1
    assert "theirs.py line 14" in ran.json["failures"][0]["error"]
    assert all("ZeroDivisionError" in each["error"] and "[" in each["arguments"] for each in ran.json["failures"])
    assert all(each["arguments"].startswith("tokens=[") for each in ran.json["failures"])
    failed = {each["case"] for each in ran.json["failures"]}
    judged = {each["case"] for each in ran.json["cases"]}
    assert failed
    assert {"equal"} <= judged
    assert not failed & judged
    assert len(failed) + len(judged) == 11
    text = audit(FAILING, "divides", "--interface", "chain")
    assert "FAILS on" in text.out
    assert "fails where" in text.out
    assert "called with (tokens=[" in text.out


NOT_A_NUMBER = """
import torch

def wrong(tokens, q, p):
    for i, token in enumerate(tokens):
        if torch.rand(()) >= p[i, token] / q[i, token]:
            return i, torch.multinomial((p[i] - q[i]) / (p[i] - q[i]).sum(), 1)
    return len(tokens), torch.multinomial(p[-1], 1)

def right(tokens, q, p):
    for i, token in enumerate(tokens):
        if torch.rand(()) >= p[i, token] / q[i, token]:
            return i, torch.multinomial((p[i] - q[i]).clamp(min=0), 1)
    return len(tokens), torch.multinomial(p[-1], 1)
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "code"), [("wrong", 1), ("right", 0)])
def test_what_is_no_number_is_a_failure_of_the_function(audit, name, code):
    pytest.importorskip("torch")
    given = ("--interface", "chain", "--library", "torch", "--cases", "short,one_hot", "--json")
    ran = audit(NOT_A_NUMBER, name, *given)
    assert ran.code == code
    assert bool(ran.json["failures"]) is bool(code)
    assert all("torch.multinomial was given" in each["error"] for each in ran.json["failures"])


def test_a_function_that_wants_other_arguments_is_asked_for_wrongly(audit):
    ran = audit("def two(a, b):\n    return 0, 0\n", "two", "--interface", "chain")
    assert ran.code == 2
    assert "calls it with (tokens, q, p)" in ran.err  # a long path may take the words before


LONG = """
def raises(tokens, q, p):
    raise ValueError("begins " + "x " * 500 + "ends")
"""


def test_long_errors_are_shown_whole(audit):
    ran = audit(LONG, "raises", "--interface", "chain", "--cases", "short")
    assert f"begins {'x ' * 500}ends" in ran.out
    wrongly = audit(LONG.replace("ValueError", "KeyError"), "raises", "--interface", "chain", "--cases", "short")
    assert (wrongly.code, f"{'x ' * 500}ends" in wrongly.err) == (2, True)
