"""The marker for other projects' test suites, in a pytest of its own."""

import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

SUITE = """
import random

import pytest

from draftproof.simulator.audit import lossless


def corrected(tokens, q, p, weights_of):
    for i, x in enumerate(tokens):
        if random.random() >= p[i][x] / q[i][x]:
            return i, random.choices(range(len(p[i])), weights=weights_of(p[i], q[i]))[0]
    return len(tokens), random.choices(range(len(p[-1])), weights=p[-1])[0]


def right(tokens, q, p):
    return corrected(tokens, q, p, lambda p, q: [max(a - b, 0) for a, b in zip(p, q)])


def wrong(tokens, q, p):
    return corrected(tokens, q, p, lambda p, q: p)


@pytest.fixture
def verifier():
    return right


@pytest.mark.lossless(interface="chain", cases=["context"])
def test_right(verifier):
    return verifier


@pytest.mark.lossless(interface="chain", cases=["context"])
def test_wrong():
    return wrong


def refused(tokens, q, p):
    return len(tokens), int(hash(random.random())) % 2


def counting(tokens, q, p, calls=[]):
    calls.append(0)
    return corrected(tokens, q, p, lambda p, q: p if len(calls) % 2 else q)


@pytest.mark.lossless(interface="chain", cases=["context"])
def test_refused():
    return refused


@pytest.mark.lossless(interface="chain", cases=["context"])
def test_state():
    return counting


@pytest.mark.lossless(interface="chain", cases=["context"])
def test_of_the_test():
    def verify(tokens, q, p):
        assert len(tokens) == len(q)
        return corrected(tokens, q, p, lambda p, q: [max(a - b, 0) * float(random.random() < 2) for a, b in zip(p, q)])
    return verify


decorated = lossless(interface="chain", cases=["context"])(lambda tokens, q, p: right(tokens, q, p))


@lossless(interface="chain", cases=["context"])
def decorated_wrong(tokens, q, p):
    return wrong(tokens, q, p)


@pytest.mark.lossless(interface="chain", cases=["context"])
def test_nothing():
    pass


def test_without_the_marker():
    assert True
"""


#: The name of the entry point: where draftproof is installed, pytest loads it without this option.
PLUGIN = "draftproof.simulator.audit.pytest_plugin"


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-W", "error", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_marked_and_decorated_verifiers_pass_fail_and_are_refused(tmp_path):
    (tmp_path / "test_theirs.py").write_text(SUITE)
    done = run(tmp_path, "-p", PLUGIN, "-rA", "--junitxml", "done.xml")
    assert "3 failed, 4 passed, 2 skipped" in done.stdout, done.stdout + done.stderr
    for line in ("PASSED test_theirs.py::test_right", "PASSED test_theirs.py::decorated\n"):
        assert line in done.stdout
    assert "FAILED test_theirs.py::decorated_wrong - " in done.stdout
    assert "wrong is not lossless on delayed(K=1, L1=0, L2=2)" in done.stdout
    assert "hypothesis: the correction after a rejection is drawn from p" in done.stdout
    assert "witness: after (), p = (436/997, 561/997), q = (" in done.stdout
    assert "defined at test_theirs.py:20" in done.stdout
    assert "test_nothing is marked lossless and returned None" in done.stdout
    assert "another exception occurred" not in done.stdout
    assert "function.py" not in done.stdout  # a failure is the message, without the lines of this project
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "done.xml").iter("testcase")}
    assert "the hash" in cases["test_refused"].find("skipped").get("message")
    assert "is not lossless" in cases["test_wrong"].find("failure").get("message")
    assert "without state" in cases["test_state"].find("skipped").get("message")
    strict = run(tmp_path, "-p", PLUGIN, "--lossless-strict", "-k", "refused or state")
    assert "2 failed" in strict.stdout
    assert strict.stdout.count("FAILED") == strict.stdout.count(" - Failed: not judged: ") == 2
    marked = run(tmp_path, "-p", PLUGIN, "-m", "lossless", "--collect-only", "-q")
    assert "8/9 tests collected" in marked.stdout


@pytest.mark.heavy
def test_the_entry_point_is_named_as_its_module_which_an_old_conftest_may_name_too(tmp_path):
    settings = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert settings["project"]["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
    (tmp_path / "conftest.py").write_text(f'pytest_plugins = ["{PLUGIN}"]\n')
    (tmp_path / "test_theirs.py").write_text(SUITE)
    assert "9 tests collected" in run(tmp_path, "-p", PLUGIN, "--collect-only", "-q").stdout
