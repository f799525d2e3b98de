"""The parsers of the commands, also of those that are in a group."""

from functools import reduce
from typing import Any

import typer

from draftproof.experiments import cli


def parsers() -> dict[str, Any]:
    """The parser of every command, by its words."""
    whole: Any = typer.main.get_command(cli.program())
    return {name: reduce(lambda group, word: group.commands[word], name.split(), whole) for name in cli.COMMANDS}
