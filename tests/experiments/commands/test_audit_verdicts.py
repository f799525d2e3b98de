"""What an audit was wrong about once: each verdict with its twin, which must be the other one."""

from __future__ import annotations

from fractions import Fraction

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


def test_a_crash_on_a_legal_case_is_a_finding_and_the_other_cases_are_judged(audit):
    ran = audit(FAILING, "divides", "--interface", "chain", "--json", "-")
    assert ran.code == 1
    assert "theirs.py line 14" in ran.json["failures"][0]["error"]
    assert all("ZeroDivisionError" in each["error"] and "[" in each["arguments"] for each in ran.json["failures"])
    failed = {each["case"] for each in ran.json["failures"]}
    judged = {each["case"] for each in ran.json["cases"]}
    assert failed
    assert {"equal"} <= judged
    assert not failed & judged
    assert len(failed) + len(judged) == 10
    text = audit(FAILING, "divides", "--interface", "chain")
    assert "FAILS on" in text.out
    assert "fails here: where" in text.out
    assert "called with ([" in text.out


def test_its_twin_fails_nowhere(audit):
    ran = audit(FAILING, "right", "--interface", "chain", "--json", "-")
    assert (ran.code, ran.json["failures"]) == (0, [])


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


@pytest.mark.parametrize(("name", "code"), [("wrong", 1), ("right", 0)])
def test_what_is_no_number_is_a_failure_of_the_function(audit, name, code):
    pytest.importorskip("torch")
    given = ("--interface", "chain", "--library", "torch", "--cases", "short,one_hot", "--json", "-")
    ran = audit(NOT_A_NUMBER, name, *given)
    assert ran.code == code
    assert bool(ran.json["failures"]) is bool(code)
    assert all("torch.multinomial was given" in each["error"] for each in ran.json["failures"])


def test_a_function_that_wants_other_arguments_is_asked_for_wrongly(audit):
    ran = audit("def two(a, b):\n    return 0, 0\n", "two", "--interface", "chain")
    assert ran.code == 2
    assert "calls it with (tokens, q, p)" in ran.err  # a long path may take the words before


WARNS = """
import numpy as np

def right(tokens, q, p):
    p = np.where(p > 0, np.exp(np.log(p)), 0)
    for i, token in enumerate(tokens):
        if np.random.random() >= p[i, token] / q[i, token]:
            left = np.maximum(p[i] - q[i], 0)
            return i, np.random.choice(len(left), p=left / left.sum())
    return len(tokens), np.random.choice(len(p[-1]), p=p[-1] / p[-1].sum())
"""


@pytest.mark.filterwarnings("default::RuntimeWarning")
def test_warnings_are_reported_with_their_line_and_not_printed(audit):
    ran = audit(WARNS, "right", "--interface", "chain", "--library", "numpy", "--cases", "zeros", "--json", "-")
    assert ran.code == 0
    assert "RuntimeWarning: divide by zero encountered in log (theirs.py:13)" in ran.json["rests_on"]
    assert "RuntimeWarning" not in ran.err


BARS = """
import threading
import torch
from tqdm import tqdm

def right(tokens, q, p):
    for i, token in enumerate(tqdm(tokens)):
        if torch.rand(()) >= p[i, token] / q[i, token]:
            return i, torch.multinomial((p[i] - q[i]).clamp(min=0), 1)
    return len(tokens), torch.multinomial(p[-1], 1)

def threads(tokens, q, p):
    threading.Thread(target=right, args=(tokens, q, p)).start()
    return right(tokens, q, p)
"""


@pytest.mark.parametrize(("name", "code"), [("right", 0), ("threads", 2)])
def test_a_progress_bar_is_no_thread_that_computes(audit, name, code):
    pytest.importorskip("torch")
    pytest.importorskip("tqdm")
    ran = audit(BARS, name, "--interface", "chain", "--library", "torch", "--cases", "short")
    assert ran.code == code
    assert ("a thread is started" in ran.err) is (name == "threads")


ROUNDED = """
import numpy as np

SINGLE = np.float32

def verify(tokens, q, p, kind, guard):
    q, p = np.asarray(q, dtype=kind), np.asarray(p, dtype=kind)
    for i, token in enumerate(tokens):
        if np.random.random() >= p[i, token] / (q[i, token] + guard):
            left = np.maximum(p[i] - q[i], 0)
            return i, int(np.argmax(left / np.random.exponential(size=len(left))))
    return len(tokens), int(np.argmax(p[-1] / np.random.exponential(size=len(p[-1]))))

def double(tokens, q, p):
    return verify(tokens, q, p, np.float64, 0)

def single(tokens, q, p, kind=SINGLE):
    return verify(tokens, q, p, kind, 0)

def half(tokens, q, p):
    return verify(tokens, q, p, np.float16, 0)

def guarded(tokens, q, p):
    return verify(tokens, q, p, np.float64, 1e-8)
"""


@pytest.mark.parametrize(
    ("name", "code", "precision"), [("double", 0, None), ("single", 0, "float32"), ("half", 0, "float16 or bfloat16")]
)
def test_rounding_of_a_lower_precision_is_a_verdict_of_its_own(audit, name, code, precision):
    given = ("--interface", "chain", "--cases", "context,three_tokens,short")
    ran = audit(ROUNDED, name, *given, "--json", "-")
    assert ran.code == code
    assert (ran.json["rounding"] or {}).get("precision") == precision
    assert (ran.json["hypotheses"], ran.json["witness"]) == ([], None)
    text = audit(ROUNDED, name, *given)
    if precision is None:
        assert "up to the rounding of the function" in " ".join(text.out.split())
    else:
        assert f"up to {precision} rounding, bias {ran.json['rounding']['bias']:.2g}" in " ".join(text.out.split())
        assert 0 < ran.json["rounding"]["bias"] == ran.json["max_deviation"]
    strict = audit(ROUNDED, name, *given, "--strict")
    assert strict.code == int(precision is not None)
    assert ("NOT STRICTLY LOSSLESS" in " ".join(strict.out.split())) is (precision is not None)


def test_a_bias_as_small_as_rounding_that_is_none_is_refuted_with_the_digits_that_differ(audit):
    ran = audit(ROUNDED, "guarded", "--interface", "chain", "--cases", "context,short")
    assert ran.code == 1
    assert "REFUTED" in ran.out
    [line] = [line for line in ran.out.splitlines() if "must have mass D(c)" in line]
    wanted, found = line.split("= ")[1].split(";")[0], line.split("gives it ")[1].split(" ")[0]
    assert wanted != found
    assert float(wanted) == pytest.approx(float(found), abs=1e-6)


CORNERS = """
import torch

def race(row, floor=0.0):
    row = row.clamp(min=floor)
    return int(torch.argmax(row / torch.empty_like(row).exponential_()))

def verify(tokens, q, p, weak, floor=0.0):
    for i, token in enumerate(tokens):
        ratio, coin = p[i, token] / q[i, token], torch.rand(())
        if (coin <= ratio) if weak else (coin < ratio):
            continue
        return i, race(p[i] - q[i], floor)
    return len(tokens), race(p[-1], floor)

def right(tokens, q, p):
    return verify(tokens, q, p, False)

def tiny(tokens, q, p):  # a floor that no coin turns into a token
    return verify(tokens, q, p, False, 1e-38)

def wrong(tokens, q, p):
    return verify(tokens, q, p, True)
"""


@pytest.mark.parametrize(("name", "code"), [("right", 0), ("tiny", 0), ("wrong", 1)])
def test_only_coins_that_a_generator_returns_are_corners(audit, name, code):
    pytest.importorskip("torch")
    given = ("--interface", "chain", "--library", "torch", "--cases", "zeros,disjoint", "--boundary", "--json", "-")
    ran = audit(CORNERS, name, *given)
    assert ran.code == code
    assert bool(ran.json["corners"]) is bool(code)
    assert all(" = 0, met at theirs.py:" in corner for corner in ran.json["corners"])


BATCHED = """
def verify(tokens, q, p, lengths, careless):
    found = []
    for request, length in enumerate(lengths):
        for i in range(length):
            token, there, here = tokens[request][i], q[request][i], p[request][i]
            if random.random() * there[token] >= here[token]:
                found.append((i, draw(here if request in careless else rest(here, there))))
                break
        else:
            found.append((length, draw(p[request][length])))
    return found

def right(tokens, q, p, lengths):
    return verify(tokens, q, p, lengths, ())

def second(tokens, q, p, lengths):
    return verify(tokens, q, p, lengths, (1,))
"""


def test_the_witness_of_a_batch_shows_the_rows_of_the_request_that_fails(audit):
    given = ("--interface", "chain", "--batch", 2, "--cases", "short")
    assert audit(BATCHED, "right", *given).code == 0
    ran = audit(BATCHED, "second", *given, "--json", "-")
    assert ran.code == 1
    witness = ran.json["witness"]
    assert witness["request"] == 1
    assert witness["instance"] != witness["request_instance"]
    assert witness["context"] == []  # everything reaches the root, so that the mass to be met is that of the row
    row = witness["request_instance"]["target"][""]
    # The block's mass is a sum of floats, so is what it must be.
    assert float(Fraction(row[witness["token"]])) == pytest.approx(float(witness["expected"]), abs=1e-12)
    text = audit(BATCHED, "second", *given)
    assert "request 1 of the batch fails; its rows" in text.out
