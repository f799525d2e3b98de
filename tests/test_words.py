"""The library speaks of its own arguments; flags are added by the command line alone."""

import ast
import re
from pathlib import Path

import pytest

from draftproof.experiments.cli import FLAGS, with_flags

ROOT = Path(__file__).parents[1]
LIBRARY = ("simulator", "verifiers", "lp_analysis")
FLAG = re.compile(r"(?<![\w-])--[a-z]")
#: Where flags stay: the flag that the plugin gives pytest.
EXCEPTED = {"simulator/audit/pytest_plugin.py"}


def flags(source: str) -> list[str]:
    """The strings of a module that name a flag, docstrings left out."""
    if not FLAG.search(source):
        return []
    tree = ast.parse(source)
    alone = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    strings = (each for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return [each.value for each in strings if id(each) not in alone and FLAG.search(each.value)]


def texts() -> dict[str, str]:
    """The modules of the library with their sources."""
    found = (path for room in LIBRARY for path in (ROOT / room).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_no_string_of_the_library_names_a_flag() -> None:
    modules = texts()
    assert len(modules) > 100
    named = {name: flags(source) for name, source in modules.items()}
    assert {name: found for name, found in named.items() if found and name not in EXCEPTED} == {}
    assert all(named[name] for name in EXCEPTED), "an exception that is none any more"


def test_flags_are_found() -> None:
    source = 'def f(n):\n    """Like `--vocab`."""\n    raise ValueError(f"{n} is too large; use --vocab")\n'
    assert flags(source) == [" is too large; use --vocab"]


@pytest.mark.parametrize("words", FLAGS)
def test_every_advice_that_gets_a_flag_is_one_of_the_library(words: str) -> None:
    plain = words.split("(", maxsplit=1)[0]
    assert any(plain in source for source in texts().values()), words


def test_flags_stand_in_brackets_after_the_advice() -> None:
    assert with_flags("use arithmetic float64; or not") == "use arithmetic float64 (--arithmetic float64); or not"
    assert with_flags("choose a vocabulary of 2 or more") == "choose a vocabulary of 2 or more (--vocab)"
    assert with_flags("choose a smaller vocabulary") == "choose a smaller vocabulary (vocab=V of the world)"
    assert with_flags("nothing to advise") == "nothing to advise"
