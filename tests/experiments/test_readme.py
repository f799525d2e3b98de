"""The README: its code runs, its commands print what it says, its table is made from the cards."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from experiments.commands.listing.catalogue import cards_markdown
from experiments.pages.readme import PAGE, PAGES, README, TRANSCRIPT, with_table
from experiments.pages.reference import page

TEXT = README.read_text(encoding="utf-8")
TRANSCRIPTS = [shown for page in PAGES for shown in TRANSCRIPT.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("readme", PAGES, ids=lambda path: path.parent.name)
def test_code_of_the_pages_runs(readme, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(readme), module_relative=False)
    assert result.attempted >= readme.read_text(encoding="utf-8").count("\n>>> ")
    assert result.failed == 0


def test_links_of_the_pages_lead_somewhere():
    for readme in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)[)#]", readme.read_text(encoding="utf-8")):
            assert (readme.parent / link).exists(), (readme, link)


def test_the_first_page_is_short():
    assert len(TEXT.splitlines()) <= 250


def test_table_of_verifiers_is_the_generated_one():
    assert with_table(TEXT, "verifiers", cards_markdown()) == TEXT, "run `python -m experiments.pages.readme`"
    assert with_table(TEXT, "verifiers", "") != TEXT  # the marks are there


@pytest.mark.parametrize(("command", "shown"), TRANSCRIPTS, ids=[command for command, _ in TRANSCRIPTS])
def test_commands_print_what_the_readme_shows(draftproof, command, shown):
    printed = "\n".join(line.rstrip() for line in draftproof(*shlex.split(command)).out.splitlines())
    assert printed == shown.rstrip()


def test_the_worked_example_ends_with_a_verifier_that_conforms(draftproof, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    doctest.testfile(str(README), module_relative=False)
    mended = Path("mine.py").read_text()
    assert len(mended.splitlines()) < 30
    assert draftproof("check", "mine.py:Mine", "--instances", 20).code == 0
    Path("mine.py").write_text(mended.replace("(p - q) * (p > q)", "p"))
    ran = draftproof("check", "mine.py:Mine", "--instances", 20, "--json", "-")
    assert (ran.code, ran.json["witness"]["vocab_size"], ran.json["witness"]["instance"]["depth"]) == (1, 2, 1)


def test_reference_page_is_the_generated_one():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m experiments.pages.readme`"
