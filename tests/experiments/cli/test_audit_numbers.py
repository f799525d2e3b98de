"""Audits of functions that round, warn, draw at corners or take batches: each verdict with its twin."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

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
    ran = audit(WARNS, "right", "--interface", "chain", "--library", "numpy", "--cases", "zeros", "--json")
    assert ran.code == 0
    assert "RuntimeWarning: divide by zero encountered in log (theirs.py:13)" in ran.row["rests_on"]
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


COUNTING = """
import numpy as np

real = 0

def verify(tokens, q, p, period):
    global real
    for i, token in enumerate(tokens):
        u = np.random.random()
        real += type(u) is float
        wrong = type(u) is float and real % period
        if u >= p[i][token] / q[i][token]:
            left = p[i] if wrong else np.maximum(np.asarray(p[i]) - q[i], 0)
            return i, int(np.argmax(left / np.random.exponential(size=len(left))))
    return len(tokens), int(np.argmax(p[-1] / np.random.exponential(size=len(p[-1]))))

def second(tokens, q, p):
    return verify(tokens, q, p, 2)

def third(tokens, q, p):
    return verify(tokens, q, p, 3)
"""


@pytest.mark.parametrize("name", ["second", "third"])
def test_what_counts_real_numbers_is_refused_at_the_bounds_too(audit, name):
    ran = audit(COUNTING, name, "--interface", "chain", "--cases", "context,short")
    assert ran.code == 2, ran.out


CORNERS = """
import torch

def race(row, floor=0.0, least=0.0):
    row = row.clamp(min=floor)
    return int(torch.argmax(row / torch.empty_like(row).exponential_().clamp(min=least)))

def verify(tokens, q, p, weak, floor=0.0, least=0.0):
    for i, token in enumerate(tokens):
        ratio, coin = p[i, token] / q[i, token], torch.rand(())
        if (coin <= ratio) if weak else (coin < ratio):
            continue
        return i, race(p[i] - q[i], floor, least)
    return len(tokens), race(p[-1], floor, least)

def right(tokens, q, p):
    return verify(tokens, q, p, False)

def clamped(tokens, q, p):
    return verify(tokens, q, p, False, least=1e-10)

def tiny(tokens, q, p):  # a floor that no coin turns into a token
    return verify(tokens, q, p, False, 1e-38)

def wrong(tokens, q, p):
    return verify(tokens, q, p, True)
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "code"), [("right", 0), ("tiny", 0), ("wrong", 1)])
def test_only_coins_that_a_generator_returns_are_corners(audit, name, code):
    pytest.importorskip("torch")
    given = ("--interface", "chain", "--library", "torch", "--cases", "zeros,disjoint", "--boundary", "--json")
    ran = audit(CORNERS, name, *given)
    assert ran.code == code
    assert bool(ran.row["corners"]) is bool(code)
    assert all(" = 0, met at theirs.py:" in corner for corner in ran.row["corners"])


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


TWO_BUGS = """
def verify(tokens, q, p, guard, coin):
    wrong = len(p[0]) == 3
    for i, x in enumerate(tokens):
        if (random.random() if wrong else coin()) * q[i][x] >= p[i][x]:
            return i, draw(p[i] if wrong else [w + guard for w in rest(p[i], q[i])])
    return len(tokens), draw(p[len(tokens)])

def hidden(tokens, q, p):
    return verify(tokens, q, p, 1e-4, random.random)

def other(tokens, q, p):
    return verify(tokens, q, p, 0, lambda: 1)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["hidden", "other"])
def test_a_smaller_witness_shows_the_bug_that_was_found(audit, name):
    ran = audit(TWO_BUGS, name, "--interface", "chain", "--cases", "three_tokens", "--json")
    assert [one["name"] for one in ran.json["hypotheses"]] == ["correction from p"]
    assert ran.witness["shrunk"]
    assert (ran.witness["vocab_size"], ran.witness["scheme"]) == (3, "delayed(K=1, L1=0, L2=1)")


@pytest.mark.heavy
def test_the_witness_of_a_batch_shows_the_rows_of_the_request_that_fails(audit):
    given = ("--interface", "chain", "--batch", 2, "--cases", "short")
    assert audit(BATCHED, "right", *given).code == 0
    ran = audit(BATCHED, "second", *given, "--json")
    assert ran.code == 1
    [case] = ran.json["cases"]
    assert [set(own) >= {"scheme", "block_efficiency", "optimum"} for own in case["requests"]] == [True, True]
    witness = ran.witness
    assert any("request 1 of the batch fails; its rows" in note for note in ran.json["notes"])
    assert witness["context"] == []  # everything reaches the root, so that the mass to be met is that of the row
    rows = [[part.split() for part in (each["target"], each["draft"])] for each in ran.json["instance"]]
    of_file = json.loads(Path(witness["file"]).read_text())
    assert rows != [[row, of_file["draft"].get(context, [])] for context, row in of_file["target"].items()]
    row = rows[0][0]
    # The block's mass is a sum of floats, so is what it must be.
    assert float(Fraction(row[witness["token"]])) == pytest.approx(float(witness["expected"]), abs=1e-12)
