"""What commands print, on the first page and the pages of docs: every `console` block is filled with it."""

import re
import shlex
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from draftproof.experiments.shared.output import write_whole

README = Path(__file__).resolve().parents[2] / "README.md"
#: The pages whose examples are run and whose outputs of commands are compared.
PAGES = (
    README,
    *sorted((README.parent / "docs").rglob("*.md")),
)
TRANSCRIPT = re.compile(r"^```console\n\$ draftproof (.*?)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def with_table(text: str, name: str, table: str) -> str:
    """The text with a new table between the two marks of this name."""
    pattern = rf"(<!-- {name}: generated -->\n).*?(<!-- {name}: end -->)"
    return re.sub(pattern, lambda match: match[1] + table + match[2], text, flags=re.DOTALL)


def transcript(command: str) -> str:
    """What a command prints to stdout, run in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-c", "from draftproof.experiments.cli import main; main()", *shlex.split(command)]
        ran = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    return "\n".join(line.rstrip() for line in ran.stdout.splitlines()).rstrip() + "\n"


def refresh(text: str, comparison: str | None) -> str:
    """The page with current outputs. comparison: what `compare -o FILE.md` wrote in the main job."""
    if comparison is not None:
        lines = [line for line in comparison.splitlines() if line.startswith("|")]
        text = with_table(text, "comparison", "\n".join(lines) + "\n")
    return TRANSCRIPT.sub(lambda match: f"```console\n$ draftproof {match[1]}\n{transcript(match[1])}```", text)


def write(given: Namespace) -> int:
    """Refresh the pages; returns 0. given: `comparison`, a file."""
    table = Path(given.comparison).read_text(encoding="utf-8") if given.comparison else None
    for page in PAGES:
        write_whole(page, refresh(page.read_text(encoding="utf-8"), table))
    return 0
