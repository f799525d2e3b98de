"""The tab key: a shell completes commands and options, by the script that `--show-completion` prints."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Completes the line in `COMP_WORDS` as bash does when the tab key is pressed.
TAB = """
eval "$({shell_script})"
COMP_WORDS=({line})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_draftproof_completion {program}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("draftproof bound --cert", ["--certificate"]),
        ("draftproof list --j", ["--json"]),
        ("draftproof mod", ["model"]),
        ("draftproof model v", ["validate"]),
    ],
)
def test_bash_completes_commands_and_options(tmp_path: Path, line: str, found: list[str]) -> None:
    program = tmp_path / "draftproof"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m draftproof "$@"\n')
    program.chmod(0o755)
    script = TAB.format(shell_script=f"{program} --show-completion", line=line, program=program)
    ran = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == found, ran.stderr
    assert ran.stderr == ""
