"""Messages of the library name options that there are."""

import re
from pathlib import Path

from draftproof.experiments import cli
from tests.experiments.parsers import parsers


def test_messages_about_models_name_options_there_are():
    commands = parsers().values()
    known = {flag for command in commands for each in command.params for flag in each.opts}
    for path in sorted(Path(cli.__file__).parents[1].glob("models/**/*.py")):
        source = path.read_text(encoding="utf-8")
        assert set(re.findall(r"--[A-Za-z][\w-]*", source)) <= known, path
        assert "ask for fewer" not in source, path  # without an option to ask with
