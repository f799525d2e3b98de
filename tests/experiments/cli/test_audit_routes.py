"""The command, `assert_lossless`, the pytest marker and the gallery give one answer about every function."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from draftproof.experiments.cli.audit import work
from draftproof.experiments.gallery.entries import Entry
from draftproof.experiments.gallery.measuring import run as audit_entry
from draftproof.simulator import assert_lossless
from draftproof.simulator.errors import DraftproofError
from draftproof.simulator.symbolic import load

AUDITED = Path(__file__).parents[2] / "data" / "audited"
CHAIN = {"interface": "chain"}
CASES = ("context", "one_hot")
#: File, function, how it is called, cases, and the answer.
TRAPS = [
    ("traps", "right", CHAIN, CASES, "lossless"), ("traps", "stale", CHAIN, CASES, "refused"),
    ("traps", "counts", CHAIN, CASES, "refused"), ("traps", "fails", CHAIN, CASES, "refuted"),
    ("traps", "fails_late", CHAIN, CASES, "refuted"), ("traps", "accepts_all", CHAIN, CASES, "refuted"),
]  # fmt: skip
_NUMPY = {"interface": "chain", "library": "numpy"}
_HALF = ("context", "three_tokens")
PLANTED = [
    (file, name, options, cases, answer)
    for file, options, cases in (
        ("correction_from_target", CHAIN, _HALF),
        ("no_coin", CHAIN, _HALF),
        ("swapped_rows", CHAIN, _HALF),
        ("bonus_row", _NUMPY, _HALF),
        ("uncapped_ratio", CHAIN, _HALF),
        ("weights_as_probabilities", _NUMPY, _HALF),
        ("first_token_exact", _NUMPY, _HALF),
        ("duplicates_twice", {"interface": "paths"}, ("wide",)),
        ("missing_renormalisation", {"interface": "posterior"}, ("context",)),
        ("declared_q", {"interface": "step", "library": "numpy"}, ("context",)),
        ("coin_reuse", {"interface": "coins"}, ("three_tokens",)),
        ("seeded_again", CHAIN, _HALF),
        ("paths_for_depth", {"interface": "posterior", "batch": 2}, ("many_paths",)),
        ("uniforms_multiplied", _NUMPY, _HALF),
        ("draft_row_late", _NUMPY, _HALF),
        ("processing_differs", {**_NUMPY, "processing": "temperature=0.5"}, ("context",)),
        ("longest_of_paths", {"interface": "paths"}, ("wide",)),
    )
    for name, answer in (("wrong", "refuted"), ("right", "lossless"))
]
SUITE = """
import pytest
from draftproof.simulator.symbolic import load

"""
TEST = """
@pytest.mark.lossless(**{options!r}, cases={cases!r})
def test_{file}_{name}():
    return load({path!r}, {name!r})
"""


def by_command(draftproof, file, name, options, cases) -> str:
    flags = [text for key, value in options.items() for text in (f"--{key}", str(value))]
    ran = draftproof("audit", f"{AUDITED / file}.py:{name}", *flags, "--cases", ",".join(cases))
    return {0: "lossless", 1: "refuted", 2: "refused"}[ran.code]


def by_assertion(file, name, options, cases) -> str:
    try:
        assert_lossless(load(AUDITED / f"{file}.py", name), cases=cases, **options)
    except AssertionError:
        return "refuted"
    except DraftproofError:
        return "refused"
    return "lossless"


def by_gallery(file, name, options, cases) -> str:
    plain = {key: value for key, value in options.items() if key != "interface"}
    interface, path = options["interface"], f"{file}.py"
    build = lambda folder, path: load(folder / path, name)  # noqa: E731
    entry = Entry(name, "own/audited", "", path, "", build, interface, None, cases, plain)
    try:
        found = audit_entry(entry, AUDITED, "2026-01-01")
    except DraftproofError:
        return "refused"
    return "lossless" if found.verdict == "lossless" else "refuted"


def by_marker(folder, planted) -> list[str]:
    """All of them in one run of pytest."""
    (folder / "conftest.py").write_text('pytest_plugins = ["draftproof.simulator.audit.pytest_plugin"]\n')
    strict = "--lossless-strict"  # a refusal has a line with the name of its test
    tests = [
        TEST.format(file=file, name=name, options=options, cases=cases, path=str(AUDITED / f"{file}.py"))
        for file, name, options, cases, _ in planted
    ]
    (folder / "test_theirs.py").write_text(SUITE + "".join(tests))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--tb=line", strict]
    wide = {**os.environ, "COLUMNS": "1000"}  # pytest cuts these lines at the width of the terminal
    out = subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, check=False).stdout
    answers = []
    for file, name, *_ in planted:
        [line] = re.findall(rf"^(?:PASSED|FAILED) test_theirs.py::test_{file}_{name}\b.*$", out, re.MULTILINE)
        refused = "not judged" in line
        answers.append("lossless" if line.startswith("PASSED") else "refused" if refused else "refuted")
    return answers


@pytest.mark.heavy
@pytest.mark.parametrize(
    "planted",
    [TRAPS[:4], *(pytest.param(each, marks=pytest.mark.heavy) for each in (TRAPS[4:], PLANTED))],
    ids=["traps", "more traps", "planted bugs"],
)
def test_every_route_gives_the_same_answer(draftproof, tmp_path, monkeypatch, planted):
    monkeypatch.setattr(work, "find_witness", lambda *given: None)  # the search for a smaller one takes longest
    expected = {(file, name): answer for file, name, *_, answer in planted}
    asked = [each[:4] for each in planted]
    routes = {
        "command": [by_command(draftproof, *each) for each in asked],
        "assertion": [by_assertion(*each) for each in asked],
        "gallery": [by_gallery(*each) for each in asked],
        "marker": by_marker(tmp_path, planted),
    }
    for route, answers in routes.items():
        assert dict(zip(expected, answers, strict=True)) == expected, route
