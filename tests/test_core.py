"""The core: it imports nothing else of ours, it is short, and its page walks through it in reading order."""

import re
from pathlib import Path

from tests.test_layers import ROOMS, ROOT, imports, module_of

PAGE = ROOT / "docs" / "core.md"
#: Its files in the order in which they are read.
CORE = (
    "simulator/protocol.py",
    "simulator/errors.py",
    "simulator/arithmetic.py",
    "simulator/tables.py",
    "simulator/coins.py",
    "simulator/drafts/trees.py",
    "simulator/drafts/_shape.py",
    "simulator/drafts/delayed.py",
    "simulator/laws/enumeration.py",
    "simulator/laws/law.py",
    "simulator/residual.py",
    "verifiers/naive.py",
    "verifiers/_top_down.py",
    "verifiers/specinfer.py",
    "verifiers/block.py",
)
#: What one sitting is enough for.
MOST_LINES = 1_500


def test_the_core_imports_nothing_else_of_ours() -> None:
    modules = {module_of(path) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    core = {module_of(ROOT / file) for file in CORE}
    taken = {file: imports((ROOT / file).read_text(encoding="utf-8"), modules) - core for file in CORE}
    assert not any(taken.values()), taken


def test_a_tie_would_be_seen() -> None:
    modules = {module_of(path) for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    source = "def f():\n    from draftproof.simulator.vectors import minimum"
    assert imports(source, modules) == {"simulator.vectors"}


def test_the_core_is_read_in_one_sitting() -> None:
    lines = {file: len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in CORE}
    assert sum(lines.values()) <= MOST_LINES, lines


def test_the_page_walks_through_all_of_it_in_order() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## A verifier of your own")[0]
    named = re.findall(r"\]\(\.\./([\w/]+\.py)\)", text)
    assert tuple(dict.fromkeys(named)) == CORE


def test_what_is_named_on_the_page_is_there() -> None:
    """Each name in backticks of a paragraph that begins with a file stands in that file."""
    for file, rest in re.findall(
        r"^\*\*\[`[^`]+`\]\(\.\./([\w/]+\.py)\)\*\*(.*?)(?=\n\n)", PAGE.read_text(), re.M | re.S
    ):
        source = Path(ROOT / file).read_text(encoding="utf-8")
        for name in re.findall(r"`([A-Za-z_]+)`", rest):
            assert name in source, (file, name)
