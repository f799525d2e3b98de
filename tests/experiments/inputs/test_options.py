"""Options that several commands have are one: the same flags, help and panel wherever they are read."""

import pytest
import typer

from draftproof.experiments import cli

SHARED = ("--pair", "--target", "--draft", "--prompts", "--bos", "--context")


@pytest.mark.parametrize("flag", SHARED)
def test_options_of_a_pair_read_the_same_in_every_command(flag):
    commands = typer.main.get_command(cli.program()).commands
    said = {
        name: {(each.help, each.rich_help_panel) for each in commands[name].params if flag in each.opts}
        for name in ("check", "compare", "validate", "choose")
    }
    assert len(set.union(*said.values())) == 1, said
    assert all(said.values())
