"""The marker for other projects' test suites, in a pytest of its own."""

import subprocess
import sys

SUITE = """
import random

import pytest


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


@pytest.mark.lossless(interface="chain")
def test_right(verifier):
    return verifier


@pytest.mark.lossless(interface="chain")
def test_wrong():
    return wrong


@pytest.mark.lossless(interface="chain")
def test_nothing():
    pass


def test_without_the_marker():
    assert True
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-W", "error", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_marked_tests_are_audited(tmp_path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["draftproof.simulator.audit.pytest_plugin"]\n')
    (tmp_path / "test_theirs.py").write_text(SUITE)
    done = run(tmp_path, "-rA")
    assert "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "PASSED test_theirs.py::test_right" in done.stdout
    assert "wrong is not lossless on delayed(K=1, L1=0, L2=2)" in done.stdout
    assert "hypothesis: the correction after a rejection is drawn from p" in done.stdout
    assert "test_nothing is marked lossless and returned None" in done.stdout
    marked = run(tmp_path, "-m", "lossless", "--collect-only", "-q")
    assert "3/4 tests collected" in marked.stdout
