"""The README: its code runs, its commands print what it says, its table is made from the cards."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from experiments.catalogue import cards_markdown

README = Path(__file__).parents[2] / "README.md"


def test_code_of_the_readme_runs():
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_table_of_verifiers_is_the_generated_one():
    text = README.read_text(encoding="utf-8")
    table = re.search(r"<!-- verifiers: generated -->\n(.*?)<!-- verifiers: end -->", text, re.DOTALL)
    assert table is not None
    assert table[1] == cards_markdown(), "run `python -m experiments.readme` to bring the table up to date"
