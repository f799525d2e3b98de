"""Options that several commands have are one: the same flags, help and panel wherever they are read."""

import re
from pathlib import Path

import pytest

from draftproof.experiments import cli
from tests.experiments.parsers import parsers

SHARED = ("--pair", "--target", "--draft", "--prompts", "--bos", "--context")


@pytest.mark.parametrize("flag", SHARED)
def test_options_of_a_pair_read_the_same_in_every_command(flag):
    commands = parsers()
    said = {
        name: {(each.help, each.rich_help_panel) for each in commands[name].params if flag in each.opts}
        for name in ("model validate", "model choose")
    }
    assert len(set.union(*said.values())) == 1, said
    assert all(said.values())


def test_messages_about_models_name_options_there_are():
    commands = parsers().values()
    known = {flag for command in commands for each in command.params for flag in each.opts}
    for path in sorted(Path(cli.__file__).parents[1].glob("models/**/*.py")):
        source = path.read_text(encoding="utf-8")
        assert set(re.findall(r"--[A-Za-z][\w-]*", source)) <= known, path
        assert "ask for fewer" not in source, path  # without an option to ask with
