"""What an audit was wrong about once: each verdict with its twin, which must be the other one."""

from __future__ import annotations

import pytest

DRAW = """
import random

def draw(row):
    return random.choices(range(len(row)), weights=row)[0]

def rest(p, q):
    return [max(a - b, 0) for a, b in zip(p, q)]
"""

PLAIN = """
def plain(p, q):
    a = draw(p(()))
    return [a, draw(p((a,)))]

def greedy(p, q):
    a = draw(p(()))
    return [a, max(range(len(p((a,)))), key=lambda token: p((a,))[token])]
"""

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


@pytest.fixture
def audit(draftproof, tmp_path):
    """`audit(source, name, *options)`: the command on a function of a file with that source."""

    def run(source, name, *options):
        file = tmp_path / "theirs.py"
        file.write_text(DRAW + source)
        return draftproof("audit", f"{file}:{name}", *options)

    return run


@pytest.mark.parametrize(("name", "code"), [("plain", 0), ("greedy", 1)])
def test_a_function_that_drafts_by_itself_is_compared_with_no_optimum(audit, name, code):
    ran = audit(PLAIN, name, "--interface", "step", "--json", "-")
    assert ran.code == code
    assert ran.json["exceeds_optimum"] is False
    assert (ran.json["max_deviation"] == 0) is (code == 0)
    assert all(case["optimum_float"] is None for case in ran.json["cases"])


@pytest.mark.parametrize(("name", "code"), [("right", 0), ("wrong", 1)])
@pytest.mark.parametrize("shape", [(), ("--K", 3)])
def test_the_third_child_is_rejected_in_some_default_case(audit, name, code, shape):
    ran = audit(CHILDREN, name, "--interface", "paths", "--cases", "ragged,many_paths,wider", *shape, "--json", "-")
    assert ran.code == code
    failed = {case["case"] for case in ran.json["cases"] if not case["lossless"]}
    assert ("wider" in failed) is bool(code)
