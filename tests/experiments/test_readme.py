"""The README: its code runs, its commands print what it says, its table is made from the cards."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from experiments.readme import README, with_table
from simulator.conformance import checks_for

TEXT = README.read_text(encoding="utf-8")
TRANSCRIPTS = re.findall(r"^```console\n\$ draftproof (.*?)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_code_of_the_readme_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_table_of_verifiers_is_the_generated_one():
    assert with_table(TEXT) == TEXT, "run `python -m experiments.readme`"
    assert with_table(TEXT.replace("Block verification", "Blok verification", 1)) == TEXT  # it can tell


@pytest.mark.parametrize(("command", "shown"), TRANSCRIPTS, ids=[command for command, _ in TRANSCRIPTS])
def test_commands_print_what_the_readme_shows(draftproof, command, shown):
    printed = "\n".join(line.rstrip() for line in draftproof(*shlex.split(command)).out.splitlines())
    assert printed == shown.rstrip()


def test_the_worked_example_is_refuted_as_the_readme_says(draftproof, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    doctest.testfile(str(README), module_relative=False)
    assert Path("eager.py").exists()
    ran = draftproof("check", "eager.py:Eager", "--instances", 50, "--json", "-")
    assert ran.code == 1
    assert ran.json["witness"]["vocab_size"] == 2
    namespace: dict = {}
    exec(Path("eager.py").read_text(), namespace)
    failures = 0
    for check in checks_for(namespace["Eager"]()):
        try:
            check()
        except AssertionError:
            failures += 1
    assert failures > 0
