"""A refusal names the line at fault, wherever draftproof and the code that is followed are installed."""

import linecache

import pytest

from draftproof.simulator.theorems.proof import numbers


def _caller(file, function):
    """A function whose code is in this file, and which calls this function in line 2."""
    source = "def call():\n    return function()\n"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope = {"function": function}
    exec(compile(source, file, "exec"), scope)
    return scope["call"]


@pytest.mark.parametrize("home", ["/theorems/", "/lib/site-packages/draftproof/"])
@pytest.mark.parametrize("place", ["verifiers/mine.py", "simulator/theorems_of_mine.py"])
def test_only_the_folder_of_theorems_is_passed_over(monkeypatch, home, place):
    monkeypatch.setattr(numbers, "HOME", home)
    monkeypatch.setattr(numbers, "_THEOREMS", f"{home}simulator/theorems/")
    monkeypatch.setattr(numbers, "is_trusted", lambda file: True)
    inner = _caller(f"{home}simulator/theorems/proof/inner.py", numbers.line_of_code)
    run = _caller(f"{home}simulator/laws/enumeration.py", _caller(home + place, inner))
    assert run() == f"{place.rpartition('/')[2]} line 2 (return function())"
